//! DescribeProducers (key 61).

use crate::wire::schema::message;

message! {
    /// Which producers have written to these partitions? (KIP-664)
    pub struct DescribeProducersRequest: request 61, versions 0..=0, flexible 0.. {
        topics: Vec<TopicRequest>,
    }

    /// The partitions of one topic that are asked about.
    pub struct TopicRequest {
        name: String,
        partition_indexes: Vec<i32>,
    }

    /// Producers by partition.
    pub struct DescribeProducersResponse: response 61, versions 0..=0, flexible 0.. {
        throttle_time_ms: i32,
        topics: Vec<TopicResponse>,
    }

    /// The partitions of one topic.
    pub struct TopicResponse {
        name: String,
        partitions: Vec<PartitionResponse>,
    }

    /// The producers that one partition remembers.
    pub struct PartitionResponse {
        partition_index: i32,
        error_code: i16,
        error_message: Option<String>,
        active_producers: Vec<ProducerState>,
    }

    /// What is known of one producer.
    pub struct ProducerState {
        producer_id: i64,
        producer_epoch: i32,
        last_sequence: i32 = -1,
        last_timestamp: i64 = -1,
        coordinator_epoch: i32,
        current_txn_start_offset: i64 = -1,
    }
}
