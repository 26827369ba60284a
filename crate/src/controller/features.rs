//! The features of Kafka 4.3.0 and the levels that a freshly formatted cluster has (KIP-584).

/// A feature and the levels that this server can work with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SupportedFeature {
    pub name: &'static str,
    pub min: i16,
    pub max: i16,
}

const fn feature(name: &'static str, min: i16, max: i16) -> SupportedFeature {
    SupportedFeature { name, min, max }
}

pub const METADATA_VERSION: &str = "metadata.version";
pub const ELIGIBLE_LEADER_REPLICAS_VERSION: &str = "eligible.leader.replicas.version";

/// In the order in which Kafka's ApiVersions lists them.
pub const SUPPORTED_FEATURES: [SupportedFeature; 7] = [
    feature("group.version", 0, 1),
    feature("kraft.version", 0, 1),
    feature(METADATA_VERSION, 7, 30),
    feature("share.version", 0, 1),
    feature("streams.version", 0, 1),
    feature("transaction.version", 0, 2),
    feature(ELIGIBLE_LEADER_REPLICAS_VERSION, 0, 1),
];

/// What `kafka-storage format` of 4.3.0 puts in force, in the order of its bootstrap records. kraft.version stays 0
/// with static voters and is no record.
pub const FINALIZED_AT_FORMAT: [(&str, i16); 6] = [
    (METADATA_VERSION, 30),
    (ELIGIBLE_LEADER_REPLICAS_VERSION, 1),
    ("group.version", 1),
    ("share.version", 1),
    ("streams.version", 1),
    ("transaction.version", 2),
];
