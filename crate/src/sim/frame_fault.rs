//! What can happen to one message under way: it is held, the connection is cut before or after it, it is sent again.
//!
//! TCP never loses one message from the middle of a stream, so neither does this: what is lost is lost with all that
//! follows it, and the connection with it. A fault only marks a message; it takes effect where the message would have
//! arrived. What a cut connection still carries towards its ends arrives, and then both see it closed in order.

use super::Machine;
use super::link::{Write, conn_of};
use super::process::ProcessId;
use super::queue::Item;
use super::trace::{Cause, LostIn, LostWhy, Trace, What};
use super::world::{Stepped, World};
use crate::node::{Duration, EventId, Instant};

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum FrameAction {
    /// It arrives so much later, and what follows it in its direction waits behind it.
    Hold(Duration),
    /// It and all that follows is lost. Nothing passes in either direction any more; after so much silence both ends
    /// see the connection closed.
    CutBefore(Duration),
    /// It arrives whole, and all that follows is lost: its answer too, if it is a request. Then as above.
    CutAfter(Duration),
    /// It arrives twice. The answer to the second is kept from its receiver, who knows of one request only.
    SendAgain,
}

impl FrameAction {
    /// As an experiment's file calls it.
    pub const fn name(self) -> &'static str {
        match self {
            FrameAction::Hold(_) => "hold",
            FrameAction::CutBefore(_) => "cut-before",
            FrameAction::CutAfter(_) => "cut-after",
            FrameAction::SendAgain => "send-again",
        }
    }

    /// For how long it holds, or is silent before anybody hears of the cut.
    pub const fn span(self) -> Duration {
        match self {
            FrameAction::Hold(span) | FrameAction::CutBefore(span) | FrameAction::CutAfter(span) => span,
            FrameAction::SendAgain => Duration::ZERO,
        }
    }
}

/// Names a message by what wrote it. An ordinal, not an event id: with the same history before it, the message is the
/// same on every branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct WriteId {
    /// Of the event.
    pub ordinal: u64,
    /// Which of its effects.
    pub effect: u32,
}

impl WriteId {
    /// `None` for what no node wrote.
    pub fn of(write: Cause) -> Option<WriteId> {
        Some(WriteId { ordinal: write.event.ordinal, effect: write.effect? })
    }
}

/// A pipe whose oldest message waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hold {
    until: Instant,
    by: EventId,
    /// Messages that would have arrived meanwhile, the held one included.
    due: u32,
}

/// A pipe that carries nothing beyond this.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cut {
    /// The stream's length before the cut.
    after: u64,
    by: EventId,
}

impl Cut {
    /// The network's own FIN passes.
    fn loses(&self, write: &Write) -> bool {
        write.up_to > self.after || (write.fin && write.cause.event != self.by)
    }
}

/// The answer to a copy is on its way or will be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Swallow {
    correlation_id: i32,
    /// The answer to the message itself has passed.
    answered: bool,
    by: EventId,
}

/// What follows something that waited comes after it.
const BEHIND: Duration = Duration::from_us(1);

impl<M: Machine> World<M> {
    /// Whether the message is still on its way to its receiver, so that a fault can befall it.
    pub fn is_under_way(&self, write: WriteId) -> bool {
        self.under_way(write).is_some()
    }

    pub(super) fn under_way(&self, write: WriteId) -> Option<&Write> {
        let pipes = self.connections.values().flat_map(|connection| &connection.pipes);
        pipes.flat_map(|pipe| pipe.under_way()).find(|one| WriteId::of(one.cause) == Some(write))
    }

    /// What is to befall a message when it arrives.
    pub(super) fn mark(&mut self, write: WriteId, action: FrameAction, by: EventId) {
        let pipes = self.connections.values_mut().flat_map(|connection| &mut connection.pipes);
        let found = pipes.flat_map(|pipe| pipe.under_way_mut()).find(|one| WriteId::of(one.cause) == Some(write));
        if let Some(found) = found {
            found.marked = Some((action, by));
        }
    }

    /// Whether the pipe's oldest message must wait, or waits already.
    pub(super) fn holds_back(&mut self, connection: u64, side: usize) -> bool {
        let now = self.now;
        let Some(link) = self.connections.get_mut(&connection) else { return false };
        let pipe = &mut link.pipes[side];
        if let Some(hold) = &mut pipe.hold {
            hold.due += 1;
            return true;
        }
        let Some(first) = pipe.flying.front_mut() else { return false };
        let Some((FrameAction::Hold(span), by)) = first.marked else { return false };
        first.marked = None;
        let until = now + span;
        pipe.hold = Some(Hold { until, by, due: 1 });
        pipe.last_arrival = pipe.last_arrival.max(until + BEHIND);
        self.queue.push(until, Some(by.into()), Item::Release { connection, side });
        true
    }

    /// If a pipe is held, the instant at which something that would overtake may come.
    pub(super) fn held_until(&self, connection: u64, side: usize) -> Option<Instant> {
        Some(self.connections.get(&connection)?.pipes[side].hold?.until + BEHIND)
    }

    pub(super) fn release(&mut self, connection: u64, side: usize) {
        let Some(link) = self.connections.get_mut(&connection) else { return };
        let pipe = &mut link.pipes[side];
        let Some(hold) = pipe.hold.take() else { return };
        for write in &mut pipe.flying {
            write.held_by = Some(hold.by);
        }
        for _ in 0..hold.due {
            self.queue.push(self.now, None, Item::Arrive { connection, side });
        }
    }

    /// A message has come through the pipe. What is marked on it comes true, and it is given back if it goes on to the
    /// receiver; if not, the loss is what happened.
    pub(super) fn passes(
        &mut self,
        connection: u64,
        side: usize,
        write: Write,
        trace: &mut dyn Trace,
    ) -> Result<Write, Option<Stepped>> {
        match write.marked {
            Some((FrameAction::CutBefore(silence), by)) => {
                self.cut(connection, side, write.up_to - write.len(), silence, by);
            }
            Some((FrameAction::CutAfter(silence), by)) => self.cut(connection, side, write.up_to, silence, by),
            Some((FrameAction::SendAgain, by)) => self.copy(connection, side, &write, by),
            Some((FrameAction::Hold(_), _)) | None => {}
        }
        let Some(link) = self.connections.get_mut(&connection) else { return Err(None) };
        let pipe = &mut link.pipes[side];
        let lost = match pipe.cut.filter(|cut| cut.loses(&write)) {
            Some(cut) => Some((cut.by, LostWhy::Cut)),
            None => swallowed(&mut pipe.swallow, &write).map(|by| (by, LostWhy::Swallowed)),
        };
        let Some((by, why)) = lost else { return Ok(write) };
        pipe.read(write.len());
        self.forget_if_over(connection);
        if write.fin {
            return Err(None);
        }
        let conn = conn_of(connection, 1 - side);
        let lost = What::Lost { conn, write: write.cause, len: write.len(), place: LostIn::Flight, why };
        Err(Some(self.happened(Some(by.into()), Vec::new(), lost, trace)))
    }

    /// Nothing passes any more but, the other way, what is on the wire already.
    fn cut(&mut self, connection: u64, side: usize, after: u64, silence: Duration, by: EventId) {
        let Some(link) = self.connections.get_mut(&connection) else { return };
        if link.pipes[side].cut.is_some() {
            return;
        }
        link.pipes[side].cut = Some(Cut { after, by });
        let after = link.pipes[1 - side].on_wire();
        link.pipes[1 - side].cut = Some(Cut { after, by });
        self.queue.push(self.now + silence, Some(by.into()), Item::Sever { connection });
    }

    /// Both ends get a FIN that their peer did not send.
    pub(super) fn sever(&mut self, connection: u64, cause: Option<Cause>) {
        let Some(cause) = cause else { return };
        for side in 0..2 {
            let Some(at) = self.arrival(connection, side, self.now) else { return };
            if let Some(link) = self.connections.get_mut(&connection) {
                link.pipes[side].flying.push_back(Write::new(cause, bytes::Bytes::new(), true, 0));
                self.queue.push(at, None, Item::Arrive { connection, side });
            }
        }
    }

    fn copy(&mut self, connection: u64, side: usize, write: &Write, by: EventId) {
        let Some(link) = self.connections.get_mut(&connection) else { return };
        link.pipes[side].insert_next(Write::new(by.into(), write.bytes.clone(), false, write.up_to));
        self.queue.push(self.now, None, Item::Arrive { connection, side });
        // In a request the correlation id stands behind the size, the key and the version.
        if let Some(correlation_id) = int_at(&write.bytes, 8) {
            link.pipes[1 - side].swallow.push(Swallow { correlation_id, answered: false, by });
        }
    }

    /// Whose message the pipe of this side carries, and to whom.
    pub(super) fn between(&self, connection: u64, side: usize) -> Option<(ProcessId, ProcessId)> {
        let ends = &self.connections.get(&connection)?.ends;
        Some((ends[side].process, ends[1 - side].process))
    }
}

/// The event for which this answer is kept from its receiver.
fn swallowed(swallow: &mut Vec<Swallow>, write: &Write) -> Option<EventId> {
    // In a response the correlation id stands behind the size.
    let correlation_id = int_at(&write.bytes, 4)?;
    let index = swallow.iter().position(|one| one.correlation_id == correlation_id)?;
    if !swallow[index].answered {
        swallow[index].answered = true;
        return None;
    }
    Some(swallow.remove(index).by)
}

pub(super) fn int_at(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..)?.first_chunk().map(|bytes| i32::from_be_bytes(*bytes))
}
