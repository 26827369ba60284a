//! DescribeCluster (key 60).

use crate::wire::schema::message;

message! {
    /// Which brokers, or controllers, are there? (KIP-700, KIP-919)
    pub struct DescribeClusterRequest: request 60, versions 0..=2, flexible 0.. {
        include_cluster_authorized_operations: bool,
        endpoint_type: i8 [1..] = 1,
        include_fenced_brokers: bool [2..],
    }

    /// The cluster's id and nodes.
    pub struct DescribeClusterResponse: response 60, versions 0..=2, flexible 0.. {
        throttle_time_ms: i32,
        error_code: i16,
        error_message: Option<String>,
        endpoint_type: i8 [1..] = 1,
        cluster_id: String,
        controller_id: i32 = -1,
        brokers: Vec<DescribeClusterBroker>,
        cluster_authorized_operations: i32 = -2_147_483_648,
    }

    /// One node.
    pub struct DescribeClusterBroker {
        broker_id: i32,
        host: String,
        port: i32,
        rack: Option<String>,
        is_fenced: bool [2..],
    }
}
