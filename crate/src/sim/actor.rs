//! The machines of steplog's own clusters: Kafka servers over memory disks, and Kafka clients.

use super::Machine;
use crate::broker::{Server, ServerConfig};
use crate::client::{Client, ConsumerConfig, ProducerConfig};
use crate::disk::{Disk, DiskError, FileId, MemoryDisk};
use crate::node::{At, Effect, Input, Instant, Node};

// Boxed so that a cluster of mostly clients does not pay for the size of a server.
#[derive(Clone)]
pub enum Actor {
    Server(Box<Server<MemoryDisk>>),
    Client(Box<ClientActor>),
}

/// A client, and what it takes to make it anew.
#[derive(Clone)]
pub struct ClientActor {
    spec: ClientSpec,
    client: Client,
}

/// Which client runs in a process. The name becomes its client id where `client.id` is not set.
#[derive(Clone)]
pub enum ClientSpec {
    Producer { name: String, config: ProducerConfig },
    Consumer { name: String, config: ConsumerConfig },
}

impl ClientSpec {
    fn make(&self, seed: u64) -> Client {
        match self {
            ClientSpec::Producer { name, config } => Client::producer(name, config.clone(), seed),
            ClientSpec::Consumer { name, config } => Client::consumer(name, config.clone(), seed),
        }
    }
}

impl Actor {
    /// A server that boots over this disk.
    pub fn server(config: ServerConfig, disk: MemoryDisk) -> Actor {
        // It gets its seed when it boots; until then nothing is asked of it.
        Actor::Server(Box::new(Server::new(config, disk, 0)))
    }

    pub fn client(spec: ClientSpec) -> Actor {
        let client = spec.make(0);
        Actor::Client(Box::new(ClientActor { spec, client }))
    }

    pub fn as_server(&self) -> Option<&Server<MemoryDisk>> {
        match self {
            Actor::Server(server) => Some(server),
            Actor::Client(_) => None,
        }
    }

    pub fn as_client(&self) -> Option<&Client> {
        match self {
            Actor::Server(_) => None,
            Actor::Client(actor) => Some(&actor.client),
        }
    }
}

impl Node for Actor {
    fn handle(&mut self, at: At, input: Input, out: &mut Vec<Effect>) {
        match self {
            Actor::Server(server) => server.handle(at, input, out),
            Actor::Client(actor) => actor.client.handle(at, input, out),
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        match self {
            Actor::Server(server) => server.next_timeout(),
            Actor::Client(actor) => actor.client.next_timeout(),
        }
    }
}

impl Machine for Actor {
    fn boot(&mut self, seed: u64) {
        match self {
            Actor::Server(server) => {
                let mut disk = std::mem::take(server.disk_mut());
                disk.process_kill();
                **server = Server::new(server.config().clone(), disk, seed);
            }
            Actor::Client(actor) => actor.client = actor.spec.make(seed),
        }
    }

    fn flush(&mut self, file: FileId) -> Result<(), DiskError> {
        match self {
            Actor::Server(server) => server.disk_mut().flush(file),
            // A client has no disk.
            Actor::Client(_) => Ok(()),
        }
    }
}
