//! DeleteRecords (key 21).

use crate::wire::schema::message;

message! {
    /// Moves the log start of partitions forward (KIP-107).
    pub struct DeleteRecordsRequest: request 21, versions 0..=2, flexible 2.. {
        topics: Vec<DeleteRecordsTopic>,
        timeout_ms: i32,
    }

    /// The partitions of one topic.
    pub struct DeleteRecordsTopic {
        name: String,
        partitions: Vec<DeleteRecordsPartition>,
    }

    /// One partition and its first offset to keep; -1 stands for the high watermark.
    pub struct DeleteRecordsPartition {
        partition_index: i32,
        offset: i64,
    }

    /// What became of each partition.
    pub struct DeleteRecordsResponse: response 21, versions 0..=2, flexible 2.. {
        throttle_time_ms: i32,
        topics: Vec<DeleteRecordsTopicResult>,
    }

    /// The partitions of one topic.
    pub struct DeleteRecordsTopicResult {
        name: String,
        partitions: Vec<DeleteRecordsPartitionResult>,
    }

    /// The smallest log start among the replicas.
    pub struct DeleteRecordsPartitionResult {
        partition_index: i32,
        low_watermark: i64,
        error_code: i16,
    }
}
