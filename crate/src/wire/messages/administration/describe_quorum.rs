//! DescribeQuorum (key 55).

use crate::wire::Uuid;
use crate::wire::schema::message;

message! {
    /// How do the voters of a metadata log stand? (KIP-595)
    pub struct DescribeQuorumRequest: request 55, versions 0..=2, flexible 0.. {
        topics: Vec<AskedTopic>,
    }

    /// A topic that is asked about.
    pub struct AskedTopic {
        topic_name: String,
        partitions: Vec<AskedPartition>,
    }

    /// A partition that is asked about.
    pub struct AskedPartition {
        partition_index: i32,
    }

    /// Leader, voters and observers.
    pub struct DescribeQuorumResponse: response 55, versions 0..=2, flexible 0.. {
        error_code: i16,
        error_message: Option<String> [2.., ignorable] = [],
        topics: Vec<TopicData>,
        nodes: Vec<Node> [2..],
    }

    /// One topic.
    pub struct TopicData {
        topic_name: String,
        partitions: Vec<PartitionData>,
    }

    /// Where a voter listens (KIP-853).
    pub struct Node {
        node_id: i32 [2..],
        listeners: Vec<Listener> [2..],
    }

    /// How far one replica has come.
    pub struct ReplicaState {
        replica_id: i32,
        replica_directory_id: Uuid [2..],
        log_end_offset: i64,
        last_fetch_timestamp: i64 [1.., ignorable] = -1,
        last_caught_up_timestamp: i64 [1.., ignorable] = -1,
    }

    /// One partition's quorum.
    pub struct PartitionData {
        partition_index: i32,
        error_code: i16,
        error_message: Option<String> [2.., ignorable] = [],
        leader_id: i32,
        leader_epoch: i32,
        high_watermark: i64,
        current_voters: Vec<ReplicaState>,
        observers: Vec<ReplicaState>,
    }

    /// One listener of a voter.
    pub struct Listener {
        name: String [2..],
        host: String [2..],
        port: u16 [2..],
    }
}
