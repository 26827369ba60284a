//! One batch as a checked view over its bytes: constructing it checks the length, after that no accessor can fail.
//! Layout: org.apache.kafka.common.record.DefaultRecordBatch.

use std::borrow::Cow;

use super::batches::BatchError;
use super::compression::{Compression, CompressionType, unpack};
use super::records::{RecordError, Records};

/// Base offset and batch length: what stands before the bytes that `batchLength` counts (Kafka's `LOG_OVERHEAD`).
pub const LOG_OVERHEAD: usize = 12;
/// The size of a batch's header (Kafka's `RECORD_BATCH_OVERHEAD`).
pub const RECORD_BATCH_OVERHEAD: usize = 61;
/// The only format that Kafka 4 appends.
pub const MAGIC_VALUE_V2: i8 = 2;

const LENGTH_OFFSET: usize = 8;
const PARTITION_LEADER_EPOCH_OFFSET: usize = 12;
const MAGIC_OFFSET: usize = 16;
const CRC_OFFSET: usize = 17;
const ATTRIBUTES_OFFSET: usize = 21;
const LAST_OFFSET_DELTA_OFFSET: usize = 23;
const BASE_TIMESTAMP_OFFSET: usize = 27;
const MAX_TIMESTAMP_OFFSET: usize = 35;
const PRODUCER_ID_OFFSET: usize = 43;
const PRODUCER_EPOCH_OFFSET: usize = 51;
const BASE_SEQUENCE_OFFSET: usize = 53;
const RECORDS_COUNT_OFFSET: usize = 57;

const COMPRESSION_CODEC_MASK: i16 = 0x07;
const TIMESTAMP_TYPE_MASK: i16 = 0x08;
const TRANSACTIONAL_FLAG_MASK: i16 = 0x10;
const CONTROL_FLAG_MASK: i16 = 0x20;
const DELETE_HORIZON_FLAG_MASK: i16 = 0x40;

/// What a batch's timestamps mean (`message.timestamp.type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimestampType {
    CreateTime,
    LogAppendTime,
}

/// A batch of magic 2: exactly its bytes, from base offset to the end of its last record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Batch<T>(T);

impl<T: AsRef<[u8]>> Batch<T> {
    /// Checks that `bytes` are one whole batch of magic 2. The CRC and the records are not looked at.
    pub fn new(bytes: T) -> Result<Batch<T>, BatchError> {
        let given = bytes.as_ref();
        if given.len() < RECORD_BATCH_OVERHEAD {
            return Err(BatchError::TooShort { size: given.len() as u64 });
        }
        let batch = Batch(bytes);
        if batch.magic() != MAGIC_VALUE_V2 {
            return Err(BatchError::Magic { magic: batch.magic() });
        }
        let announced = i64::from(batch.batch_length()) + LOG_OVERHEAD as i64;
        if announced != batch.bytes().as_ref().len() as i64 {
            return Err(BatchError::Length { announced, given: batch.bytes().as_ref().len() as u64 });
        }
        Ok(batch)
    }

    pub fn bytes(&self) -> &T {
        &self.0
    }

    pub fn into_bytes(self) -> T {
        self.0
    }

    pub fn size_in_bytes(&self) -> u64 {
        self.0.as_ref().len() as u64
    }

    pub fn base_offset(&self) -> i64 {
        i64::from_be_bytes(self.field(0))
    }

    /// The bytes after this field: the whole size less [`LOG_OVERHEAD`].
    pub fn batch_length(&self) -> i32 {
        i32::from_be_bytes(self.field(LENGTH_OFFSET))
    }

    pub fn partition_leader_epoch(&self) -> i32 {
        i32::from_be_bytes(self.field(PARTITION_LEADER_EPOCH_OFFSET))
    }

    pub fn magic(&self) -> i8 {
        i8::from_be_bytes(self.field(MAGIC_OFFSET))
    }

    /// The stored CRC-32C, over everything from the attributes to the end.
    pub fn crc(&self) -> u32 {
        u32::from_be_bytes(self.field(CRC_OFFSET))
    }

    pub fn attributes(&self) -> i16 {
        i16::from_be_bytes(self.field(ATTRIBUTES_OFFSET))
    }

    pub fn compression_type(&self) -> CompressionType {
        CompressionType::of_bits((self.attributes() & COMPRESSION_CODEC_MASK) as u8)
    }

    pub fn timestamp_type(&self) -> TimestampType {
        if self.has(TIMESTAMP_TYPE_MASK) { TimestampType::LogAppendTime } else { TimestampType::CreateTime }
    }

    pub fn is_transactional(&self) -> bool {
        self.has(TRANSACTIONAL_FLAG_MASK)
    }

    pub fn is_control_batch(&self) -> bool {
        self.has(CONTROL_FLAG_MASK)
    }

    /// The time at which tombstones of this batch may go, once a cleaning has set it.
    pub fn delete_horizon_ms(&self) -> Option<i64> {
        self.has(DELETE_HORIZON_FLAG_MASK).then(|| self.base_timestamp())
    }

    pub fn last_offset_delta(&self) -> i32 {
        i32::from_be_bytes(self.field(LAST_OFFSET_DELTA_OFFSET))
    }

    /// Wraps rather than overflows: the fields may come from a hostile peer.
    pub fn last_offset(&self) -> i64 {
        self.base_offset().wrapping_add(i64::from(self.last_offset_delta()))
    }

    pub fn next_offset(&self) -> i64 {
        self.last_offset().wrapping_add(1)
    }

    /// The timestamp of the first record, from which the records' deltas count.
    pub fn base_timestamp(&self) -> i64 {
        i64::from_be_bytes(self.field(BASE_TIMESTAMP_OFFSET))
    }

    pub fn max_timestamp(&self) -> i64 {
        i64::from_be_bytes(self.field(MAX_TIMESTAMP_OFFSET))
    }

    pub fn producer_id(&self) -> i64 {
        i64::from_be_bytes(self.field(PRODUCER_ID_OFFSET))
    }

    pub fn has_producer_id(&self) -> bool {
        self.producer_id() > super::NO_PRODUCER_ID
    }

    pub fn producer_epoch(&self) -> i16 {
        i16::from_be_bytes(self.field(PRODUCER_EPOCH_OFFSET))
    }

    pub fn base_sequence(&self) -> i32 {
        i32::from_be_bytes(self.field(BASE_SEQUENCE_OFFSET))
    }

    /// The sequence of the last record; −1 without sequences. After 2147483647 comes 0.
    pub fn last_sequence(&self) -> i32 {
        match self.base_sequence() {
            super::NO_SEQUENCE => super::NO_SEQUENCE,
            base => add_to_sequence(base, self.last_offset_delta()),
        }
    }

    pub fn record_count(&self) -> i32 {
        i32::from_be_bytes(self.field(RECORDS_COUNT_OFFSET))
    }

    /// Whether the bytes are as they were written.
    pub fn is_crc_valid(&self) -> bool {
        crate::checksum::crc32c(self.0.as_ref().get(ATTRIBUTES_OFFSET..).unwrap_or_default()) == self.crc()
    }

    /// The records of a batch that is not packed, one after the other. Nobody packs control batches and metadata.
    pub fn records(&self) -> Result<Records<'_>, RecordError> {
        match self.compression_type() {
            CompressionType::None => Ok(self.records_in(self.packed_records())),
            packed => Err(RecordError::Compressed { compression: packed }),
        }
    }

    /// The bytes of the records, at most `limit` of them if they are packed; see [`unpacked_bytes_max`].
    ///
    /// [`unpacked_bytes_max`]: super::unpacked_bytes_max
    pub fn unpacked_records(&self, limit: usize) -> Result<Cow<'_, [u8]>, RecordError> {
        unpack(self.compression_type(), self.packed_records(), limit)
    }

    /// The records, one after the other, in what [`Batch::unpacked_records`] gave.
    pub fn records_in<'a>(&self, unpacked: &'a [u8]) -> Records<'a> {
        Records::new(
            unpacked,
            self.record_count(),
            self.base_offset(),
            self.base_timestamp(),
            (self.timestamp_type() == TimestampType::LogAppendTime).then(|| self.max_timestamp()),
        )
    }

    /// What stands after the header, compressed or not.
    pub fn packed_records(&self) -> &[u8] {
        self.0.as_ref().get(RECORD_BATCH_OVERHEAD..).unwrap_or_default()
    }

    /// This batch's header as a leader stores it: with the offset and epoch it gives, and, if the batch's time is not
    /// what it should be, with another largest timestamp and a new CRC. The records stay where they are.
    pub fn stored_header(
        &self,
        base_offset: i64,
        leader_epoch: i32,
        timestamp_type: TimestampType,
        max_timestamp: i64,
    ) -> [u8; RECORD_BATCH_OVERHEAD] {
        let mut header = [0; RECORD_BATCH_OVERHEAD];
        header.copy_from_slice(&self.0.as_ref()[..RECORD_BATCH_OVERHEAD]);
        put(&mut header, 0, base_offset.to_be_bytes());
        put(&mut header, PARTITION_LEADER_EPOCH_OFFSET, leader_epoch.to_be_bytes());
        if self.timestamp_type() != timestamp_type || self.max_timestamp() != max_timestamp {
            let bit = if timestamp_type == TimestampType::LogAppendTime { TIMESTAMP_TYPE_MASK } else { 0 };
            put(&mut header, ATTRIBUTES_OFFSET, ((self.attributes() & !TIMESTAMP_TYPE_MASK) | bit).to_be_bytes());
            put(&mut header, MAX_TIMESTAMP_OFFSET, max_timestamp.to_be_bytes());
            let crc = crate::checksum::crc32c_append(
                crate::checksum::crc32c(&header[ATTRIBUTES_OFFSET..]),
                self.packed_records(),
            );
            put(&mut header, CRC_OFFSET, crc.to_be_bytes());
        }
        header
    }

    fn has(&self, mask: i16) -> bool {
        self.attributes() & mask != 0
    }

    /// In bounds by construction: every field ends before [`RECORD_BATCH_OVERHEAD`].
    fn field<const N: usize>(&self, at: usize) -> [u8; N] {
        std::array::from_fn(|i| self.0.as_ref()[at + i])
    }
}

impl<T: AsRef<[u8]> + AsMut<[u8]>> Batch<T> {
    /// Outside the CRC.
    pub fn set_base_offset(&mut self, offset: i64) {
        put(self.0.as_mut(), 0, offset.to_be_bytes());
    }

    /// Outside the CRC.
    pub fn set_partition_leader_epoch(&mut self, epoch: i32) {
        put(self.0.as_mut(), PARTITION_LEADER_EPOCH_OFFSET, epoch.to_be_bytes());
    }

    /// Gives the batch to another producer state and recomputes the CRC.
    pub fn set_producer(&mut self, producer: super::ProducerIdentity) {
        let bytes = self.0.as_mut();
        put(bytes, PRODUCER_ID_OFFSET, producer.producer_id.to_be_bytes());
        put(bytes, PRODUCER_EPOCH_OFFSET, producer.producer_epoch.to_be_bytes());
        put(bytes, BASE_SEQUENCE_OFFSET, producer.base_sequence.to_be_bytes());
        put_crc(bytes);
    }
}

/// The fields that a builder fills in when it closes a batch.
pub(super) struct Header {
    pub base_offset: i64,
    pub partition_leader_epoch: i32,
    pub compression: Compression,
    pub transactional: bool,
    pub control: bool,
    pub last_offset_delta: i32,
    pub base_timestamp: i64,
    pub max_timestamp: i64,
    pub producer: super::ProducerIdentity,
    pub record_count: i32,
}

impl Header {
    /// Writes the header over the first bytes of `batch`, whose records are complete. At least
    /// [`RECORD_BATCH_OVERHEAD`] bytes.
    pub(super) fn write(&self, batch: &mut [u8]) {
        let attributes = self.compression.bits()
            | if self.transactional { TRANSACTIONAL_FLAG_MASK } else { 0 }
            | if self.control { CONTROL_FLAG_MASK } else { 0 };
        let length = (batch.len() - LOG_OVERHEAD) as i32;
        put(batch, 0, self.base_offset.to_be_bytes());
        put(batch, LENGTH_OFFSET, length.to_be_bytes());
        put(batch, PARTITION_LEADER_EPOCH_OFFSET, self.partition_leader_epoch.to_be_bytes());
        put(batch, MAGIC_OFFSET, MAGIC_VALUE_V2.to_be_bytes());
        put(batch, ATTRIBUTES_OFFSET, attributes.to_be_bytes());
        put(batch, LAST_OFFSET_DELTA_OFFSET, self.last_offset_delta.to_be_bytes());
        put(batch, BASE_TIMESTAMP_OFFSET, self.base_timestamp.to_be_bytes());
        put(batch, MAX_TIMESTAMP_OFFSET, self.max_timestamp.to_be_bytes());
        put(batch, PRODUCER_ID_OFFSET, self.producer.producer_id.to_be_bytes());
        put(batch, PRODUCER_EPOCH_OFFSET, self.producer.producer_epoch.to_be_bytes());
        put(batch, BASE_SEQUENCE_OFFSET, self.producer.base_sequence.to_be_bytes());
        put(batch, RECORDS_COUNT_OFFSET, self.record_count.to_be_bytes());
        put_crc(batch);
    }
}

/// The sequence that comes `increment` after `sequence` (DefaultRecordBatch.incrementSequence).
pub fn add_to_sequence(sequence: i32, increment: i32) -> i32 {
    let sum = i64::from(sequence) + i64::from(increment);
    if sum > i64::from(i32::MAX) { (sum - i64::from(i32::MAX) - 1) as i32 } else { sum as i32 }
}

fn put_crc(batch: &mut [u8]) {
    let crc = crate::checksum::crc32c(&batch[ATTRIBUTES_OFFSET..]);
    put(batch, CRC_OFFSET, crc.to_be_bytes());
}

fn put<const N: usize>(bytes: &mut [u8], at: usize, field: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&field);
}
