//! A small shell for tests: drives one server on a virtual clock over a memory disk, answers its flushes at once, and
//! keeps what it sends to each connection.

#![allow(dead_code)]

pub mod bomb;
pub mod fields;
pub mod recorded;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;
use steplog::broker::{Server, ServerConfig};
use steplog::disk::{MemoryDisk, Slice};
use steplog::node::{
    Address, At, CallId, CloseReason, Command, ConnId, Duration, Effect, EffectKind, EventId, ExitReason, Input,
    Instant, ListenerId, Node, Note, Now, OpenedBy,
};

pub const WALL_MS: i64 = 1_795_988_550_000;

pub struct Shell {
    pub server: Server<MemoryDisk>,
    pub now: Instant,
    next_event: u64,
    next_conn: u64,
    received: BTreeMap<ConnId, Vec<u8>>,
    sent: BTreeMap<ConnId, u64>,
    /// Peers that read nothing: their send buffers are full.
    pub stalled: BTreeSet<ConnId>,
    pub closed: BTreeSet<ConnId>,
    pub paused: BTreeSet<ConnId>,
    pub listening: bool,
    pub notes: Vec<Note>,
    /// Every effect, in order.
    pub effects: Vec<Effect>,
    pub exit: Option<(i32, ExitReason)>,
}

/// What a client sees after it has sent something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// A frame, without its size.
    Reply(Bytes),
    Closed,
    /// Nothing within the time it waited; the connection is open.
    Nothing,
}

pub fn config(more: &[(&str, &str)]) -> ServerConfig {
    let address = Address { host: "127.0.0.1".to_string(), port: 25092 };
    let mut properties = ServerConfig::standalone_properties(1, &address);
    properties.extend(more.iter().map(|(key, value)| (key.to_string(), value.to_string())));
    let mut config = ServerConfig::from_properties(&properties).expect("a valid configuration");
    config.cluster_id = Some("AAAAAAAAAAAAAAAAAAAAAA".to_string());
    config
}

impl Shell {
    /// A server that has come to serve.
    pub fn start(config: ServerConfig) -> Shell {
        let shell = Shell::start_on(config, MemoryDisk::new(), 1);
        assert!(shell.listening, "not serving after the start: {:?}", shell.exit);
        shell
    }

    pub fn start_on(config: ServerConfig, disk: MemoryDisk, seed: u64) -> Shell {
        let mut shell = Shell {
            server: Server::new(config, disk, seed),
            now: Instant(0),
            next_event: 0,
            next_conn: 1,
            received: BTreeMap::new(),
            sent: BTreeMap::new(),
            stalled: BTreeSet::new(),
            closed: BTreeSet::new(),
            paused: BTreeSet::new(),
            listening: false,
            notes: Vec::new(),
            effects: Vec::new(),
            exit: None,
        };
        shell.feed(Input::Started);
        shell
    }

    /// The process dies; the next life is over the same disk.
    pub fn kill(self) -> MemoryDisk {
        let mut disk = self.server.into_disk();
        disk.process_kill();
        disk
    }

    /// Feeds one input and all that follows from it at this instant.
    pub fn feed(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            if self.exit.is_some() {
                return;
            }
            let event = EventId { branch: 0, ordinal: self.next_event };
            self.next_event += 1;
            let now = Now { mono: self.now, wall_ms: WALL_MS + self.now.0 as i64 / 1000 };
            let mut effects = Vec::new();
            self.server.handle(At { event, now }, input, &mut effects);
            for effect in effects {
                assert!(effect.because.earlier.iter().all(|cause| *cause < event), "a cause lies in the past");
                self.carry_out(&effect.kind, &mut inputs);
                self.effects.push(effect);
            }
        }
    }

    fn carry_out(&mut self, kind: &EffectKind, inputs: &mut VecDeque<Input>) {
        match kind {
            EffectKind::Listen { listener, address } => {
                self.listening = true;
                inputs.push_back(Input::Listening { listener: *listener, address: address.clone() });
            }
            EffectKind::Send { conn, chunks } => {
                let received = self.received.entry(*conn).or_default();
                for chunk in chunks {
                    received.extend_from_slice(&chunk.to_bytes().expect("readable"));
                }
                let sent = self.sent.entry(*conn).or_default();
                *sent += chunks.iter().map(Slice::size_in_bytes).sum::<u64>();
                if !self.stalled.contains(conn) {
                    inputs.push_back(Input::Written { conn: *conn, up_to: *sent });
                }
            }
            EffectKind::PauseReads(conn) => assert!(self.paused.insert(*conn), "paused twice"),
            EffectKind::ResumeReads(conn) => assert!(self.paused.remove(conn), "resumed without a pause"),
            EffectKind::Close(conn) => {
                self.closed.insert(*conn);
            }
            EffectKind::Flush { file, token } => {
                let result = steplog::disk::Disk::flush(self.server.disk_mut(), *file);
                inputs.push_back(Input::Flushed { token: *token, result });
            }
            EffectKind::Slice(token) => inputs.push_back(Input::Slice(*token)),
            EffectKind::Exit { code, why } => self.exit = Some((*code, why.clone())),
            EffectKind::Note(note) => self.notes.push(note.clone()),
            EffectKind::Connect { .. } | EffectKind::Reply(..) => panic!("a server does not do that: {kind:?}"),
        }
    }

    pub fn connect(&mut self) -> ConnId {
        let conn = ConnId(self.next_conn);
        self.next_conn += 1;
        let peer = Address { host: "127.0.0.1".to_string(), port: 40000 };
        self.feed(Input::Opened { conn, by: OpenedBy::Listener(ListenerId(0)), peer });
        conn
    }

    pub fn send(&mut self, conn: ConnId, bytes: impl Into<Bytes>) {
        self.feed(Input::Bytes { conn, bytes: bytes.into() });
    }

    pub fn close(&mut self, conn: ConnId) {
        self.feed(Input::Closed { conn, why: CloseReason::Finished });
    }

    pub fn shut_down(&mut self) {
        self.feed(Input::Command(CallId(1), Command::Shutdown));
    }

    /// The next whole frame that the server sent to the connection.
    pub fn next_frame(&mut self, conn: ConnId) -> Option<Bytes> {
        let received = self.received.get_mut(&conn)?;
        let size = u32::from_be_bytes(received.get(..4)?.try_into().expect("4 bytes")) as usize;
        if received.len() < 4 + size {
            return None;
        }
        let frame = received.drain(..4 + size).skip(4).collect::<Vec<u8>>();
        Some(frame.into())
    }

    /// Sends a request and waits for up to `wait` of virtual time.
    pub fn exchange(&mut self, conn: ConnId, request: impl Into<Bytes>, wait: Duration) -> Seen {
        let until = self.now + wait;
        self.send(conn, request);
        loop {
            if let Some(frame) = self.next_frame(conn) {
                return Seen::Reply(frame);
            }
            if self.closed.contains(&conn) {
                return Seen::Closed;
            }
            if !self.step(until) {
                return Seen::Nothing;
            }
        }
    }

    /// Goes to the next timer, at most to `until`; false if there is none before it.
    pub fn step(&mut self, until: Instant) -> bool {
        match self.server.next_timeout() {
            Some(due) if due <= until && self.exit.is_none() => {
                self.now = self.now.max(due);
                self.feed(Input::Tick);
                true
            }
            _ => {
                self.now = self.now.max(until);
                false
            }
        }
    }

    pub fn wait(&mut self, span: Duration) {
        let until = self.now + span;
        while self.step(until) {}
    }
}
