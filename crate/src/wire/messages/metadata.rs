//! Metadata (key 3).

use crate::wire::Uuid;
use crate::wire::schema::message;

message! {
    /// Asks who is in the cluster and who leads what. Null topics mean all topics; in version 0 an empty list does.
    pub struct MetadataRequest: request 3, versions 0..=13, flexible 9.. {
        topics: Option<Vec<MetadataRequestTopic>> [null 1..] = [],
        allow_auto_topic_creation: bool [4..] = true,
        include_cluster_authorized_operations: bool [8..=10],
        include_topic_authorized_operations: bool [8..],
    }

    /// A topic, by name or (from version 12) by id.
    pub struct MetadataRequestTopic {
        topic_id: Uuid [10.., ignorable],
        name: Option<String> [null 10..] = [],
    }

    /// The cluster as this broker sees it.
    pub struct MetadataResponse: response 3, versions 0..=13, flexible 9.. {
        throttle_time_ms: i32 [3.., ignorable],
        brokers: Vec<MetadataResponseBroker>,
        cluster_id: Option<String> [2.., ignorable],
        controller_id: i32 [1.., ignorable] = -1,
        topics: Vec<MetadataResponseTopic>,
        cluster_authorized_operations: i32 [8..=10] = -2_147_483_648,
        error_code: i16 [13.., ignorable],
    }

    /// A live broker's address.
    pub struct MetadataResponseBroker {
        node_id: i32,
        host: String,
        port: i32,
        rack: Option<String> [1.., ignorable],
    }

    /// A topic and its partitions.
    pub struct MetadataResponseTopic {
        error_code: i16,
        name: Option<String> [null 12..] = [],
        topic_id: Uuid [10.., ignorable],
        is_internal: bool [1.., ignorable],
        partitions: Vec<MetadataResponsePartition>,
        topic_authorized_operations: i32 [8..] = -2_147_483_648,
    }

    /// A partition's leader and replicas.
    pub struct MetadataResponsePartition {
        error_code: i16,
        partition_index: i32,
        leader_id: i32,
        leader_epoch: i32 [7.., ignorable] = -1,
        replica_nodes: Vec<i32>,
        isr_nodes: Vec<i32>,
        offline_replicas: Vec<i32> [5.., ignorable],
    }
}
