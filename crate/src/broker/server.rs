//! The server as a [`Node`].

use crate::disk::Disk;
use crate::node::{At, Effect, Input, Instant, Node, Rng};

use super::{ServerConfig, ServerState};

/// One Kafka server over its disk. A restart is a new `Server` over the kept disk ([`Server::into_disk`]).
#[derive(Clone)]
pub struct Server<D: Disk> {
    config: ServerConfig,
    disk: D,
    rng: Rng,
}

impl<D: Disk> Server<D> {
    /// `seed` decides the ids that Kafka draws at random (directory, topic, incarnation, cluster).
    pub fn new(config: ServerConfig, disk: D, seed: u64) -> Server<D> {
        Server { config, disk, rng: Rng::new(seed) }
    }

    /// What is left when the process is gone.
    pub fn into_disk(self) -> D {
        self.disk
    }

    pub fn disk(&self) -> &D {
        &self.disk
    }

    /// For power cuts and faults between two lives; a running server's disk is its own.
    pub fn disk_mut(&mut self) -> &mut D {
        &mut self.disk
    }

    pub fn config(&self) -> &ServerConfig {
        &self.config
    }

    pub fn state(&self) -> ServerState {
        ServerState {
            node_id: self.config.node_id,
            serving: false,
            broker_epoch: -1,
            metadata_end_offset: 0,
            metadata_committed: 0,
            topics: Vec::new(),
        }
    }
}

impl<D: Disk> Node for Server<D> {
    fn handle(&mut self, _at: At, _input: Input, _out: &mut Vec<Effect>) {
        let _ = self.rng.next_u64();
    }

    fn next_timeout(&self) -> Option<Instant> {
        None
    }
}
