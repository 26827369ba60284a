//! The bytes of a raw Produce request: a batch as a producer builds it, then one field after the other overwritten.

use bytes::Bytes;

use crate::checksum::crc32c;
use crate::disk::Slice;
use crate::node::{RawField, RawProduce, raw_records};
use crate::record::{BatchBuilder, ProducerIdentity, record_size};
use crate::wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use crate::wire::{ApiKey, RequestHeader, Uuid, encode_request};

/// The last version but one that names topics, and Kafka's own clients' choice until topics had ids.
const USUAL_VERSION: i16 = 11;
/// From here on a topic goes by its id.
const FIRST_BY_ID: i16 = 13;
/// Those whose bodies can be written.
const FIRST_VERSION: i16 = 3;
const LAST_VERSION: i16 = 13;

/// As long as the broker may wait for replicas.
const TIMEOUT_MS: i32 = 3000;

/// An id that no topic has: a raw client knows none.
const NO_TOPIC_ID: Uuid = Uuid([0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 7]);

/// The header's fields of a batch: where each is, and how many bytes it has.
const HEADER: [(RawField, usize, usize); 10] = [
    (RawField::BaseOffset, 0, 8),
    (RawField::LeaderEpoch, 12, 4),
    (RawField::Magic, 16, 1),
    (RawField::Attributes, 21, 2),
    (RawField::LastOffsetDelta, 23, 4),
    (RawField::MaxTimestamp, 35, 8),
    (RawField::Pid, 43, 8),
    (RawField::Epoch, 51, 2),
    (RawField::Sequence, 53, 4),
    (RawField::RecordsCount, 57, 4),
];
const LENGTH: std::ops::Range<usize> = 8..12;
const CRC: std::ops::Range<usize> = 17..21;
const HEADER_BYTES: usize = 61;

pub(super) fn version(produce: &RawProduce) -> i16 {
    produce.get(RawField::Version).and_then(|version| i16::try_from(version).ok()).unwrap_or(USUAL_VERSION)
}

pub(super) fn acks(produce: &RawProduce) -> i16 {
    produce.get(RawField::Acks).and_then(|acks| i16::try_from(acks).ok()).unwrap_or(-1)
}

/// The frame, its size in front.
pub(super) fn frame(produce: &RawProduce, client_id: &str, correlation_id: i32, wall_ms: i64) -> Bytes {
    let version = version(produce);
    // Of a version that nobody serves only the header can be right, and brokers read no further.
    let written = version.clamp(FIRST_VERSION, LAST_VERSION);
    let header = RequestHeader {
        request_api_key: ApiKey::PRODUCE.0,
        request_api_version: written,
        correlation_id,
        client_id: Some(client_id.to_owned()),
        ..Default::default()
    };
    let index = produce.get(RawField::Partition).and_then(|index| i32::try_from(index).ok());
    let records = records(produce, wall_ms).map(Slice::Bytes);
    let data =
        PartitionProduceData { index: index.unwrap_or(produce.partition.partition), records, ..Default::default() };
    let mut topic = TopicProduceData { partition_data: vec![data], ..Default::default() };
    if written >= FIRST_BY_ID {
        topic.topic_id = NO_TOPIC_ID;
    } else {
        topic.name = produce.partition.topic.clone();
    }
    let body =
        ProduceRequest { acks: acks(produce), timeout_ms: TIMEOUT_MS, topic_data: vec![topic], ..Default::default() };
    // Every value fits: the table of fields bounds them.
    let chunks = encode_request(&header, &body).unwrap_or_default();
    let mut frame: Vec<u8> = Vec::new();
    for chunk in chunks.iter().filter_map(|chunk| chunk.to_bytes().ok()) {
        frame.extend_from_slice(&chunk);
    }
    put(&mut frame, 6, 2, version.into());
    frame.into()
}

/// What stands in the partition's `records`.
fn records(produce: &RawProduce, wall_ms: i64) -> Option<Bytes> {
    let mut batch = batch(produce, wall_ms);
    match produce.get(RawField::Records).unwrap_or(raw_records::BATCH) {
        raw_records::NULL => return None,
        raw_records::NONE => batch.clear(),
        raw_records::TWICE => batch.extend_from_within(..),
        raw_records::CUT => {
            batch.pop();
        }
        raw_records::RUBBISH_BEHIND => batch.extend_from_slice(b"xyz"),
        _ => {}
    }
    Some(batch.into())
}

fn batch(produce: &RawProduce, wall_ms: i64) -> Vec<u8> {
    let get = |field| produce.get(field);
    let ahead = get(RawField::AheadMs).unwrap_or(0);
    let timestamp = get(RawField::Timestamp).unwrap_or_else(|| wall_ms.saturating_add(ahead));
    let key = (get(RawField::Key) != Some(1)).then_some(&b"k"[..]);
    let size = get(RawField::Size).and_then(|size| usize::try_from(size).ok()).unwrap_or(0);
    let mut builder = BatchBuilder::new();
    for n in 0..get(RawField::Count).unwrap_or(1) {
        let mut value = format!("raw{n}").into_bytes();
        if n == 0 {
            fill_up(&mut value, key, size);
        }
        builder.append(timestamp, key, Some(&value), std::iter::empty());
    }
    let mut batch = builder.build(ProducerIdentity::NONE).to_vec();
    // A producer with an id begins at epoch and sequence 0.
    let begins =
        |field| get(RawField::Pid).filter(|_| matches!(field, RawField::Epoch | RawField::Sequence)).map(|_| 0);
    for (field, at, width) in HEADER {
        if let Some(value) = get(field).or_else(|| begins(field)) {
            put(&mut batch, at, width, value);
        }
    }
    if let Some(more) = get(RawField::LengthPlus) {
        let length = batch.len() as i64 - LENGTH.end as i64;
        put(&mut batch, LENGTH.start, LENGTH.len(), length.wrapping_add(more));
    }
    let crc = crc32c(batch.get(CRC.end..).unwrap_or_default());
    let wrong = get(RawField::Crc).unwrap_or(0);
    put(&mut batch, CRC.start, CRC.len(), i64::from(crc) ^ wrong);
    batch
}

/// Makes the value of a batch's only record so long that the batch has `size` bytes; longer it stays as it is.
fn fill_up(value: &mut Vec<u8>, key: Option<&[u8]>, size: usize) {
    let size_with = |value: &[u8]| HEADER_BYTES + record_size(0, 0, key, Some(value), std::iter::empty());
    // The lengths in front of value and record may take a few bytes more than for the short one.
    value.resize(value.len() + size.saturating_sub(size_with(value)), b'x');
    while size_with(value) > size && size > HEADER_BYTES && value.last() == Some(&b'x') {
        value.pop();
    }
}

/// Overwrites `width` bytes with the lowest ones of `value`, as far as they are there.
fn put(bytes: &mut [u8], at: usize, width: usize, value: i64) {
    let value = value.to_be_bytes();
    if let (Some(into), Some(from)) = (bytes.get_mut(at..at + width), value.get(8 - width..)) {
        into.copy_from_slice(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::TopicPartition;
    use crate::record::Batch;

    fn raw(fields: &[(RawField, i64)]) -> RawProduce {
        let partition = TopicPartition { topic: "t".to_owned(), partition: 0 };
        RawProduce { partition, fields: fields.to_vec() }
    }

    #[test]
    fn what_is_not_said_is_as_a_producer_writes_it() {
        let batch = Batch::new(batch(&raw(&[(RawField::Count, 3)]), 5)).unwrap();
        assert!(batch.is_crc_valid());
        assert_eq!((batch.record_count(), batch.last_offset_delta(), batch.max_timestamp()), (3, 2, 5));
        assert_eq!((batch.producer_id(), batch.producer_epoch(), batch.base_sequence()), (-1, -1, -1));
        assert_eq!(batch.records().unwrap().count(), 3);
    }

    #[test]
    fn a_field_is_overwritten_before_the_checksum_is_made() {
        let fields = [(RawField::Pid, 7), (RawField::Sequence, 5), (RawField::Attributes, 32)];
        let good = Batch::new(batch(&raw(&fields), 0)).unwrap();
        assert!(good.is_crc_valid() && good.is_control_batch());
        assert_eq!((good.producer_id(), good.producer_epoch(), good.base_sequence()), (7, 0, 5));
        let wrong = Batch::new(batch(&raw(&[(RawField::Crc, 1)]), 0)).unwrap();
        assert!(!wrong.is_crc_valid());
    }

    #[test]
    fn a_size_is_met_to_the_byte() {
        for size in [73, 100, 127, 128, 200, 1_000, 16_500, 1_048_588, 1_048_589] {
            assert_eq!(batch(&raw(&[(RawField::Size, size)]), 0).len() as i64, size);
        }
    }

    #[test]
    fn a_version_that_nobody_serves_stands_in_the_header() {
        for version in [0, 2, 11, 14] {
            let frame = frame(&raw(&[(RawField::Version, version)]), "raw", 1, 0);
            assert_eq!(frame[4..8], [0, 0, 0, version as u8], "{version}");
        }
    }
}
