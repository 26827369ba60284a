//! One client, one scripted broker, virtual time. A link takes 1 ms each way.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use steplog::client::{Client, ConsumerConfig, ProducerConfig, ProducerPlugins};
use steplog::disk::Slice;
use steplog::node::{
    At, CallId, CloseReason, Command, ConnId, Effect, EffectKind, EventId, Input, Instant, Node, Note, Now, OpenedBy,
    ProducerRecord, Reply,
};
use steplog::wire::frame::FrameSplitter;

use crate::broker::Broker;

pub const WALL_MS: i64 = 1_700_000_000_000;

pub struct World {
    client: Client,
    pub broker: Broker,
    pub now_ms: i64,
    pub up: bool,
    /// The kernel takes bytes, nobody reads them.
    pub frozen: bool,
    queue: BTreeMap<(i64, u64), Event>,
    next: u64,
    next_call: u64,
    open: BTreeSet<ConnId>,
    received: BTreeMap<ConnId, FrameSplitter>,
    written: BTreeMap<ConnId, u64>,
    pub replies: Vec<(i64, CallId, Reply)>,
    pub notes: Vec<(i64, Note)>,
    pub effects: Vec<Effect>,
}

enum Event {
    ToClient(Input),
    ToBroker(ConnId, Bytes),
}

fn config(keys: &[(&str, &str)]) -> BTreeMap<String, String> {
    let mut all = BTreeMap::from([("bootstrap.servers".to_owned(), "broker:9092".to_owned())]);
    all.extend(keys.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    all
}

impl World {
    pub fn producer(keys: &[(&str, &str)]) -> World {
        let config = ProducerConfig::parse(&config(keys)).expect("a valid configuration");
        World::new(Client::producer("p", config, 42))
    }

    pub fn producer_with(keys: &[(&str, &str)], plugins: ProducerPlugins) -> World {
        let config = ProducerConfig::parse(&config(keys)).expect("a valid configuration");
        World::new(Client::producer_with("p", config, plugins, 42))
    }

    pub fn consumer(keys: &[(&str, &str)]) -> World {
        let config = ConsumerConfig::parse(&config(keys)).expect("a valid configuration");
        World::new(Client::consumer("c", config, 42))
    }

    fn new(client: Client) -> World {
        let mut world = World {
            client,
            broker: Broker::new(),
            now_ms: 0,
            up: true,
            frozen: false,
            queue: BTreeMap::new(),
            next: 0,
            next_call: 0,
            open: BTreeSet::new(),
            received: BTreeMap::new(),
            written: BTreeMap::new(),
            replies: Vec::new(),
            notes: Vec::new(),
            effects: Vec::new(),
        };
        world.feed(Input::Started);
        world
    }

    /// A producer that knows its topic and has a connection to the topic's leader.
    pub fn warm_producer(keys: &[(&str, &str)]) -> World {
        let mut world = World::producer(keys);
        let call = world.call(Command::PartitionsFor { topic: "t".to_owned() });
        world.run(200);
        assert_eq!(world.reply(call), Some(&Reply::Partitions(1)));
        // The connection to the node itself is made for the first record.
        world.send("warm");
        world.run(1000);
        world.forget();
        world
    }

    /// Replies, notes, requests and offsets count from here.
    fn forget(&mut self) {
        self.replies.clear();
        self.notes.clear();
        self.effects.clear();
        self.broker.sent.clear();
        self.broker.requests.clear();
        self.broker.log.clear();
        self.broker.end.clear();
    }

    pub fn call(&mut self, command: Command) -> CallId {
        let call = CallId(self.next_call);
        self.next_call += 1;
        self.feed(Input::Command(call, command));
        call
    }

    pub fn send(&mut self, value: &str) -> CallId {
        self.send_record(ProducerRecord {
            topic: "t".to_owned(),
            value: Some(Bytes::copy_from_slice(value.as_bytes())),
            ..Default::default()
        })
    }

    pub fn send_record(&mut self, record: ProducerRecord) -> CallId {
        self.call(Command::Send(record))
    }

    pub fn reply(&self, call: CallId) -> Option<&Reply> {
        let tells = |reply: &Reply| !matches!(reply, Reply::Returned | Reply::Printed(_));
        self.replies.iter().rev().find(|(_, c, reply)| *c == call && tells(reply)).map(|(_, _, r)| r)
    }

    pub fn replied_at(&self, call: CallId, reply: &Reply) -> Option<i64> {
        self.replies.iter().find(|(_, c, r)| *c == call && r == reply).map(|(at, _, _)| *at)
    }

    pub fn failed(&self, call: CallId) -> Option<(i64, &'static str, &str)> {
        self.replies.iter().find_map(|(at, c, reply)| match reply {
            Reply::Failed(e) | Reply::Threw(e) if *c == call => Some((*at, e.class, e.message.as_str())),
            _ => None,
        })
    }

    pub fn offset(&self, call: CallId) -> Option<i64> {
        match self.reply(call)? {
            Reply::Acked(metadata) => Some(metadata.offset),
            _ => None,
        }
    }

    /// The broker's process is gone; its connections are reset.
    pub fn kill(&mut self) {
        self.up = false;
        self.cut(CloseReason::Reset);
    }

    pub fn cut(&mut self, why: CloseReason) {
        for conn in std::mem::take(&mut self.open) {
            self.push(1, Event::ToClient(Input::Closed { conn, why }));
        }
    }

    fn push(&mut self, after_ms: i64, event: Event) {
        self.queue.insert((self.now_ms + after_ms, self.next), event);
        self.next += 1;
    }

    pub fn run(&mut self, ms: i64) {
        let until = self.now_ms + ms;
        let mut steps = 0;
        loop {
            steps += 1;
            assert!(steps < 1_000_000, "the client never rests");
            let timer = self.client.next_timeout().map(|at| i64::try_from(at.0 / 1000).expect("small"));
            let timer = timer.map(|at| at.max(self.now_ms));
            let queued = self.queue.keys().next().map(|(at, _)| *at);
            match (queued, timer) {
                (Some(at), timer) if at <= until && timer.is_none_or(|timer| at <= timer) => {
                    self.now_ms = at;
                    let Some((_, event)) = self.queue.pop_first() else { unreachable!() };
                    self.event(event);
                }
                (_, Some(at)) if at <= until => {
                    self.now_ms = at;
                    self.feed(Input::Tick);
                }
                _ => break,
            }
        }
        self.now_ms = until;
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::ToClient(Input::Opened { conn, by, peer }) => {
                self.open.insert(conn);
                self.feed(Input::Opened { conn, by, peer });
            }
            Event::ToClient(Input::Bytes { conn, .. }) if !self.open.contains(&conn) => {}
            Event::ToClient(input) => self.feed(input),
            Event::ToBroker(conn, bytes) if self.up && !self.frozen && self.open.contains(&conn) => {
                let splitter = self.received.entry(conn).or_insert_with(|| FrameSplitter::new(i32::MAX));
                splitter.push(bytes);
                let mut frames = Vec::new();
                while let Ok(Some(frame)) = splitter.next_frame() {
                    frames.push(frame);
                }
                for frame in frames {
                    if let Some(answer) = self.broker.request(self.now_ms, frame) {
                        self.push(1, Event::ToClient(Input::Bytes { conn, bytes: concat(&answer) }));
                    }
                }
            }
            Event::ToBroker(..) => {}
        }
    }

    fn feed(&mut self, input: Input) {
        let mono = Instant(u64::try_from(self.now_ms).expect("not negative") * 1000);
        let now = Now { mono, wall_ms: WALL_MS + self.now_ms };
        let at = At { event: EventId { branch: 0, ordinal: self.next }, now };
        self.next += 1;
        let mut out = Vec::new();
        self.client.handle(at, input, &mut out);
        self.effects.extend(out.iter().cloned());
        for effect in out {
            match effect.kind {
                EffectKind::Connect { token, address } if self.up => {
                    let conn = ConnId(token.0);
                    let by = OpenedBy::Connect(token);
                    self.push(1, Event::ToClient(Input::Opened { conn, by, peer: address }));
                }
                EffectKind::Connect { token, .. } => {
                    let why = CloseReason::Refused;
                    self.push(1, Event::ToClient(Input::ConnectFailed { token, why }));
                }
                EffectKind::Send { conn, chunks } => {
                    let bytes = concat(&chunks);
                    let written = self.written.entry(conn).or_insert(0);
                    *written += bytes.len() as u64;
                    let up_to = *written;
                    self.push(0, Event::ToClient(Input::Written { conn, up_to }));
                    self.push(1, Event::ToBroker(conn, bytes));
                }
                EffectKind::Close(conn) => {
                    self.open.remove(&conn);
                }
                EffectKind::Reply(call, reply) => self.replies.push((self.now_ms, call, reply)),
                EffectKind::Note(note) => self.notes.push((self.now_ms, note)),
                other => panic!("a client does not {other:?}"),
            }
        }
    }
}

fn concat(chunks: &[Slice]) -> Bytes {
    let mut all = Vec::new();
    for chunk in chunks {
        match chunk {
            Slice::Bytes(bytes) => all.extend_from_slice(bytes),
            Slice::File(_) => panic!("clients send no files"),
        }
    }
    all.into()
}
