//! What runs in a process of an experiment's simulated cluster: a server over its disk, or a client.

use std::sync::Arc;

use super::program::Program;
use super::{ClientKind, Experiment, Role, ServerNode};
use crate::broker::{Server, ServerConfig};
use crate::client::{
    AdminConfig, Client, ConfigError, ConsumerConfig, ConsumerPlugins, ProducerConfig, ProducerPlugins,
};
use crate::disk::{Disk, DiskError, FileId, MemoryDisk};
use crate::node::{Address, At, Effect, Input, Instant, Node};
use crate::ordered::BTreeMap;
use crate::sim::Machine;

/// Where every simulated broker's clients connect; each node has a host of its own.
const BROKER_PORT: u16 = 9092;
const CONTROLLER_PORT: u16 = 9093;

#[derive(Clone)]
pub enum Member {
    Server(Box<Server<MemoryDisk>>),
    Client(Box<ClientProcess>),
}

/// A client with what makes it anew.
#[derive(Clone)]
pub struct ClientProcess {
    name: Arc<str>,
    config: Arc<ClientConfig>,
    client: Client,
}

/// What a client's process is made of: its settings, and what its program adds.
#[derive(Debug, Clone)]
pub enum ClientConfig {
    Producer(ProducerConfig, ProducerPlugins),
    Consumer(ConsumerConfig, ConsumerPlugins),
    Admin(AdminConfig),
    Raw(AdminConfig),
}

/// A configuration that Kafka would refuse: whose, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadConfig {
    /// The client's name, or `node 1`.
    pub of: String,
    pub why: String,
}

impl std::fmt::Display for BadConfig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.of, self.why)
    }
}

impl std::error::Error for BadConfig {}

impl ServerNode {
    /// How the node is called in the cluster, which is its host name in the simulated network.
    pub fn host(&self) -> String {
        let role = if self.roles.contains(&Role::Broker) { "broker" } else { "controller" };
        format!("{role}-{}", self.id)
    }

    /// Its `server.properties`, if every node is at the host and ports that `address` gives for (node, role).
    pub fn properties(
        &self,
        experiment: &Experiment,
        address: impl Fn(&ServerNode, Role) -> Address,
    ) -> BTreeMap<String, String> {
        let at = |node: &ServerNode, role| {
            let Address { host, port } = address(node, role);
            format!("{host}:{port}")
        };
        let mut properties = ServerConfig::standalone_properties(self.id, &address(self, Role::Broker));
        let roles = self.roles.iter().map(|role| match role {
            Role::Broker => ("broker", format!("PLAINTEXT://{}", at(self, Role::Broker))),
            Role::Controller => ("controller", format!("CONTROLLER://{}", at(self, Role::Controller))),
        });
        let (roles, listeners): (Vec<&str>, Vec<String>) = roles.unzip();
        let voters = experiment.cluster.nodes.iter().filter(|node| node.roles.contains(&Role::Controller));
        let voters: Vec<String> = voters.map(|node| format!("{}@{}", node.id, at(node, Role::Controller))).collect();
        for (key, value) in [
            ("process.roles", roles.join(",")),
            ("listeners", listeners.join(",")),
            ("controller.quorum.voters", voters.join(",")),
        ] {
            properties.insert(key.to_string(), value);
        }
        properties.extend(self.config.clone());
        properties
    }
}

fn simulated_address(node: &ServerNode, role: Role) -> Address {
    let port = if role == Role::Broker { BROKER_PORT } else { CONTROLLER_PORT };
    Address { host: node.host(), port }
}

impl Experiment {
    /// `bootstrap.servers` in the simulated network.
    fn simulated_bootstrap(&self) -> String {
        let brokers = self.cluster.nodes.iter().filter(|node| node.roles.contains(&Role::Broker));
        let brokers: Vec<String> = brokers.map(|node| format!("{}:{BROKER_PORT}", node.host())).collect();
        brokers.join(",")
    }

    /// Reads every configuration as the processes will.
    pub fn check_configs(&self) -> Result<(), BadConfig> {
        self.cluster.nodes.iter().try_for_each(|node| Member::server(self, node).map(|_| ()))?;
        self.clients.iter().try_for_each(|client| Member::client(self, client).map(|_| ()))
    }
}

impl Member {
    pub fn server(experiment: &Experiment, node: &ServerNode) -> Result<Member, BadConfig> {
        let properties = node.properties(experiment, simulated_address);
        let config = ServerConfig::from_properties(&properties)
            .map_err(|error| BadConfig { of: format!("node {}", node.id), why: error.to_string() })?;
        Ok(Member::Server(Box::new(Server::new(config, MemoryDisk::new(), 0))))
    }

    pub fn client(experiment: &Experiment, client: &super::Client) -> Result<Member, BadConfig> {
        let config = ClientConfig::read(experiment, client, &experiment.simulated_bootstrap());
        let config = config.map_err(|error| BadConfig { of: client.name.clone(), why: error.to_string() })?;
        let made = config.make(&client.name, 0);
        let process = ClientProcess { name: client.name.as_str().into(), config: Arc::new(config), client: made };
        Ok(Member::Client(Box::new(process)))
    }

    pub fn as_server(&self) -> Option<&Server<MemoryDisk>> {
        match self {
            Member::Server(server) => Some(server),
            Member::Client(_) => None,
        }
    }
}

impl ClientConfig {
    pub fn read(experiment: &Experiment, client: &super::Client, bootstrap: &str) -> Result<ClientConfig, ConfigError> {
        let mut given = client.config.clone();
        given.insert("bootstrap.servers".to_string(), bootstrap.to_string());
        let program = experiment.program_of(&client.name);
        Ok(match client.kind {
            ClientKind::Producer => {
                let plugins = program.map(Program::producer_plugins).unwrap_or_default();
                ClientConfig::Producer(ProducerConfig::parse(&given)?, plugins)
            }
            ClientKind::Consumer => {
                let plugins = program.map(Program::consumer_plugins).unwrap_or_default();
                ClientConfig::Consumer(ConsumerConfig::parse(&given)?, plugins)
            }
            ClientKind::Admin => ClientConfig::Admin(AdminConfig::parse(&given)?),
            ClientKind::Raw => ClientConfig::Raw(AdminConfig::parse(&given)?),
        })
    }

    pub fn make(&self, name: &str, seed: u64) -> Client {
        match self {
            ClientConfig::Producer(config, plugins) => {
                Client::producer_with(name, config.clone(), plugins.clone(), seed)
            }
            ClientConfig::Consumer(config, plugins) => {
                Client::consumer_with(name, config.clone(), plugins.clone(), seed)
            }
            ClientConfig::Admin(config) => Client::admin(name, config.clone(), seed),
            ClientConfig::Raw(config) => Client::raw(name, config.clone()),
        }
    }
}

impl Node for Member {
    fn handle(&mut self, at: At, input: Input, out: &mut Vec<Effect>) {
        match self {
            Member::Server(server) => server.handle(at, input, out),
            Member::Client(process) => process.client.handle(at, input, out),
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        match self {
            Member::Server(server) => server.next_timeout(),
            Member::Client(process) => process.client.next_timeout(),
        }
    }
}

impl Machine for Member {
    fn boot(&mut self, seed: u64) {
        match self {
            Member::Server(server) => {
                // The old process's open files died with it; what it had written has not.
                let mut disk = server.disk().clone();
                disk.process_kill();
                **server = Server::new(server.config().clone(), disk, seed);
            }
            Member::Client(process) => process.client = process.config.make(&process.name, seed),
        }
    }

    fn flush(&mut self, file: FileId) -> Result<(), DiskError> {
        match self {
            Member::Server(server) => server.disk_mut().flush(file),
            // A client has no disk.
            Member::Client(_) => Ok(()),
        }
    }
}
