//! OffsetForLeaderEpoch (key 23).

use crate::wire::schema::message;

message! {
    /// Where does an epoch end in the leader's log? Asked by whoever suspects that logs parted (KIP-101, KIP-320).
    pub struct OffsetForLeaderEpochRequest: request 23, versions 2..=4, flexible 4.. {
        replica_id: i32 [3.., ignorable] = -2,
        topics: Vec<OffsetForLeaderTopic>,
    }

    /// The partitions of one topic that are asked about.
    pub struct OffsetForLeaderTopic {
        topic: String,
        partitions: Vec<OffsetForLeaderPartition>,
    }

    /// One partition and the epoch whose end is wanted.
    pub struct OffsetForLeaderPartition {
        partition: i32,
        current_leader_epoch: i32 [ignorable] = -1,
        leader_epoch: i32,
    }

    /// The ends of epochs.
    pub struct OffsetForLeaderEpochResponse: response 23, versions 2..=4, flexible 4.. {
        throttle_time_ms: i32 [ignorable],
        topics: Vec<OffsetForLeaderTopicResult>,
    }

    /// The partitions of one topic.
    pub struct OffsetForLeaderTopicResult {
        topic: String,
        partitions: Vec<EpochEndOffset>,
    }

    /// The largest epoch that is not above the one asked for, and where it ends.
    pub struct EpochEndOffset {
        error_code: i16,
        partition: i32,
        leader_epoch: i32 [ignorable] = -1,
        end_offset: i64 = -1,
    }
}
