//! Runs an experiment's client programs above any shell.
//!
//! In: the instant, replies of the clients, and what the place saw happen to nodes. Out: commands for clients, and
//! when to be woken. The same machine drives the simulator, real processes and a foreign cluster, so a program means
//! the same in all four places; it sees replies only, never a note.
//!
//! A place calls [`Programs::warm_up`] once the cluster serves, hands in replies until [`Programs::is_warm`], and then
//! [`Programs::begin`], which is t = 0.

use std::sync::Arc;

use super::program::{Program, What};
use super::{ADMIN, ClientKind, Experiment, Failure, Fault, Measures, When};
use crate::node::{AdminCommand, CallId, Command, ConsumerRecord, Duration, Exception, Instant, NewTopic, Reply};
use crate::ordered::{BTreeMap, BTreeSet};

mod config;
mod drain;
mod rows;
mod running;
#[cfg(test)]
mod tests;
mod told;

use running::{Running, State};

/// A command for one of the experiment's clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// Index into [`Experiment::clients`].
    pub client: usize,
    pub call: CallId,
    pub command: Command,
    /// The line that gives it; `None` during the warm-up.
    pub line: Option<u32>,
}

/// Which send a record came from, by topic and value.
type SentAs = BTreeMap<Arc<str>, BTreeMap<Arc<str>, usize>>;

/// The programs of an experiment, each somewhere in its lines.
#[derive(Debug, Clone)]
pub struct Programs {
    experiment: Arc<Experiment>,
    /// Appended to every topic's name on its way to a client, so that runs against one foreign cluster do not meet.
    topic_suffix: String,
    begun: Option<Instant>,
    /// Calls of the warm-up that have not been answered; `None` before it.
    warming: Option<BTreeSet<(usize, CallId)>>,
    /// Parallel to [`Experiment::clients`].
    clients: Vec<Running>,
    measures: Measures,
    sent_as: Arc<SentAs>,
    lines_run: u64,
    /// Faults by their index that wait for a condition.
    waiting_faults: Vec<usize>,
}

impl Programs {
    pub fn new(experiment: Arc<Experiment>) -> Programs {
        let program = |name: &str| experiment.programs.iter().position(|program| program.client == name);
        let counters = experiment.programs.iter().flat_map(|program| &program.counters);
        let counters = counters.map(|counter| (counter.clone(), 0)).collect();
        let answers = experiment.programs.iter().flat_map(|program| &program.answers);
        let answers = answers.map(|answer| (answer.clone(), Vec::new())).collect();
        let tables = experiment.programs.iter().flat_map(|program| &program.tables);
        let tables = tables.map(|table| (table.clone(), Vec::new())).collect();
        Programs {
            clients: experiment.clients.iter().map(|client| Running::new(program(&client.name))).collect(),
            measures: Measures { counters, answers, tables, ..Measures::default() },
            topic_suffix: String::new(),
            begun: None,
            warming: None,
            sent_as: Arc::default(),
            lines_run: 0,
            waiting_faults: Vec::new(),
            experiment,
        }
    }

    /// Every topic is called `name + suffix` on the cluster; programs, measures and texts keep the plain name.
    pub fn with_topic_suffix(mut self, suffix: &str) -> Programs {
        self.topic_suffix = suffix.to_string();
        self
    }

    pub fn experiment(&self) -> &Arc<Experiment> {
        &self.experiment
    }

    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// t = 0 on the place's clock.
    pub fn begun(&self) -> Option<Instant> {
        self.begun
    }

    /// The line that a client's program is at, from 0; `None` before its first and after its last.
    pub fn line_of(&self, client: usize) -> Option<u32> {
        self.clients.get(client).and_then(|running| running.line)
    }

    /// The turn of the innermost `repeat` that a client's program is in.
    pub fn turn_of(&self, client: usize) -> Option<u64> {
        self.clients.get(client).and_then(|running| running.turns.last().copied())
    }

    /// How many lines were run: a reader's step by program line ends when it grows.
    pub fn lines_run(&self) -> u64 {
        self.lines_run
    }

    /// Every program has ended, or one of them cannot go on.
    pub fn ended(&self) -> bool {
        let all = self.begun.is_some() && self.clients.iter().all(|running| matches!(running.state, State::Ended));
        all || !self.measures.failures.is_empty()
    }

    /// Creates the topics, then lets every producer learn of those that it sends to.
    pub fn warm_up(&mut self, out: &mut Vec<Order>) {
        self.warming = Some(BTreeSet::new());
        let Some(admin) = self.experiment.clients.iter().position(|client| client.name == ADMIN) else {
            return self.learn_topics(out);
        };
        let topics = self.experiment.topics.iter().map(|topic| NewTopic {
            name: self.on_cluster(&topic.name),
            partitions: topic.partitions,
            replication_factor: topic.replication_factor,
            configs: topic.config.iter().map(|(key, value)| (key.clone(), value.clone())).collect(),
        });
        let topics = topics.collect();
        self.warm(admin, Command::Admin(AdminCommand::CreateTopics { topics }), out);
    }

    /// The warm-up is over: nothing is left that the first send would have to wait for.
    pub fn is_warm(&self) -> bool {
        self.warming.as_ref().is_some_and(BTreeSet::is_empty)
    }

    fn learn_topics(&mut self, out: &mut Vec<Order>) {
        for client in 0..self.clients.len() {
            let Some(program) = self.program_of(client) else { continue };
            let sent_to = program.steps.iter().filter_map(|step| match &step.what {
                What::Send(send) => Some(self.on_cluster(&send.topic)),
                What::ProduceRaw(raw) => Some(self.on_cluster(&raw.topic)),
                _ => None,
            });
            for topic in sent_to.collect::<BTreeSet<String>>() {
                self.warm(client, Command::PartitionsFor { topic }, out);
            }
        }
    }

    fn warm(&mut self, client: usize, command: Command, out: &mut Vec<Order>) {
        let call = self.order(client, command, out);
        self.warming.get_or_insert_default().insert((client, call));
    }

    fn warmed(&mut self, client: usize, call: CallId, reply: &Reply, out: &mut Vec<Order>) {
        if !self.warming.get_or_insert_default().remove(&(client, call)) {
            return;
        }
        match reply {
            Reply::Failed(exception) => {
                let what = format!("the warm-up failed: {}: {}", exception.class, self.text_of(exception));
                self.fail(client, what);
            }
            _ if self.experiment.clients.get(client).is_some_and(|client| client.kind == ClientKind::Admin) => {
                self.learn_topics(out);
            }
            _ => {}
        }
    }

    /// t = 0: every program starts.
    pub fn begin(&mut self, now: Instant, out: &mut Vec<Order>) {
        self.begun = Some(now);
        let faults = self.experiment.faults.iter().enumerate();
        let waiting = faults.filter(|(_, fault)| matches!(fault.when(), When::Once(_)));
        self.waiting_faults = waiting.map(|(index, _)| index).collect();
        for running in &mut self.clients {
            running.state = if running.program.is_some() { State::Ready } else { State::Ended };
        }
        self.run_all(now, out);
    }

    /// A client's answer.
    pub fn reply(&mut self, now: Instant, client: usize, call: CallId, reply: &Reply, out: &mut Vec<Order>) {
        if let Reply::Printed(line) = reply {
            return self.print(self.plain(line.clone()));
        }
        if self.begun.is_none() {
            return self.warmed(client, call, reply, out);
        }
        self.called_back(now, client, call, reply);
        self.advance(now, client, call, reply, out);
        self.run_all(now, out);
    }

    /// Wakes programs that were waiting for an instant.
    pub fn tick(&mut self, now: Instant, out: &mut Vec<Order>) {
        self.run_all(now, out);
    }

    /// When [`Programs::tick`] is wanted.
    pub fn next_timeout(&self) -> Option<Instant> {
        let untils = self.clients.iter().filter_map(|running| match running.state {
            State::Waiting { until } => Some(until),
            _ => None,
        });
        untils.min()
    }

    /// The process of a node is gone.
    pub fn node_died(&mut self, now: Instant, node: i32) {
        if let Some(begun) = self.begun {
            self.measures.dead_at.entry(node).or_insert(now.since(begun));
        }
    }

    /// A node serves: counts if it had died before.
    pub fn node_serves(&mut self, now: Instant, node: i32) {
        if let Some(begun) = self.begun
            && self.measures.dead_at.contains_key(&node)
        {
            self.measures.serving_at.entry(node).or_insert(now.since(begun));
        }
    }

    /// The faults, by their index, whose condition has come true since this was last asked.
    pub fn faults_due(&mut self) -> Vec<usize> {
        let (experiment, measures) = (&self.experiment, &self.measures);
        let due = |index: &usize| match experiment.faults.get(*index).map(Fault::when) {
            Some(When::Once(condition)) => condition.holds(measures),
            _ => false,
        };
        let (due, waiting) = self.waiting_faults.iter().partition(|index| due(index));
        self.waiting_faults = waiting;
        due
    }

    /// A fault of the experiment, by its index, has begun or met its frame.
    pub fn fault_began(&mut self, now: Instant, index: usize) {
        if let Some(begun) = self.begun {
            self.measures.fault_at.entry(index).or_insert(now.since(begun));
        }
    }

    fn program_of(&self, client: usize) -> Option<&Program> {
        self.experiment.programs.get(self.clients.get(client)?.program?)
    }

    fn on_cluster(&self, topic: &str) -> String {
        format!("{topic}{}", self.topic_suffix)
    }

    /// An exception's message with the plain names of the topics.
    fn text_of(&self, exception: &Exception) -> String {
        self.plain(exception.message.clone())
    }

    /// A text with the plain names of the topics.
    fn plain(&self, mut text: String) -> String {
        if !self.topic_suffix.is_empty() {
            for topic in &self.experiment.topics {
                text = text.replace(&self.on_cluster(&topic.name), &topic.name);
            }
        }
        text
    }

    fn since_begin(&self, now: Instant) -> Duration {
        self.begun.map_or(Duration::ZERO, |begun| now.since(begun))
    }

    /// Which send a record came from.
    fn id_of(&self, record: &ConsumerRecord) -> Option<i64> {
        let topic = record.partition.topic.strip_suffix(&self.topic_suffix)?;
        let known_by = running::known_by("", record.key.as_deref(), record.value.as_deref());
        i64::try_from(*self.sent_as.get(topic)?.get(known_by.as_str())?).ok()
    }

    fn fail(&mut self, client: usize, what: String) {
        let name = self.experiment.clients.get(client).map_or_else(String::new, |client| client.name.clone());
        self.measures.failures.push(Failure { client: name, line: self.line_of(client), what });
    }

    fn order(&mut self, client: usize, command: Command, out: &mut Vec<Order>) -> CallId {
        let call = self.clients.get_mut(client).map_or(CallId(0), Running::new_call);
        out.push(Order { client, call, command, line: self.line_of(client) });
        call
    }
}
