//! Experiments on real time: with our own nodes as processes (`--real`), or against any Kafka cluster (`--bootstrap`).
//!
//! In: an [`Experiment`]. Out: what its programs measured. Both places share the `director`, which drives the programs
//! and the clients and gives the faults at their instants; they differ in what a fault is done with: signals
//! (`processes`) or the user's commands (`hooks`). What befalls single frames is done by a `proxy` between them.

mod clients;
mod comparison;
mod director;
mod hooks;
mod probe;
mod processes;
mod proxy;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use crate::experiment::{Experiment, Measures, Programs};
use crate::native::shell::Clock;
use crate::node::{Address, Duration, Instant};

pub use hooks::{BadHook, Hooks};

/// What a run in real time left behind.
#[derive(Debug)]
pub struct Ran {
    pub measures: Measures,
    /// From t = 0 to the end.
    pub elapsed: Duration,
    /// Every program came to its end, or could not go on.
    pub ended: bool,
    /// What is worth telling beside the facts, one line each.
    pub remarks: Vec<String>,
}

/// Why there is no run to judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PlaceError {
    /// The place cannot do a step of the experiment: which, and what would help.
    CannotDo(String),
    /// Something that should have worked did not.
    Failed(String),
    /// The user ended the run.
    Interrupted,
}

impl std::fmt::Display for PlaceError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PlaceError::CannotDo(text) | PlaceError::Failed(text) => f.write_str(text),
            PlaceError::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for PlaceError {}

impl PlaceError {
    fn failed(what: &str, error: impl std::fmt::Display) -> PlaceError {
        PlaceError::Failed(format!("{what}: {error}"))
    }
}

/// What is done to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Action {
    Stop,
    Continue,
    Kill,
    Start,
}

impl Action {
    /// As a hook is called.
    const fn name(self) -> &'static str {
        match self {
            Action::Stop => "stop",
            Action::Continue => "cont",
            Action::Kill => "kill",
            Action::Start => "start",
        }
    }
}

/// What a place saw happen to a node.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Died,
    Serves,
    /// It went wrong: the run cannot go on.
    Broken(PlaceError),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct NodeEvent {
    at: Instant,
    node: i32,
    seen: Seen,
}

/// What carries out the faults.
trait Cluster {
    /// Where the brokers are, by node id.
    fn addresses(&self) -> BTreeMap<i32, Address>;
    /// `bootstrap.servers` of the experiment's clients.
    fn bootstrap_servers(&self) -> String;
    /// Begins; what comes of it is told as [`NodeEvent`]s. Never blocks.
    fn act(&mut self, node: i32, action: Action);
    /// Lines to tell beside the facts, once the programs have ended.
    fn remarks(&mut self, measures: &Measures) -> Result<Vec<String>, PlaceError>;
}

/// Runs an experiment on our own nodes: one process each, started from the binary at `steplog`.
pub fn real(
    experiment: Arc<Experiment>,
    seed: u64,
    until: Option<Duration>,
    steplog: &Path,
) -> Result<Ran, PlaceError> {
    let programs = Programs::new(Arc::clone(&experiment));
    block_on(async {
        let clock = Clock::starting_now();
        let (mut cluster, mut events) = processes::Processes::start(&experiment, clock, steplog)?;
        let ran = async {
            cluster.wait_until_all_serve(&mut events).await?;
            director::Director::new(programs, seed, clock, processes::timing())
                .run(&mut cluster, &mut events, until)
                .await
        };
        let ran = director::unless_interrupted(ran).await;
        cluster.end().await;
        ran
    })
}

/// Runs an experiment against the cluster that answers at `address`.
pub fn bootstrap(
    experiment: Arc<Experiment>,
    seed: u64,
    until: Option<Duration>,
    address: &str,
    hooks: Hooks,
) -> Result<Ran, PlaceError> {
    let suffix = run_suffix();
    let programs = Programs::new(Arc::clone(&experiment)).with_topic_suffix(&suffix);
    block_on(async {
        let clock = Clock::starting_now();
        let ran = async {
            let (mut cluster, mut events) = hooks::Foreign::meet(&experiment, clock, address, hooks, &suffix).await?;
            director::Director::new(programs, seed, clock, hooks::timing()).run(&mut cluster, &mut events, until).await
        };
        director::unless_interrupted(ran).await
    })
}

fn block_on<T>(run: impl Future<Output = Result<T, PlaceError>>) -> Result<T, PlaceError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| PlaceError::failed("cannot start", error))?;
    tokio::task::LocalSet::new().block_on(&runtime, run)
}

/// Tells the topics of one run from those of another on the same cluster.
fn run_suffix() -> String {
    format!(".{:x}", Clock::starting_now().now().wall_ms)
}
