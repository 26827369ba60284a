//! What happened: events, whom they are handed to, and the store that keeps them outside the world.

use std::ops::Range;

use super::{Fault, ProcessId};
use crate::node::{CallId, CloseReason, ConnId, Effect, EffectKind, EventId, Input, Instant, Note};

/// One thing that happened. Everything that ever happens in a world is one of these, with an id of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub id: EventId,
    pub at: Instant,
    /// Absent only for what the setup itself brought about.
    pub cause: Option<Cause>,
    /// Other events that also had to happen. Those of the causing effect are found there, not repeated here.
    pub earlier: Vec<EventId>,
    pub what: What,
}

/// What scheduled an event: an earlier event, and which of its effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cause {
    pub event: EventId,
    pub effect: Option<u32>,
}

impl From<EventId> for Cause {
    fn from(event: EventId) -> Cause {
        Cause { event, effect: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// A node handled an input; these are its effects, in order.
    Handled { process: ProcessId, input: Input, effects: Vec<Effect> },
    /// A fault took place: by the program, by the reader, or as the second half of `Dying`.
    Fault(Fault),
    /// The boot time is over; a new node exists over the kept disk. [`Input::Started`] follows.
    Booted { process: ProcessId },
    /// Bytes reached the kernel of a process that does not read them yet: it is stopped, or reads are paused.
    Buffered { conn: ConnId, write: Cause, len: u64 },
    /// A connect reached a host where nobody listens.
    ConnectRefused { process: ProcessId, by: ProcessId },
    /// Bytes that were written will never be read.
    Lost {
        /// The receiving end.
        conn: ConnId,
        /// The [`crate::node::EffectKind::Send`] that wrote them.
        write: Cause,
        len: u64,
        place: LostIn,
        why: LostWhy,
    },
    /// The runner's own clock rang: [`super::World::wake`].
    Woke { token: u64 },
    /// A client program moved to this line.
    Line { program: u32, line: u32 },
    /// The reader or a program gave a command to a process that does not run. Nothing will answer it.
    CommandLost { process: ProcessId, call: CallId },
}

/// How far lost bytes had come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum LostIn {
    /// The sender's kernel had them; they never left.
    SendBuffer,
    /// They were under way.
    Flight,
    /// The receiver's kernel had accepted them; the process never read them.
    ReceiveBuffer,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum LostWhy {
    SenderDied,
    ReceiverDied,
    /// The receiving end had closed the connection, or the connection had been reset.
    Closed(CloseReason),
    /// The network cut the connection before them.
    Cut,
    /// They answer a copy that the network made, which nobody asked for.
    Swallowed,
}

impl Event {
    /// The process that this event happens to, if it is one.
    pub fn process(&self) -> Option<ProcessId> {
        match &self.what {
            What::Handled { process, .. }
            | What::Booted { process }
            | What::ConnectRefused { process, .. }
            | What::CommandLost { process, .. } => Some(*process),
            What::Fault(fault) => fault.process(),
            What::Buffered { .. } | What::Lost { .. } | What::Woke { .. } | What::Line { .. } => None,
        }
    }

    /// What it lets its readers know, in order.
    pub fn notes(&self) -> impl Iterator<Item = &Note> {
        self.effects().iter().filter_map(|effect| match &effect.kind {
            EffectKind::Note(note) => Some(note),
            _ => None,
        })
    }

    /// Whether a message arrives, piles up or gets lost.
    pub fn is_frame(&self) -> bool {
        matches!(
            self.what,
            What::Handled { input: Input::Bytes { .. }, .. } | What::Buffered { .. } | What::Lost { .. }
        )
    }

    /// Whether a client program moves to another line.
    pub fn is_line(&self) -> bool {
        matches!(self.what, What::Line { .. })
    }

    /// The effects of a handled input; none for any other event.
    pub fn effects(&self) -> &[Effect] {
        match &self.what {
            What::Handled { effects, .. } => effects,
            _ => &[],
        }
    }
}

/// Whom a world hands its events to.
pub trait Trace {
    fn event(&mut self, event: Event);

    /// Whether events are kept. If not, the world spares itself making them.
    fn keeps(&self) -> bool {
        true
    }
}

/// Keeps nothing; for replays of what was recorded before.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoTrace;

impl Trace for NoTrace {
    fn event(&mut self, _: Event) {}

    fn keeps(&self) -> bool {
        false
    }
}

impl Trace for Vec<Event> {
    fn event(&mut self, event: Event) {
        self.push(event);
    }
}

/// Finds events by id: one branch's own events, or several branches' together.
pub trait Events {
    fn get(&self, id: EventId) -> Option<&Event>;
}

/// The events of one branch, from the ordinal at which it began.
#[derive(Debug, Clone, Default)]
pub struct Store {
    first: u64,
    events: Vec<Event>,
}

impl Store {
    pub fn starting_at(first: u64) -> Store {
        Store { first, events: Vec::new() }
    }

    /// The ordinals that are recorded here.
    pub fn ordinals(&self) -> Range<u64> {
        self.first..self.first + self.events.len() as u64
    }

    pub fn at(&self, ordinal: u64) -> Option<&Event> {
        let index = ordinal.checked_sub(self.first)?;
        self.events.get(usize::try_from(index).ok()?)
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The first recorded ordinal whose event happens after `instant`; the end if there is none.
    pub fn first_after(&self, instant: Instant) -> u64 {
        self.first + self.events.partition_point(|event| event.at <= instant) as u64
    }
}

impl Trace for Store {
    fn event(&mut self, event: Event) {
        debug_assert_eq!(event.id.ordinal, self.ordinals().end);
        self.events.push(event);
    }
}

impl Events for Store {
    fn get(&self, id: EventId) -> Option<&Event> {
        self.at(id.ordinal).filter(|event| event.id == id)
    }
}
