//! Produce (key 0).

use crate::wire::schema::message;
use crate::wire::{Records, Uuid};

message! {
    /// Appends batches to partitions. Topics go by name up to version 12, by id from 13 (KIP-516).
    pub struct ProduceRequest: request 0, versions 3..=13, flexible 9.. {
        transactional_id: Option<String>,
        acks: i16,
        timeout_ms: i32,
        topic_data: Vec<TopicProduceData>,
    }

    /// Batches for one topic.
    pub struct TopicProduceData {
        name: String [..=12, ignorable],
        topic_id: Uuid [13.., ignorable],
        partition_data: Vec<PartitionProduceData>,
    }

    /// Batches for one partition; null records are an error that Kafka never answers.
    pub struct PartitionProduceData {
        index: i32,
        records: Option<Records>,
    }

    /// What became of each partition's batches. With acks=0 none is sent.
    pub struct ProduceResponse: response 0, versions 3..=13, flexible 9.. {
        responses: Vec<TopicProduceResponse>,
        throttle_time_ms: i32 [ignorable],
        node_endpoints: Vec<NodeEndpoint> [10.., tag 0],
    }

    /// The results of one topic.
    pub struct TopicProduceResponse {
        name: String [..=12, ignorable],
        topic_id: Uuid [13.., ignorable],
        partition_responses: Vec<PartitionProduceResponse>,
    }

    /// The offset the batch got, or why it was refused.
    pub struct PartitionProduceResponse {
        index: i32,
        error_code: i16,
        base_offset: i64,
        log_append_time_ms: i64 [ignorable] = -1,
        log_start_offset: i64 [5.., ignorable] = -1,
        record_errors: Vec<BatchIndexAndErrorMessage> [8.., ignorable],
        error_message: Option<String> [8.., ignorable],
        current_leader: LeaderIdAndEpoch [10.., tag 0],
    }

    /// One record that made its batch be refused (KIP-467).
    pub struct BatchIndexAndErrorMessage {
        batch_index: i32 [8..],
        batch_index_error_message: Option<String> [8..],
    }

    /// Who leads the partition instead (KIP-951).
    pub struct LeaderIdAndEpoch {
        leader_id: i32 [10..] = -1,
        leader_epoch: i32 [10..] = -1,
    }

    /// Where a new leader can be reached (KIP-951).
    pub struct NodeEndpoint {
        node_id: i32 [10..],
        host: String [10..],
        port: i32 [10..],
        rack: Option<String> [10..],
    }
}
