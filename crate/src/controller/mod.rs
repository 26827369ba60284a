//! The controller: the one place where the cluster's metadata is decided, and the log in which it is written down.
//!
//! Owns `__cluster_metadata-0` (a quorum of one for now), the rules by which records are made (registration, fencing,
//! topics, elections, configs, producer ids), and the image that replaying those records gives. In go the wire messages
//! that brokers send to a controller; out come their answers, once what they did is committed, and the committed
//! records, which a broker replays into an image of its own.

mod active;
#[cfg(feature = "administration")]
pub mod administration;
#[cfg(feature = "administration")]
mod alter_configs;
mod brokers;
mod channel;
mod configs;
mod elections;
mod features;
mod image;
mod placement;
mod quorum;
mod record;
mod topic_changes;
mod topics;

pub use active::{Committed, Controller};
#[cfg(feature = "administration")]
pub use alter_configs::{APPEND, DELETE, SET, SUBTRACT, changed_list};
pub use channel::{ControllerChannel, ControllerRequest, ControllerResponse, InFlight};
pub use features::{FINALIZED_AT_FORMAT, SUPPORTED_FEATURES};
#[cfg(feature = "administration")]
pub use image::QuotaEntityKey;
pub use image::{
    BROKER_LOGGER_RESOURCE, BROKER_RESOURCE, BrokerRegistration, CLIENT_METRICS_RESOURCE, Change, GROUP_RESOURCE,
    MetadataImage, PartitionRegistration, RecoveryState, TOPIC_RESOURCE, TopicImage,
};
pub use quorum::{FLUSH_TOKEN_BIT, METADATA_TOPIC};
pub use record::MetadataRecord;
pub use topics::check_topic_name;
