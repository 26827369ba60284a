//! What links do: handshakes, arrivals, reads, resets, and bytes that get lost.

use std::mem;

use super::Machine;
use super::link::{Connection, End, conn_of, split};
use super::process::{ProcessId, ProcessState, link_rng};
use super::queue::Item;
use super::trace::{Cause, LostIn, LostWhy, Trace, What};
use super::world::{Stepped, World};
use crate::node::{Address, CloseReason, ConnId, Input, OpenedBy};

/// Where the ports of connecting ends begin; they only ever show up as a peer's address.
const FIRST_CONNECTING_PORT: u64 = 49_152;
const CONNECTING_PORTS: u64 = 16_384;

impl<M: Machine> World<M> {
    pub(super) fn end(&self, connection: u64, side: usize) -> Option<&End> {
        self.connections.get(&connection)?.ends.get(side)
    }

    /// The end that a process calls `conn`, while the process may use it.
    pub(super) fn own_end(&mut self, process: ProcessId, conn: ConnId) -> Option<&mut End> {
        let (connection, side) = split(conn);
        let end = &mut self.connections.get_mut(&connection)?.ends[side];
        (end.open && end.process == process).then_some(end)
    }

    // --- handshake ---

    pub(super) fn syn(&mut self, connection: u64, cause: Option<Cause>, trace: &mut dyn Trace) -> Option<Stepped> {
        let Connection { ends, address, token, .. } = self.connections.get(&connection)?;
        let (from, life, token) = (ends[0].process, ends[0].life, *token);
        if self.runs(from, life).is_none() {
            self.connections.remove(&connection);
            return None;
        }
        let port = address.port;
        let target = self.host_of(address)?;
        let listener = self
            .process(target)
            .filter(|process| process.lives_now())
            .and_then(|process| process.listeners.get(&port).copied());
        let back_at = self.arrival(connection, 1, self.now)?;
        let Some(listener) = listener else {
            self.connections.remove(&connection);
            let stepped = self.happened(cause, Vec::new(), What::ConnectRefused { process: target, by: from }, trace);
            let refused = Item::ConnectFailed { process: from, life, token, why: CloseReason::Refused };
            self.queue.push(back_at, Some(stepped.event.into()), refused);
            return Some(stepped);
        };
        let target_life = self.process(target)?.life_number();
        let end = &mut self.connections.get_mut(&connection)?.ends[1];
        *end = End { open: true, ..End::new(target, target_life) };
        let host = self.spec(from)?.host.clone();
        let port = (FIRST_CONNECTING_PORT + connection % CONNECTING_PORTS) as u16;
        let input = Input::Opened {
            conn: conn_of(connection, 1),
            by: OpenedBy::Listener(listener),
            peer: Address { host, port },
        };
        let accepted = self.feed_or_stall(target, input, cause, trace);
        let because = accepted.as_ref().map(|stepped| stepped.event.into()).or(cause);
        self.queue.push(back_at, because, Item::SynAck { connection });
        accepted
    }

    pub(super) fn syn_ack(&mut self, connection: u64, cause: Option<Cause>, trace: &mut dyn Trace) -> Option<Stepped> {
        let end = self.end(connection, 0)?;
        let (process, life) = (end.process, end.life);
        if self.runs(process, life).is_none() {
            // Its kernel knows nothing of this connection.
            let at = self.arrival(connection, 0, self.now)?;
            self.queue.push(at, cause, Item::Reset { connection, side: 1 });
            return None;
        }
        let established = self.connections.get_mut(&connection)?;
        established.established = true;
        established.ends[0].open = true;
        let input = Input::Opened {
            conn: conn_of(connection, 0),
            by: OpenedBy::Connect(established.token),
            peer: established.address.clone(),
        };
        self.feed_or_stall(process, input, cause, trace)
    }

    // --- bytes ---

    /// Moves what can move: into the send buffer, and onto the wire.
    pub(super) fn pump(&mut self, connection: u64, side: usize) {
        let rngs = &mut self.link_rngs;
        let Some(link) = self.connections.get_mut(&connection) else { return };
        let key = (link.ends[side].process, link.ends[1 - side].process);
        let rng = rngs.entry(key).or_insert_with(|| link_rng(&self.rng, &self.processes, key));
        let End { process, life, .. } = link.ends[side];
        let pipe = &mut link.pipes[side];
        while let Some(taken) = pipe.take() {
            let written = Item::Written { process, life, conn: conn_of(connection, side), up_to: taken.up_to };
            self.queue.push(self.now, Some(taken.cause), written);
        }
        while let Some(at) = pipe.transmit(self.now, rng) {
            self.queue.push(at, None, Item::Arrive { connection, side });
        }
    }

    pub(super) fn written(
        &mut self,
        process: ProcessId,
        conn: ConnId,
        up_to: u64,
        cause: Option<Cause>,
        trace: &mut dyn Trace,
    ) -> Option<Stepped> {
        self.own_end(process, conn)?;
        Some(self.feed(process, Input::Written { conn, up_to }, cause, Vec::new(), trace))
    }

    pub(super) fn arrive(&mut self, connection: u64, side: usize, trace: &mut dyn Trace) -> Option<Stepped> {
        if self.holds_back(connection, side) {
            return None;
        }
        let link = self.connections.get_mut(&connection)?;
        let write = link.pipes[side].arrive()?;
        if link.pipes[side].blocked() {
            let back = self.now + link.pipes[1 - side].spec.delay;
            self.queue.push(back, None, Item::Acknowledge { connection, side });
        }
        let write = match self.passes(connection, side, write, trace) {
            Ok(write) => write,
            Err(lost) => return lost,
        };
        let link = self.connections.get_mut(&connection)?;
        let end = &link.ends[1 - side];
        let (conn, len, cause) = (conn_of(connection, 1 - side), write.len(), write.cause);
        if !end.open {
            let why = end.gone;
            link.pipes[side].read(len);
            self.forget_if_over(connection);
            if write.fin {
                return None;
            }
            let lost = What::Lost { conn, write: cause, len, place: LostIn::Flight, why };
            return Some(self.happened(Some(cause), Vec::new(), lost, trace));
        }
        let fin = write.fin;
        let process = end.process;
        let must_wait = end.reads_paused || end.reading || !link.pipes[side].unread.is_empty();
        link.pipes[side].unread.push_back(write);
        if !must_wait && self.state(process) == ProcessState::Running {
            return self.deliver(connection, side, trace);
        }
        self.read_on(connection, side);
        (!fin).then(|| self.happened(Some(cause), Vec::new(), What::Buffered { conn, write: cause, len }, trace))
    }

    /// Makes the receiving process read what its kernel holds, unless it does not want to or is about to anyway.
    pub(super) fn read_on(&mut self, connection: u64, side: usize) {
        let Some(link) = self.connections.get_mut(&connection) else { return };
        let end = &mut link.ends[1 - side];
        if end.open && !end.reads_paused && !end.reading && !link.pipes[side].unread.is_empty() {
            end.reading = true;
            self.queue.push(self.now, None, Item::Read { connection, side });
        }
    }

    pub(super) fn read(&mut self, connection: u64, side: usize, trace: &mut dyn Trace) -> Option<Stepped> {
        let end = &mut self.connections.get_mut(&connection)?.ends[1 - side];
        end.reading = false;
        if !end.open || end.reads_paused {
            return None;
        }
        let stepped = self.deliver(connection, side, trace);
        self.read_on(connection, side);
        stepped
    }

    /// Hands the oldest unread write to its process.
    fn deliver(&mut self, connection: u64, side: usize, trace: &mut dyn Trace) -> Option<Stepped> {
        let link = self.connections.get_mut(&connection)?;
        let write = link.pipes[side].unread.pop_front()?;
        link.pipes[side].read(write.len());
        if !link.pipes[side].unsent.is_empty() {
            let back = self.now + link.pipes[1 - side].spec.delay;
            self.queue.push(back, None, Item::Acknowledge { connection, side });
        }
        let end = &mut link.ends[1 - side];
        let (process, conn) = (end.process, conn_of(connection, 1 - side));
        if !write.fin {
            let input = Input::Bytes { conn, bytes: write.bytes };
            let earlier = write.held_by.into_iter().collect();
            return Some(self.feed(process, input, Some(write.cause), earlier, trace));
        }
        end.open = false;
        let why = CloseReason::Finished;
        end.gone = if link.pipes[side].cut.is_some() { LostWhy::Cut } else { LostWhy::Closed(why) };
        let gone = end.gone;
        self.discard_unsent(connection, 1 - side, gone, write.cause);
        self.forget_if_over(connection);
        Some(self.feed(process, Input::Closed { conn, why }, Some(write.cause), Vec::new(), trace))
    }

    // --- ends ---

    /// RST arrives at the end `side`.
    pub(super) fn reset(
        &mut self,
        connection: u64,
        side: usize,
        cause: Option<Cause>,
        trace: &mut dyn Trace,
    ) -> Option<Stepped> {
        if let Some(at) = self.held_until(connection, 1 - side) {
            self.queue.push(at, cause, Item::Reset { connection, side });
            return None;
        }
        let end = &mut self.connections.get_mut(&connection)?.ends[side];
        if !end.open {
            self.forget_if_over(connection);
            return None;
        }
        end.open = false;
        let why = CloseReason::Reset;
        end.gone = LostWhy::Closed(why);
        let process = end.process;
        let input = Input::Closed { conn: conn_of(connection, side), why };
        let stepped = self.feed(process, input, cause, Vec::new(), trace);
        let because = Cause::from(stepped.event);
        self.discard_unsent(connection, side, LostWhy::Closed(why), because);
        self.discard_unread(connection, 1 - side, LostWhy::Closed(why), because);
        self.forget_if_over(connection);
        Some(stepped)
    }

    /// The end `side` is gone without a FIN: its kernel forgets what it had, and its peer will see RST.
    pub(super) fn break_off(&mut self, connection: u64, side: usize, why: LostWhy, cause: Cause) {
        let Some(link) = self.connections.get_mut(&connection) else { return };
        link.ends[side].open = false;
        link.ends[side].gone = why;
        // Who connected does not know yet that it was accepted, but it will.
        let peer_listens = link.ends[1 - side].open || (side == 1 && !link.established);
        let unsent_why = if why == LostWhy::ReceiverDied { LostWhy::SenderDied } else { why };
        self.discard_unsent(connection, side, unsent_why, cause);
        self.discard_unread(connection, 1 - side, why, cause);
        if peer_listens && let Some(at) = self.arrival(connection, side, self.now) {
            self.queue.push(at, Some(cause), Item::Reset { connection, side: 1 - side });
        } else {
            self.forget_if_over(connection);
        }
    }

    /// Loses what `side` had written but not put on the wire.
    fn discard_unsent(&mut self, connection: u64, side: usize, why: LostWhy, cause: Cause) {
        let Some(link) = self.connections.get_mut(&connection) else { return };
        let pipe = &mut link.pipes[side];
        let unsent = [mem::take(&mut pipe.unsent), mem::take(&mut pipe.waiting)].into_iter().flatten();
        let lost: Vec<_> = unsent.filter(|write| !write.fin).collect();
        for write in lost {
            self.lose(conn_of(connection, 1 - side), write.cause, write.len(), LostIn::SendBuffer, why, cause);
        }
    }

    /// Loses what the kernel that receives from `side` held for its process.
    pub(super) fn discard_unread(&mut self, connection: u64, side: usize, why: LostWhy, cause: Cause) {
        let Some(link) = self.connections.get_mut(&connection) else { return };
        let pipe = &mut link.pipes[side];
        let lost = Vec::from(mem::take(&mut pipe.unread));
        for write in &lost {
            pipe.read(write.len());
        }
        for write in lost.into_iter().filter(|write| !write.fin) {
            self.lose(conn_of(connection, 1 - side), write.cause, write.len(), LostIn::ReceiveBuffer, why, cause);
        }
    }

    pub(super) fn forget_if_over(&mut self, connection: u64) {
        if self.connections.get(&connection).is_some_and(Connection::over) {
            self.connections.remove(&connection);
        }
    }
}
