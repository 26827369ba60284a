//! CreatePartitions (key 37).

use crate::wire::schema::message;

message! {
    /// Raises the number of partitions of topics, or only checks whether that would work.
    pub struct CreatePartitionsRequest: request 37, versions 0..=3, flexible 2.. {
        topics: Vec<CreatePartitionsTopic>,
        timeout_ms: i32,
        validate_only: bool,
    }

    /// A topic and how many partitions it shall have in all.
    pub struct CreatePartitionsTopic {
        name: String,
        count: i32,
        assignments: Option<Vec<CreatePartitionsAssignment>>,
    }

    /// The replicas of one new partition, chosen by the client.
    pub struct CreatePartitionsAssignment {
        broker_ids: Vec<i32>,
    }

    /// What became of each topic.
    pub struct CreatePartitionsResponse: response 37, versions 0..=3, flexible 2.. {
        throttle_time_ms: i32,
        results: Vec<CreatePartitionsTopicResult>,
    }

    /// One topic, with more partitions or not.
    pub struct CreatePartitionsTopicResult {
        name: String,
        error_code: i16,
        error_message: Option<String>,
    }
}
