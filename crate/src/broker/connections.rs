//! Connections: frames out of bytes, one request at a time, answers in order (`kafka.network.SocketServer`).
//!
//! A connection is muted until its request is answered and the send buffer has taken the whole answer: what the client
//! has already sent waits here, and reading pauses. So a client that never reads costs one answer. Closed without a word are connections whose frames have an impossible size, an unknown or unserved API key or
//! version, or bytes that are not the message they should be.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::disk::Slice;
use crate::node::{ConnId, Duration, EffectKind, EventId, Instant, ListenerId, Note, SliceToken};
use crate::ordered::BTreeMap;
use crate::wire::frame::FrameSplitter;
use crate::wire::schema::Message;
use crate::wire::{ApiKey, RequestHeader, decode_request_header, encode_response};

use super::Broker;
use super::context::Context;

/// Requests of one connection that are served before others get their turn: a client can send thousands in one piece.
const REQUESTS_PER_TURN: u32 = 64;
/// Asks for the turn of those who have had theirs and have more.
pub(super) const NEXT_TURN: SliceToken = SliceToken(1);

/// A request under way: where its answer goes, and what caused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestId {
    pub conn: ConnId,
    /// Which of our listeners it came in on: addresses in answers are those of that listener.
    pub listener: ListenerId,
    pub api_version: i16,
    pub correlation_id: i32,
    pub cause: EventId,
}

#[derive(Debug, Clone)]
struct Connection {
    listener: ListenerId,
    frames: FrameSplitter,
    /// The event that brought the newest bytes.
    last_bytes: EventId,
    last_active: Instant,
    in_flight: bool,
    paused: bool,
    /// Bytes of all answers so far, and how many of them the send buffer has taken.
    sent: u64,
    written: u64,
    /// Requests served in this turn.
    served: u32,
}

impl Connection {
    fn is_muted(&self) -> bool {
        self.in_flight || self.written < self.sent || self.served >= REQUESTS_PER_TURN
    }
}

#[derive(Debug, Clone)]
pub(super) struct Connections {
    open: BTreeMap<ConnId, Connection>,
    /// Answered, and perhaps with the next request already here.
    ready: VecDeque<ConnId>,
    /// Those that have had their turn and have more.
    next_turn: Vec<ConnId>,
    frame_bytes_max: i32,
    idle_max: Duration,
    /// When the next connection could be idle for too long; earlier than true at worst.
    idle_check: Option<Instant>,
}

impl Connections {
    pub fn new(frame_bytes_max: i32, idle_max: Duration) -> Connections {
        Connections {
            open: BTreeMap::new(),
            ready: VecDeque::new(),
            next_turn: Vec::new(),
            frame_bytes_max,
            idle_max,
            idle_check: None,
        }
    }

    pub fn open(&mut self, conn: ConnId, listener: ListenerId, event: EventId, now: Instant) {
        let frames = FrameSplitter::new(self.frame_bytes_max);
        let connection = Connection {
            listener,
            frames,
            last_bytes: event,
            last_active: now,
            in_flight: false,
            paused: false,
            sent: 0,
            written: 0,
            served: 0,
        };
        self.open.insert(conn, connection);
        self.idle_check.get_or_insert(now + self.idle_max);
    }

    /// Takes received bytes; false if the connection is gone.
    pub fn push(&mut self, conn: ConnId, bytes: Bytes, event: EventId, now: Instant) -> bool {
        let Some(connection) = self.open.get_mut(&conn) else { return false };
        if connection.frames.buffered() == 0 {
            connection.served = 0;
        }
        connection.frames.push(bytes);
        connection.last_bytes = event;
        connection.last_active = now;
        self.ready.push_back(conn);
        true
    }

    /// The send buffer has taken the answers up to there.
    pub fn written(&mut self, conn: ConnId, up_to: u64, now: Instant) {
        let Some(connection) = self.open.get_mut(&conn) else { return };
        connection.written = up_to;
        connection.last_active = now;
        if connection.frames.buffered() > 0 || connection.paused {
            self.ready.push_back(conn);
        }
    }

    pub fn begin_turn(&mut self) {
        for conn in std::mem::take(&mut self.next_turn) {
            if let Some(connection) = self.open.get_mut(&conn) {
                connection.served = 0;
                self.ready.push_back(conn);
            }
        }
    }

    pub fn remove(&mut self, conn: ConnId) -> bool {
        self.open.remove(&conn).is_some()
    }

    pub fn next_ready(&mut self) -> Option<ConnId> {
        self.ready.pop_front()
    }

    pub fn next_timeout(&self) -> Option<Instant> {
        self.idle_check
    }

    pub fn ids(&self) -> Vec<ConnId> {
        self.open.keys().copied().collect()
    }

    /// The connections that have been idle for too long (`connections.max.idle.ms`).
    pub fn take_idle(&mut self, now: Instant) -> Vec<ConnId> {
        if self.idle_check.is_none_or(|due| due > now) {
            return Vec::new();
        }
        let idle_max = self.idle_max;
        let is_idle = |connection: &Connection| !connection.in_flight && now.since(connection.last_active) >= idle_max;
        let idle = self.open.iter().filter(|(_, connection)| is_idle(connection)).map(|(conn, _)| *conn).collect();
        let busy = self.open.values().filter(|connection| !is_idle(connection));
        // One that is waiting for its answer is looked at again later.
        self.idle_check =
            busy.map(|connection| (connection.last_active + idle_max).max(now + Duration::from_ms(1000))).min();
        idle
    }
}

impl Broker {
    /// Serves what a connection has sent, one request after the other, until one has to wait.
    pub(super) fn serve(&mut self, cx: &mut Context<'_>, conn: ConnId) {
        loop {
            let Some(connection) = self.connections.open.get_mut(&conn) else { return };
            if connection.is_muted() {
                if !connection.paused && (connection.in_flight || connection.frames.buffered() > 0) {
                    connection.paused = true;
                    cx.out.emit(EffectKind::PauseReads(conn));
                }
                return;
            }
            let (cause, listener) = (connection.last_bytes, connection.listener);
            match connection.frames.next_frame() {
                Ok(Some(frame)) => {
                    connection.in_flight = true;
                    connection.served += 1;
                    if connection.served == REQUESTS_PER_TURN {
                        if self.connections.next_turn.is_empty() {
                            cx.out.emit(EffectKind::Slice(NEXT_TURN));
                        }
                        self.connections.next_turn.push(conn);
                    }
                    if !self.take_request(&mut cx.because([cause]), conn, listener, &frame, cause) {
                        self.refuse(cx, conn);
                    }
                }
                Ok(None) => {
                    if connection.paused {
                        connection.paused = false;
                        cx.out.emit(EffectKind::ResumeReads(conn));
                    }
                    return;
                }
                Err(_) => self.refuse(cx, conn),
            }
        }
    }

    /// Reads the header and hands the request to its chapter; false if the connection must be closed.
    fn take_request(
        &mut self,
        cx: &mut Context<'_>,
        conn: ConnId,
        listener: ListenerId,
        frame: &Bytes,
        cause: EventId,
    ) -> bool {
        let Ok((header, body_at)) = decode_request_header(frame) else { return false };
        let RequestHeader { request_api_key, request_api_version, correlation_id, client_id, .. } = header;
        cx.out.note(Note::RequestReceived {
            conn,
            api_key: request_api_key,
            api_version: request_api_version,
            correlation_id,
        });
        let request = RequestId { conn, listener, api_version: request_api_version, correlation_id, cause };
        let client_id = client_id.unwrap_or_default();
        self.dispatch(cx, request, ApiKey(request_api_key), &client_id, frame, body_at)
    }

    /// Sends an answer; the connection may go on with its next request.
    pub(super) fn respond<M: Message>(&mut self, cx: &mut Context<'_>, request: RequestId, body: &M) {
        self.respond_in_version(cx, request, request.api_version, body);
    }

    /// The same in another version than the request's: ApiVersions of an unknown version is answered so.
    pub(super) fn respond_in_version<M: Message>(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        version: i16,
        body: &M,
    ) {
        match encode_response(version, request.correlation_id, body) {
            Ok(chunks) => {
                if let Some(connection) = self.connections.open.get_mut(&request.conn) {
                    connection.sent += chunks.iter().map(Slice::size_in_bytes).sum::<u64>();
                    cx.because([request.cause]).out.emit(EffectKind::Send { conn: request.conn, chunks });
                }
                self.answered(request.conn, cx.now());
            }
            // An answer that its version cannot carry (an ErrorCode beside a null name, say) has no better form.
            Err(_) => self.refuse(cx, request.conn),
        }
    }

    /// The request needs no answer.
    pub(super) fn answered(&mut self, conn: ConnId, now: Instant) {
        if let Some(connection) = self.connections.open.get_mut(&conn) {
            connection.in_flight = false;
            connection.last_active = now;
            self.connections.ready.push_back(conn);
        }
    }

    /// Closes a connection because of what came on it.
    pub(super) fn refuse(&mut self, cx: &mut Context<'_>, conn: ConnId) {
        if self.connections.remove(conn) {
            self.forget_waiting(conn);
            cx.out.emit(EffectKind::Close(conn));
            cx.out.note(Note::ConnectionRefused { conn });
        }
    }

    pub(super) fn close_idle(&mut self, cx: &mut Context<'_>) {
        for conn in self.connections.take_idle(cx.now()) {
            if self.connections.remove(conn) {
                cx.out.emit(EffectKind::Close(conn));
            }
        }
    }
}
