//! What brokers rely on in a log: the answers to appends, reads and lookups (Apache Kafka 4.3's rules and texts).

use bytes::Bytes;
use proptest::prelude::*;
use steplog::disk::{MemoryDisk, Slice};
use steplog::log::{AppendError, Appended, Log, LogConfig, ReadError};
use steplog::record::{
    Batch, BatchBuilder, Batches, EndTransactionMarker, ProducerIdentity, TimestampType, end_transaction_marker_batch,
    one_record_size_upper_bound,
};

const NOW_MS: i64 = 1_767_225_600_000;

fn new_log(config: LogConfig) -> (MemoryDisk, Log) {
    let mut disk = MemoryDisk::new();
    let log = Log::create(&mut disk, "t-0", config, NOW_MS).unwrap();
    (disk, log)
}

fn records(timestamps: &[i64], producer: ProducerIdentity) -> Batch<Bytes> {
    let mut builder = BatchBuilder::new();
    for timestamp in timestamps {
        builder.append(*timestamp, Some(b"k"), Some(b"v"), std::iter::empty());
    }
    Batch::new(builder.build(producer)).unwrap()
}

fn plain(timestamps: &[i64]) -> Batch<Bytes> {
    records(timestamps, ProducerIdentity::NONE)
}

fn idempotent(producer_epoch: i16, base_sequence: i32, count: usize) -> Batch<Bytes> {
    records(&vec![NOW_MS; count], ProducerIdentity { producer_id: 5, producer_epoch, base_sequence })
}

/// The batch with some bytes overwritten and its CRC made right again.
fn patched(batch: &Batch<Bytes>, at: usize, bytes: &[u8]) -> Batch<Bytes> {
    let mut all = batch.bytes().to_vec();
    all[at..at + bytes.len()].copy_from_slice(bytes);
    let crc = crc32c::crc32c(&all[21..]);
    all[17..21].copy_from_slice(&crc.to_be_bytes());
    Batch::new(Bytes::from(all)).unwrap()
}

fn append(log: &mut Log, disk: &mut MemoryDisk, batch: &Batch<Bytes>) -> Result<Appended, AppendError> {
    log.append_as_leader(disk, batch, 0, NOW_MS)
}

fn read(log: &Log, disk: &MemoryDisk, offset: i64, max: u64, bound: i64, whole: bool) -> Bytes {
    match log.read(disk, offset, max, bound, whole).unwrap().records {
        Some(Slice::Bytes(bytes)) => bytes,
        _ => Bytes::new(),
    }
}

#[test]
fn duplicates_are_answered_with_their_first_offset_and_timestamp() {
    let (mut disk, mut log) = new_log(LogConfig::default());
    for sequence in 0..8 {
        assert_eq!(append(&mut log, &mut disk, &idempotent(0, sequence, 1)).unwrap().log_append_time, -1);
    }
    for sequence in 3..8 {
        let again = append(&mut log, &mut disk, &idempotent(0, sequence, 1)).unwrap();
        assert_eq!((again.duplicate, again.first_offset), (true, i64::from(sequence)));
        assert_eq!(again.log_append_time, NOW_MS);
    }
    assert_eq!(append(&mut log, &mut disk, &idempotent(0, 2, 1)).unwrap_err().error_code(), 45);
    assert_eq!(log.log_end_offset(), 8);
}

#[test]
fn sequences_and_epochs_follow_kafkas_rules() {
    let (mut disk, mut log) = new_log(LogConfig::default());
    let mut code = |log: &mut Log, epoch, sequence, count| {
        append(log, &mut disk, &idempotent(epoch, sequence, count)).map_or_else(|error| error.error_code(), |_| 0)
    };
    assert_eq!(code(&mut log, 0, 7, 1), 0, "an unknown producer may begin anywhere");
    assert_eq!(code(&mut log, 0, 9, 1), 45, "one is missing");
    assert_eq!(code(&mut log, 0, 8, 3), 0);
    assert_eq!(code(&mut log, 0, 9, 2), 45, "part of a kept batch");
    assert_eq!(code(&mut log, 1, 11, 1), 45, "a new epoch begins at 0");
    assert_eq!(code(&mut log, 1, 0, 1), 0);
    assert_eq!(code(&mut log, 0, 11, 1), 47, "an old epoch");
    assert_eq!(code(&mut log, 2, 0, 1), 0);
    let (mut disk, mut log) = new_log(LogConfig::default());
    append(&mut log, &mut disk, &idempotent(0, i32::MAX - 1, 2)).unwrap();
    append(&mut log, &mut disk, &idempotent(0, 0, 1)).unwrap();
    let error = append(&mut log, &mut disk, &idempotent(0, 2, 1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "Out of order sequence number for producer 5 at offset 3 in partition t-0: 2 (incoming seq. number), 0 \
         (current end sequence number)"
    );
}

#[test]
fn refusals_have_kafkas_codes_and_say_whether_the_log_start_is_told() {
    let (mut disk, mut log) = new_log(LogConfig { max_message_bytes: 100, ..LogConfig::default() });
    let good = plain(&[NOW_MS, NOW_MS]);
    let mut bad_crc = good.bytes().to_vec();
    *bad_crc.last_mut().unwrap() ^= 1;
    let bad_crc = Batch::new(Bytes::from(bad_crc)).unwrap();
    let mut base_5 = good.bytes().to_vec();
    base_5[7] = 5;
    let cases = [
        ("base offset", Batch::new(Bytes::from(base_5)).unwrap(), 87, true),
        ("size", plain(&[NOW_MS; 9]), 10, false),
        ("crc", bad_crc, 2, false),
        ("offset range", patched(&good, 23, &(-1i32).to_be_bytes()), 87, true),
        ("count 0", patched(&good, 57, &0i32.to_be_bytes()), 87, true),
        ("count 3", patched(&good, 57, &3i32.to_be_bytes()), 87, true),
        ("both 3", patched(&patched(&good, 57, &3i32.to_be_bytes()), 23, &2i32.to_be_bytes()), 87, true),
        ("both 1", patched(&patched(&good, 57, &1i32.to_be_bytes()), 23, &0i32.to_be_bytes()), 87, true),
        ("control", patched(&good, 21, &0x20i16.to_be_bytes()), 87, true),
        ("sequence -1", idempotent(0, -1, 1), 87, true),
        ("not gzip", patched(&good, 21, &1i16.to_be_bytes()), -1, true),
        ("no such codec", patched(&good, 21, &7i16.to_be_bytes()), -1, true),
    ];
    for (name, batch, code, tells) in cases {
        let error = append(&mut log, &mut disk, &batch).unwrap_err();
        assert_eq!((error.error_code(), error.tells_log_start_offset()), (code, tells), "{name}: {error}");
        assert_eq!(error.error_message(), None, "{name}");
    }
    assert_eq!(log.log_end_offset(), 0);
    let (mut disk, mut log) = new_log(LogConfig { segment_bytes: 70, ..LogConfig::default() });
    let error = append(&mut log, &mut disk, &good).unwrap_err();
    assert_eq!((error.error_code(), error.tells_log_start_offset()), (18, false));
}

#[test]
fn timestamps_out_of_range_name_each_record() {
    let (mut disk, mut log) = new_log(LogConfig::default());
    let ahead = NOW_MS + 3_600_001;
    let error = append(&mut log, &mut disk, &plain(&[NOW_MS, ahead, -1])).unwrap_err();
    assert_eq!(error.error_code(), 32);
    assert_eq!(
        error.error_message().as_deref(),
        Some("One or more records have been rejected due to invalid timestamp")
    );
    let [record] = error.record_errors() else { panic!("{error:?}") };
    assert_eq!(record.batch_index, 1);
    let expected = format!(
        "Timestamp {ahead} of message with offset 1 is out of range. The timestamp should be within [{}, {}]",
        NOW_MS - i64::MAX,
        NOW_MS + 3_600_000
    );
    assert_eq!(record.message, expected);
    append(&mut log, &mut disk, &plain(&[NOW_MS + 3_600_000])).unwrap();
}

#[test]
fn compacted_topics_want_keys() {
    let (mut disk, mut log) = new_log(LogConfig { compact: true, ..LogConfig::default() });
    let mut builder = BatchBuilder::new();
    for key in [Some(&b"k"[..]), None, Some(b"k"), None] {
        builder.append(NOW_MS, key, Some(b"v"), std::iter::empty());
    }
    let error = append(&mut log, &mut disk, &Batch::new(builder.build(ProducerIdentity::NONE)).unwrap()).unwrap_err();
    assert_eq!(error.error_code(), 87);
    let text = "Compacted topic cannot accept message without key in topic partition t-0";
    let expected = format!(
        "One or more records have been rejected due to 2 record errors in total, and only showing the first three \
         errors at most: [RecordError(batchIndex=1, message='{text}'), RecordError(batchIndex=3, message='{text}')]"
    );
    assert_eq!(error.error_message(), Some(expected));
}

#[test]
fn log_append_time_is_the_leaders_clock_with_a_crc_to_match() {
    let config = LogConfig { message_timestamp_type: TimestampType::LogAppendTime, ..LogConfig::default() };
    let (mut disk, mut log) = new_log(config);
    let appended = append(&mut log, &mut disk, &plain(&[1, 2])).unwrap();
    assert_eq!(appended.log_append_time, NOW_MS);
    let stored = Batches::new(read(&log, &disk, 0, u64::MAX, 2, true)).next().unwrap().unwrap();
    assert!(stored.is_crc_valid());
    assert_eq!(stored.timestamp_type(), TimestampType::LogAppendTime);
    assert!(stored.records().unwrap().all(|record| record.unwrap().timestamp == NOW_MS));
    let claims = patched(&plain(&[NOW_MS]), 21, &8i16.to_be_bytes());
    let error = append(&mut log, &mut disk, &claims).unwrap_err();
    assert_eq!(
        error.record_errors()[0].message,
        format!(
            "Invalid timestamp type in message DefaultRecord(offset=0, timestamp={NOW_MS}, key=1 bytes, value=1 bytes). \
             Producer should not set timestamp type to LogAppendTime."
        )
    );
}

#[test]
fn a_read_gives_at_least_one_batch_and_nothing_beyond_its_bound() {
    let (mut disk, mut log) = new_log(LogConfig { segment_bytes: 300, ..LogConfig::default() });
    for _ in 0..10 {
        append(&mut log, &mut disk, &plain(&[NOW_MS, NOW_MS])).unwrap();
    }
    let size = log.size_in_bytes() / 10;
    assert_eq!(read(&log, &disk, 0, 1, 20, true).len() as u64, size, "the first batch whole");
    assert_eq!(read(&log, &disk, 0, 1, 20, false).len(), 1, "or cut");
    assert_eq!(read(&log, &disk, 0, size + 5, 20, true).len() as u64, size + 5, "a slice may end in a batch");
    assert_eq!(read(&log, &disk, 0, u64::MAX, 20, true).len() as u64, 3 * size, "up to the segment's end");
    assert_eq!(read(&log, &disk, 0, u64::MAX, 4, true).len() as u64, 2 * size, "up to the bound");
    assert_eq!(read(&log, &disk, 4, u64::MAX, 4, true).len(), 0);
    assert_eq!(read(&log, &disk, 20, u64::MAX, 20, true).len(), 0);
    let first = Batches::new(read(&log, &disk, 7, u64::MAX, 20, true)).next().unwrap().unwrap();
    assert_eq!(first.base_offset(), 6, "the batch that holds the offset");
    assert!(matches!(log.read(&disk, 21, 1, 20, true), Err(ReadError::OffsetOutOfRange { .. })));
    log.increment_log_start_offset(&mut disk, 9).unwrap();
    assert!(matches!(log.read(&disk, 8, 1, 20, true), Err(ReadError::OffsetOutOfRange { .. })));
    assert_eq!(log.delete_segments_before_start(&mut disk), Ok(1));
    assert_eq!(log.segment_base_offsets().next(), Some(6));
    assert_eq!(log.offset_metadata(&disk, 8).unwrap().position, size);
}

#[test]
fn a_timestamp_is_looked_up_across_segments() {
    let (mut disk, mut log) =
        new_log(LogConfig { segment_bytes: 300, index_interval_bytes: 1, ..LogConfig::default() });
    for i in 0..12 {
        append(&mut log, &mut disk, &plain(&[NOW_MS + 10 * i, NOW_MS + 10 * i + 5])).unwrap();
    }
    let offset = |timestamp| log.offset_for_timestamp(&disk, timestamp).unwrap().map(|found| found.offset);
    for i in 0..24 {
        assert_eq!(offset(NOW_MS + 5 * i), Some(i));
        assert_eq!(offset(NOW_MS + 5 * i - 1), Some(i));
    }
    assert_eq!(offset(NOW_MS + 116), None);
    let max = log.offset_of_max_timestamp(&disk).unwrap().unwrap();
    assert_eq!((max.timestamp, max.offset, max.leader_epoch), (NOW_MS + 115, 23, 0));
}

#[test]
fn truncation_forgets_records_producers_and_epochs() {
    let (mut disk, mut log) = new_log(LogConfig { segment_bytes: 200, ..LogConfig::default() });
    for sequence in 0..6 {
        log.append_as_leader(&mut disk, &idempotent(0, sequence, 1), sequence / 2, NOW_MS).unwrap();
    }
    assert!(log.truncate_to(&mut disk, 3, NOW_MS).unwrap());
    assert_eq!((log.log_end_offset(), log.producers().get(5).unwrap().last_sequence()), (3, 2));
    assert_eq!(log.leader_epochs().latest().unwrap().epoch, 1);
    let appended = log.append_as_leader(&mut disk, &idempotent(0, 3, 1), 7, NOW_MS).unwrap();
    assert_eq!(appended.first_offset, 3);
    assert!(!log.truncate_to(&mut disk, 4, NOW_MS).unwrap());
    log.truncate_fully_and_start_at(&mut disk, 40, NOW_MS).unwrap();
    assert_eq!((log.log_start_offset(), log.log_end_offset(), log.producers().iter().len()), (40, 40, 0));
}

#[test]
fn a_segment_rolls_when_its_first_record_is_older_than_segment_ms() {
    let (mut disk, mut log) = new_log(LogConfig { segment_ms: 1000, ..LogConfig::default() });
    append(&mut log, &mut disk, &plain(&[NOW_MS])).unwrap();
    assert_eq!(append(&mut log, &mut disk, &plain(&[NOW_MS + 1000])).unwrap().rolled, None);
    assert_eq!(append(&mut log, &mut disk, &plain(&[NOW_MS + 1001])).unwrap().rolled, Some(2));
}

#[test]
fn an_end_transaction_marker_is_78_bytes() {
    let marker = EndTransactionMarker { committed: true, coordinator_epoch: 7 };
    let bytes = end_transaction_marker_batch(0, 5, 1_700_000_000_000, 1000, 3, marker);
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(
        hex,
        "0000000000000000000000420000000502ad320ccb0030000000000000018bcfe568000000018bcfe5680000000000000003e80003\
         ffffffff000000012000000008000000010c00000000000700"
    );
    assert_eq!(EndTransactionMarker::of(&Batch::new(bytes).unwrap()), Some(marker));
}

type AnyRecord = (i64, Option<Vec<u8>>, Option<Vec<u8>>, Vec<(Vec<u8>, Option<Vec<u8>>)>);

fn any_record() -> impl Strategy<Value = AnyRecord> {
    let bytes = || proptest::collection::vec(any::<u8>(), 0..80);
    let headers = proptest::collection::vec((bytes(), proptest::option::of(bytes())), 0..4);
    (0..i64::MAX / 2, proptest::option::of(bytes()), proptest::option::of(bytes()), headers)
}

proptest! {
    #[test]
    fn what_is_built_is_read_back(all in proptest::collection::vec(any_record(), 1..20)) {
        let mut builder = BatchBuilder::new();
        for (timestamp, key, value, headers) in &all {
            let headers = headers.iter().map(|(key, value)| (key.as_slice(), value.as_deref()));
            let (key, value) = (key.as_deref(), value.as_deref());
            let announced = builder.size_in_bytes() + builder.next_record_size(*timestamp, key, value, headers.clone());
            prop_assert!(announced - builder.size_in_bytes() + 61 <= one_record_size_upper_bound(key, value, headers.clone()));
            builder.append(*timestamp, key, value, headers);
            prop_assert_eq!(builder.size_in_bytes(), announced);
        }
        let producer = ProducerIdentity { producer_id: 9, producer_epoch: 1, base_sequence: 3 };
        let batch = Batch::new(builder.build(producer)).unwrap();
        prop_assert!(batch.is_crc_valid());
        prop_assert_eq!(batch.max_timestamp(), all.iter().map(|record| record.0).max().unwrap());
        let read: Vec<AnyRecord> = batch.records().unwrap().map(|record| {
            let record = record.unwrap();
            let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
            let headers = record.headers().map(|(key, value)| (key.to_vec(), owned(value))).collect();
            (record.timestamp, owned(record.key), owned(record.value), headers)
        }).collect();
        prop_assert_eq!(read, all);
    }

    #[test]
    fn no_bytes_make_the_views_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..300), v2: bool) {
        if v2 && bytes.len() >= 61 {
            let length = bytes.len() as i32 - 12;
            bytes[8..12].copy_from_slice(&length.to_be_bytes());
            bytes[16] = 2;
        }
        for batch in Batches::new(bytes.into()).flatten() {
            let _ = (batch.last_offset(), batch.last_sequence(), batch.is_crc_valid(), EndTransactionMarker::of(&batch));
            for record in batch.records().into_iter().flatten().flatten() {
                prop_assert!(record.headers().count() < 300);
            }
        }
    }
}
