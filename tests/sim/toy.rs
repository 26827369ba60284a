//! A server and a client so small that every instant of theirs can be foretold.

use std::collections::VecDeque;

use bytes::{BufMut, Bytes, BytesMut};
use steplog::disk::{DiskError, FileId, Slice};
use steplog::node::*;
use steplog::sim::*;

pub const PORT: u16 = 9000;
pub const DELAY_US: u64 = 1000;

#[derive(Debug, Clone)]
pub enum Toy {
    Server(Server),
    Client(Client),
}

/// Keeps what it hears and echoes it.
#[derive(Debug, Clone, Default)]
pub struct Server {
    /// Survives every life, as a disk does.
    pub disk: Vec<Bytes>,
    /// Pause reads as soon as a peer connects.
    pub deaf: bool,
    pub silent: bool,
    /// Add a random number to every note.
    pub noisy: bool,
    /// Ask for a tick every so often, and count them.
    pub every: Option<Duration>,
    pub ticks: Vec<Instant>,
    pub conns: Vec<ConnId>,
    pub next_tick: Option<Instant>,
    pub rng: Option<Rng>,
}

/// Connects when it is told to send, and acks what the send buffer took, as acks=0 does.
#[derive(Debug, Clone, Default)]
pub struct Client {
    pub conn: Option<ConnId>,
    pub heard: Vec<Bytes>,
    pub ends: Vec<(CloseReason, Instant)>,
    connecting: bool,
    attempts: u64,
    correlation: i32,
    sent: u64,
    waiting: VecDeque<(CallId, Bytes)>,
    unacked: VecDeque<(CallId, u64)>,
}

impl Toy {
    pub fn client() -> Toy {
        Toy::Client(Client::default())
    }
}

/// A request as Kafka frames it: Produce version 9, then the payload.
pub fn request(correlation_id: i32, payload: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_i32(8 + payload.len() as i32);
    frame.put_i16(0);
    frame.put_i16(9);
    frame.put_i32(correlation_id);
    frame.put_slice(payload);
    frame.freeze()
}

fn response(request: &[u8]) -> Bytes {
    let mut frame = BytesMut::new();
    frame.put_i32(request.len() as i32 - 8);
    frame.put_slice(&request[8..]);
    frame.freeze()
}

fn address() -> Address {
    Address { host: "server".to_owned(), port: PORT }
}

impl Node for Toy {
    fn handle(&mut self, at: At, input: Input, out: &mut Vec<Effect>) {
        let mut emit = |kind| out.push(Effect { because: at.event.into(), kind });
        match self {
            Toy::Server(server) => server.handle(at, input, &mut emit),
            Toy::Client(client) => client.handle(at, input, &mut emit),
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        match self {
            Toy::Server(server) => server.next_tick,
            Toy::Client(_) => None,
        }
    }
}

impl Machine for Toy {
    fn boot(&mut self, seed: u64) {
        match self {
            Toy::Server(old) => {
                *old = Server { rng: Some(Rng::new(seed)), conns: Vec::new(), next_tick: None, ..old.clone() };
            }
            Toy::Client(client) => *client = Client::default(),
        }
    }

    fn flush(&mut self, _: FileId) -> Result<(), DiskError> {
        Ok(())
    }
}

impl Server {
    fn handle(&mut self, at: At, input: Input, emit: &mut dyn FnMut(EffectKind)) {
        match input {
            Input::Started => {
                self.next_tick = self.every.map(|every| at.now.mono + every);
                emit(EffectKind::Listen { listener: ListenerId(0), address: address() });
            }
            Input::Listening { .. } => emit(EffectKind::Note(Note::Serving { broker_epoch: 1 })),
            Input::Opened { conn, .. } => {
                self.conns.push(conn);
                if self.deaf {
                    emit(EffectKind::PauseReads(conn));
                }
            }
            Input::Bytes { conn, bytes } => {
                let offset = self.disk.len() as i64;
                self.disk.push(bytes.clone());
                let broker_epoch = match &mut self.rng {
                    Some(rng) if self.noisy => rng.next_u64() as i64,
                    _ => offset,
                };
                emit(EffectKind::Note(Note::Serving { broker_epoch }));
                if !self.silent {
                    emit(EffectKind::Send { conn, chunks: vec![Slice::Bytes(response(&bytes))] });
                }
            }
            Input::Tick => {
                self.ticks.push(at.now.mono);
                self.next_tick = self.every.map(|every| at.now.mono + every);
            }
            Input::Command(_, Command::Shutdown) => {
                emit(EffectKind::Exit { code: 0, why: ExitReason::Shutdown });
            }
            Input::Command(call, Command::Flush) => {
                for conn in &self.conns {
                    emit(EffectKind::ResumeReads(*conn));
                }
                emit(EffectKind::Reply(call, Reply::Done));
            }
            _ => {}
        }
    }
}

impl Client {
    fn handle(&mut self, at: At, input: Input, emit: &mut dyn FnMut(EffectKind)) {
        match input {
            Input::Command(call, Command::Send(record)) => {
                self.waiting.push_back((call, record.value.unwrap_or_default()));
                if self.conn.is_none() && !self.connecting {
                    self.connecting = true;
                    self.attempts += 1;
                    emit(EffectKind::Connect { token: ConnectToken(self.attempts), address: address() });
                }
                self.send(emit);
            }
            Input::Command(call, Command::Close { .. }) => {
                if let Some(conn) = self.conn.take() {
                    emit(EffectKind::Close(conn));
                }
                emit(EffectKind::Reply(call, Reply::Done));
            }
            Input::Opened { conn, .. } => {
                self.connecting = false;
                self.conn = Some(conn);
                self.sent = 0;
                self.send(emit);
            }
            Input::Written { up_to, .. } => {
                while let Some((call, end)) = self.unacked.front().copied()
                    && end <= up_to
                {
                    self.unacked.pop_front();
                    emit(EffectKind::Reply(call, Reply::Done));
                }
            }
            Input::Bytes { bytes, .. } => self.heard.push(bytes),
            Input::Closed { why, .. } | Input::ConnectFailed { why, .. } => {
                self.connecting = false;
                self.conn = None;
                self.ends.push((why, at.now.mono));
                let failed: Vec<CallId> = self
                    .unacked
                    .drain(..)
                    .chain(self.waiting.drain(..).map(|(call, _)| (call, 0)))
                    .map(|it| it.0)
                    .collect();
                for call in failed {
                    let exception = Exception::new("Gone", format!("{why:?}"));
                    emit(EffectKind::Reply(call, Reply::Failed(exception)));
                }
            }
            _ => {}
        }
    }

    fn send(&mut self, emit: &mut dyn FnMut(EffectKind)) {
        let Some(conn) = self.conn else { return };
        while let Some((call, payload)) = self.waiting.pop_front() {
            let frame = request(self.correlation, &payload);
            self.correlation += 1;
            self.sent += frame.len() as u64;
            self.unacked.push_back((call, self.sent));
            emit(EffectKind::Send { conn, chunks: vec![Slice::Bytes(frame)] });
        }
    }
}

/// One server and one client on a link of 1 ms each way, without jitter or bandwidth limit.
#[derive(Debug, Clone)]
pub struct Lab {
    pub world: World<Toy>,
    pub server: ProcessId,
    pub client: ProcessId,
    pub replies: Vec<(Instant, CallId, Reply)>,
    calls: u64,
}

pub fn still_link() -> LinkSpec {
    LinkSpec { delay: Duration(DELAY_US), jitter: Duration::ZERO, bytes_per_second: 0, ..LinkSpec::default() }
}

impl Lab {
    pub fn new(server: Server, link: LinkSpec) -> Lab {
        Lab::seeded(1, server, link)
    }

    pub fn seeded(seed: u64, server: Server, link: LinkSpec) -> Lab {
        let mut world = World::new(WorldSetup { link, ..WorldSetup::seeded(seed) });
        let server = world.add(ProcessSpec::named("server"), Toy::Server(server));
        let client = world.add(ProcessSpec::named("client"), Toy::client());
        for process in [server, client] {
            world.fault(Instant::ZERO, Fault::Start { process, boot: Duration::ZERO }, None);
        }
        Lab { world, server, client, replies: Vec::new(), calls: 0 }
    }

    pub fn send_at(&mut self, at_us: u64, payload: &[u8]) -> CallId {
        let record = ProducerRecord { value: Some(Bytes::copy_from_slice(payload)), ..ProducerRecord::default() };
        self.command_at(at_us, self.client, Command::Send(record))
    }

    pub fn command_at(&mut self, at_us: u64, process: ProcessId, command: Command) -> CallId {
        self.calls += 1;
        let call = CallId(self.calls);
        self.world.command(Instant(at_us), process, call, command, None);
        call
    }

    pub fn fault_at(&mut self, at_us: u64, fault: Fault) {
        self.world.fault(Instant(at_us), fault, None);
    }

    pub fn run_until(&mut self, at_us: u64) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(stepped) = self.world.step_until(Instant(at_us), &mut events) {
            self.replies.extend(stepped.replies.into_iter().map(|(_, call, reply)| (stepped.at, call, reply)));
        }
        events
    }

    pub fn server(&self) -> &Server {
        match self.world.machine(self.server) {
            Some(Toy::Server(server)) => server,
            _ => panic!("no server"),
        }
    }

    pub fn client(&self) -> &Client {
        match self.world.machine(self.client) {
            Some(Toy::Client(client)) => client,
            _ => panic!("no client"),
        }
    }

    /// The payloads that the server has handled, in order.
    pub fn landed(&self) -> Vec<String> {
        self.server().disk.iter().map(|frame| String::from_utf8_lossy(&frame[12..]).into_owned()).collect()
    }

    /// When the call was answered in order.
    pub fn done_at(&self, call: CallId) -> Option<u64> {
        self.replies.iter().find(|(_, of, reply)| *of == call && *reply == Reply::Done).map(|(at, ..)| at.0)
    }
}

/// The instants of the inputs that satisfy a predicate.
pub fn inputs_at(events: &[Event], of: ProcessId, wanted: impl Fn(&Input) -> bool) -> Vec<u64> {
    let wanted =
        |event: &&Event| matches!(&event.what, What::Handled { process, input, .. } if *process == of && wanted(input));
    events.iter().filter(wanted).map(|event| event.at.0).collect()
}

pub fn lost(events: &[Event]) -> Vec<(LostIn, LostWhy)> {
    let of = |event: &Event| match event.what {
        What::Lost { place, why, .. } => Some((place, why)),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}
