//! ListOffsets (key 2).

use crate::wire::schema::message;

message! {
    /// Asks for the offset at a timestamp or at a named place (negative timestamps).
    pub struct ListOffsetsRequest: request 2, versions 1..=11, flexible 6.. {
        replica_id: i32,
        isolation_level: i8 [2..],
        topics: Vec<ListOffsetsTopic>,
        timeout_ms: i32 [10.., ignorable],
    }

    /// The partitions of one topic that are asked for.
    pub struct ListOffsetsTopic {
        name: String,
        partitions: Vec<ListOffsetsPartition>,
    }

    /// The timestamp to look up in one partition.
    pub struct ListOffsetsPartition {
        partition_index: i32,
        current_leader_epoch: i32 [4.., ignorable] = -1,
        timestamp: i64,
    }

    /// The offsets that were found.
    pub struct ListOffsetsResponse: response 2, versions 1..=11, flexible 6.. {
        throttle_time_ms: i32 [2.., ignorable],
        topics: Vec<ListOffsetsTopicResponse>,
    }

    /// The answers of one topic.
    pub struct ListOffsetsTopicResponse {
        name: String,
        partitions: Vec<ListOffsetsPartitionResponse>,
    }

    /// The offset in one partition; -1 if there is none.
    pub struct ListOffsetsPartitionResponse {
        partition_index: i32,
        error_code: i16,
        timestamp: i64 = -1,
        offset: i64 = -1,
        leader_epoch: i32 [4..] = -1,
    }
}
