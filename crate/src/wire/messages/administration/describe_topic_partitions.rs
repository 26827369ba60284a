//! DescribeTopicPartitions (key 75).

use crate::wire::Uuid;
use crate::wire::schema::message;

message! {
    /// Topics partition by partition, in pages (KIP-966).
    pub struct DescribeTopicPartitionsRequest: request 75, versions 0..=0, flexible 0.. {
        topics: Vec<TopicRequest>,
        response_partition_limit: i32 = 2000,
        cursor: Option<Cursor>,
    }

    /// A topic that is asked for.
    pub struct TopicRequest {
        name: String,
    }

    /// Where a page begins: topic and partition.
    pub struct Cursor {
        topic_name: String,
        partition_index: i32,
    }

    /// One page, and where the next begins.
    pub struct DescribeTopicPartitionsResponse: response 75, versions 0..=0, flexible 0.. {
        throttle_time_ms: i32 [ignorable],
        topics: Vec<DescribeTopicPartitionsResponseTopic>,
        next_cursor: Option<Cursor>,
    }

    /// One topic, or its part on this page.
    pub struct DescribeTopicPartitionsResponseTopic {
        error_code: i16,
        name: Option<String> = [],
        topic_id: Uuid [ignorable],
        is_internal: bool [ignorable],
        partitions: Vec<DescribeTopicPartitionsResponsePartition>,
        topic_authorized_operations: i32 = -2_147_483_648,
    }

    /// One partition with its eligible leader replicas.
    pub struct DescribeTopicPartitionsResponsePartition {
        error_code: i16,
        partition_index: i32,
        leader_id: i32,
        leader_epoch: i32 [ignorable] = -1,
        replica_nodes: Vec<i32>,
        isr_nodes: Vec<i32>,
        eligible_leader_replicas: Option<Vec<i32>>,
        last_known_elr: Option<Vec<i32>>,
        offline_replicas: Vec<i32> [ignorable],
    }
}
