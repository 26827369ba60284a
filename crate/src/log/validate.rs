//! What the leader checks in a client's batch record by record, and what it makes of one that is packed otherwise than
//! the topic wants (LogValidator).

use bytes::Bytes;

use super::append::{AppendError, InvalidRecord};
use super::partition_log::Log;
use crate::record::{
    Batch, BatchBuilder, Codec, Compression, CompressionRatio, CompressionType, NO_TIMESTAMP, ProducerIdentity, Record,
    RecordError, Refused, TimestampType, unpacked_bytes_max,
};

/// A batch whose records may be in the log.
pub(super) struct Validated {
    pub max_timestamp: i64,
    /// What to append instead of the batch that came.
    pub rebuilt: Option<Batch<Bytes>>,
}

impl Log {
    /// Step 14, and the packing. A batch that came as the topic wants it is appended as the bytes that came.
    pub(super) fn validate(&self, batch: &Batch<Bytes>, now_ms: i64) -> Result<Validated, AppendError> {
        let source = match batch.compression_type() {
            CompressionType::Packed(codec) => Some(codec),
            CompressionType::None | CompressionType::Unknown(_) => None,
        };
        let target = self.config.compression.unwrap_or(source.map_or(Compression::NONE, Compression::of));
        let in_place = source == target.codec;
        let limit = unpacked_bytes_max(self.config.max_message_bytes);
        let unpacked = batch.unpacked_records(limit).map_err(|error| self.malformed(error))?;
        let mut builder = (!in_place).then(|| BatchBuilder::new().compressed(target, CompressionRatio::ONE));
        let mut max_timestamp = NO_TIMESTAMP;
        let mut offsets_are_wrong = false;
        let mut invalid = Vec::new();
        let mut timestamp = false;
        for (batch_index, record) in (0..).zip(batch.records_in(&unpacked)) {
            let record = record.map_err(|error| self.malformed(error))?;
            if let Some((message, of_timestamp)) = self.check_record(batch, &record, now_ms) {
                timestamp |= of_timestamp;
                invalid.push(InvalidRecord { batch_index, message });
                continue;
            }
            max_timestamp = max_timestamp.max(record.timestamp);
            offsets_are_wrong |= record.offset != i64::from(batch_index);
            if let Some(builder) = &mut builder {
                builder.append(record.timestamp, record.key, record.value, record.headers());
            }
        }
        if !invalid.is_empty() {
            return Err(AppendError::InvalidRecords { records: invalid, timestamp });
        }
        // Of batches that it may append as they came Kafka reads only what it needs, and then cannot rebuild them. Offsets
        // of records that are not packed it does not look at.
        if in_place && source.is_some() && offsets_are_wrong {
            return Err(AppendError::InnerOffsets { topic_partition: self.directory.clone() });
        }
        let rebuilt = builder.map(|builder| self.close_rebuilt(batch, builder)).transpose()?;
        Ok(Validated { max_timestamp, rebuilt })
    }

    fn close_rebuilt(&self, batch: &Batch<Bytes>, builder: BatchBuilder) -> Result<Batch<Bytes>, AppendError> {
        let producer = ProducerIdentity {
            producer_id: batch.producer_id(),
            producer_epoch: batch.producer_epoch(),
            base_sequence: batch.base_sequence(),
        };
        let bytes = builder.transactional(batch.is_transactional()).build(producer);
        let (size, max) = (bytes.len() as u64, self.config.max_message_bytes);
        let topic_partition = || self.directory.clone();
        if size > max {
            return Err(AppendError::RebuiltTooLarge { topic_partition: topic_partition(), size, max });
        }
        Batch::new(bytes).map_err(|_| AppendError::RebuiltTooLarge { topic_partition: topic_partition(), size, max })
    }

    fn malformed(&self, error: RecordError) -> AppendError {
        let topic_partition = self.directory.clone();
        match error {
            RecordError::Packed { refused: Refused::TooLarge, .. } => {
                let max = unpacked_bytes_max(self.config.max_message_bytes) as u64;
                AppendError::UnpackedTooLarge { topic_partition, max }
            }
            // An end that comes too early is an EOFException in Java, and that an invalid record.
            RecordError::Packed { codec: Codec::Gzip, refused: Refused::Truncated } => {
                AppendError::MalformedRecords { topic_partition, error }
            }
            RecordError::Packed { .. } | RecordError::UnknownCodec { .. } => {
                AppendError::Undecodable { topic_partition, error }
            }
            error => AppendError::MalformedRecords { topic_partition, error },
        }
    }

    /// What is wrong with a record, and whether it is its timestamp.
    fn check_record(&self, batch: &Batch<Bytes>, record: &Record<'_>, now_ms: i64) -> Option<(String, bool)> {
        if self.config.compact && record.key.is_none() {
            let text = "Compacted topic cannot accept message without key in topic partition";
            return Some((format!("{text} {}", self.directory), false));
        }
        self.check_timestamp(batch, record, now_ms).map(|message| (message, true))
    }

    /// Measured: a batch that claims LogAppendTime passes on a CreateTime topic if its records have timestamps.
    fn check_timestamp(&self, batch: &Batch<Bytes>, record: &Record<'_>, now_ms: i64) -> Option<String> {
        let timestamp = record.timestamp;
        let (before, after) = (self.config.message_timestamp_before_max_ms, self.config.message_timestamp_after_max_ms);
        if self.config.message_timestamp_type == TimestampType::CreateTime && timestamp != NO_TIMESTAMP {
            let age = now_ms.wrapping_sub(timestamp);
            (age > before || age.wrapping_neg() > after).then(|| {
                format!(
                    "Timestamp {timestamp} of message with offset {} is out of range. The timestamp should be within \
                     [{}, {}]",
                    record.offset,
                    now_ms.wrapping_sub(before),
                    now_ms.wrapping_add(after)
                )
            })
        } else if batch.timestamp_type() == TimestampType::LogAppendTime {
            Some(format!(
                "Invalid timestamp type in message DefaultRecord(offset={}, timestamp={timestamp}, key={} bytes, \
                 value={} bytes). Producer should not set timestamp type to LogAppendTime.",
                record.offset,
                record.key.map_or(0, <[u8]>::len),
                record.value.map_or(0, <[u8]>::len)
            ))
        } else {
            None
        }
    }
}
