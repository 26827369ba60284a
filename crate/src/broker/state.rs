//! What a reader may see of a server: a read-only projection, taken when it is drawn and never kept.

/// The whole server at one instant.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct ServerState {
    pub node_id: i32,
    /// Registered, unfenced and listening.
    pub serving: bool,
    /// −1 until registered.
    pub broker_epoch: i64,
    /// End of the metadata log, and up to where it is committed.
    pub metadata_end_offset: i64,
    pub metadata_committed: i64,
    /// By name.
    pub topics: Vec<TopicState>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct TopicState {
    pub name: String,
    pub topic_id: [u8; 16],
    /// By index.
    pub partitions: Vec<PartitionState>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct PartitionState {
    pub partition: i32,
    /// −1 while there is none.
    pub leader: i32,
    pub leader_epoch: i32,
    pub replicas: Vec<i32>,
    pub in_sync_replicas: Vec<i32>,
    pub log_start_offset: i64,
    pub high_watermark: i64,
    pub log_end_offset: i64,
    /// Oldest first; the last one is active.
    pub segments: Vec<SegmentState>,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct SegmentState {
    pub base_offset: i64,
    pub size: u64,
    pub batches: Vec<BatchState>,
}

/// One batch of a segment, as its header says.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct BatchState {
    pub position: u64,
    pub size: u32,
    pub base_offset: i64,
    pub last_offset: i64,
    pub leader_epoch: i32,
    pub base_timestamp: i64,
    pub max_timestamp: i64,
    /// −1 without idempotence.
    pub producer_id: i64,
    pub producer_epoch: i16,
    pub base_sequence: i32,
}
