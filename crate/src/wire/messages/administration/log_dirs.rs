//! DescribeLogDirs (key 35) and AlterReplicaLogDirs (key 34).

use crate::wire::schema::message;

message! {
    /// How large are the logs in each directory? Null asks for all.
    pub struct DescribeLogDirsRequest: request 35, versions 1..=5, flexible 2.. {
        topics: Option<Vec<DescribableLogDirTopic>> = [],
    }

    /// The partitions of one topic that are asked about.
    pub struct DescribableLogDirTopic {
        topic: String,
        partitions: Vec<i32>,
    }

    /// The broker's log directories.
    pub struct DescribeLogDirsResponse: response 35, versions 1..=5, flexible 2.. {
        throttle_time_ms: i32,
        error_code: i16 [3.., ignorable],
        results: Vec<DescribeLogDirsResult>,
    }

    /// One directory.
    pub struct DescribeLogDirsResult {
        error_code: i16,
        log_dir: String,
        topics: Vec<DescribeLogDirsTopic>,
        total_bytes: i64 [4.., ignorable] = -1,
        usable_bytes: i64 [4.., ignorable] = -1,
        is_cordoned: bool [5.., ignorable],
    }

    /// What one topic has there.
    pub struct DescribeLogDirsTopic {
        name: String,
        partitions: Vec<DescribeLogDirsPartition>,
    }

    /// One log: its size in bytes and how far it lags.
    pub struct DescribeLogDirsPartition {
        partition_index: i32,
        partition_size: i64,
        offset_lag: i64,
        is_future_key: bool,
    }

    /// Moves logs to other directories of the same broker (KIP-113).
    pub struct AlterReplicaLogDirsRequest: request 34, versions 1..=2, flexible 2.. {
        dirs: Vec<AlterReplicaLogDir>,
    }

    /// What is to lie in one directory.
    pub struct AlterReplicaLogDir {
        path: String,
        topics: Vec<AlterReplicaLogDirTopic>,
    }

    /// The partitions of one topic.
    pub struct AlterReplicaLogDirTopic {
        name: String,
        partitions: Vec<i32>,
    }

    /// What became of each partition.
    pub struct AlterReplicaLogDirsResponse: response 34, versions 1..=2, flexible 2.. {
        throttle_time_ms: i32,
        results: Vec<AlterReplicaLogDirTopicResult>,
    }

    /// The partitions of one topic.
    pub struct AlterReplicaLogDirTopicResult {
        topic_name: String,
        partitions: Vec<AlterReplicaLogDirPartitionResult>,
    }

    /// One partition, accepted or refused.
    pub struct AlterReplicaLogDirPartitionResult {
        partition_index: i32,
        error_code: i16,
    }
}
