//! The same records, timestamps and producer ids give the same files as Apache Kafka 4.3.0, byte for byte, on both
//! disks. See fixtures/segments/README.md.
#![cfg(not(target_arch = "wasm32"))]

use std::path::Path;

use steplog::disk::{Disk, MemoryDisk, read_file};
use steplog::log::{Log, LogConfig, OpenOptions};
use steplog::native::file_disk::FileDisk;
use steplog::record::{Batch, BatchBuilder, HeaderRef, ProducerIdentity};

/// 2026-01-01T00:00:00Z, from which the recorded producer counted its timestamps.
const T: i64 = 1_767_225_600_000;
/// About when the recording was made: producers whose last record is a day older are not loaded at a start.
const NOW_MS: i64 = 1_795_989_030_000;

struct Rec {
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<HeaderRef<'static>>,
}

fn rec(timestamp: i64, key: Option<&str>, value: Option<&str>) -> Rec {
    let bytes = |text: Option<&str>| text.map(|text| text.as_bytes().to_vec());
    Rec { timestamp, key: bytes(key), value: bytes(value), headers: Vec::new() }
}

fn key_value(timestamp: i64, key: &str, value: &str) -> Rec {
    rec(timestamp, Some(key), Some(value))
}

/// Batches as one producer sent them: its id, then the records of each batch; sequences run on.
struct Sent {
    producer_id: i64,
    first_sequence: i32,
    batches: Vec<Vec<Rec>>,
}

fn sent(producer_id: i64, batches: Vec<Vec<Rec>>) -> Sent {
    Sent { producer_id, first_sequence: 0, batches }
}

fn one_each(records: impl Iterator<Item = Rec>) -> Vec<Vec<Rec>> {
    records.map(|record| vec![record]).collect()
}

fn append(log: &mut Log, disk: &mut dyn Disk, sent: &[Sent], leader_epoch: i32) {
    for Sent { producer_id, first_sequence, batches } in sent {
        let mut base_sequence = *first_sequence;
        for records in batches {
            let mut builder = BatchBuilder::new();
            for Rec { timestamp, key, value, headers } in records {
                builder.append(*timestamp, key.as_deref(), value.as_deref(), headers.iter().copied());
            }
            let producer = match producer_id {
                -1 => ProducerIdentity::NONE,
                _ => ProducerIdentity { producer_id: *producer_id, producer_epoch: 0, base_sequence },
            };
            base_sequence += records.len() as i32;
            let batch = Batch::new(builder.build(producer)).unwrap();
            let end = log.log_end_offset();
            let appended = log.append_as_leader(disk, &batch, leader_epoch, NOW_MS).unwrap();
            assert_eq!(appended.first_offset, end);
        }
    }
}

/// Plays what happened to a topic: a first run, a clean stop, a second run in leader epoch 2, a clean stop.
fn files_are_kafkas(case: &str, first: impl Fn() -> Vec<Sent>, second: impl Fn() -> Vec<Sent>) {
    let play = |disk: &mut dyn Disk| {
        let directory = format!("{case}-0");
        let mut log = Log::create(disk, &directory, LogConfig::default(), NOW_MS).unwrap();
        log.assign_leader_epoch(disk, 0).unwrap();
        append(&mut log, disk, &first(), 0);
        let recovery_point = log.close_clean(disk).unwrap();
        let options = OpenOptions { clean_shutdown: true, recovery_point, log_start_offset: 0, now_ms: NOW_MS };
        let opening = Log::open(disk, &directory, LogConfig::default(), options).unwrap();
        let (mut log, loaded) = opening.run(disk).unwrap();
        assert_eq!(loaded.recovered_batches, 0, "a clean stop needs no recovery");
        log.assign_leader_epoch(disk, 2).unwrap();
        append(&mut log, disk, &second(), 2);
        log.close_clean(disk).unwrap();
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/segments").join(case);
        let mut names: Vec<String> = std::fs::read_dir(&recorded)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            // Beside a segment may stand what Kafka's dump-log prints of it.
            .filter(|name| !name.ends_with(".dump.txt"))
            .collect();
        names.sort();
        assert_eq!(disk.list(&directory).unwrap(), names, "{case}: the same files");
        for name in names {
            let ours = read_file(disk, &format!("{directory}/{name}")).unwrap();
            let kafkas = std::fs::read(recorded.join(&name)).unwrap();
            assert_eq!(ours, kafkas, "{case}: {name}");
        }
    };
    play(&mut MemoryDisk::new());
    let directory = tempfile::tempdir().unwrap();
    play(&mut FileDisk::open(directory.path()).unwrap());
}

fn reader_records(count: i64) -> Vec<Rec> {
    let value = |i| format!("order-{i} reader-{} borrow", i % 7);
    (0..count).map(|i| key_value(T + i, &format!("key-{}", i % 10), &value(i))).collect()
}

#[test]
fn batches_has_kafkas_bytes() {
    let records = || (0..3).map(|i| key_value(T + i, "a", &format!("x{i}"))).collect();
    files_are_kafkas("batches", || vec![sent(1, vec![records()])], Vec::new);
}

#[test]
fn idempotent_batches_has_kafkas_bytes() {
    let v = |range: std::ops::Range<i64>| range.map(|i| key_value(T + i, "k", &format!("v{i}"))).collect::<Vec<_>>();
    files_are_kafkas("idempotent-batches", || vec![sent(3, vec![v(0..4), v(4..5), v(5..8)])], Vec::new);
}

#[test]
fn not_idempotent_has_kafkas_bytes() {
    let records = || vec![key_value(T, "k", "v0"), key_value(T + 1, "k", "v1")];
    files_are_kafkas("not-idempotent", || vec![sent(-1, vec![records()])], Vec::new);
}

#[test]
fn a_batch_of_297_records_has_kafkas_bytes() {
    files_are_kafkas("none-297", || vec![sent(4, vec![reader_records(297)])], Vec::new);
}

#[test]
fn a_tiny_batch_has_kafkas_bytes() {
    files_are_kafkas("tiny-none", || vec![sent(9, vec![reader_records(3)])], Vec::new);
}

#[test]
fn a_log_with_index_entries_has_kafkas_bytes() {
    let records = || (0..200).map(|i| key_value(T + 1000 * i, &format!("k{i}"), &"v".repeat(60)));
    files_are_kafkas("indexed", || vec![sent(0, one_each(records()))], Vec::new);
}

#[test]
fn headers_nulls_and_negative_deltas_have_kafkas_bytes() {
    let records = || {
        let mut first = key_value(T, "h", "two headers, one null");
        first.headers = vec![(b"a", Some(b"1")), (b"b", None)];
        let mut second = key_value(T + 1, "h2", "same header key twice, empty value");
        second.headers = vec![(b"a", Some(b"")), (b"a", Some(b"2"))];
        vec![
            first,
            second,
            rec(T + 2, None, Some("null key")),
            rec(T + 3, Some("tombstone"), None),
            rec(T + 4, None, None),
            key_value(T + 5, "", ""),
            key_value(T - 5, "early", "timestamp before the first: negative delta"),
            key_value(T + 1_000_000, "中文", "图书馆 借阅"),
        ]
    };
    files_are_kafkas("shapes", || vec![sent(14, vec![records()])], Vec::new);
}

#[test]
fn one_record_at_a_time_over_a_restart_has_kafkas_bytes() {
    let kv = |i: i64| key_value(T + i, &format!("k{i}"), &format!("v{i}"));
    files_are_kafkas(
        "one-by-one",
        || vec![sent(1, one_each((0..10).map(kv))), sent(2, one_each((10..12).map(kv)))],
        || vec![sent(1000, one_each((12..14).map(kv)))],
    );
}

#[test]
fn a_producer_that_outlives_a_restart_has_kafkas_bytes() {
    let at = |timestamps: [i64; 3], word: &str| {
        one_each(
            timestamps
                .into_iter()
                .enumerate()
                .map(|(i, timestamp)| rec(timestamp, None, Some(&format!("{word}-{i}"))))
                .collect::<Vec<_>>()
                .into_iter(),
        )
    };
    files_are_kafkas(
        "held",
        || vec![sent(15, at([1_795_989_014_951, 1_795_989_015_002, 1_795_989_015_010], "before"))],
        || {
            let batches = at([1_795_989_021_998, 1_795_989_022_062, 1_795_989_022_070], "after");
            vec![Sent { producer_id: 15, first_sequence: 3, batches }]
        },
    );
}
