//! The world: processes, links, clock, queue, and the step.

use super::hash::TraceHash;
use super::link::{Connection, LinkSpec};
use super::process::{Life, Process, ProcessId, ProcessSpec, ProcessState};
use super::queue::{Entry, Given, Item, Queue};
use super::trace::{Cause, Event, Trace, What};
use super::trap::Traps;
use super::{Fault, Machine};
use crate::node::{At, CallId, Causes, Command, Effect, EventId, Input, Instant, Now, Reply, Rng};
use crate::ordered::BTreeMap;

/// 2026-01-01T00:00:00Z: where wall clocks stand when a world begins, unless its setup says otherwise.
pub const EPOCH_MS: i64 = 1_767_225_600_000;

/// What a world begins with; together with the processes and every intervention it decides the whole trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorldSetup {
    pub seed: u64,
    /// Milliseconds since the Unix epoch at [`Instant::ZERO`].
    pub epoch_ms: i64,
    /// What connects two processes that no [`World::set_link`] names.
    pub link: LinkSpec,
}

impl WorldSetup {
    pub fn seeded(seed: u64) -> WorldSetup {
        WorldSetup { seed, epoch_ms: EPOCH_MS, link: LinkSpec::default() }
    }
}

/// What one step tells the runner. Everything else is in the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stepped {
    pub event: EventId,
    pub at: Instant,
    /// The answers to commands that this event brought.
    pub replies: Vec<(ProcessId, CallId, Reply)>,
    pub change: Option<Change>,
}

/// What a runner may wait for besides replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// A fault took place; [`World::lives`] and [`World::state`] tell what is true now.
    Fault(Fault),
    Booted(ProcessId),
    /// The process said that it serves.
    Serving(ProcessId),
    /// The process ended by itself.
    Exited {
        process: ProcessId,
        code: i32,
    },
    /// The command will never be answered: its process does not run.
    CommandLost {
        process: ProcessId,
        call: CallId,
    },
    /// See [`World::wake`].
    Woke(u64),
    /// See [`World::program_line`].
    Line {
        program: u32,
        line: u32,
    },
}

#[derive(Debug, Clone)]
pub struct World<M> {
    pub(super) setup: WorldSetup,
    pub(super) rng: Rng,
    pub(super) now: Instant,
    branch: u32,
    next_ordinal: u64,
    hash: TraceHash,
    pub(super) queue: Queue,
    pub(super) processes: Vec<Process<M>>,
    links: BTreeMap<(ProcessId, ProcessId), LinkSpec>,
    /// One generator per direction between two processes, made when it is first needed.
    pub(super) link_rngs: BTreeMap<(ProcessId, ProcessId), Rng>,
    pub(super) connections: BTreeMap<u64, Connection>,
    pub(super) next_connection: u64,
    pub(super) traps: Traps,
    /// Kept between steps so that a step need not allocate.
    scratch: Vec<Effect>,
}

impl<M: Machine> World<M> {
    pub fn new(setup: WorldSetup) -> World<M> {
        World {
            setup,
            rng: Rng::new(setup.seed),
            now: Instant::ZERO,
            branch: 0,
            next_ordinal: 0,
            hash: TraceHash::default(),
            queue: Queue::default(),
            processes: Vec::new(),
            links: BTreeMap::new(),
            link_rngs: BTreeMap::new(),
            connections: BTreeMap::new(),
            next_connection: 0,
            traps: Traps::default(),
            scratch: Vec::new(),
        }
    }

    /// Adds a process. It is down until [`Fault::Start`].
    pub fn add(&mut self, spec: ProcessSpec, machine: M) -> ProcessId {
        let id = ProcessId(self.processes.len() as u32);
        self.processes.push(Process::new(spec, machine));
        id
    }

    /// Replaces the setup's link for connections that are made from now on, in this direction.
    pub fn set_link(&mut self, from: ProcessId, to: ProcessId, spec: LinkSpec) {
        self.links.insert((from, to), spec);
    }

    pub(super) fn link(&self, from: ProcessId, to: ProcessId) -> LinkSpec {
        self.links.get(&(from, to)).copied().unwrap_or(self.setup.link)
    }

    // --- interventions ---
    // Each takes place at `at`, or now if that has passed, after what was already to happen at that instant.

    /// Gives a command. Its replies come out of [`World::step`]; if the process does not run,
    /// [`Change::CommandLost`] does.
    pub fn command(
        &mut self,
        at: Instant,
        process: ProcessId,
        call: CallId,
        command: Command,
        because: Option<Causes>,
    ) {
        let (cause, earlier) = causes(because);
        let given = Given { process, call, command, earlier };
        self.queue.push(at.max(self.now), cause, Item::Command(Box::new(given)));
    }

    pub fn fault(&mut self, at: Instant, fault: Fault, because: Option<Causes>) {
        let (cause, earlier) = causes(because);
        self.queue.push(at.max(self.now), cause, Item::Fault { fault, earlier });
    }

    /// Brings [`Change::Woke`] with this token: a program's wait is over.
    pub fn wake(&mut self, at: Instant, token: u64, because: Option<Causes>) {
        let (cause, earlier) = causes(because);
        self.queue.push(at.max(self.now), cause, Item::Wake { token, earlier });
    }

    /// Brings [`Change::Line`] as the next thing now: a client program moves to this line. What the line does should
    /// be given because of that event.
    pub fn program_line(&mut self, program: u32, line: u32, because: Option<Causes>) {
        let (cause, earlier) = causes(because);
        self.queue.push(self.now, cause, Item::Line { program, line, earlier });
    }

    /// From here on events belong to this branch.
    pub fn set_branch(&mut self, branch: u32) {
        self.branch = branch;
    }

    // --- stepping ---

    /// Handles the next event. `None` if nothing will ever happen any more.
    pub fn step(&mut self, trace: &mut dyn Trace) -> Option<Stepped> {
        self.step_until(Instant(u64::MAX), trace)
    }

    /// Handles the next event if it happens at `limit` or before.
    pub fn step_until(&mut self, limit: Instant, trace: &mut dyn Trace) -> Option<Stepped> {
        while let Some(entry) = self.queue.pop_until(limit) {
            self.now = entry.at;
            if let Some(stepped) = self.happen(entry, trace) {
                return Some(stepped);
            }
        }
        None
    }

    /// Some of what waits in the queue happens without an event, so most entries become one event and some none.
    fn happen(&mut self, entry: Entry, trace: &mut dyn Trace) -> Option<Stepped> {
        let Entry { cause, item, .. } = entry;
        let item = self.stall(item, cause)?;
        match item {
            Item::Input { process, life, input } => {
                self.runs(process, life)?;
                Some(self.feed(process, *input, cause, Vec::new(), trace))
            }
            Item::Slice { process, life, token } => {
                self.runs(process, life)?;
                Some(self.feed(process, Input::Slice(token), cause, Vec::new(), trace))
            }
            Item::Tick { process, life } => self.tick(process, life, trace),
            Item::Command(given) => {
                let Given { process, call, command, earlier } = *given;
                if self.state(process) == ProcessState::Running {
                    return Some(self.feed(process, Input::Command(call, command), cause, earlier, trace));
                }
                let mut stepped = self.happened(cause, earlier, What::CommandLost { process, call }, trace);
                stepped.change = Some(Change::CommandLost { process, call });
                Some(stepped)
            }
            Item::Written { process, life, conn, up_to } => {
                self.runs(process, life)?;
                self.written(process, conn, up_to, cause, trace)
            }
            Item::Syn { connection } => self.syn(connection, cause, trace),
            Item::SynAck { connection } => self.syn_ack(connection, cause, trace),
            Item::ConnectFailed { process, life, token, why } => {
                self.runs(process, life)?;
                Some(self.feed(process, Input::ConnectFailed { token, why }, cause, Vec::new(), trace))
            }
            Item::Arrive { connection, side } => self.arrive(connection, side, trace),
            Item::Read { connection, side } => self.read(connection, side, trace),
            Item::Acknowledge { connection, side } => {
                self.pump(connection, side);
                None
            }
            Item::Release { connection, side } => {
                self.release(connection, side);
                None
            }
            Item::Sever { connection } => {
                self.sever(connection, cause);
                None
            }
            Item::Reset { connection, side } => self.reset(connection, side, cause, trace),
            Item::Lost { conn, write, len, place, why } => {
                Some(self.happened(cause, Vec::new(), What::Lost { conn, write, len, place, why }, trace))
            }
            Item::Fault { fault, earlier } => Some(self.inflict(fault, cause, earlier, trace)),
            Item::Boot { process, life } => self.boot(process, life, cause, trace),
            Item::Wake { token, earlier } => {
                let mut stepped = self.happened(cause, earlier, What::Woke { token }, trace);
                stepped.change = Some(Change::Woke(token));
                Some(stepped)
            }
            Item::Line { program, line, earlier } => {
                let mut stepped = self.happened(cause, earlier, What::Line { program, line }, trace);
                stepped.change = Some(Change::Line { program, line });
                Some(stepped)
            }
        }
    }

    /// Gives the item back unless its process is stopped: then it waits until the process goes on. Handshakes and
    /// arrivals never wait: they are the kernel's work.
    fn stall(&mut self, item: Item, cause: Option<Cause>) -> Option<Item> {
        let process = match &item {
            Item::Input { process, .. }
            | Item::Written { process, .. }
            | Item::Slice { process, .. }
            | Item::Tick { process, .. }
            | Item::ConnectFailed { process, .. } => Some(*process),
            Item::Command(given) => Some(given.process),
            Item::Read { connection, side } => self.end(*connection, 1 - *side).map(|end| end.process),
            Item::Reset { connection, side } => self.end(*connection, *side).map(|end| end.process),
            _ => None,
        };
        match process {
            Some(process) if self.state(process) == ProcessState::Stopped => {
                self.process_mut(process)?.stalled.push((item, cause));
                None
            }
            _ => Some(item),
        }
    }

    /// Feeds an input, or keeps it for later if the process is stopped.
    pub(super) fn feed_or_stall(
        &mut self,
        process: ProcessId,
        input: Input,
        cause: Option<Cause>,
        trace: &mut dyn Trace,
    ) -> Option<Stepped> {
        if self.state(process) == ProcessState::Running {
            return Some(self.feed(process, input, cause, Vec::new(), trace));
        }
        let owner = self.process_mut(process)?;
        let life = owner.life_number();
        owner.stalled.push((Item::Input { process, life, input: Box::new(input) }, cause));
        None
    }

    /// One call of [`crate::node::Node::handle`], and all that follows from it at once.
    pub(super) fn feed(
        &mut self,
        process: ProcessId,
        input: Input,
        cause: Option<Cause>,
        earlier: Vec<EventId>,
        trace: &mut dyn Trace,
    ) -> Stepped {
        let id = self.next_id();
        let mut stepped = Stepped { event: id, at: self.now, replies: Vec::new(), change: None };
        self.hash.begin(self.now, cause, &earlier);
        self.hash.handled(process.0, &input);
        let mut effects = std::mem::take(&mut self.scratch);
        effects.clear();
        let kept = trace.keeps().then(|| input.clone());
        let now = self.clock(process);
        if let Some(owner) = self.processes.get_mut(process.0 as usize) {
            owner.machine.handle(At { event: id, now }, input, &mut effects);
        }
        self.hash.effects(&effects);
        for (index, effect) in effects.iter().enumerate() {
            let cause = Cause { event: id, effect: Some(index as u32) };
            self.carry_out(process, &effect.kind, cause, &mut stepped);
        }
        self.set_timer(process, id);
        match kept {
            Some(input) => {
                let what = What::Handled { process, input, effects };
                trace.event(Event { id, at: self.now, cause, earlier, what });
            }
            None => self.scratch = effects,
        }
        stepped
    }

    /// An event that no node handles.
    pub(super) fn happened(
        &mut self,
        cause: Option<Cause>,
        earlier: Vec<EventId>,
        what: What,
        trace: &mut dyn Trace,
    ) -> Stepped {
        let id = self.next_id();
        self.hash.begin(self.now, cause, &earlier);
        self.hash.happened(&what);
        if trace.keeps() {
            trace.event(Event { id, at: self.now, cause, earlier, what });
        }
        Stepped { event: id, at: self.now, replies: Vec::new(), change: None }
    }

    fn next_id(&mut self) -> EventId {
        let id = EventId { branch: self.branch, ordinal: self.next_ordinal };
        self.next_ordinal += 1;
        id
    }

    // --- timers ---

    fn tick(&mut self, process: ProcessId, life: u32, trace: &mut dyn Trace) -> Option<Stepped> {
        self.runs(process, life)?;
        let now = self.now;
        let timer = &mut self.process_mut(process)?.timer;
        if timer.queued.is_some_and(|queued| queued <= now) {
            timer.queued = None;
        }
        let (wanted, since) = timer.wanted?;
        if wanted > now {
            self.queue_tick(process);
            return None;
        }
        Some(self.feed(process, Input::Tick, Some(since.into()), Vec::new(), trace))
    }

    fn set_timer(&mut self, process: ProcessId, event: EventId) {
        let Some(owner) = self.process_mut(process) else { return };
        if owner.state != ProcessState::Running {
            return;
        }
        let wanted = owner.machine.next_timeout();
        if wanted != owner.timer.wanted.map(|(at, _)| at) || wanted.is_some_and(|at| at <= self.now) {
            self.processes[process.0 as usize].timer.wanted = wanted.map(|at| (at, event));
        }
        self.queue_tick(process);
    }

    fn queue_tick(&mut self, process: ProcessId) {
        let now = self.now;
        let Some(owner) = self.process_mut(process) else { return };
        let Some((wanted, _)) = owner.timer.wanted else { return };
        let at = wanted.max(now);
        if owner.timer.queued.is_some_and(|queued| queued <= at) {
            return;
        }
        owner.timer.queued = Some(at);
        let life = owner.life_number();
        self.queue.push(at, None, Item::Tick { process, life });
    }

    // --- what is true now ---

    pub fn now(&self) -> Instant {
        self.now
    }

    /// Both clocks as this process sees them.
    pub fn clock(&self, process: ProcessId) -> Now {
        let offset_ms = self.process(process).map_or(0, |process| process.spec.wall_offset_ms);
        let passed_ms = i64::try_from(self.now.0 / 1000).unwrap_or(i64::MAX);
        Now { mono: self.now, wall_ms: self.setup.epoch_ms.saturating_add(passed_ms).saturating_add(offset_ms) }
    }

    /// The earliest instant at which anything may happen.
    pub fn next_at(&self) -> Option<Instant> {
        self.queue.next_at()
    }

    /// The ordinal of the next event, which is how many there have been.
    pub fn next_ordinal(&self) -> u64 {
        self.next_ordinal
    }

    /// The hash of every event so far.
    pub fn trace_hash(&self) -> TraceHash {
        self.hash
    }

    /// A hash of the trace so far and of what is to come. Equal histories have equal state hashes; a replay that ends
    /// in another one has gone astray.
    pub fn state_hash(&self) -> u64 {
        let mut hash = self.hash;
        hash.word(self.now.0);
        hash.word(self.next_ordinal);
        // Summed up because the order in which a heap is iterated means nothing.
        let waiting = self.queue.keys().fold(0u64, |sum, (at, ordinal)| {
            let mut one = TraceHash::default();
            one.word(at.0);
            one.word(ordinal);
            sum.wrapping_add(one.value())
        });
        hash.word(waiting);
        for process in &self.processes {
            hash.word(process.state as u64);
            hash.word(u64::from(process.life_number()));
            hash.word(process.machine.next_timeout().map_or(u64::MAX, |at| at.0));
        }
        for (number, connection) in &self.connections {
            hash.word(*number);
            for (end, pipe) in connection.ends.iter().zip(&connection.pipes) {
                hash.word(u64::from(end.open) | u64::from(end.reads_paused) << 1 | u64::from(end.reading) << 2);
                hash.word(pipe.waiting.len() as u64);
                hash.word(pipe.unsent.len() as u64);
                hash.word(pipe.flying.len() as u64);
                hash.word(pipe.unread.len() as u64);
                hash.word(u64::from(pipe.hold.is_some()) | u64::from(pipe.cut.is_some()) << 1);
            }
        }
        hash.value()
    }

    pub fn process_ids(&self) -> impl Iterator<Item = ProcessId> + use<M> {
        (0..self.processes.len() as u32).map(ProcessId)
    }

    pub fn find(&self, name: &str) -> Option<ProcessId> {
        self.process_ids().find(|id| self.process(*id).is_some_and(|process| process.spec.name == name))
    }

    pub fn spec(&self, process: ProcessId) -> Option<&ProcessSpec> {
        self.process(process).map(|process| &process.spec)
    }

    /// The machine, running or not: for looking at its state, never for changing it.
    pub fn machine(&self, process: ProcessId) -> Option<&M> {
        self.process(process).map(|process| &process.machine)
    }

    /// [`ProcessState::Down`] for a process that was never added.
    pub fn state(&self, process: ProcessId) -> ProcessState {
        self.process(process).map_or(ProcessState::Down, |process| process.state)
    }

    /// Every life that the process has had, the current one last.
    pub fn lives(&self, process: ProcessId) -> &[Life] {
        self.process(process).map_or(&[], |process| &process.lives)
    }

    pub(super) fn process(&self, process: ProcessId) -> Option<&Process<M>> {
        self.processes.get(process.0 as usize)
    }

    pub(super) fn process_mut(&mut self, process: ProcessId) -> Option<&mut Process<M>> {
        self.processes.get_mut(process.0 as usize)
    }

    /// `None` if the process is not in this life any more.
    pub(super) fn runs(&self, process: ProcessId, life: u32) -> Option<()> {
        self.process(process).filter(|process| process.lives_now() && process.life_number() == life).map(|_| ())
    }
}

fn causes(because: Option<Causes>) -> (Option<Cause>, Vec<EventId>) {
    match because {
        None => (None, Vec::new()),
        Some(Causes { now, earlier }) => (Some(now.into()), earlier),
    }
}
