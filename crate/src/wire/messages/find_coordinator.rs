//! FindCoordinator (key 10).

use crate::wire::schema::message;

message! {
    /// Who coordinates these groups, transactions or share partitions?
    pub struct FindCoordinatorRequest: request 10, versions 0..=6, flexible 3.. {
        key: String [..=3],
        key_type: i8 [1..],
        coordinator_keys: Vec<String> [4..],
    }

    /// One coordinator up to version 3, any number from version 4 (KIP-699).
    pub struct FindCoordinatorResponse: response 10, versions 0..=6, flexible 3.. {
        throttle_time_ms: i32 [1.., ignorable],
        error_code: i16 [..=3],
        error_message: Option<String> [1..=3, ignorable] = [],
        node_id: i32 [..=3],
        host: String [..=3],
        port: i32 [..=3],
        coordinators: Vec<Coordinator> [4..],
    }

    /// The coordinator of one key.
    pub struct Coordinator {
        key: String [4..],
        node_id: i32 [4..],
        host: String [4..],
        port: i32 [4..],
        error_code: i16 [4..],
        error_message: Option<String> [4.., ignorable] = [],
    }
}
