//! Traps: each waits for the n-th message of a kind between two processes and does something to it.
//!
//! A response names no API, so the requests that a trap for responses may be about are remembered from when it is set;
//! messages are counted from when it is armed.

use super::Machine;
use super::fault::Fault;
use super::frame_fault::{FrameAction, WriteId, int_at};
use super::process::ProcessId;
use super::queue::Item;
use super::trace::Cause;
use super::world::World;
use crate::ordered::BTreeMap;

/// Which message to wait for. `client` opened the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trap {
    pub client: ProcessId,
    pub server: ProcessId,
    pub api_key: i16,
    pub response: bool,
    /// From 1.
    pub nth: u64,
    pub action: FrameAction,
}

#[derive(Debug, Clone)]
struct Set {
    trap: Trap,
    armed: bool,
    seen: u64,
    met: Option<WriteId>,
}

/// None, nearly always: then a send costs one look.
#[derive(Debug, Clone, Default)]
pub(super) struct Traps {
    set: Vec<Set>,
    /// API keys of requests without a response yet, by connection and correlation id.
    asked: BTreeMap<(u64, i32), i16>,
}

impl<M: Machine> World<M> {
    /// Sets a trap and tells its number. It counts nothing until [`World::arm`].
    pub fn set_trap(&mut self, trap: Trap) -> usize {
        self.traps.set.push(Set { trap, armed: false, seen: 0, met: None });
        self.traps.set.len() - 1
    }

    /// From now on the trap counts messages. The one that it waits for brings [`super::Change::Fault`].
    pub fn arm(&mut self, trap: usize) {
        if let Some(set) = self.traps.set.get_mut(trap) {
            set.armed = true;
        }
    }

    /// The trap that this message went into.
    pub fn trap_of(&self, write: WriteId) -> Option<usize> {
        self.traps.set.iter().position(|set| set.met == Some(write))
    }

    /// A message is about to leave: perhaps somebody waits for it.
    pub(super) fn spring(&mut self, connection: u64, side: usize, write: Cause, bytes: &[u8]) {
        if self.traps.set.is_empty() {
            return;
        }
        let Some(between) = self.between(connection, side) else { return };
        if self.connections.get(&connection).is_some_and(|link| link.pipes[side].cut.is_some()) {
            // Nothing passes there any more that a fault could meet, as behind a proxy that has cut.
            return;
        }
        let response = side == 1;
        let (client, server) = if response { (between.1, between.0) } else { between };
        let traps = &mut self.traps;
        let key = match response {
            false => bytes.get(4..).and_then(|bytes| bytes.first_chunk()).map(|key| i16::from_be_bytes(*key)),
            true => int_at(bytes, 4).and_then(|correlation_id| traps.asked.remove(&(connection, correlation_id))),
        };
        let Some(key) = key else { return };
        for set in &mut traps.set {
            let trap = &set.trap;
            if (trap.client, trap.server, trap.api_key) != (client, server, key) {
                continue;
            }
            if trap.response != response {
                if let (false, Some(correlation_id)) = (response, int_at(bytes, 8)) {
                    traps.asked.insert((connection, correlation_id), key);
                }
                continue;
            }
            set.seen += u64::from(set.armed);
            if set.armed
                && set.seen == trap.nth
                && let Some(write_id) = WriteId::of(write)
            {
                set.met = Some(write_id);
                let fault = Fault::Frame { write: write_id, action: trap.action };
                self.queue.push(self.now, Some(write), Item::Fault { fault, earlier: Vec::new() });
            }
        }
    }
}
