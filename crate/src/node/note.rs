//! What a node lets its readers know. Notes are typed and say which value they set; text is made at the edge, in the
//! reader's language. No program or code ever sees one.

use super::{CallId, ConnId, EventId, TopicPartition};

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Note {
    // --- server ---
    /// The broker is registered, unfenced and its listeners are open.
    Serving {
        broker_epoch: i64,
    },
    TopicCreated {
        topic: String,
        partitions: i32,
    },
    /// This node leads the partition now.
    BecameLeader {
        partition: TopicPartition,
        leader_epoch: i32,
        in_sync_replicas: Vec<i32>,
    },
    /// A log was opened after a start. `truncated` counts the bytes cut from a torn tail.
    LogLoaded {
        partition: TopicPartition,
        log_start: i64,
        log_end: i64,
        truncated: u64,
    },
    /// A batch is in the log.
    Appended {
        partition: TopicPartition,
        base_offset: i64,
        last_offset: i64,
        size: u32,
    },
    /// A batch was recognised as one that is already there.
    DuplicateBatch {
        partition: TopicPartition,
        base_offset: i64,
    },
    /// A batch was refused with this Kafka error code.
    Refused {
        partition: TopicPartition,
        error_code: i16,
    },
    HighWatermark {
        partition: TopicPartition,
        offset: i64,
    },
    SegmentRolled {
        partition: TopicPartition,
        base_offset: i64,
    },
    ProducerIdAssigned {
        producer_id: i64,
        producer_epoch: i16,
    },
    /// The metadata log is committed up to this offset.
    MetadataCommitted {
        offset: i64,
    },
    /// The server closed the connection because of what the peer sent.
    ConnectionRefused {
        conn: ConnId,
    },
    // --- both sides of a request ---
    RequestReceived {
        conn: ConnId,
        api_key: i16,
        api_version: i16,
        correlation_id: i32,
    },
    // --- client ---
    /// `send()` put the record of this call into this batch.
    RecordBatched {
        call: CallId,
        batch: u64,
    },
    /// A request left for this connection. `batches` is empty unless it is a Produce.
    RequestSent {
        conn: ConnId,
        api_key: i16,
        api_version: i16,
        correlation_id: i32,
        batches: Vec<u64>,
    },
    BatchCreated {
        batch: u64,
        partition: TopicPartition,
    },
    /// The batch's fate is known. With acks=0 that is merely that the send buffer took it (`base_offset` −1).
    BatchCompleted {
        batch: u64,
        base_offset: i64,
    },
    /// The batch goes back into the queue for another attempt.
    BatchRetried {
        batch: u64,
        attempt: u32,
        error_code: i16,
    },
    BatchExpired {
        batch: u64,
        records: u32,
        age_ms: i64,
    },
    BatchFailed {
        batch: u64,
        error_code: i16,
    },
    /// `send()` blocks: the topic is not in the client's metadata.
    WaitingForMetadata {
        call: CallId,
        topic: String,
    },
    /// A plugin threw; the client goes on without what it would have done.
    InterceptorThrew {
        /// Its place in interceptor.classes, from 0.
        interceptor: u32,
        exception: String,
    },
    MetadataUpdated {
        brokers: Vec<i32>,
        topics: Vec<String>,
    },
    /// Every known broker is unreachable: the client forgets its metadata and starts from bootstrap.servers (KIP-899).
    Rebootstrapped,
    Disconnected {
        conn: ConnId,
    },
    ConnectionFailed {
        node_id: i32,
        attempts: u32,
    },
    PositionSet {
        partition: TopicPartition,
        offset: i64,
    },
    /// What an earlier event makes true now, for chains that no effect carries.
    FollowsFrom {
        event: EventId,
    },
}
