//! Builds a batch record by record (org.apache.kafka.common.record.MemoryRecordsBuilder).

use bytes::Bytes;

use super::batch::{Header, RECORD_BATCH_OVERHEAD};
use super::compression::{Compression, CompressionRatio};
use super::varint::{put_varlong, size_of_varint, size_of_varlong};
use super::{NO_PARTITION_LEADER_EPOCH, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE, NO_TIMESTAMP};

/// A record's bytes beyond key, value and headers, at most: length 5, attributes 1, timestamp 10, offset 5 (Kafka's
/// `MAX_RECORD_OVERHEAD`).
const MAX_RECORD_OVERHEAD: usize = 21;

/// Who sends a batch. Known only when a batch is drained, long after its records were appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProducerIdentity {
    pub producer_id: i64,
    pub producer_epoch: i16,
    /// The sequence of the first record.
    pub base_sequence: i32,
}

impl ProducerIdentity {
    /// A producer without idempotence.
    pub const NONE: ProducerIdentity =
        ProducerIdentity { producer_id: NO_PRODUCER_ID, producer_epoch: NO_PRODUCER_EPOCH, base_sequence: NO_SEQUENCE };
}

/// A header of a record to be written.
pub type HeaderRef<'a> = (&'a [u8], Option<&'a [u8]>);

/// The exact size that one more record takes in a batch.
pub fn record_size<'a>(
    offset_delta: i32,
    timestamp_delta: i64,
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: impl Iterator<Item = HeaderRef<'a>>,
) -> usize {
    let body = body_size(offset_delta, timestamp_delta, data_size(key, value, headers));
    body + size_of_varint(body as i32)
}

/// The largest size that a batch of this one record can have: Kafka's `estimateSizeInBytesUpperBound`, against which
/// `max.request.size` is checked and with which a new batch is allocated.
pub fn one_record_size_upper_bound<'a>(
    key: Option<&[u8]>,
    value: Option<&[u8]>,
    headers: impl Iterator<Item = HeaderRef<'a>>,
) -> usize {
    RECORD_BATCH_OVERHEAD + MAX_RECORD_OVERHEAD + data_size(key, value, headers)
}

/// Builds one batch. Its records are packed when it is closed, all at once. The first record's timestamp is the base of all others.
#[derive(Debug, Clone)]
pub struct BatchBuilder {
    /// The header's place, then the records.
    bytes: Vec<u8>,
    record_count: i32,
    base_timestamp: i64,
    max_timestamp: i64,
    base_offset: i64,
    partition_leader_epoch: i32,
    transactional: bool,
    control: bool,
    compression: Compression,
    estimated_ratio: CompressionRatio,
}

impl Default for BatchBuilder {
    fn default() -> BatchBuilder {
        BatchBuilder::new()
    }
}

impl BatchBuilder {
    /// A producer's batch: base offset 0, no leader epoch.
    pub fn new() -> BatchBuilder {
        BatchBuilder {
            bytes: vec![0; RECORD_BATCH_OVERHEAD],
            record_count: 0,
            base_timestamp: NO_TIMESTAMP,
            max_timestamp: NO_TIMESTAMP,
            base_offset: 0,
            partition_leader_epoch: NO_PARTITION_LEADER_EPOCH,
            transactional: false,
            control: false,
            compression: Compression::NONE,
            estimated_ratio: CompressionRatio::ONE,
        }
    }

    /// A batch that a broker or controller writes itself, at this offset and epoch.
    pub fn at(base_offset: i64, partition_leader_epoch: i32) -> BatchBuilder {
        BatchBuilder { base_offset, partition_leader_epoch, ..BatchBuilder::new() }
    }

    pub fn transactional(mut self, transactional: bool) -> BatchBuilder {
        self.transactional = transactional;
        self
    }

    pub fn control(mut self, control: bool) -> BatchBuilder {
        self.control = control;
        self
    }

    /// Packs the records, probably to this part of their size.
    pub fn compressed(mut self, compression: Compression, estimated_ratio: CompressionRatio) -> BatchBuilder {
        self.compression = compression;
        self.estimated_ratio = estimated_ratio;
        self
    }

    /// The batch's size so far, header included; an estimate if the records will be packed (`estimatedSizeInBytes`).
    pub fn size_in_bytes(&self) -> usize {
        match self.compression.codec {
            None => self.bytes.len(),
            Some(_) => RECORD_BATCH_OVERHEAD + self.estimated_ratio.estimate(self.unpacked_size()),
        }
    }

    /// The size of the records so far, before they are packed.
    pub fn unpacked_size(&self) -> usize {
        self.bytes.len() - RECORD_BATCH_OVERHEAD
    }

    pub fn record_count(&self) -> i32 {
        self.record_count
    }

    /// The largest timestamp so far, −1 without one.
    pub fn max_timestamp(&self) -> i64 {
        self.max_timestamp
    }

    /// How many bytes this record would add.
    pub fn next_record_size<'a>(
        &self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl Iterator<Item = HeaderRef<'a>>,
    ) -> usize {
        record_size(self.record_count, self.timestamp_delta(timestamp), key, value, headers)
    }

    /// Whether Kafka's accumulator would put this record into this batch: the first always, others up to `write_limit`
    /// bytes in all (`hasRoomFor`).
    pub fn has_room_for<'a>(
        &self,
        write_limit: usize,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl Iterator<Item = HeaderRef<'a>>,
    ) -> bool {
        self.record_count == 0
            || self.size_in_bytes() + self.next_record_size(timestamp, key, value, headers) <= write_limit
    }

    /// Whether no record fits any more (`isFull`).
    pub fn is_full(&self, write_limit: usize) -> bool {
        self.record_count > 0 && self.size_in_bytes() >= write_limit
    }

    /// Appends a record at the next offset.
    pub fn append<'a>(
        &mut self,
        timestamp: i64,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: impl Iterator<Item = HeaderRef<'a>> + Clone,
    ) {
        let timestamp_delta = self.timestamp_delta(timestamp);
        if self.record_count == 0 {
            self.base_timestamp = timestamp;
        }
        self.max_timestamp = self.max_timestamp.max(timestamp);
        let out = &mut self.bytes;
        let body = body_size(self.record_count, timestamp_delta, data_size(key, value, headers.clone()));
        put_varlong(out, body as i64);
        out.push(0); // attributes: a record has none yet
        put_varlong(out, timestamp_delta);
        put_varlong(out, i64::from(self.record_count));
        put_nullable(out, key);
        put_nullable(out, value);
        put_varlong(out, headers.clone().count() as i64);
        for (key, value) in headers {
            put_nullable(out, Some(key));
            put_nullable(out, value);
        }
        self.record_count += 1;
    }

    /// Closes the batch for this producer: header and CRC are written, no byte is copied unless it is packed.
    pub fn build(mut self, producer: ProducerIdentity) -> Bytes {
        if self.compression.codec.is_some() {
            let packed = self.compression.pack(self.bytes.get(RECORD_BATCH_OVERHEAD..).unwrap_or_default());
            let mut bytes = Vec::with_capacity(RECORD_BATCH_OVERHEAD + packed.len());
            bytes.resize(RECORD_BATCH_OVERHEAD, 0);
            bytes.extend_from_slice(&packed);
            self.bytes = bytes;
        }
        let header = Header {
            base_offset: self.base_offset,
            partition_leader_epoch: self.partition_leader_epoch,
            compression: self.compression,
            transactional: self.transactional,
            control: self.control,
            last_offset_delta: self.record_count - 1,
            base_timestamp: self.base_timestamp,
            max_timestamp: self.max_timestamp,
            producer,
            record_count: self.record_count,
        };
        header.write(&mut self.bytes);
        self.bytes.into()
    }

    fn timestamp_delta(&self, timestamp: i64) -> i64 {
        if self.record_count == 0 { 0 } else { timestamp.wrapping_sub(self.base_timestamp) }
    }
}

fn body_size(offset_delta: i32, timestamp_delta: i64, data: usize) -> usize {
    1 + size_of_varlong(timestamp_delta) + size_of_varint(offset_delta) + data
}

/// Key, value and headers with their lengths.
fn data_size<'a>(key: Option<&[u8]>, value: Option<&[u8]>, headers: impl Iterator<Item = HeaderRef<'a>>) -> usize {
    let mut size = nullable_size(key) + nullable_size(value);
    let mut count = 0;
    for (key, value) in headers {
        size += nullable_size(Some(key)) + nullable_size(value);
        count += 1;
    }
    size + size_of_varint(count)
}

fn nullable_size(bytes: Option<&[u8]>) -> usize {
    bytes.map_or(1, |bytes| size_of_varint(bytes.len() as i32) + bytes.len())
}

fn put_nullable(out: &mut Vec<u8>, bytes: Option<&[u8]>) {
    put_varlong(out, bytes.map_or(-1, |bytes| bytes.len() as i64));
    out.extend_from_slice(bytes.unwrap_or_default());
}
