//! The experiment's nodes as processes of our own binary: own directories, own ports, faults by signals.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::rc::Rc;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;

use super::director::Timing;
use super::{Action, Cluster, NodeEvent, PlaceError, Seen};
use crate::experiment::{Experiment, Measures, Role, ServerNode};
use crate::native::shell::Clock;
use crate::node::{Address, TopicPartition};

/// A node that does not serve by then never will.
const READY_WITHIN: std::time::Duration = std::time::Duration::from_secs(30);

/// How long a killed process may take to be gone.
const GONE_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);

const HOST: &str = "127.0.0.1";

pub const fn timing() -> Timing {
    Timing { boot_is_ours: true }
}

pub struct Processes {
    clock: Clock,
    steplog: PathBuf,
    events: mpsc::UnboundedSender<NodeEvent>,
    nodes: BTreeMap<i32, NodeProcess>,
    /// Every node's files; removed at the end.
    directory: TemporaryDirectory,
}

struct NodeProcess {
    properties: PathBuf,
    log_dir: PathBuf,
    broker: Option<Address>,
    /// Of the process that runs now.
    running: Rc<Cell<Option<Pid>>>,
    /// Its death was ordered.
    dies_by_order: Rc<Cell<bool>>,
}

impl Processes {
    pub fn start(
        experiment: &Experiment,
        clock: Clock,
        steplog: &Path,
    ) -> Result<(Processes, mpsc::UnboundedReceiver<NodeEvent>), PlaceError> {
        let directory = TemporaryDirectory::create(&experiment.name)
            .map_err(|error| PlaceError::failed("cannot create a temporary directory", error))?;
        let ports = Ports::reserve(experiment).map_err(|error| PlaceError::failed("cannot reserve ports", error))?;
        let mut nodes = BTreeMap::new();
        for node in &experiment.cluster.nodes {
            nodes.insert(node.id, NodeProcess::prepare(experiment, node, &ports, &directory.path)?);
        }
        drop(ports);
        let (events, receiver) = mpsc::unbounded_channel();
        let mut processes = Processes { clock, steplog: steplog.to_owned(), events, nodes, directory };
        for node in &experiment.cluster.nodes {
            processes.act(node.id, Action::Start);
        }
        Ok((processes, receiver))
    }

    pub async fn wait_until_all_serve(
        &self,
        events: &mut mpsc::UnboundedReceiver<NodeEvent>,
    ) -> Result<(), PlaceError> {
        let mut missing: Vec<i32> = self.nodes.keys().copied().collect();
        let all_serve = async {
            while !missing.is_empty()
                && let Some(event) = events.recv().await
            {
                match event.seen {
                    Seen::Serves => missing.retain(|node| *node != event.node),
                    Seen::Died => {}
                    Seen::Broken(error) => return Err(error),
                }
            }
            Ok(())
        };
        match tokio::time::timeout(READY_WITHIN, all_serve).await {
            Ok(result) => result,
            Err(_) => Err(PlaceError::Failed(format!("node {missing:?} did not serve within 30 s"))),
        }
    }

    /// Ends what still runs and removes the files.
    pub async fn end(self) {
        for process in self.nodes.values() {
            process.signal(Signal::KILL);
        }
        let all_gone = async {
            while self.nodes.values().any(|process| process.running.get().is_some()) {
                tokio::time::sleep(std::time::Duration::from_millis(1)).await;
            }
        };
        // A process that cannot die (stuck in the kernel) must not keep the run from ending.
        let _ = tokio::time::timeout(GONE_WITHIN, all_gone).await;
        drop(self.directory);
    }

    fn launch(&self, node: i32, process: &NodeProcess) -> Result<(), PlaceError> {
        let failed = |error| PlaceError::failed(&format!("cannot start {}", self.steplog.display()), error);
        let mut child = Command::new(&self.steplog)
            .arg("broker")
            .arg(&process.properties)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        process.running.set(pid);
        process.dies_by_order.set(false);
        let running = Rc::clone(&process.running);
        let dies_by_order = Rc::clone(&process.dies_by_order);
        let (clock, events) = (self.clock, self.events.clone());
        tokio::task::spawn_local(async move {
            let tell = |seen| {
                // It fails only when the director is gone, and then nobody wants to know.
                let _ = events.send(NodeEvent { at: clock.now().mono, node, seen });
            };
            if is_ready(&mut child).await {
                tell(Seen::Serves);
            }
            let status = child.wait().await;
            running.set(None);
            tell(Seen::Died);
            if !dies_by_order.get() {
                let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
                tell(Seen::Broken(PlaceError::Failed(format!("node {node} ended by itself: {how}"))));
            }
        });
        Ok(())
    }
}

/// Waits for the line that a broker prints when it serves; false if it ends before.
async fn is_ready(child: &mut Child) -> bool {
    let Some(stdout) = child.stdout.take() else {
        return false;
    };
    let mut lines = BufReader::new(stdout).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line.starts_with("ready ") {
            return true;
        }
    }
    false
}

impl Cluster for Processes {
    fn bootstrap_servers(&self) -> String {
        let brokers = self.nodes.values().filter_map(|process| process.broker.as_ref());
        brokers.map(|Address { host, port }| format!("{host}:{port}")).collect::<Vec<_>>().join(",")
    }

    fn addresses(&self) -> BTreeMap<i32, Address> {
        let brokers = self.nodes.iter().filter_map(|(node, process)| Some((*node, process.broker.clone()?)));
        brokers.collect()
    }

    fn act(&mut self, node: i32, action: Action) {
        let Some(process) = self.nodes.get(&node) else {
            return;
        };
        match action {
            Action::Stop => process.signal(Signal::STOP),
            Action::Continue => process.signal(Signal::CONT),
            Action::Kill => {
                process.dies_by_order.set(true);
                process.signal(Signal::KILL);
            }
            Action::Start => {
                if let Err(error) = self.launch(node, process) {
                    let _ = self.events.send(NodeEvent { at: self.clock.now().mono, node, seen: Seen::Broken(error) });
                }
            }
        }
    }

    /// Compares what was fetched with the files.
    fn remarks(&mut self, measures: &Measures) -> Result<Vec<String>, PlaceError> {
        let Some(drained) = &measures.drained else {
            return Ok(Vec::new());
        };
        let mut partitions: BTreeMap<&TopicPartition, Vec<&[u8]>> = BTreeMap::new();
        for batch in &drained.batches {
            partitions.entry(&batch.partition).or_default().push(&batch.bytes);
        }
        let mut remarks = Vec::new();
        for (TopicPartition { topic, partition }, batches) in partitions {
            let fetched = batches.concat();
            for process in self.nodes.values() {
                let name = format!("{topic}-{partition}/00000000000000000000.log");
                let Ok(file) = std::fs::read(process.log_dir.join(&name)) else {
                    continue;
                };
                let sizes: Vec<String> = batches.iter().map(|batch| batch.len().to_string()).collect();
                let same = if file == fetched { "the same bytes" } else { "NOT the same bytes" };
                remarks.push(format!(
                    "{name}: {} bytes; fetched: {} batches of {} bytes, {same}",
                    file.len(),
                    batches.len(),
                    listed(&sizes),
                ));
                if file != fetched {
                    return Err(PlaceError::Failed(remarks.join("\n")));
                }
            }
        }
        Ok(remarks)
    }
}

/// A few in full, many by their ends.
fn listed(sizes: &[String]) -> String {
    match sizes {
        [first, .., last] if sizes.len() > 8 => format!("{first}, …, {last}"),
        _ => sizes.join(", "),
    }
}

impl NodeProcess {
    fn prepare(
        experiment: &Experiment,
        node: &ServerNode,
        ports: &Ports,
        directory: &Path,
    ) -> Result<NodeProcess, PlaceError> {
        let log_dir = directory.join(format!("node-{}", node.id));
        let mut keys = node.properties(experiment, |node, role| ports.address(node.id, role));
        keys.insert("log.dirs".to_owned(), log_dir.display().to_string());
        let lines: String = keys.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        let properties = directory.join(format!("node-{}.properties", node.id));
        std::fs::write(&properties, lines)
            .map_err(|error| PlaceError::failed(&properties.display().to_string(), error))?;
        let broker = node.roles.contains(&Role::Broker).then(|| ports.address(node.id, Role::Broker));
        Ok(NodeProcess {
            properties,
            log_dir,
            broker,
            running: Rc::new(Cell::new(None)),
            dies_by_order: Rc::new(Cell::new(false)),
        })
    }

    fn signal(&self, signal: Signal) {
        // The pid is ours until the process was waited for, which is when `running` is cleared.
        if let Some(pid) = self.running.get() {
            self.dies_by_order.set(self.dies_by_order.get() || signal == Signal::KILL);
            let _ = kill_process(pid, signal);
        }
    }
}

/// A free port for every listener of every node, held until the nodes are started.
struct Ports {
    held: RefCell<BTreeMap<(i32, bool), TcpListener>>,
}

impl Ports {
    fn reserve(experiment: &Experiment) -> std::io::Result<Ports> {
        let mut held = BTreeMap::new();
        for node in &experiment.cluster.nodes {
            for is_broker in [true, false] {
                held.insert((node.id, is_broker), TcpListener::bind((HOST, 0))?);
            }
        }
        Ok(Ports { held: RefCell::new(held) })
    }

    fn address(&self, node: i32, role: Role) -> Address {
        let held = self.held.borrow();
        let listener = held.get(&(node, role == Role::Broker));
        let port = listener.and_then(|listener| listener.local_addr().ok()).map_or(0, |address| address.port());
        Address { host: HOST.to_owned(), port }
    }
}

/// Removed when it is dropped.
struct TemporaryDirectory {
    path: PathBuf,
}

impl TemporaryDirectory {
    fn create(name: &str) -> std::io::Result<TemporaryDirectory> {
        let parent = std::env::temp_dir();
        let mut attempt = 0;
        loop {
            let path = parent.join(format!("steplog-{name}-{}-{attempt}", std::process::id()));
            match std::fs::create_dir(&path) {
                Ok(()) => return Ok(TemporaryDirectory { path }),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => attempt += 1,
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever cleans the temporary directory.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
