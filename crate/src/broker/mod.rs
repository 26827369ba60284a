//! A Kafka server: broker and controller as one state machine.
//!
//! Owns everything that a `kafka.server.KafkaRaftServer` owns: the connections of its listeners, the logs below its
//! log directory, the metadata image, and (with the controller role) the metadata log itself. In go
//! [`crate::node::Input`]s, out come [`crate::node::Effect`]s; one file per chapter below.
//!
//! Where it deliberately answers otherwise than Kafka, and what it cannot answer yet, stands with the reason in
//! `tests/fixtures/broker/differences.json`; the tests fail on a difference that is not listed and on a listed one that
//! is none.

#[cfg(feature = "administration")]
mod administration;
#[cfg(feature = "administration")]
mod alter_configs;
mod api_versions;
pub mod config;
mod connections;
mod context;
mod deletion;
#[cfg(feature = "administration")]
mod describe_configs;
mod fetch;
mod fetch_sessions;
mod find_coordinator;
mod init_producer_id;
mod lifecycle;
mod list_offsets;
mod metadata;
mod offset_for_leader_epoch;
mod partition;
mod partitions;
mod produce;
mod purgatory;
mod server;
mod startup;
mod state;
mod topics;

pub use config::{ConfigError, Listener, ProcessRoles, ServerConfig};
pub use server::Server;
pub use state::{BatchState, PartitionEnds, PartitionState, SegmentState, ServerState, TopicState};

use server::Broker;
