//! Drives one [`Node`] on sockets and the machine's clock, on one thread.
//!
//! Owns the node, its connections and its timer. In: socket events, the clock, finished fsyncs and the owner's
//! [`Order`]s. Out: what the effects ask for, and [`Report`]s to the owner.
//!
//! Whatever happens becomes an [`Input`]; the task that saw it feeds it and carries out the effects before it
//! yields. So a request is read, handled and answered without a hop between threads or tasks, and a node is never
//! entered twice. fsync alone runs elsewhere, on tokio's blocking threads.

mod clock;
mod connection;
mod handle;
mod outbox;
mod send_file;
mod sockets;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::io;
use std::rc::Rc;

use bytes::BytesMut;
use tokio::sync::{Notify, mpsc};

pub use self::clock::Clock;
pub use self::handle::{Handle, spawn};

use self::connection::Connection;
use self::outbox::SendScratch;
use crate::disk::{DiskError, FileId};
use crate::node::{
    Address, At, CallId, CloseReason, Command, ConnId, Effect, EffectKind, EventId, ExitReason, Input, Instant,
    ListenerId, Node, Note, Reply, SliceToken,
};

/// Carries out one fsync; runs on a thread of its own.
pub type FlushJob = Box<dyn FnOnce() -> Result<(), DiskError> + Send>;

/// Finds what has to be synced for an [`EffectKind::Flush`]: the file is the node's. Asked on the node's thread.
pub type Flusher<N> = Box<dyn Fn(&N, FileId) -> FlushJob>;

/// Where to connect instead, for addresses between which and the node somebody stands; nowhere else for all others.
pub type Routes = BTreeMap<Address, Address>;

/// What a shell is made of.
pub struct Parts<N> {
    pub node: N,
    pub flusher: Flusher<N>,
    pub clock: Clock,
    pub routes: Routes,
    /// Hears what the node says; called on the node's thread, so it must be quick.
    pub report: Box<dyn FnMut(Report)>,
}

/// What the owner asks of a running shell.
#[derive(Debug)]
pub enum Order {
    Command(CallId, Command),
    /// Drop the node and its sockets at once.
    Stop,
}

/// What the owner of a shell hears while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    Listening { listener: ListenerId, address: Address },
    Reply(CallId, Reply),
    Note { at: At, note: Note },
}

/// Why a shell ended.
#[derive(Debug)]
pub enum End {
    /// The node is done.
    Exited { code: i32, why: ExitReason },
    /// A listener could not be bound.
    ListenFailed { address: Address, error: io::Error },
    /// The owner stopped it, or is gone.
    Stopped,
}

/// One node with its sockets. Tasks share it by `Rc`; all run on one thread.
struct Shell<N> {
    core: RefCell<Core<N>>,
    /// The node wants to be called earlier than the timer is set, has slices to run, or has ended.
    changed: Notify,
}

struct Core<N> {
    node: N,
    flusher: Flusher<N>,
    clock: Clock,
    routes: Routes,
    report: Box<dyn FnMut(Report)>,
    /// What waits to be fed, in order.
    inputs: VecDeque<Input>,
    /// Reused from call to call.
    effects: Vec<Effect>,
    slices: VecDeque<SliceToken>,
    connections: HashMap<ConnId, Connection>,
    next_connection: u64,
    next_event: u64,
    /// When the timer will fire; `None` if it is not set.
    armed: Option<Instant>,
    /// All connections read into it, so that idle ones cost no buffer.
    read_buffer: BytesMut,
    scratch: SendScratch,
    end: Option<End>,
}

/// Runs a shell on the calling thread until it ends.
pub async fn drive<N: Node + 'static>(parts: Parts<N>, orders: mpsc::UnboundedReceiver<Order>) -> End {
    let Parts { node, flusher, clock, routes, report } = parts;
    let shell = Rc::new(Shell {
        core: RefCell::new(Core {
            node,
            flusher,
            clock,
            routes,
            report,
            inputs: VecDeque::new(),
            effects: Vec::new(),
            slices: VecDeque::new(),
            connections: HashMap::new(),
            next_connection: 0,
            next_event: 0,
            armed: None,
            read_buffer: BytesMut::new(),
            scratch: SendScratch::default(),
            end: None,
        }),
        changed: Notify::new(),
    });
    tokio::task::LocalSet::new().run_until(shell.run(orders)).await
}

/// How many orders are taken before sockets get their turn.
const ORDERS_PER_TURN: usize = 64;

impl<N: Node + 'static> Shell<N> {
    async fn run(self: Rc<Self>, mut orders: mpsc::UnboundedReceiver<Order>) -> End {
        self.feed(Input::Started);
        let mut batch = Vec::with_capacity(ORDERS_PER_TURN);
        loop {
            if let Some(end) = self.core.borrow_mut().end.take() {
                return end;
            }
            let (timer, has_slices) = self.arm();
            tokio::select! {
                count = orders.recv_many(&mut batch, ORDERS_PER_TURN) => {
                    if count == 0 {
                        return End::Stopped;
                    }
                    for order in batch.drain(..) {
                        match order {
                            Order::Command(call, command) => self.feed(Input::Command(call, command)),
                            Order::Stop => return End::Stopped,
                        }
                    }
                }
                () = self.changed.notified() => {}
                () = timer => self.tick(),
                // Yielding lets every task with a ready socket feed its input first.
                () = tokio::task::yield_now(), if has_slices => self.slice(),
            }
        }
    }

    /// Sets the timer by the node's wish.
    fn arm(&self) -> (impl Future<Output = ()> + use<N>, bool) {
        let mut core = self.core.borrow_mut();
        core.armed = core.node.next_timeout();
        let deadline = core.armed.map(|instant| core.clock.deadline(instant));
        let timer = async move {
            match deadline {
                Some(deadline) => tokio::time::sleep_until(deadline).await,
                None => std::future::pending().await,
            }
        };
        (timer, !core.slices.is_empty())
    }

    fn tick(self: &Rc<Self>) {
        let due = {
            let core = self.core.borrow();
            core.node.next_timeout().is_some_and(|timeout| timeout <= core.clock.now().mono)
        };
        if due {
            self.feed(Input::Tick);
        }
    }

    fn slice(self: &Rc<Self>) {
        let token = self.core.borrow_mut().slices.pop_front();
        if let Some(token) = token {
            self.feed(Input::Slice(token));
        }
    }

    /// Feeds one input, and what follows from it at once, and carries out the effects.
    fn feed(self: &Rc<Self>, input: Input) {
        let mut core = self.core.borrow_mut();
        core.inputs.push_back(input);
        self.drain(&mut core);
    }

    fn drain(self: &Rc<Self>, core: &mut Core<N>) {
        let mut effects = std::mem::take(&mut core.effects);
        while core.end.is_none()
            && let Some(input) = core.inputs.pop_front()
        {
            let at = core.next_at();
            core.node.handle(at, input, &mut effects);
            for effect in effects.drain(..) {
                self.carry_out(core, at, effect.kind);
            }
        }
        core.effects = effects;
        // A later wish needs no wake-up: a timer that fires too early is only set again.
        let earlier = core.node.next_timeout().is_some_and(|wish| core.armed.is_none_or(|armed| wish < armed));
        if core.end.is_some() || earlier || !core.slices.is_empty() {
            self.changed.notify_one();
        }
    }

    fn carry_out(self: &Rc<Self>, core: &mut Core<N>, at: At, effect: EffectKind) {
        match effect {
            EffectKind::Listen { listener, address } => self.listen(core, listener, address),
            EffectKind::Connect { token, address } => {
                let way = core.routes.get(&address).cloned();
                self.connect(token, way.unwrap_or(address));
            }
            EffectKind::Send { conn, chunks } => self.send(core, conn, chunks),
            EffectKind::PauseReads(conn) => core.pause_reads(conn, true),
            EffectKind::ResumeReads(conn) => core.pause_reads(conn, false),
            EffectKind::Close(conn) => core.close(conn),
            EffectKind::Flush { file, token } => {
                let job = (core.flusher)(&core.node, file);
                let shell = Rc::clone(self);
                tokio::task::spawn_local(async move {
                    let result = tokio::task::spawn_blocking(job).await.unwrap_or_else(|panic| {
                        Err(DiskError::Io { path: "fsync".to_owned(), message: panic.to_string() })
                    });
                    shell.feed(Input::Flushed { token, result });
                });
            }
            EffectKind::Slice(token) => core.slices.push_back(token),
            EffectKind::Reply(call, reply) => (core.report)(Report::Reply(call, reply)),
            EffectKind::Exit { code, why } => core.finish(End::Exited { code, why }),
            EffectKind::Note(note) => (core.report)(Report::Note { at, note }),
        }
    }
}

impl<N> Core<N> {
    fn next_at(&mut self) -> At {
        let event = EventId { branch: 0, ordinal: self.next_event };
        self.next_event += 1;
        At { event, now: self.clock.now() }
    }

    fn new_connection(&mut self) -> ConnId {
        let conn = ConnId(self.next_connection);
        self.next_connection += 1;
        conn
    }

    fn finish(&mut self, end: End) {
        if self.end.is_none() {
            self.end = Some(end);
        }
    }

    fn pause_reads(&mut self, conn: ConnId, paused: bool) {
        if let Some(connection) = self.connections.get_mut(&conn) {
            connection.gate.set_paused_by_node(paused);
        }
    }

    /// The node closes a connection: what is buffered is still sent, and the node hears of it no more.
    fn close(&mut self, conn: ConnId) {
        self.inputs.retain(|input| !concerns(input, conn));
        if let Some(connection) = self.connections.remove(&conn) {
            connection.finish();
        }
    }

    /// The connection ended from outside.
    fn lose(&mut self, conn: ConnId, why: CloseReason) {
        if let Some(connection) = self.connections.remove(&conn) {
            connection.abandon();
            self.inputs.push_back(Input::Closed { conn, why });
        }
    }
}

fn concerns(input: &Input, closed: ConnId) -> bool {
    match input {
        Input::Opened { conn, .. }
        | Input::Bytes { conn, .. }
        | Input::Written { conn, .. }
        | Input::Closed { conn, .. } => *conn == closed,
        _ => false,
    }
}
