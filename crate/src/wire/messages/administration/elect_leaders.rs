//! ElectLeaders (key 43).

use crate::wire::schema::message;

message! {
    /// Elects preferred (0) or unclean (1) leaders (KIP-460). Null asks for all partitions.
    pub struct ElectLeadersRequest: request 43, versions 0..=2, flexible 2.. {
        election_type: i8 [1..],
        topic_partitions: Option<Vec<TopicPartitions>> = [],
        timeout_ms: i32 = 60_000,
    }

    /// The partitions of one topic.
    pub struct TopicPartitions {
        topic: String,
        partitions: Vec<i32>,
    }

    /// What became of each election.
    pub struct ElectLeadersResponse: response 43, versions 0..=2, flexible 2.. {
        throttle_time_ms: i32,
        error_code: i16 [1..],
        replica_election_results: Vec<ReplicaElectionResult>,
    }

    /// The partitions of one topic.
    pub struct ReplicaElectionResult {
        topic: String,
        partition_result: Vec<PartitionResult>,
    }

    /// One election.
    pub struct PartitionResult {
        partition_id: i32,
        error_code: i16,
        error_message: Option<String> = [],
    }
}
