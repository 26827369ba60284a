//! A log after a crash: whatever was torn off or turned over, what is read back are the records that were written.

use bytes::Bytes;
use steplog::disk::{Disk, MemoryDisk, Slice};
use steplog::log::{Loaded, Log, LogConfig, OpenOptions, Progress};
use steplog::record::{Batch, BatchBuilder, Batches, ProducerIdentity};

const LOG_FILE: &str = "t-0/00000000000000000000.log";
const NOW_MS: i64 = 1_767_225_600_000;

fn batch(producer_id: i64, sequence: i32, values: &[&str]) -> Batch<Bytes> {
    let mut builder = BatchBuilder::new();
    for value in values {
        builder.append(NOW_MS, Some(b"key"), Some(value.as_bytes()), std::iter::empty());
    }
    Batch::new(builder.build(ProducerIdentity { producer_id, producer_epoch: 0, base_sequence: sequence })).unwrap()
}

/// Five batches of one producer, seven records; the disk as the process leaves it when it is killed.
fn killed_log() -> (MemoryDisk, Vec<(u64, i64)>) {
    let mut disk = MemoryDisk::new();
    let mut log = Log::create(&mut disk, "t-0", LogConfig::default(), NOW_MS).unwrap();
    let mut ends = vec![(0, 0)];
    for (sequence, values) in [(0, &["a"][..]), (1, &["b", "c"]), (3, &["d"]), (4, &["e", "f"]), (6, &["g"])] {
        let appended = log.append_as_leader(&mut disk, &batch(7, sequence, values), 3, NOW_MS).unwrap();
        ends.push((log.size_in_bytes(), appended.last_offset + 1));
    }
    disk.process_kill();
    (disk, ends)
}

fn reopen(disk: &mut MemoryDisk, clean_shutdown: bool) -> (Log, Loaded) {
    let options = OpenOptions { clean_shutdown, recovery_point: 0, log_start_offset: 0, now_ms: NOW_MS };
    Log::open(disk, "t-0", LogConfig::default(), options).unwrap().run(disk).unwrap()
}

fn values(log: &Log, disk: &MemoryDisk) -> Vec<(i64, String)> {
    let read = log.read(disk, log.log_start_offset(), u64::MAX, log.log_end_offset(), true).unwrap();
    let Some(Slice::Bytes(bytes)) = read.records else { return Vec::new() };
    let mut values = Vec::new();
    for batch in Batches::new(bytes) {
        let batch = batch.unwrap();
        assert!(batch.is_crc_valid());
        for record in batch.records().unwrap() {
            let record = record.unwrap();
            values.push((record.offset, String::from_utf8(record.value.unwrap().to_vec()).unwrap()));
        }
    }
    values
}

const WRITTEN: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];

fn cut(disk: &mut MemoryDisk, len: u64) {
    let file = disk.open(LOG_FILE, false).unwrap();
    disk.set_len(file, len).unwrap();
    disk.close(file);
}

#[test]
fn a_log_cut_anywhere_recovers_to_its_last_whole_batch_and_goes_on() {
    let (disk, ends) = killed_log();
    let full = ends.last().unwrap().0;
    for len in 0..=full {
        let mut disk = disk.clone();
        cut(&mut disk, len);
        let (mut log, loaded) = reopen(&mut disk, false);
        let (whole, end) = *ends.iter().rev().find(|(size, _)| *size <= len).unwrap();
        assert_eq!(log.log_end_offset(), end, "cut at {len}");
        assert_eq!(loaded.truncated_bytes, len - whole, "cut at {len}");
        let expected: Vec<(i64, String)> = (0..end).map(|i| (i, WRITTEN[i as usize].to_owned())).collect();
        assert_eq!(values(&log, &disk), expected, "cut at {len}");
        // The producer's next batch continues where the log ends now.
        let last = end as i32 - 1;
        if end > 0 {
            assert_eq!(log.producers().get(7).unwrap().last_sequence(), last, "cut at {len}");
        }
        let appended = log.append_as_leader(&mut disk, &batch(7, last + 1, &["next"]), 4, NOW_MS).unwrap();
        assert_eq!(appended.first_offset, end, "cut at {len}");
        assert_eq!(values(&log, &disk).last().unwrap(), &(end, "next".to_owned()));
    }
}

#[test]
fn a_tail_torn_behind_a_clean_stop_stays_in_the_file_until_the_next_append() {
    let (mut disk, ends) = killed_log();
    let (log, _) = reopen(&mut disk, false);
    log.close_clean(&mut disk).unwrap();
    let (whole, end) = ends[ends.len() - 2];
    cut(&mut disk, whole + 30);
    let (mut log, loaded) = reopen(&mut disk, true);
    assert_eq!((log.log_end_offset(), loaded.truncated_bytes), (end, 0));
    let file = disk.open(LOG_FILE, false).unwrap();
    assert_eq!(disk.len(file), Ok(whole + 30));
    let appended = log.append_as_leader(&mut disk, &batch(8, 0, &["next"]), 4, NOW_MS).unwrap();
    assert_eq!(appended.first_offset, end);
    assert_eq!(values(&log, &disk).last().unwrap(), &(end, "next".to_owned()));
}

#[test]
fn a_flipped_byte_never_yields_a_record_that_was_not_written() {
    let (disk, ends) = killed_log();
    let full = ends.last().unwrap().0;
    for position in 0..full {
        let mut disk = disk.clone();
        let file = disk.open(LOG_FILE, false).unwrap();
        let old = disk.read(file, position, 1).unwrap()[0];
        disk.write_at(file, position, &[old ^ 0x41]).unwrap();
        let (log, _) = reopen(&mut disk, false);
        let read = values(&log, &disk);
        let read: Vec<&str> = read.iter().map(|(_, value)| value.as_str()).collect();
        // Everything before the hit batch is there; the rest is a prefix of what was written (a hit base offset or
        // leader epoch, which no CRC covers, may leave the records of its batch in place).
        let before = ends.iter().rev().find(|(size, _)| *size <= position).unwrap().1 as usize;
        assert!(read.len() >= before, "flipped at {position}: {read:?}");
        assert_eq!(read, WRITTEN[..read.len()], "flipped at {position}");
    }
}

#[test]
fn recovery_rebuilds_what_the_indexes_said() {
    let config = LogConfig { index_interval_bytes: 100, ..LogConfig::default() };
    let mut disk = MemoryDisk::new();
    let mut log = Log::create(&mut disk, "t-0", config.clone(), NOW_MS).unwrap();
    for sequence in 0..50 {
        log.append_as_leader(&mut disk, &batch(7, sequence, &["value"]), 0, NOW_MS + i64::from(sequence)).unwrap();
    }
    let mut stopped = disk.clone();
    log.close_clean(&mut stopped).unwrap();
    disk.process_kill();
    let options = OpenOptions { clean_shutdown: false, recovery_point: 0, log_start_offset: 0, now_ms: NOW_MS };
    let (log, loaded) = Log::open(&mut disk, "t-0", config, options).unwrap().run(&mut disk).unwrap();
    assert_eq!(loaded, Loaded { recovered_batches: 50, truncated_bytes: 0 });
    log.close_clean(&mut disk).unwrap();
    let names: Vec<&str> = stopped.files().map(|(path, _)| path).collect();
    assert_eq!(disk.files().map(|(path, _)| path).collect::<Vec<_>>(), names);
    for ((path, recovered), (_, kept)) in disk.files().zip(stopped.files()) {
        assert_eq!(recovered, kept, "{path}");
    }
}

#[test]
fn segments_behind_a_bad_one_are_removed() {
    let config = LogConfig { segment_bytes: 200, ..LogConfig::default() };
    let mut disk = MemoryDisk::new();
    let mut log = Log::create(&mut disk, "t-0", config.clone(), NOW_MS).unwrap();
    for sequence in 0..10 {
        log.append_as_leader(&mut disk, &batch(7, sequence, &["value"]), 0, NOW_MS).unwrap();
    }
    assert_eq!(log.segment_base_offsets().collect::<Vec<_>>(), [0, 2, 4, 6, 8]);
    disk.process_kill();
    let second = disk.open("t-0/00000000000000000004.log", false).unwrap();
    disk.write_at(second, 140, b"?").unwrap();
    let options = OpenOptions { clean_shutdown: false, recovery_point: 2, log_start_offset: 0, now_ms: NOW_MS };
    let mut opening = Log::open(&mut disk, "t-0", config, options).unwrap();
    let mut steps = 0;
    let log = loop {
        steps += 1;
        match opening.step(&mut disk, 1).unwrap() {
            Progress::More => {}
            Progress::Done(log, loaded) => {
                assert_eq!(loaded.recovered_batches, 3);
                break log;
            }
        }
    };
    assert!(steps >= 4, "one batch a step");
    assert_eq!(log.segment_base_offsets().collect::<Vec<_>>(), [0, 2, 4]);
    assert_eq!(log.log_end_offset(), 5);
    assert!(!disk.exists("t-0/00000000000000000006.log"));
    assert_eq!(log.producers().get(7).unwrap().last_sequence(), 4);
}

#[test]
fn the_window_of_duplicates_is_one_batch_after_any_restart() {
    for clean in [true, false] {
        let (mut disk, _) = killed_log();
        let (log, _) = reopen(&mut disk, false);
        if clean {
            log.close_clean(&mut disk).unwrap();
        }
        disk.process_kill();
        let (mut log, _) = reopen(&mut disk, clean);
        let newest = log.append_as_leader(&mut disk, &batch(7, 6, &["g"]), 4, NOW_MS).unwrap();
        assert_eq!((newest.duplicate, newest.first_offset, newest.log_append_time), (true, 6, NOW_MS));
        let older = log.append_as_leader(&mut disk, &batch(7, 4, &["e", "f"]), 4, NOW_MS).unwrap_err();
        assert_eq!(older.error_code(), 45);
    }
}

#[test]
fn a_power_cut_keeps_what_was_flushed() {
    let mut disk = MemoryDisk::new();
    let mut log = Log::create(&mut disk, "t-0", LogConfig::default(), NOW_MS).unwrap();
    log.append_as_leader(&mut disk, &batch(7, 0, &["a", "b"]), 0, NOW_MS).unwrap();
    let end = log.log_end_offset();
    for file in log.files_to_flush(end) {
        disk.flush(file).unwrap();
    }
    log.mark_flushed(end);
    assert_eq!(log.recovery_point(), 2);
    log.append_as_leader(&mut disk, &batch(7, 2, &["c"]), 0, NOW_MS).unwrap();
    disk.power_cut();
    let (log, _) = reopen(&mut disk, false);
    assert_eq!(values(&log, &disk), [(0, "a".to_owned()), (1, "b".to_owned())]);
}
