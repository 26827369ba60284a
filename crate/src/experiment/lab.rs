//! An experiment in the simulator: a world and the programs above it, stepped event by event.
//!
//! In: an experiment, a seed, the reader's faults. Out: events (through a trace), measures and a report. Page and
//! `steplog run` both drive this, so their traces are one.

use std::collections::VecDeque;
use std::sync::Arc;

use super::member::{BadConfig, Member};
use super::{Direction, Experiment, Fault, Order, Place, Programs, Ran, Report, When};
use crate::node::{Causes, Duration, EventId, Instant};
use crate::ordered::BTreeMap;
use crate::sim::{self, Change, LinkSpec, ProcessId, ProcessSpec, Replayable, Stepped, Trace, Trap, World, WorldSetup};

/// A run that has not ended by then never will: ten minutes of cluster time.
const RUN_MAX: Duration = Duration::from_ms(600_000);

/// A cluster that has not warmed up by then never will.
const WARM_UP_MAX: Duration = Duration::from_ms(60_000);

/// The wake-up of the programs; those of frame faults that begin later are 1 + their index.
const PROGRAMS: u64 = 0;

#[derive(Clone)]
pub struct Lab {
    world: World<Member>,
    programs: Programs,
    seed: u64,
    /// Node id → its process.
    servers: BTreeMap<i32, ProcessId>,
    /// Parallel to [`Experiment::clients`].
    clients: Vec<ProcessId>,
    /// The fault, by its index, that each of the world's traps stands for.
    traps: Vec<usize>,
    phase: Phase,
    /// Commands whose line the program is about to reach, in order.
    at_their_line: VecDeque<Order>,
    /// The wake-up that waits in the world's queue.
    woken_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// So many servers do not serve yet.
    Servers(usize),
    /// So many clients have not started yet.
    Clients(usize),
    WarmUp,
    Run,
}

impl Phase {
    /// What has not come about yet.
    fn lacks(self) -> String {
        match self {
            Phase::Servers(missing) => format!("{missing} of its nodes did not serve"),
            Phase::Clients(missing) => format!("{missing} of its clients did not start"),
            Phase::WarmUp => "its topics were not created, or a producer did not hear of them".to_string(),
            Phase::Run => "nothing was missing".to_string(),
        }
    }
}

/// The cluster did not come up: what was missing, or which program's call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cold(pub String);

impl std::fmt::Display for Cold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the cluster did not warm up: {}", self.0)
    }
}

impl std::error::Error for Cold {}

impl Lab {
    /// A cluster before its first event. `seed` replaces the experiment's own.
    pub fn new(experiment: Arc<Experiment>, seed: Option<u64>) -> Result<Lab, BadConfig> {
        let seed = seed.unwrap_or(experiment.seed);
        let links = &experiment.links;
        let link = LinkSpec {
            delay: links.delay,
            jitter: links.jitter,
            bytes_per_second: links.bytes_per_second,
            ..LinkSpec::default()
        };
        let mut world = World::new(WorldSetup { link, ..WorldSetup::seeded(seed) });
        let mut servers = BTreeMap::new();
        for node in &experiment.cluster.nodes {
            let process = world.add(ProcessSpec::named(&node.host()), Member::server(&experiment, node)?);
            servers.insert(node.id, process);
            world.fault(Instant::ZERO, sim::Fault::Start { process, boot: Duration::ZERO }, None);
        }
        let mut clients = Vec::new();
        for client in &experiment.clients {
            clients.push(world.add(ProcessSpec::named(&client.name), Member::client(&experiment, client)?));
        }
        let mut traps = Vec::new();
        for (index, fault) in experiment.faults.iter().enumerate() {
            let Fault::Frame(fault) = fault else { continue };
            let client = experiment.clients.iter().position(|client| client.name == fault.client);
            let client = client.and_then(|client| clients.get(client)).copied();
            let (Some(client), Some(server)) = (client, servers.get(&fault.node).copied()) else { continue };
            world.set_trap(Trap {
                client,
                server,
                api_key: fault.api_key,
                response: fault.direction == Direction::Response,
                nth: fault.nth,
                action: fault.action,
            });
            traps.push(index);
        }
        Ok(Lab {
            phase: Phase::Servers(servers.len()),
            programs: Programs::new(experiment),
            world,
            seed,
            servers,
            clients,
            traps,
            at_their_line: VecDeque::new(),
            woken_at: None,
        })
    }

    /// Runs to t = 0: every node serves, topics exist, producers know them. What follows is the first send.
    pub fn warm_up(&mut self, trace: &mut dyn Trace) -> Result<(), Cold> {
        let limit = Instant::ZERO + WARM_UP_MAX;
        while self.phase != Phase::Run {
            if let Some(failure) = self.programs.measures().failures.first() {
                return Err(Cold(format!("{}: {}", failure.client, failure.what)));
            }
            let Some(stepped) = self.world.step_until(limit, trace) else {
                return Err(Cold(format!("{} after {} s", self.phase.lacks(), WARM_UP_MAX.as_ms() / 1000)));
            };
            self.follow(stepped);
        }
        Ok(())
    }

    pub fn experiment(&self) -> &Arc<Experiment> {
        self.programs.experiment()
    }

    pub fn world(&self) -> &World<Member> {
        &self.world
    }

    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Node id → its process.
    pub fn servers(&self) -> &BTreeMap<i32, ProcessId> {
        &self.servers
    }

    /// Parallel to [`Experiment::clients`].
    pub fn clients(&self) -> &[ProcessId] {
        &self.clients
    }

    /// t = 0; `None` during the warm-up.
    pub fn begun(&self) -> Option<Instant> {
        self.programs.begun()
    }

    /// Cluster time since t = 0.
    pub fn elapsed(&self) -> Duration {
        self.begun().map_or(Duration::ZERO, |begun| self.world.now().since(begun))
    }

    /// Runs until the programs have ended, or until so much of cluster time has passed.
    pub fn run(&mut self, until: Option<Duration>, trace: &mut dyn Trace) {
        let limit = self.begun().unwrap_or(self.world.now()) + until.unwrap_or(RUN_MAX).min(RUN_MAX);
        while !self.programs.ended() {
            match self.world.step_until(limit, trace) {
                Some(stepped) => self.follow(stepped),
                None => return,
            }
        }
    }

    /// What is true now. A run that was stopped on purpose is not `judged`.
    pub fn report(&self, place: Place, judged: bool) -> Report {
        let ran = Ran {
            seed: self.seed,
            place,
            trace_hash: self.world.trace_hash().value(),
            elapsed: self.elapsed(),
            judged,
        };
        Report::of(self.experiment(), self.programs.measures(), ran)
    }

    fn node_of(&self, process: ProcessId) -> Option<i32> {
        self.servers.iter().find(|(_, server)| **server == process).map(|(node, _)| *node)
    }

    /// Hands what an event brought to the programs, and what they want to the world.
    fn follow(&mut self, stepped: Stepped) {
        let Stepped { event, at, replies, change } = stepped;
        let mut orders = Vec::new();
        for (process, call, reply) in replies {
            if let Some(client) = self.clients.iter().position(|client| *client == process) {
                self.programs.reply(at, client, call, &reply, &mut orders);
            }
        }
        match change {
            Some(Change::Fault(fault)) => self.befallen(at, fault),
            Some(Change::Serving(process)) => self.serving(at, event, process),
            Some(Change::Booted(process)) => self.booted(process, &mut orders),
            Some(Change::Woke(PROGRAMS)) => {
                self.woken_at = None;
                self.programs.tick(at, &mut orders);
            }
            Some(Change::Woke(token)) => self.strike((token - 1) as usize, at, Some(event)),
            Some(Change::Line { .. }) => {
                if let Some(order) = self.at_their_line.pop_front() {
                    self.give(order, event);
                }
            }
            _ => {}
        }
        if self.phase == Phase::WarmUp && self.programs.is_warm() {
            self.begin(at, &mut orders);
        }
        for index in self.programs.faults_due() {
            self.strike(index, at, Some(event));
        }
        self.place(orders, event);
    }

    fn serving(&mut self, at: Instant, event: EventId, process: ProcessId) {
        if let Some(node) = self.node_of(process) {
            self.programs.node_serves(at, node);
        }
        if let Phase::Servers(missing) = self.phase {
            self.phase = Phase::Servers(missing - 1);
            if missing == 1 {
                self.phase = Phase::Clients(self.clients.len());
                for process in &self.clients {
                    let start = sim::Fault::Start { process: *process, boot: Duration::ZERO };
                    self.world.fault(at, start, Some(event.into()));
                }
            }
        }
    }

    fn booted(&mut self, process: ProcessId, orders: &mut Vec<Order>) {
        if let Phase::Clients(missing) = self.phase
            && self.clients.contains(&process)
        {
            self.phase = Phase::Clients(missing - 1);
            if missing == 1 {
                self.phase = Phase::WarmUp;
                self.programs.warm_up(orders);
            }
        }
    }

    /// t = 0. The faults are set before the first send, so that at one instant the outage comes first. Nothing in the
    /// cluster causes them.
    fn begin(&mut self, now: Instant, orders: &mut Vec<Order>) {
        self.phase = Phase::Run;
        for (index, fault) in self.programs.experiment().clone().faults.iter().enumerate() {
            match (fault, fault.when()) {
                // Counted from the first send on.
                (_, When::At(Duration::ZERO)) | (Fault::Kill { .. } | Fault::Pause { .. }, When::At(_)) => {
                    self.strike(index, now, None)
                }
                (Fault::Frame(_), When::At(at)) => self.world.wake(now + *at, 1 + index as u64, None),
                (_, When::Once(_)) => {}
            }
        }
        self.programs.begin(now, orders);
    }

    /// Puts a fault of the experiment into the world: for the instant that it names, or for now because of `event`.
    fn strike(&mut self, index: usize, now: Instant, event: Option<EventId>) {
        let experiment = self.programs.experiment().clone();
        match experiment.faults.get(index) {
            Some(Fault::Kill { node, when, dying, restart }) => {
                let Some(process) = self.servers.get(node).copied() else { return };
                let kill = match *dying {
                    Duration::ZERO => sim::Fault::Kill(process),
                    dying => sim::Fault::Die { process, dying },
                };
                let at = when.instant(now);
                self.world.fault(at, kill, event.map(Causes::from));
                if let Some(restart) = restart {
                    let start = sim::Fault::Start { process, boot: restart.boot };
                    self.world.fault(at + restart.after, start, event.map(Causes::from));
                }
            }
            Some(Fault::Pause { node, when, lasts }) => {
                let Some(process) = self.servers.get(node).copied() else { return };
                let at = when.instant(now);
                self.world.fault(at, sim::Fault::Stop(process), event.map(Causes::from));
                self.world.fault(at + *lasts, sim::Fault::Continue(process), event.map(Causes::from));
            }
            Some(Fault::Frame(_)) => {
                if let Some(trap) = self.traps.iter().position(|of| *of == index) {
                    self.world.arm(trap);
                }
            }
            None => {}
        }
    }

    /// A fault took place.
    fn befallen(&mut self, at: Instant, fault: sim::Fault) {
        let node = fault.process().and_then(|process| self.node_of(process));
        if let (sim::Fault::Kill(_), Some(node)) = (fault, node) {
            self.programs.node_died(at, node);
        }
        let index = match fault {
            sim::Fault::Frame { write, .. } => self.world.trap_of(write).and_then(|trap| self.traps.get(trap)).copied(),
            _ => {
                let begun = &self.programs.measures().fault_at;
                let is_this = |of: &Fault| match of {
                    Fault::Kill { node: of, dying: Duration::ZERO, .. } => {
                        matches!(fault, sim::Fault::Kill(_)) && Some(*of) == node
                    }
                    Fault::Kill { node: of, .. } => matches!(fault, sim::Fault::Die { .. }) && Some(*of) == node,
                    Fault::Pause { node: of, .. } => matches!(fault, sim::Fault::Stop(_)) && Some(*of) == node,
                    Fault::Frame(_) => false,
                };
                let mut faults = self.experiment().faults.iter().enumerate();
                faults.find(|(index, of)| is_this(of) && !begun.contains_key(index)).map(|(index, _)| index)
            }
        };
        if let Some(index) = index {
            self.programs.fault_began(at, index);
        }
    }

    /// Puts commands into the world. A command that a program's line gives comes because of that line.
    fn place(&mut self, orders: Vec<Order>, event: EventId) {
        for order in orders {
            match order.line {
                Some(line) => {
                    self.world.program_line(order.client as u32, line, Some(event.into()));
                    self.at_their_line.push_back(order);
                }
                None => self.give(order, event),
            }
        }
        if let Some(at) = self.programs.next_timeout()
            && self.woken_at.is_none_or(|woken_at| at < woken_at)
        {
            self.woken_at = Some(at);
            self.world.wake(at, PROGRAMS, Some(Causes::from(event)));
        }
    }

    fn give(&mut self, order: Order, event: EventId) {
        if let Some(process) = self.clients.get(order.client) {
            self.world.command(self.world.now(), *process, order.call, order.command, Some(event.into()));
        }
    }
}

impl Replayable for Lab {
    /// A fault that the reader adds to those of the experiment.
    type Action = sim::Fault;

    fn step(&mut self, trace: &mut dyn Trace) -> bool {
        if self.programs.ended() || self.elapsed() >= RUN_MAX {
            return false;
        }
        match self.world.step(trace) {
            Some(stepped) => {
                self.follow(stepped);
                true
            }
            None => false,
        }
    }

    fn act(&mut self, at: Instant, action: &sim::Fault) {
        self.world.fault(at, *action, None);
    }

    fn next_ordinal(&self) -> u64 {
        self.world.next_ordinal()
    }

    fn now(&self) -> Instant {
        self.world.now()
    }

    fn state_hash(&self) -> u64 {
        self.world.state_hash()
    }

    fn set_branch(&mut self, branch: u32) {
        self.world.set_branch(branch);
    }
}
