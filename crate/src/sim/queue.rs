//! What will happen, ordered by (instant, ordinal).

use std::cmp::{Ordering, Reverse};
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
    ordinal: u64,
    pub cause: Option<Cause>,
    pub item: Item,
}

impl Entry {
    fn key(&self) -> (Instant, u64) {
        (self.at, self.ordinal)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// Two entries never compare equal: each has an ordinal of its own, given in the order in which they were pushed.
#[derive(Debug, Clone, Default)]
pub(super) struct Queue {
    heap: BinaryHeap<Reverse<Entry>>,
    next_ordinal: u64,
}

impl Queue {
    pub fn push(&mut self, at: Instant, cause: Option<Cause>, item: Item) {
        let ordinal = self.next_ordinal;
        self.next_ordinal += 1;
        self.heap.push(Reverse(Entry { at, ordinal, cause, item }));
    }

    pub fn next_at(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse(entry)| entry.at)
    }

    pub fn pop_until(&mut self, limit: Instant) -> Option<Entry> {
        if self.next_at()? > limit {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// Every waiting (instant, ordinal), in no particular order.
    pub fn keys(&self) -> impl Iterator<Item = (Instant, u64)> + '_ {
        self.heap.iter().map(|Reverse(entry)| entry.key())
    }
}
