//! A foreign cluster: our clients on its brokers, faults by the user's own commands.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::rc::Rc;
use std::sync::Arc;

use tokio::process::Command;
use tokio::sync::mpsc;

use super::director::{Timing, actions_of};
use super::{Action, Cluster, NodeEvent, PlaceError, Seen, comparison, probe};
use crate::experiment::{Experiment, Measures, Role};
use crate::native::shell::Clock;
use crate::node::{Address, Instant};

/// How often a starting node is asked whether it serves.
const PROBE_INTERVAL: std::time::Duration = std::time::Duration::from_millis(50);

pub const fn timing() -> Timing {
    Timing { boot_is_ours: false }
}

/// Every event that a hook may be given for.
const EVENTS: [&str; 7] = ["kill", "stop", "cont", "term", "start", "power-cut", "disk-lost"];

/// `EVENT=command {node}` arguments, by event.
#[derive(Debug, Clone, Default)]
pub struct Hooks(BTreeMap<String, String>);

/// An argument that is no hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadHook(String);

impl std::fmt::Display for BadHook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "--on {}: expected EVENT=COMMAND with EVENT one of {}", self.0, EVENTS.join(", "))
    }
}

impl std::error::Error for BadHook {}

impl Hooks {
    pub fn parse(arguments: &[String]) -> Result<Hooks, BadHook> {
        let mut hooks = BTreeMap::new();
        for argument in arguments {
            let (event, command) = argument
                .split_once('=')
                .filter(|(event, command)| EVENTS.contains(event) && !command.trim().is_empty())
                .ok_or_else(|| BadHook(argument.clone()))?;
            hooks.insert(event.to_owned(), command.to_owned());
        }
        Ok(Hooks(hooks))
    }

    fn command(&self, action: Action, node: i32) -> Option<String> {
        self.0.get(action.name()).map(|command| command.replace("{node}", &node.to_string()))
    }
}

/// A hook's run: both ends on the place's clock.
#[derive(Debug, Clone)]
struct HookRun {
    name: String,
    begin: Instant,
    end: Option<Instant>,
}

pub struct Foreign {
    clock: Clock,
    bootstrap: String,
    suffix: String,
    hooks: Hooks,
    addresses: BTreeMap<i32, Address>,
    events: mpsc::UnboundedSender<NodeEvent>,
    runs: Rc<RefCell<Vec<HookRun>>>,
}

impl Foreign {
    /// Asks the cluster who it is and checks that the experiment can be done to it.
    pub async fn meet(
        experiment: &Arc<Experiment>,
        clock: Clock,
        bootstrap: &str,
        hooks: Hooks,
        suffix: &str,
    ) -> Result<(Foreign, mpsc::UnboundedReceiver<NodeEvent>), PlaceError> {
        for action in actions_of(experiment.faults.iter(), timing()) {
            if !hooks.0.contains_key(action.name()) {
                return Err(PlaceError::CannotDo(format!(
                    "this place cannot do `{name}` to a node: say how with --on '{name}=COMMAND {{node}}'",
                    name = action.name()
                )));
            }
        }
        let brokers = probe::brokers(bootstrap)
            .await
            .map_err(|error| PlaceError::failed(&format!("{bootstrap}: no cluster"), error))?;
        let addresses: BTreeMap<i32, Address> =
            brokers.into_iter().map(|broker| (broker.node, broker.address)).collect();
        compare_nodes(experiment, &addresses)?;
        comparison::compare_keys(experiment, bootstrap).await?;
        let (events, receiver) = mpsc::unbounded_channel();
        let foreign = Foreign {
            clock,
            bootstrap: bootstrap.to_owned(),
            suffix: suffix.to_owned(),
            hooks,
            addresses,
            events,
            runs: Rc::default(),
        };
        Ok((foreign, receiver))
    }
}

/// The cluster's nodes are those of the experiment.
fn compare_nodes(experiment: &Experiment, found: &BTreeMap<i32, Address>) -> Result<(), PlaceError> {
    let brokers = experiment.cluster.nodes.iter().filter(|node| node.roles.contains(&Role::Broker));
    let wanted: BTreeSet<i32> = brokers.map(|node| node.id).collect();
    let found: BTreeSet<i32> = found.keys().copied().collect();
    if wanted == found {
        return Ok(());
    }
    let list = |ids: &BTreeSet<i32>| ids.iter().map(i32::to_string).collect::<Vec<_>>().join(", ");
    Err(PlaceError::CannotDo(format!(
        "the experiment's brokers are {}, the cluster's are {}: this place cannot stand for that cluster",
        list(&wanted),
        list(&found)
    )))
}

impl Cluster for Foreign {
    fn bootstrap_servers(&self) -> String {
        self.bootstrap.clone()
    }

    fn addresses(&self) -> BTreeMap<i32, Address> {
        self.addresses.clone()
    }

    fn act(&mut self, node: i32, action: Action) {
        let Some(command) = self.hooks.command(action, node) else {
            return;
        };
        let (clock, events, runs) = (self.clock, self.events.clone(), Rc::clone(&self.runs));
        let index = runs.borrow().len();
        runs.borrow_mut().push(HookRun {
            name: format!("{} {node}", action.name()),
            begin: clock.now().mono,
            end: None,
        });
        tokio::task::spawn_local(async move {
            let result = run_hook(&command).await;
            let at = clock.now().mono;
            if let Some(run) = runs.borrow_mut().get_mut(index) {
                run.end = Some(at);
            }
            let seen = match (result, action) {
                (Err(error), _) => Seen::Broken(error),
                (Ok(()), Action::Kill) => Seen::Died,
                (Ok(()), Action::Stop | Action::Continue | Action::Start) => return,
            };
            let _ = events.send(NodeEvent { at, node, seen });
        });
        if action == Action::Start
            && let Some(address) = self.addresses.get(&node).cloned()
        {
            tokio::task::spawn_local(watch(node, address, self.clock, self.events.clone()));
        }
    }

    fn remarks(&mut self, _measures: &Measures) -> Result<Vec<String>, PlaceError> {
        let mut remarks: Vec<String> = self
            .runs
            .borrow()
            .iter()
            .map(|run| {
                let took = match run.end {
                    Some(end) => format!("took {} ms", end.since(run.begin).as_ms()),
                    None => "has not ended".to_owned(),
                };
                format!("hook `{}` {took}", run.name)
            })
            .collect();
        remarks.push(format!("topics of this run end in `{}`", self.suffix));
        Ok(remarks)
    }
}

async fn run_hook(command: &str) -> Result<(), PlaceError> {
    let status = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true)
        .status()
        .await
        .map_err(|error| PlaceError::failed(command, error))?;
    if status.success() {
        return Ok(());
    }
    Err(PlaceError::CannotDo(format!("the hook `{command}` failed: {status}")))
}

/// Tells when a starting node serves: when it answers and lists itself, which a broker does once it is unfenced.
async fn watch(node: i32, address: Address, clock: Clock, events: mpsc::UnboundedSender<NodeEvent>) {
    let address = format!("{}:{}", address.host, address.port);
    while !events.is_closed() {
        if let Ok(brokers) = probe::brokers(&address).await
            && brokers.iter().any(|broker| broker.node == node)
        {
            let _ = events.send(NodeEvent { at: clock.now().mono, node, seen: Seen::Serves });
            return;
        }
        tokio::time::sleep(PROBE_INTERVAL).await;
    }
}
