//! Drives an experiment's programs on the machine's clock and gives its faults at their instants.

use std::collections::VecDeque;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::clients::{Answer, Clients};
use super::proxy::{Met, Proxies};
use super::{Action, Cluster, NodeEvent, PlaceError, Ran, Seen};
use crate::experiment::{Fault, Order, Programs, When};
use crate::native::shell::Clock;
use crate::node::{Duration, Instant};

/// A cluster that has not warmed up by then never will.
const WARM_UP_MAX: Duration = Duration::from_ms(60_000);

/// A run that has not ended by then never will.
const RUN_MAX: Duration = Duration::from_ms(600_000);

/// How a place understands a fault's instants.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// Whether a start is given after the node's `boot` has passed, or at once because the node boots by itself.
    pub boot_is_ours: bool,
}

/// One thing that a fault asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Act {
        node: i32,
        action: Action,
    },
    /// From now on frames are counted.
    Count,
}

pub struct Director {
    programs: Programs,
    seed: u64,
    clock: Clock,
    timing: Timing,
    /// What is still to be done, in order: when since t = 0, for which fault by its index, and what.
    schedule: VecDeque<(Duration, usize, Step)>,
    orders: Vec<Order>,
}

impl Director {
    pub fn new(programs: Programs, seed: u64, clock: Clock, timing: Timing) -> Director {
        let mut director = Director { programs, seed, clock, timing, schedule: VecDeque::new(), orders: Vec::new() };
        let faults = director.programs.experiment().faults.iter().enumerate();
        let at = faults.filter_map(|(index, fault)| match fault.when() {
            When::At(at) => Some((index, *at)),
            When::Once(_) => None,
        });
        for (index, at) in at.collect::<Vec<_>>() {
            director.plan(index, at);
        }
        director
    }

    /// Plans a fault, by its index, that begins at this span since t = 0.
    fn plan(&mut self, index: usize, at: Duration) {
        if let Some(fault) = self.programs.experiment().faults.get(index) {
            let steps = steps_of(fault, self.timing).into_iter();
            self.schedule.extend(steps.map(|(after, step)| (at + after, index, step)));
            self.schedule.make_contiguous().sort();
        }
    }

    pub async fn run(
        mut self,
        cluster: &mut impl Cluster,
        events: &mut mpsc::UnboundedReceiver<NodeEvent>,
        until: Option<Duration>,
    ) -> Result<Ran, PlaceError> {
        let experiment = self.programs.experiment();
        let mut proxies = Proxies::start(experiment, &cluster.addresses(), self.clock).await?;
        let mut clients = Clients::start(experiment, &cluster.bootstrap_servers(), &proxies, self.seed, self.clock)?;
        self.programs.warm_up(&mut self.orders);
        let warm_up_limit = self.clock.now().mono + WARM_UP_MAX;
        while !self.programs.is_warm() {
            self.step(&mut clients, &mut proxies, cluster, events, warm_up_limit).await?;
            if let Some(failure) = self.programs.measures().failures.first() {
                return Err(PlaceError::Failed(format!("{}: {}", failure.client, failure.what)));
            }
            if self.clock.now().mono >= warm_up_limit {
                return Err(PlaceError::Failed("the cluster did not warm up within 60 s".to_owned()));
            }
        }
        let begun = self.clock.now().mono;
        self.programs.begin(begun, &mut self.orders);
        let limit = begun + until.unwrap_or(RUN_MAX).min(RUN_MAX);
        while !self.programs.ended() && self.clock.now().mono < limit {
            self.step(&mut clients, &mut proxies, cluster, events, limit).await?;
        }
        let elapsed = self.clock.now().mono.since(begun);
        let remarks = cluster.remarks(self.programs.measures())?;
        Ok(Ran { measures: self.programs.measures().clone(), elapsed, ended: self.programs.ended(), remarks })
    }

    /// Gives what is ordered and due, then waits for one thing to happen.
    async fn step(
        &mut self,
        clients: &mut Clients,
        proxies: &mut Proxies,
        cluster: &mut impl Cluster,
        events: &mut mpsc::UnboundedReceiver<NodeEvent>,
        limit: Instant,
    ) -> Result<(), PlaceError> {
        if let Some(begun) = self.programs.begun() {
            let now = self.clock.now().mono.since(begun);
            for index in self.programs.faults_due() {
                self.plan(index, now);
            }
        }
        self.give_faults(cluster, proxies);
        for order in self.orders.drain(..) {
            clients.give(order);
        }
        let wake = [self.programs.next_timeout(), self.next_fault(), Some(limit)].into_iter().flatten().min();
        let deadline = self.clock.deadline(wake.unwrap_or(limit));
        tokio::select! {
            answer = clients.answers.recv() => {
                let Some(Answer { at, client, call, reply }) = answer else {
                    return Err(PlaceError::Failed("every client has ended".to_owned()));
                };
                self.programs.reply(at, client, call, &reply, &mut self.orders);
            }
            Some(event) = events.recv() => match event.seen {
                Seen::Died => self.programs.node_died(event.at, event.node),
                Seen::Serves => self.programs.node_serves(event.at, event.node),
                Seen::Broken(error) => return Err(error),
            },
            Some(Met { at, index }) = proxies.met.recv() => self.programs.fault_began(at, index),
            () = tokio::time::sleep_until(deadline) => {
                self.programs.tick(self.clock.now().mono, &mut self.orders);
            }
        }
        Ok(())
    }

    fn next_fault(&self) -> Option<Instant> {
        let (at, ..) = self.schedule.front()?;
        Some(self.programs.begun()? + *at)
    }

    fn give_faults(&mut self, cluster: &mut impl Cluster, proxies: &Proxies) {
        let now = self.clock.now().mono;
        while self.next_fault().is_some_and(|due| due <= now) {
            match self.schedule.pop_front() {
                Some((_, index, Step::Act { node, action })) => {
                    self.programs.fault_began(now, index);
                    cluster.act(node, action);
                }
                Some((_, index, Step::Count)) => proxies.arm(index),
                None => return,
            }
        }
    }
}

/// What a fault asks of a place, each so long after it began.
fn steps_of(fault: &Fault, timing: Timing) -> Vec<(Duration, Step)> {
    let act = |node: &i32, action| Step::Act { node: *node, action };
    match fault {
        Fault::Kill { node, dying, restart, .. } => {
            let mut steps = Vec::new();
            if *dying > Duration::ZERO {
                steps.push((Duration::ZERO, act(node, Action::Stop)));
            }
            steps.push((*dying, act(node, Action::Kill)));
            if let Some(restart) = restart {
                let boot = if timing.boot_is_ours { restart.boot } else { Duration::ZERO };
                steps.push((restart.after + boot, act(node, Action::Start)));
            }
            steps
        }
        Fault::Pause { node, lasts, .. } => {
            vec![(Duration::ZERO, act(node, Action::Stop)), (*lasts, act(node, Action::Continue))]
        }
        Fault::Frame(_) => vec![(Duration::ZERO, Step::Count)],
    }
}

/// What the experiment's faults ask for, each once.
pub fn actions_of<'a>(faults: impl Iterator<Item = &'a Fault>, timing: Timing) -> Vec<Action> {
    let acted = |(_, step)| match step {
        Step::Act { action, .. } => Some(action),
        Step::Count => None,
    };
    let mut actions: Vec<Action> = faults.flat_map(|fault| steps_of(fault, timing)).filter_map(acted).collect();
    actions.sort();
    actions.dedup();
    actions
}

/// Ends a run when the user asks for it, so that what it started can be cleaned up.
pub async fn unless_interrupted<T>(run: impl Future<Output = Result<T, PlaceError>>) -> Result<T, PlaceError> {
    let cannot = |error| PlaceError::failed("cannot wait for signals", error);
    let mut interrupt = signal(SignalKind::interrupt()).map_err(cannot)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    tokio::select! {
        ran = run => ran,
        _ = interrupt.recv() => Err(PlaceError::Interrupted),
        _ = terminate.recv() => Err(PlaceError::Interrupted),
    }
}
