//! CreateTopics (key 19).

use crate::wire::Uuid;
use crate::wire::schema::message;

message! {
    /// Creates topics, or only checks whether that would work.
    pub struct CreateTopicsRequest: request 19, versions 2..=7, flexible 5.. {
        topics: Vec<CreatableTopic>,
        timeout_ms: i32 = 60_000,
        validate_only: bool,
    }

    /// A topic to create; -1 partitions or replicas mean the cluster's default.
    pub struct CreatableTopic {
        name: String,
        num_partitions: i32,
        replication_factor: i16,
        assignments: Vec<CreatableReplicaAssignment>,
        configs: Vec<CreatableTopicConfig>,
    }

    /// The replicas of one partition, chosen by the client.
    pub struct CreatableReplicaAssignment {
        partition_index: i32,
        broker_ids: Vec<i32>,
    }

    /// A config of the new topic.
    pub struct CreatableTopicConfig {
        name: String,
        value: Option<String>,
    }

    /// What became of each topic.
    pub struct CreateTopicsResponse: response 19, versions 2..=7, flexible 5.. {
        throttle_time_ms: i32 [ignorable],
        topics: Vec<CreatableTopicResult>,
    }

    /// One topic, created or refused.
    pub struct CreatableTopicResult {
        name: String,
        topic_id: Uuid [7.., ignorable],
        error_code: i16,
        error_message: Option<String> [ignorable],
        topic_config_error_code: i16 [5.., ignorable, tag 0],
        num_partitions: i32 [5.., ignorable] = -1,
        replication_factor: i16 [5.., ignorable] = -1,
        configs: Option<Vec<CreatableTopicConfigs>> [5.., ignorable] = [],
    }

    /// A config that the new topic has.
    pub struct CreatableTopicConfigs {
        name: String [5..],
        value: Option<String> [5..],
        read_only: bool [5..],
        config_source: i8 [5.., ignorable] = -1,
        is_sensitive: bool [5..],
    }
}
