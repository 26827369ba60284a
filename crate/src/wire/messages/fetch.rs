//! Fetch (key 1).

use crate::wire::schema::message;
use crate::wire::{Records, Uuid};

message! {
    /// Reads batches from offsets; consumers, followers and the metadata log's observers use it alike.
    pub struct FetchRequest: request 1, versions 4..=18, flexible 12.. {
        cluster_id: Option<String> [12.., ignorable, tag 0],
        replica_id: i32 [..=14] = -1,
        replica_state: ReplicaState [15.., tag 1],
        max_wait_ms: i32,
        min_bytes: i32,
        max_bytes: i32 [ignorable] = 0x7fff_ffff,
        isolation_level: i8 [ignorable],
        session_id: i32 [7.., ignorable],
        session_epoch: i32 [7.., ignorable] = -1,
        topics: Vec<FetchTopic>,
        forgotten_topics_data: Vec<ForgottenTopic> [7..],
        rack_id: String [11.., ignorable],
    }

    /// Which replica asks, and in which broker epoch (KIP-903).
    pub struct ReplicaState {
        replica_id: i32 [15..] = -1,
        replica_epoch: i64 [15..] = -1,
    }

    /// The partitions of one topic that are asked for.
    pub struct FetchTopic {
        topic: String [..=12, ignorable],
        topic_id: Uuid [13.., ignorable],
        partitions: Vec<FetchPartition>,
    }

    /// From where to read one partition, and how much at most.
    pub struct FetchPartition {
        partition: i32,
        current_leader_epoch: i32 [9.., ignorable] = -1,
        fetch_offset: i64,
        last_fetched_epoch: i32 [12..] = -1,
        log_start_offset: i64 [5.., ignorable] = -1,
        partition_max_bytes: i32,
        replica_directory_id: Uuid [17.., ignorable, tag 0],
        high_watermark: i64 [18.., ignorable, tag 1] = 0x7fff_ffff_ffff_ffff,
    }

    /// Partitions to drop from an incremental fetch session (KIP-227).
    pub struct ForgottenTopic {
        topic: String [7..=12, ignorable],
        topic_id: Uuid [13.., ignorable],
        partitions: Vec<i32> [7..],
    }

    /// Batches as they lie in the log, with the partition's marks.
    pub struct FetchResponse: response 1, versions 4..=18, flexible 12.. {
        throttle_time_ms: i32 [ignorable],
        error_code: i16 [7.., ignorable],
        session_id: i32 [7..],
        responses: Vec<FetchableTopicResponse>,
        node_endpoints: Vec<NodeEndpoint> [16.., tag 0],
    }

    /// What was read from one topic.
    pub struct FetchableTopicResponse {
        topic: String [..=12, ignorable],
        topic_id: Uuid [13.., ignorable],
        partitions: Vec<PartitionData>,
    }

    /// What was read from one partition.
    pub struct PartitionData {
        partition_index: i32,
        error_code: i16,
        high_watermark: i64,
        last_stable_offset: i64 [ignorable] = -1,
        log_start_offset: i64 [5.., ignorable] = -1,
        diverging_epoch: EpochEndOffset [12.., tag 0],
        current_leader: LeaderIdAndEpoch [12.., tag 1],
        snapshot_id: SnapshotId [12.., tag 2],
        aborted_transactions: Option<Vec<AbortedTransaction>> [ignorable] = [],
        preferred_read_replica: i32 [11..] = -1,
        records: Option<Records>,
    }

    /// Where the reader's log parted from the leader's (KIP-595).
    pub struct EpochEndOffset {
        epoch: i32 [12..] = -1,
        end_offset: i64 [12..] = -1,
    }

    /// Who leads the partition instead (KIP-951).
    pub struct LeaderIdAndEpoch {
        leader_id: i32 [12..] = -1,
        leader_epoch: i32 [12..] = -1,
    }

    /// The snapshot to fetch when the log no longer reaches back to the offset (KIP-630).
    pub struct SnapshotId {
        end_offset: i64 = -1,
        epoch: i32 = -1,
    }

    /// An aborted transaction that the returned batches may contain.
    pub struct AbortedTransaction {
        producer_id: i64,
        first_offset: i64,
    }

    /// Where a new leader can be reached (KIP-951).
    pub struct NodeEndpoint {
        node_id: i32 [16..],
        host: String [16..],
        port: i32 [16..],
        rack: Option<String> [16..],
    }
}
