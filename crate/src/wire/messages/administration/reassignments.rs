//! AlterPartitionReassignments (key 45) and ListPartitionReassignments (key 46).

use crate::wire::schema::message;

message! {
    /// Gives partitions other replicas (KIP-455).
    pub struct AlterPartitionReassignmentsRequest: request 45, versions 0..=1, flexible 0.. {
        timeout_ms: i32 = 60_000,
        allow_replication_factor_change: bool [1..] = true,
        topics: Vec<ReassignableTopic>,
    }

    /// The partitions of one topic.
    pub struct ReassignableTopic {
        name: String,
        partitions: Vec<ReassignablePartition>,
    }

    /// One partition and its new replicas; null cancels.
    pub struct ReassignablePartition {
        partition_index: i32,
        replicas: Option<Vec<i32>>,
    }

    /// What became of each partition.
    pub struct AlterPartitionReassignmentsResponse: response 45, versions 0..=1, flexible 0.. {
        throttle_time_ms: i32,
        allow_replication_factor_change: bool [1.., ignorable] = true,
        error_code: i16,
        error_message: Option<String> = [],
        responses: Vec<ReassignableTopicResponse>,
    }

    /// The partitions of one topic.
    pub struct ReassignableTopicResponse {
        name: String,
        partitions: Vec<ReassignablePartitionResponse>,
    }

    /// One partition, accepted or refused.
    pub struct ReassignablePartitionResponse {
        partition_index: i32,
        error_code: i16,
        error_message: Option<String> = [],
    }

    /// Which partitions are getting other replicas? Null asks for all.
    pub struct ListPartitionReassignmentsRequest: request 46, versions 0..=0, flexible 0.. {
        timeout_ms: i32 = 60_000,
        topics: Option<Vec<ListPartitionReassignmentsTopics>>,
    }

    /// The partitions of one topic that are asked about.
    pub struct ListPartitionReassignmentsTopics {
        name: String,
        partition_indexes: Vec<i32>,
    }

    /// The reassignments under way.
    pub struct ListPartitionReassignmentsResponse: response 46, versions 0..=0, flexible 0.. {
        throttle_time_ms: i32,
        error_code: i16,
        error_message: Option<String> = [],
        topics: Vec<OngoingTopicReassignment>,
    }

    /// The partitions of one topic.
    pub struct OngoingTopicReassignment {
        name: String,
        partitions: Vec<OngoingPartitionReassignment>,
    }

    /// One partition: old and new replicas together, and which come and go.
    pub struct OngoingPartitionReassignment {
        partition_index: i32,
        replicas: Vec<i32>,
        adding_replicas: Vec<i32>,
        removing_replicas: Vec<i32>,
    }
}
