//! What will happen, ordered by (instant, ordinal).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::trace::{Cause, LostIn, LostWhy};
use super::{Fault, ProcessId};
use crate::node::{CallId, CloseReason, Command, ConnId, ConnectToken, EventId, Input, Instant, SliceToken};

/// Something that waits for its instant. `life` tells for which life of the process it is meant: what was meant for
/// an earlier one is dropped without an event.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Input {
        process: ProcessId,
        life: u32,
        input: Box<Input>,
    },
    Written {
        process: ProcessId,
        life: u32,
        conn: ConnId,
        up_to: u64,
    },
    Slice {
        process: ProcessId,
        life: u32,
        token: SliceToken,
    },
    Tick {
        process: ProcessId,
        life: u32,
    },
    Command(Box<Given>),
    /// A connection attempt reaches its host.
    Syn {
        connection: u64,
    },
    /// The attempt's acceptance is back at who connects.
    SynAck {
        connection: u64,
    },
    ConnectFailed {
        process: ProcessId,
        life: u32,
        token: ConnectToken,
        why: CloseReason,
    },
    /// The pipe's oldest write reaches the receiving kernel.
    Arrive {
        connection: u64,
        side: usize,
    },
    /// The receiving process reads what its kernel holds.
    Read {
        connection: u64,
        side: usize,
    },
    /// The sending kernel learns that there is room again.
    Acknowledge {
        connection: u64,
        side: usize,
    },
    /// The pipe's oldest write has been held for long enough.
    Release {
        connection: u64,
        side: usize,
    },
    /// The network closes a connection that it has cut, towards both ends.
    Sever {
        connection: u64,
    },
    /// RST reaches the end `side`.
    Reset {
        connection: u64,
        side: usize,
    },
    Lost {
        conn: ConnId,
        write: Cause,
        len: u64,
        place: LostIn,
        why: LostWhy,
    },
    Fault {
        fault: Fault,
        earlier: Vec<EventId>,
    },
    Boot {
        process: ProcessId,
        life: u32,
    },
    Wake {
        token: u64,
        earlier: Vec<EventId>,
    },
    Line {
        program: u32,
        line: u32,
        earlier: Vec<EventId>,
    },
}

/// A command on its way to a process.
#[derive(Debug, Clone)]
pub(super) struct Given {
    pub process: ProcessId,
    pub call: CallId,
    pub command: Command,
    pub earlier: Vec<EventId>,
}

#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub at: Instant,
    pub cause: Option<Cause>,
    pub item: Item,
}

/// When, in which order, and in which slot what happens then is kept. Ordered by its fields; no two have the same
/// ordinal, which is given in the order in which they were pushed.
type Key = (Instant, u64, u32);

/// The heap moves small keys about; what they stand for stays where it was put.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<Key>>,
    slots: Vec<Option<(Option<Cause>, Item)>>,
    free: Vec<u32>,
    next_ordinal: u64,
}

impl Queue {
    pub fn push(&mut self, at: Instant, cause: Option<Cause>, item: Item) {
        let kept = Some((cause, item));
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = kept;
                slot
            }
            None => {
                self.slots.push(kept);
                self.slots.len() as u32 - 1
            }
        };
        self.heap.push(Reverse((at, self.next_ordinal, slot)));
        self.next_ordinal += 1;
    }

    pub fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, ..))| *at)
    }

    pub fn pop_until(&mut self, limit: Instant) -> Option<Entry> {
        if self.next_at()? > limit {
            return None;
        }
        let Reverse((at, _, slot)) = self.heap.pop()?;
        let (cause, item) = self.slots.get_mut(slot as usize)?.take()?;
        self.free.push(slot);
        Some(Entry { at, cause, item })
    }

    /// Every waiting (instant, ordinal), in no particular order.
    pub fn keys(&self) -> impl Iterator<Item = (Instant, u64)> + '_ {
        self.heap.iter().map(|Reverse((at, ordinal, _))| (*at, *ordinal))
    }
}
