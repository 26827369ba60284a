//! The compiled form of an `experiment.toml`: plain values that serde turns into postcard bytes for the page.
//!
//! Everything that can be wrong in a file (keys, units, programs, expressions, names) is checked where the file is
//! read; a value of these types is sound.

use serde::{Deserialize, Serialize};

use super::condition::Condition;
use super::expression::{Expr, Value};
use super::program::Program;
use crate::node::{Duration, Instant};
use crate::ordered::BTreeMap;
use crate::record::Codec;
use crate::sim::FrameAction;

/// A text in both of the book's languages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Text {
    pub en: String,
    pub zh: String,
}

/// One experiment. Every instant in it is a span since t = 0, the first `send()` after the warm-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Experiment {
    /// The folder's name, and what `steplog run` and `<step-lab experiment="…">` call it.
    pub name: String,
    pub title: Text,
    /// One paragraph: what is done to the cluster, and why it is worth watching.
    pub about: Text,
    pub seed: u64,
    pub focus: Focus,
    pub opening: Opening,
    pub cluster: Cluster,
    pub topics: Vec<Topic>,
    pub links: Links,
    /// Those of the file, in its order; then, if there are topics to create, the admin client of the warm-up.
    pub clients: Vec<Client>,
    /// At most one for each client.
    pub programs: Vec<Program>,
    pub faults: Vec<Fault>,
    pub facts: Vec<Fact>,
    pub places: Vec<Place>,
    pub left_out: Vec<LeftOut>,
}

impl Experiment {
    /// Whether records may be packed in it: whether a value of a configuration or a line of a program names a codec.
    pub fn names_codec(&self) -> bool {
        let nodes = self.cluster.nodes.iter().map(|node| &node.config);
        let topics = self.topics.iter().map(|topic| &topic.config);
        let clients = self.clients.iter().map(|client| &client.config);
        let values = nodes.chain(topics).chain(clients).flat_map(BTreeMap::values);
        let lines = self.programs.iter().flat_map(|program| &program.lines);
        values.chain(lines).any(|text| Codec::ALL.iter().any(|codec| text.contains(codec.name())))
    }
}

/// What the page shows first and what a *moment* is: the rest is folded until asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Focus {
    pub nodes: Vec<i32>,
    pub topics: Vec<String>,
    /// Names of APIs as Kafka spells them, e.g. `Produce`.
    pub apis: Vec<String>,
}

/// Where the reader starts, paused, and what is asked before the answer is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    pub at: Duration,
    pub question: Text,
    /// What the reader fills in, one box each.
    pub asks: Vec<Ask>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    pub label: Text,
    /// The name of the fact that answers.
    pub fact: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    pub nodes: Vec<ServerNode>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerNode {
    pub id: i32,
    /// `process.roles`.
    pub roles: Vec<Role>,
    /// Kafka's own keys: the cluster's and, over them, the node's.
    pub config: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Role {
    Broker,
    Controller,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Topic {
    pub name: String,
    pub partitions: i32,
    pub replication_factor: i16,
    pub config: BTreeMap<String, String>,
}

/// What every link of the simulated network is like.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Links {
    /// One way.
    pub delay: Duration,
    /// Up to this much more, drawn for each write.
    pub jitter: Duration,
    /// Bandwidth each way; 0 is unlimited.
    pub bytes_per_second: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Client {
    /// Also its `client.id`, unless the config says otherwise.
    pub name: String,
    pub kind: ClientKind,
    /// Kafka's own keys; `bootstrap.servers` is the place's to give.
    pub config: BTreeMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClientKind {
    Producer,
    Consumer,
    Admin,
    /// Sends Produce requests as its program writes them.
    Raw,
}

/// The name of the client that creates the topics during the warm-up.
pub const ADMIN: &str = "admin";

/// Something that can happen to a real cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fault {
    /// The process of a node dies (SIGKILL).
    Kill {
        node: i32,
        when: When,
        /// How long it is stopped before, while its kernel still accepts bytes; zero is a plain kill.
        dying: Duration,
        restart: Option<Restart>,
    },
    /// A node is stopped for a while (SIGSTOP, SIGCONT): bytes pile up, connects succeed, its clock runs on.
    Pause { node: i32, when: When, lasts: Duration },
    /// Something befalls one frame between a client and a node.
    Frame(FrameFault),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameFault {
    pub action: FrameAction,
    /// The name of the client whose connections are meant.
    pub client: String,
    pub node: i32,
    pub api_key: i16,
    pub direction: Direction,
    /// Which of such frames, from 1.
    pub nth: u64,
    /// From when on they are counted.
    pub from: When,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Direction {
    Request,
    Response,
}

/// When a fault begins.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum When {
    At(Duration),
    /// As soon as this is so.
    Once(Condition),
}

impl When {
    /// The instant that is meant, if its condition has come true `now`, or t = 0 is now.
    pub fn instant(&self, now: Instant) -> Instant {
        match self {
            When::At(at) => now + *at,
            When::Once(_) => now,
        }
    }
}

impl Fault {
    pub fn when(&self) -> &When {
        match self {
            Fault::Kill { when, .. } | Fault::Pause { when, .. } => when,
            Fault::Frame(fault) => &fault.from,
        }
    }
}

/// A new process over the kept disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restart {
    /// So long after the fault began.
    pub after: Duration,
    /// How long it is deaf after its start. A hook that starts a real Kafka takes what it takes.
    pub boot: Duration,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact {
    pub name: String,
    /// What it says, for readers.
    pub text: Text,
    pub is: Expr,
    pub kind: FactKind,
    pub expected: Expected,
    /// Where `expected` was recorded.
    pub source: Source,
    /// The chapter's figure for the same thing.
    pub book: Option<Book>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FactKind {
    /// Must hold in every place.
    Structural,
    /// Depends on how fast machine and network were: printed with its range, never judged.
    Timing,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expected {
    Value(Value),
    /// Both ends included; an absent end is open.
    Range {
        min: Option<i64>,
        max: Option<i64>,
    },
}

/// A place in a recorded file: a JSON pointer, in which `*` stands for every element.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Relative to the repository.
    pub file: String,
    pub pointer: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    pub value: Value,
    pub source: Source,
}

/// Where an experiment runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Place {
    /// The simulator, in a web page.
    Page,
    /// The simulator, from the command line.
    Run,
    /// Our nodes as processes, over real sockets and files.
    Real,
    /// Our clients against any Kafka cluster.
    Bootstrap,
}

impl Place {
    pub const ALL: [Place; 4] = [Place::Page, Place::Run, Place::Real, Place::Bootstrap];

    /// As in `places = […]` and in a report.
    pub const fn name(self) -> &'static str {
        match self {
            Place::Page => "page",
            Place::Run => "run",
            Place::Real => "real",
            Place::Bootstrap => "bootstrap",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub place: Place,
    pub reason: Text,
}

/// Bytes that are no compiled experiment of this version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotAnExperiment;

impl std::fmt::Display for NotAnExperiment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("these bytes are not an experiment compiled by this version: build the page's data again")
    }
}

impl std::error::Error for NotAnExperiment {}

impl Experiment {
    /// The compiled form, which the page fetches.
    pub fn to_bytes(&self) -> Vec<u8> {
        // postcard fails only on sequences of unknown length, and no field is one.
        postcard::to_allocvec(self).unwrap_or_default()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Experiment, NotAnExperiment> {
        postcard::from_bytes(bytes).map_err(|_| NotAnExperiment)
    }

    pub fn client(&self, name: &str) -> Option<&Client> {
        self.clients.iter().find(|client| client.name == name)
    }

    pub fn program_of(&self, client: &str) -> Option<&Program> {
        self.programs.iter().find(|program| program.client == client)
    }

    pub fn fact(&self, name: &str) -> Option<&Fact> {
        self.facts.iter().find(|fact| fact.name == name)
    }
}
