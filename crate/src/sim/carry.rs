//! Carrying out what a node asks for.

use bytes::{Bytes, BytesMut};

use super::Machine;
use super::link::{Connection, End, conn_of, split};
use super::process::{ProcessId, ProcessState, link_rng};
use super::queue::Item;
use super::trace::{Cause, LostIn, LostWhy};
use super::world::{Change, Stepped, World};
use crate::disk::{DiskError, Slice};
use crate::node::{Address, CloseReason, ConnId, ConnectToken, EffectKind, Input, Instant, ListenerId, Note};

/// Ports that are given out for port 0, as Linux does.
const FIRST_EPHEMERAL_PORT: u16 = 32_768;

impl<M: Machine> World<M> {
    pub(super) fn carry_out(&mut self, process: ProcessId, effect: &EffectKind, cause: Cause, stepped: &mut Stepped) {
        let Some(owner) = self.process(process) else { return };
        if owner.state != ProcessState::Running {
            // It has asked to exit earlier in the same list.
            return;
        }
        let life = owner.life_number();
        match effect {
            EffectKind::Listen { listener, address } => self.listen(process, *listener, address, cause),
            EffectKind::Connect { token, address } => self.connect(process, *token, address, cause),
            EffectKind::Send { conn, chunks } => self.send(process, *conn, chunks, cause),
            EffectKind::PauseReads(conn) => {
                if let Some(end) = self.own_end(process, *conn) {
                    end.reads_paused = true;
                }
            }
            EffectKind::ResumeReads(conn) => {
                if let Some(end) = self.own_end(process, *conn) {
                    end.reads_paused = false;
                    let (connection, side) = split(*conn);
                    self.read_on(connection, 1 - side);
                }
            }
            EffectKind::Close(conn) => self.close(process, *conn, cause),
            EffectKind::Flush { file, token } => {
                let at = self.now + owner.spec.flush_delay;
                // An fsync may reach the disk at any moment until it is reported; here it does at once, so that the
                // file can be closed meanwhile.
                let Some(result) = self.process_mut(process).map(|owner| owner.machine.flush(*file)) else { return };
                let input = Box::new(Input::Flushed { token: *token, result });
                self.queue.push(at, Some(cause), Item::Input { process, life, input });
            }
            EffectKind::Slice(token) => {
                self.queue.push(self.now, Some(cause), Item::Slice { process, life, token: *token });
            }
            EffectKind::Reply(call, reply) => stepped.replies.push((process, *call, reply.clone())),
            EffectKind::Exit { code, .. } => {
                self.exit(process, *code, cause);
                stepped.change = Some(Change::Exited { process, code: *code });
            }
            EffectKind::Note(Note::Serving { .. }) => {
                let now = self.now;
                if let Some(life) = self.process_mut(process).and_then(|process| process.lives.last_mut()) {
                    life.serving_at.get_or_insert(now);
                }
                stepped.change = Some(Change::Serving(process));
            }
            EffectKind::Note(_) => {}
        }
    }

    fn listen(&mut self, process: ProcessId, listener: ListenerId, address: &Address, cause: Cause) {
        let Some(owner) = self.process_mut(process) else { return };
        let mut port = address.port;
        if port == 0 {
            port = FIRST_EPHEMERAL_PORT;
            while owner.listeners.contains_key(&port) {
                port += 1;
            }
        }
        owner.listeners.insert(port, listener);
        let life = owner.life_number();
        let input = Box::new(Input::Listening { listener, address: Address { port, ..address.clone() } });
        self.queue.push(self.now, Some(cause), Item::Input { process, life, input });
    }

    fn connect(&mut self, process: ProcessId, token: ConnectToken, address: &Address, cause: Cause) {
        let Some(life) = self.process(process).map(|process| process.life_number()) else { return };
        let Some(target) = self.host_of(address) else {
            let why = CloseReason::Unreachable;
            self.queue.push(self.now, Some(cause), Item::ConnectFailed { process, life, token, why });
            return;
        };
        let connection = self.next_connection;
        self.next_connection += 1;
        let specs = [self.link(process, target), self.link(target, process)];
        let ends = (End::new(process, life), End::new(target, 0));
        self.connections.insert(connection, Connection::new(ends.0, ends.1, specs, token, address.clone()));
        if let Some(at) = self.arrival(connection, 0, self.now) {
            self.queue.push(at, Some(cause), Item::Syn { connection });
        }
    }

    /// The process that listens at an address; if none does, one whose host it is.
    pub(super) fn host_of(&self, address: &Address) -> Option<ProcessId> {
        let on_host =
            || self.process_ids().filter(|id| self.spec(*id).is_some_and(|process| process.host == address.host));
        on_host()
            .find(|id| self.process(*id).is_some_and(|process| process.listeners.contains_key(&address.port)))
            .or_else(|| on_host().next())
    }

    fn send(&mut self, process: ProcessId, conn: ConnId, chunks: &[Slice], cause: Cause) {
        let (connection, side) = split(conn);
        if self.own_end(process, conn).is_none() {
            return;
        }
        match gather(chunks) {
            Ok(bytes) => {
                self.spring(connection, side, cause, &bytes);
                if let Some(connection) = self.connections.get_mut(&connection) {
                    connection.pipes[side].write(cause, bytes, false);
                }
                self.pump(connection, side);
            }
            // The kernel could not read the file that it was to send from: it can only break the stream.
            Err(_) => {
                let why = LostWhy::Closed(CloseReason::Reset);
                self.break_off(connection, side, why, cause);
                if let Some(life) = self.process(process).map(|process| process.life_number()) {
                    let input = Box::new(Input::Closed { conn, why: CloseReason::Reset });
                    self.queue.push(self.now, Some(cause), Item::Input { process, life, input });
                }
            }
        }
    }

    /// Closes in order: what is buffered goes out, then FIN.
    pub(super) fn close(&mut self, process: ProcessId, conn: ConnId, cause: Cause) {
        let Some(end) = self.own_end(process, conn) else { return };
        end.open = false;
        end.gone = LostWhy::Closed(CloseReason::Finished);
        let (connection, side) = split(conn);
        self.discard_unread(connection, 1 - side, LostWhy::Closed(CloseReason::Finished), cause);
        if let Some(connection) = self.connections.get_mut(&connection) {
            connection.pipes[side].write(cause, Bytes::new(), true);
        }
        self.pump(connection, side);
        self.forget_if_over(connection);
    }

    /// The process ends by itself: its kernel closes what it had open, in order.
    fn exit(&mut self, process: ProcessId, code: i32, cause: Cause) {
        let open: Vec<ConnId> = self
            .connections
            .iter()
            .flat_map(|(number, connection)| {
                (0..2).filter(|side| connection.ends[*side].process == process).map(|side| conn_of(*number, side))
            })
            .collect();
        for conn in open {
            self.close(process, conn, cause);
        }
        let now = self.now;
        let Some(owner) = self.process_mut(process) else { return };
        owner.go_down(now);
        if let Some(life) = owner.lives.last_mut() {
            life.exit_code = Some(code);
        }
    }

    pub(super) fn lose(&mut self, conn: ConnId, write: Cause, len: u64, place: LostIn, why: LostWhy, cause: Cause) {
        self.queue.push(self.now, Some(cause), Item::Lost { conn, write, len, place, why });
    }

    /// When something sent now over `side` of the connection arrives.
    pub(super) fn arrival(&mut self, connection: u64, side: usize, departs: Instant) -> Option<Instant> {
        let rngs = &mut self.link_rngs;
        let connection = self.connections.get_mut(&connection)?;
        let key = (connection.ends[side].process, connection.ends[1 - side].process);
        let rng = rngs.entry(key).or_insert_with(|| link_rng(&self.rng, &self.processes, key));
        Some(connection.pipes[side].arrival_after(departs, rng))
    }
}

/// One write is one piece on the wire, so its chunks are joined; a single chunk is not copied.
fn gather(chunks: &[Slice]) -> Result<Bytes, DiskError> {
    if let [Slice::Bytes(bytes)] = chunks {
        return Ok(bytes.clone());
    }
    let mut joined = BytesMut::new();
    for chunk in chunks {
        match chunk {
            Slice::Bytes(bytes) => joined.extend_from_slice(bytes),
            Slice::File(range) => {
                let start = joined.len();
                joined.resize(start.saturating_add(usize::try_from(range.len).unwrap_or(0)), 0);
                range.source.read_at(range.position, &mut joined[start..])?;
            }
        }
    }
    Ok(joined.freeze())
}
