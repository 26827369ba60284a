//! The settings of one log: a topic's config with the broker's defaults below it.

use crate::record::{Compression, TimestampType};

/// Kafka's LogConfig, as far as it is obeyed. Defaults are Kafka 4.3's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogConfig {
    /// `segment.bytes`
    pub segment_bytes: u64,
    /// `segment.ms`
    pub segment_ms: i64,
    /// `segment.index.bytes`
    pub segment_index_bytes: u64,
    /// `index.interval.bytes`
    pub index_interval_bytes: u64,
    /// `max.message.bytes`: bounds a whole batch.
    pub max_message_bytes: u64,
    /// `message.timestamp.type`
    pub message_timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`
    pub message_timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`
    pub message_timestamp_after_max_ms: i64,
    /// `compression.type` with its level; `None` keeps what producers sent.
    pub compression: Option<Compression>,
    /// Whether `cleanup.policy` names `compact`: records then need a key.
    pub compact: bool,
    /// `producer.id.expiration.ms`
    pub producer_id_expiration_ms: i64,
}

impl Default for LogConfig {
    fn default() -> LogConfig {
        LogConfig {
            segment_bytes: 1_073_741_824,
            segment_ms: 604_800_000,
            segment_index_bytes: 10_485_760,
            index_interval_bytes: 4096,
            max_message_bytes: 1_048_588,
            message_timestamp_type: TimestampType::CreateTime,
            message_timestamp_before_max_ms: i64::MAX,
            message_timestamp_after_max_ms: 3_600_000,
            compression: None,
            compact: false,
            producer_id_expiration_ms: 86_400_000,
        }
    }
}
