//! One process of the simulated cluster, and the lives it has had.

use super::queue::Item;
use super::trace::Cause;
use crate::node::{Duration, EventId, Instant, ListenerId, Rng};
use crate::ordered::BTreeMap;

/// Which process; numbered from 0 in the order in which they were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct ProcessId(pub u32);

/// How a process is set up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSpec {
    /// Unique; randomness is forked by it.
    pub name: String,
    /// The host name under which others connect to it. Several processes may share one.
    pub host: String,
    /// Added to the world's wall clock.
    pub wall_offset_ms: i64,
    /// How long an fsync takes.
    pub flush_delay: Duration,
}

impl ProcessSpec {
    /// A process whose host is called like itself, with a right clock and an fsync of 1 ms.
    pub fn named(name: &str) -> ProcessSpec {
        ProcessSpec {
            name: name.to_owned(),
            host: name.to_owned(),
            wall_offset_ms: 0,
            flush_delay: Duration::from_ms(1),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// Never started, killed, or ended by itself.
    Down,
    /// Spawned; its node does not exist yet and nobody listens.
    Booting,
    Running,
    /// Stopped by SIGSTOP. Its kernel still accepts connections and bytes.
    Stopped,
}

/// What was measured of one life of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Life {
    pub spawned_at: Instant,
    /// When its node came to be, after the boot time.
    pub started_at: Option<Instant>,
    /// When it said that it serves ([`crate::node::Note::Serving`]).
    pub serving_at: Option<Instant>,
    pub dead_at: Option<Instant>,
    /// Its exit code, if it ended by itself.
    pub exit_code: Option<i32>,
}

#[derive(Debug, Clone)]
pub(super) struct Process<M> {
    pub spec: ProcessSpec,
    pub machine: M,
    pub state: ProcessState,
    pub lives: Vec<Life>,
    /// Port → listener, while it listens.
    pub listeners: BTreeMap<u16, ListenerId>,
    pub timer: Timer,
    /// What came due while the process was stopped, in order.
    pub stalled: Vec<(Item, Option<Cause>)>,
}

/// At most one tick per process waits in the queue. A timeout that moves later leaves it there: when it comes up too
/// early it is put back, and nobody is told.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Timer {
    /// What the node asked for last, and the event after which it first asked for that.
    pub wanted: Option<(Instant, EventId)>,
    /// The earliest tick in the queue.
    pub queued: Option<Instant>,
}

impl<M> Process<M> {
    pub fn new(spec: ProcessSpec, machine: M) -> Process<M> {
        Process {
            spec,
            machine,
            state: ProcessState::Down,
            lives: Vec::new(),
            listeners: BTreeMap::new(),
            timer: Timer::default(),
            stalled: Vec::new(),
        }
    }

    /// The number of the current or latest life, from 1; 0 if it was never started.
    pub fn life_number(&self) -> u32 {
        self.lives.len() as u32
    }

    /// Nothing runs any more: what was meant for this life is void.
    pub fn go_down(&mut self, now: Instant) {
        self.state = ProcessState::Down;
        self.listeners.clear();
        self.stalled.clear();
        self.timer = Timer::default();
        if let Some(life) = self.lives.last_mut() {
            life.dead_at = Some(now);
        }
    }

    pub fn lives_now(&self) -> bool {
        matches!(self.state, ProcessState::Running | ProcessState::Stopped)
    }
}

/// The generator of one direction between two processes, by their names.
pub(super) fn link_rng<M>(rng: &Rng, processes: &[Process<M>], (from, to): (ProcessId, ProcessId)) -> Rng {
    let name = |id: ProcessId| processes.get(id.0 as usize).map_or("", |process| process.spec.name.as_str());
    rng.fork("link").fork(name(from)).fork(name(to))
}
