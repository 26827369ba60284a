//! Appending: the checks of UnifiedLog and LogValidator in their order, offsets, timestamps, producers. The checks of
//! single records are in `validate`.

use bytes::Bytes;

use super::partition_log::Log;
use super::producers::Origin;
use super::segment::BatchSummary;
use super::validate::Validated;
use crate::disk::{Disk, DiskError};
use crate::record::{Batch, CompressionType, NO_TIMESTAMP, RecordError, TimestampType};

/// What an append did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    pub first_offset: i64,
    pub last_offset: i64,
    /// −1 with CreateTime; of a duplicate the kept batch's largest timestamp, in any case.
    pub log_append_time: i64,
    /// The batch was there already: nothing was appended.
    pub duplicate: bool,
    /// The base offset of the new segment if the append began one. What is before it wants to be flushed.
    pub rolled: Option<i64>,
    pub size: u64,
}

/// A record that fails a check of step 14, as Produce answers it from version 8 on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidRecord {
    /// Its place in the batch.
    pub batch_index: i32,
    pub message: String,
}

/// Why a batch was not appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppendError {
    /// A producer must send base offset 0.
    BaseOffset {
        topic_partition: String,
        base_offset: i64,
    },
    /// Larger than `max.message.bytes`.
    RecordTooLarge {
        topic_partition: String,
        size: u64,
        max: u64,
    },
    CorruptRecord {
        topic_partition: String,
        crc: u32,
    },
    OffsetRange {
        topic_partition: String,
        last_offset: i64,
    },
    RecordCount {
        topic_partition: String,
        count: i32,
    },
    InconsistentCount {
        topic_partition: String,
        last_offset: i64,
        count: i32,
    },
    ControlBatch {
        topic_partition: String,
    },
    Sequence {
        topic_partition: String,
        producer_id: i64,
        sequence: i32,
    },
    /// The records' bytes are not records.
    MalformedRecords {
        topic_partition: String,
        error: RecordError,
    },
    /// The records are packed in a codec that does not exist, or not in the one that is named.
    Undecodable {
        topic_partition: String,
        error: RecordError,
    },
    /// The records would unpack to more than `max` bytes.
    UnpackedTooLarge {
        topic_partition: String,
        max: u64,
    },
    /// The offsets of packed records do not count up from 0.
    InnerOffsets {
        topic_partition: String,
    },
    /// Larger than `max.message.bytes` once it is packed as the topic wants it.
    RebuiltTooLarge {
        topic_partition: String,
        size: u64,
        max: u64,
    },
    /// One or more records may not be here (step 14).
    InvalidRecords {
        records: Vec<InvalidRecord>,
        timestamp: bool,
    },
    /// Larger than `segment.bytes`.
    RecordBatchTooLarge {
        topic_partition: String,
        size: u64,
        max: u64,
    },
    InvalidProducerEpoch {
        topic_partition: String,
        producer_id: i64,
        offset: i64,
        epoch: i16,
        last_epoch: i16,
    },
    OutOfOrderSequence {
        topic_partition: String,
        producer_id: i64,
        offset: i64,
        sequence: i32,
        last_sequence: i32,
        /// The request's and the known epoch, if the batch begins a new one.
        new_epoch: Option<(i16, i16)>,
    },
    /// A non-transactional batch while the producer's transaction is open.
    InvalidTxnState {
        topic_partition: String,
        producer_id: i64,
        offset: i64,
    },
    Storage(DiskError),
}

impl AppendError {
    /// Kafka's error code.
    pub fn error_code(&self) -> i16 {
        match self {
            // Exceptions that Kafka does not expect here.
            AppendError::Undecodable { .. } | AppendError::InnerOffsets { .. } => -1,
            AppendError::CorruptRecord { .. } => 2,
            AppendError::RecordTooLarge { .. }
            | AppendError::RebuiltTooLarge { .. }
            | AppendError::UnpackedTooLarge { .. } => 10,
            AppendError::RecordBatchTooLarge { .. } => 18,
            AppendError::InvalidRecords { timestamp: true, .. } => 32,
            AppendError::OutOfOrderSequence { .. } => 45,
            AppendError::InvalidProducerEpoch { .. } => 47,
            AppendError::InvalidTxnState { .. } => 48,
            AppendError::Storage(_) => 56,
            AppendError::BaseOffset { .. }
            | AppendError::OffsetRange { .. }
            | AppendError::RecordCount { .. }
            | AppendError::InconsistentCount { .. }
            | AppendError::ControlBatch { .. }
            | AppendError::Sequence { .. }
            | AppendError::MalformedRecords { .. }
            | AppendError::InvalidRecords { timestamp: false, .. } => 87,
        }
    }

    /// What Produce answers as `error_message`: null but for invalid records. The other texts stay in Kafka's log.
    pub fn error_message(&self) -> Option<String> {
        matches!(self, AppendError::InvalidRecords { .. }).then(|| self.to_string())
    }

    pub fn record_errors(&self) -> &[InvalidRecord] {
        match self {
            AppendError::InvalidRecords { records, .. } => records,
            _ => &[],
        }
    }

    /// Whether Produce answers the log's start offset with this error, or −1.
    pub fn tells_log_start_offset(&self) -> bool {
        !matches!(
            self,
            AppendError::RecordTooLarge { .. }
                | AppendError::CorruptRecord { .. }
                | AppendError::RecordBatchTooLarge { .. }
                | AppendError::RebuiltTooLarge { .. }
                | AppendError::UnpackedTooLarge { .. }
                | AppendError::Storage(_)
        )
    }
}

impl std::fmt::Display for AppendError {
    /// Kafka's texts.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            AppendError::BaseOffset { topic_partition, base_offset } => write!(
                f,
                "The baseOffset of the record batch in the append to {topic_partition} should be 0, but it is {base_offset}"
            ),
            AppendError::RecordTooLarge { topic_partition, size, max } => write!(
                f,
                "The record batch size in the append to {topic_partition} is {size} bytes which exceeds the maximum \
                 configured value of {max})."
            ),
            AppendError::CorruptRecord { topic_partition, crc } => {
                write!(f, "Record is corrupt (stored crc = {crc}) in topic partition {topic_partition}.")
            }
            AppendError::OffsetRange { topic_partition, last_offset } => {
                write!(f, "Batch has an invalid offset range: [0, {last_offset}] in topic partition {topic_partition}")
            }
            AppendError::RecordCount { topic_partition, count } => {
                write!(f, "Invalid reported count for record batch: {count} in topic partition {topic_partition}")
            }
            AppendError::InconsistentCount { topic_partition, last_offset, count } => write!(
                f,
                "Inconsistent batch offset range [0, {last_offset}] and count of records {count} in topic partition \
                 {topic_partition}"
            ),
            AppendError::ControlBatch { topic_partition } => {
                write!(f, "Clients are not allowed to write control records in topic partition {topic_partition}")
            }
            AppendError::Sequence { topic_partition, producer_id, sequence } => write!(
                f,
                "Invalid sequence number {sequence} in record batch with producerId {producer_id} in topic partition \
                 {topic_partition}"
            ),
            AppendError::MalformedRecords { topic_partition, error }
            | AppendError::Undecodable { topic_partition, error } => {
                write!(f, "{error} in topic partition {topic_partition}")
            }
            AppendError::UnpackedTooLarge { topic_partition, max } => {
                write!(f, "Records of more than {max} bytes, compressed, in the append to {topic_partition}")
            }
            AppendError::InnerOffsets { topic_partition } => {
                write!(f, "Offsets of compressed records do not count up from 0 in topic partition {topic_partition}")
            }
            AppendError::RebuiltTooLarge { topic_partition, size, max } => write!(
                f,
                "Message batch size is {size} bytes in append topartition {topic_partition} which exceeds the maximum \
                 configured size of {max}."
            ),
            AppendError::InvalidRecords { timestamp: true, .. } => {
                f.write_str("One or more records have been rejected due to invalid timestamp")
            }
            AppendError::InvalidRecords { records, .. } => {
                write!(
                    f,
                    "One or more records have been rejected due to {} record errors in total, and only showing the \
                     first three errors at most: [",
                    records.len()
                )?;
                for (i, InvalidRecord { batch_index, message }) in records.iter().take(3).enumerate() {
                    let separator = if i == 0 { "" } else { ", " };
                    write!(f, "{separator}RecordError(batchIndex={batch_index}, message='{message}')")?;
                }
                f.write_str("]")
            }
            AppendError::RecordBatchTooLarge { topic_partition, size, max } => write!(
                f,
                "Message batch size is {size} bytes in append to partition {topic_partition}, which exceeds the maximum \
                 configured segment size of {max}."
            ),
            AppendError::InvalidProducerEpoch { topic_partition, producer_id, offset, epoch, last_epoch } => write!(
                f,
                "Epoch of producer {producer_id} at offset {offset} in {topic_partition} is {epoch}, which is < the \
                 last seen epoch {last_epoch} (TV-1)"
            ),
            AppendError::OutOfOrderSequence {
                topic_partition,
                producer_id,
                offset,
                sequence,
                new_epoch: Some((epoch, known)),
                ..
            } => write!(
                f,
                "Invalid sequence number for new epoch of producer {producer_id}at offset {offset} in partition \
                 {topic_partition}: {epoch} (request epoch), {sequence} (seq. number), {known} (current producer epoch)"
            ),
            AppendError::OutOfOrderSequence {
                topic_partition, producer_id, offset, sequence, last_sequence, ..
            } => {
                write!(
                    f,
                    "Out of order sequence number for producer {producer_id} at offset {offset} in partition \
                     {topic_partition}: {sequence} (incoming seq. number), {last_sequence} (current end sequence number)"
                )
            }
            AppendError::InvalidTxnState { topic_partition, producer_id, offset } => write!(
                f,
                "Expected transactional write from producer {producer_id} at offset {offset} in partition \
                 {topic_partition}"
            ),
            AppendError::Storage(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AppendError {}

impl From<DiskError> for AppendError {
    fn from(error: DiskError) -> AppendError {
        AppendError::Storage(error)
    }
}

impl Log {
    /// Appends a client's batch: checks it, gives it offsets and this leader's epoch, and writes it with the records
    /// as they came, unless the topic wants them packed otherwise. A batch that a retry sends again is answered, not appended.
    pub fn append_as_leader(
        &mut self,
        disk: &mut dyn Disk,
        batch: &Batch<Bytes>,
        leader_epoch: i32,
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        self.check_batch(batch)?;
        let Validated { max_timestamp: create_time, rebuilt } = self.validate(batch, now_ms)?;
        let batch = rebuilt.as_ref().unwrap_or(batch);
        let timestamp_type = self.config.message_timestamp_type;
        let max_timestamp = if timestamp_type == TimestampType::LogAppendTime { now_ms } else { create_time };
        let first_offset = self.log_end_offset;
        let summary = BatchSummary {
            last_offset: first_offset.saturating_add(i64::from(batch.last_offset_delta())),
            max_timestamp,
            size: batch.size_in_bytes(),
        };
        // Kafka notes the epoch and rolls before it looks at the producer: a refused batch can leave both behind.
        self.leader_epochs.assign(disk, leader_epoch, first_offset)?;
        if summary.size > self.config.segment_bytes {
            return Err(AppendError::RecordBatchTooLarge {
                topic_partition: self.directory.clone(),
                size: summary.size,
                max: self.config.segment_bytes,
            });
        }
        let rolled = self.maybe_roll(disk, first_offset, summary, now_ms)?.then_some(first_offset);
        let mut producer = None;
        if batch.has_producer_id() {
            if let Some(kept) = self.producers.find_duplicate(batch) {
                return Ok(Appended {
                    first_offset: kept.first_offset(),
                    last_offset: kept.last_offset,
                    log_append_time: kept.timestamp,
                    duplicate: true,
                    rolled,
                    size: 0,
                });
            }
            let origin = Origin::Client;
            producer = Some(self.producers.prepare(&self.directory, batch, first_offset, max_timestamp, origin)?);
        }
        let header = batch.stored_header(first_offset, leader_epoch, timestamp_type, max_timestamp);
        self.append_parts(disk, &[&header, batch.packed_records()], summary)?;
        if let Some(state) = producer {
            self.producers.insert(batch.producer_id(), state);
        }
        self.producers.end_offset = self.log_end_offset;
        Ok(Appended {
            first_offset,
            last_offset: summary.last_offset,
            log_append_time: if timestamp_type == TimestampType::LogAppendTime { now_ms } else { NO_TIMESTAMP },
            duplicate: false,
            rolled,
            size: summary.size,
        })
    }

    /// Appends a batch that this node wrote itself or has from a trusted peer, at its own base offset and epoch: records
    /// of the metadata log, control batches, replicated batches. Only what would break the log is checked.
    pub fn append_as_internal(
        &mut self,
        disk: &mut dyn Disk,
        batch: &Batch<Bytes>,
        now_ms: i64,
    ) -> Result<Appended, AppendError> {
        let first_offset = batch.base_offset();
        if !batch.is_crc_valid() {
            return Err(self.corrupt(batch));
        }
        if first_offset < self.log_end_offset || batch.last_offset_delta() < 0 {
            return Err(AppendError::BaseOffset { topic_partition: self.directory.clone(), base_offset: first_offset });
        }
        let summary = BatchSummary {
            last_offset: batch.last_offset(),
            max_timestamp: batch.max_timestamp(),
            size: batch.size_in_bytes(),
        };
        self.leader_epochs.assign(disk, batch.partition_leader_epoch(), first_offset)?;
        let rolled = self.maybe_roll(disk, first_offset, summary, now_ms)?.then_some(first_offset);
        self.append_parts(disk, &[batch.bytes()], summary)?;
        self.producers.replay(batch);
        let last_offset = summary.last_offset;
        let size = summary.size;
        Ok(Appended { first_offset, last_offset, log_append_time: NO_TIMESTAMP, duplicate: false, rolled, size })
    }

    /// Steps 12 and 13: the batch as a whole.
    fn check_batch(&self, batch: &Batch<Bytes>) -> Result<(), AppendError> {
        let topic_partition = || self.directory.clone();
        if batch.base_offset() != 0 {
            let base_offset = batch.base_offset();
            return Err(AppendError::BaseOffset { topic_partition: topic_partition(), base_offset });
        }
        let (size, max) = (batch.size_in_bytes(), self.config.max_message_bytes);
        if size > max {
            return Err(AppendError::RecordTooLarge { topic_partition: topic_partition(), size, max });
        }
        if !batch.is_crc_valid() {
            return Err(self.corrupt(batch));
        }
        if let CompressionType::Unknown(id) = batch.compression_type() {
            let error = RecordError::UnknownCodec { id };
            return Err(AppendError::Undecodable { topic_partition: topic_partition(), error });
        }
        let (last_offset, count) = (batch.last_offset(), batch.record_count());
        if last_offset < 0 {
            return Err(AppendError::OffsetRange { topic_partition: topic_partition(), last_offset });
        }
        if count <= 0 {
            return Err(AppendError::RecordCount { topic_partition: topic_partition(), count });
        }
        if last_offset + 1 != i64::from(count) {
            return Err(AppendError::InconsistentCount { topic_partition: topic_partition(), last_offset, count });
        }
        if batch.is_control_batch() {
            return Err(AppendError::ControlBatch { topic_partition: topic_partition() });
        }
        if batch.has_producer_id() && batch.base_sequence() < 0 {
            let (producer_id, sequence) = (batch.producer_id(), batch.base_sequence());
            return Err(AppendError::Sequence { topic_partition: topic_partition(), producer_id, sequence });
        }
        Ok(())
    }

    fn corrupt(&self, batch: &Batch<Bytes>) -> AppendError {
        AppendError::CorruptRecord { topic_partition: self.directory.clone(), crc: batch.crc() }
    }
}
