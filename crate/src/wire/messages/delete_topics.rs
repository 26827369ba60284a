//! DeleteTopics (key 20).

use crate::wire::Uuid;
use crate::wire::schema::message;

message! {
    /// Deletes topics, by name up to version 5, by name or id from version 6 (KIP-516).
    pub struct DeleteTopicsRequest: request 20, versions 1..=6, flexible 4.. {
        topics: Vec<DeleteTopicState> [6..],
        topic_names: Vec<String> [..=5, ignorable],
        timeout_ms: i32,
    }

    /// One topic: a name or an id.
    pub struct DeleteTopicState {
        name: Option<String> [6..],
        topic_id: Uuid [6..],
    }

    /// What became of each topic.
    pub struct DeleteTopicsResponse: response 20, versions 1..=6, flexible 4.. {
        throttle_time_ms: i32 [ignorable],
        responses: Vec<DeletableTopicResult>,
    }

    /// One topic, deleted or not.
    pub struct DeletableTopicResult {
        name: Option<String> [null 6..],
        topic_id: Uuid [6.., ignorable],
        error_code: i16,
        error_message: Option<String> [5.., ignorable],
    }
}
