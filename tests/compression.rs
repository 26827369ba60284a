//! Packed batches: Kafka's are read, ours are as large, what a topic wants is what its log holds, and bombs are refused.
//! See fixtures/segments/README.md and oracle/facts/compression.json.
#![cfg(not(target_arch = "wasm32"))]

mod shell;

use std::path::{Path, PathBuf};

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::Value;
use shell::bomb;
use steplog::codecs::{Codec, Refused, compress, decompress};
use steplog::disk::MemoryDisk;
use steplog::log::{AppendError, Log, LogConfig};
use steplog::record::{
    Batch, BatchBuilder, Batches, Compression, CompressionRatio, CompressionType, ProducerIdentity, TimestampType,
    unpacked_bytes_max,
};

/// 2026-01-01T00:00:00Z.
const NOW_MS: i64 = 1_767_225_600_000;
const LIMIT: usize = 1 << 20;

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

fn recorded_batch(directory: &str) -> Batch<Bytes> {
    let path = tests().join("fixtures/segments").join(directory).join("00000000000000000000.log");
    let mut batches = Batches::new(std::fs::read(&path).unwrap_or_else(|error| panic!("{path:?}: {error}")).into());
    let batch = batches.next().expect("a batch").expect("whole");
    assert!(batches.next().is_none() && batch.is_crc_valid());
    batch
}

/// The recorded batches of 297 and of 3 records: unpacked, and by each codec.
fn recorded() -> impl Iterator<Item = (Codec, Batch<Bytes>, Batch<Bytes>)> {
    let of = |codec: Codec, unpacked: &str, packed: String| (codec, recorded_batch(unpacked), recorded_batch(&packed));
    Codec::ALL.into_iter().flat_map(move |codec| {
        let name = codec.name();
        [of(codec, "none-297", format!("{name}-297")), of(codec, "tiny-none", format!("tiny-{name}"))]
    })
}

fn packed(codec: Option<Codec>) -> BatchBuilder {
    BatchBuilder::new().compressed(codec.map_or(Compression::NONE, Compression::of), CompressionRatio::ONE)
}

/// The batch's records, packed anew.
fn repacked(batch: &Batch<Bytes>, codec: Option<Codec>) -> Batch<Bytes> {
    let unpacked = batch.unpacked_records(LIMIT).unwrap();
    let mut builder = packed(codec);
    for record in batch.records_in(&unpacked) {
        let record = record.unwrap();
        builder.append(record.timestamp, record.key, record.value, record.headers());
    }
    Batch::new(builder.build(ProducerIdentity::NONE)).unwrap()
}

fn is_within_a_tenth(ours: u64, kafkas: u64) -> bool {
    ours.abs_diff(kafkas) * 10 <= kafkas
}

#[test]
fn kafkas_packed_batches_hold_the_records_of_the_unpacked_ones() {
    for (codec, unpacked, batch) in recorded() {
        assert_eq!(batch.compression_type(), CompressionType::Packed(codec));
        assert_eq!(batch.unpacked_records(LIMIT).unwrap(), unpacked.packed_records(), "{codec:?}");
        let records = batch.unpacked_records(LIMIT).unwrap();
        assert_eq!(batch.records_in(&records).map(Result::unwrap).count(), batch.record_count() as usize);
    }
}

#[test]
fn our_batches_are_within_a_tenth_of_kafkas_size() {
    for (codec, unpacked, batch) in recorded() {
        let ours = repacked(&unpacked, Some(codec));
        assert_eq!(ours.unpacked_records(LIMIT).unwrap(), unpacked.packed_records(), "{codec:?}");
        let (ours, kafkas) = (ours.size_in_bytes(), batch.size_in_bytes());
        assert!(is_within_a_tenth(ours, kafkas), "{codec:?}: {ours} for Kafka's {kafkas}");
    }
    assert_eq!(repacked(&recorded_batch("gzip-297"), None).size_in_bytes(), 11_406);
}

/// The batch of `oracle/facts/compression.json`.
fn users(codec: Option<Codec>) -> Batch<Bytes> {
    let mut builder = packed(codec);
    for i in 0..100 {
        let key = format!("user-{i:03}");
        let amount = i * 37 % 1000;
        let value = format!(r#"{{"id":{i},"name":"user-{i:03}","status":"active","amount":{amount}}}"#);
        builder.append(NOW_MS + i, Some(key.as_bytes()), Some(value.as_bytes()), std::iter::empty());
    }
    Batch::new(builder.build(ProducerIdentity { producer_id: 7, producer_epoch: 1, base_sequence: 0 })).unwrap()
}

fn codec_named(name: &str) -> Option<Codec> {
    Codec::ALL.into_iter().find(|codec| codec.name() == name)
}

/// What a topic's log holds after this append.
fn appended(config: LogConfig, batch: &Batch<Bytes>) -> Result<Batch<Bytes>, AppendError> {
    let mut disk = MemoryDisk::new();
    let mut log = Log::create(&mut disk, "t-0", config, NOW_MS).unwrap();
    log.append_as_leader(&mut disk, batch, 3, NOW_MS)?;
    let bytes = steplog::disk::read_file(&mut disk, "t-0/00000000000000000000.log").unwrap();
    Ok(Batch::new(bytes).unwrap())
}

#[test]
fn a_topic_holds_what_kafkas_holds_for_every_codec_of_producer_and_topic() {
    let path = tests().join("oracle/facts/compression.json");
    let facts: Value = serde_json::from_slice(&std::fs::read(path).expect("the recorded facts")).expect("JSON");
    let rows = facts["stable"]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 30);
    for row in rows {
        let (topic, producer) = (row["topic"].as_str().unwrap(), row["producer"].as_str().unwrap());
        let compression = match topic {
            "producer" => None,
            topic => Some(codec_named(topic).map_or(Compression::NONE, Compression::of)),
        };
        let sent = users(codec_named(producer));
        let stored = appended(LogConfig { compression, ..LogConfig::default() }, &sent).unwrap();
        let recorded = &row["stored"][0];
        let (codec, kafkas) = (recorded["codec"].as_str().unwrap(), recorded["bytes"].as_u64().unwrap());
        assert_eq!(stored.compression_type().name(), codec, "{producer} to {topic}");
        let ours = stored.size_in_bytes();
        assert!(is_within_a_tenth(ours, kafkas), "{producer} to {topic}: {ours} for {kafkas}");
        if codec == "none" {
            assert_eq!(ours, kafkas);
        }
        assert!(stored.is_crc_valid());
        assert_eq!(stored.unpacked_records(LIMIT).unwrap(), users(None).packed_records());
        let header = (stored.producer_id(), stored.producer_epoch(), stored.base_sequence(), stored.record_count());
        assert_eq!((header, stored.max_timestamp(), stored.partition_leader_epoch()), ((7, 1, 0, 100), NOW_MS + 99, 3));
    }
}

#[test]
fn log_append_time_of_a_packed_batch_is_in_its_header_and_the_records_stay_as_they_came() {
    for codec in Codec::ALL {
        for target in [None, Some(Compression::of(Codec::Zstd))] {
            let log_append_time = TimestampType::LogAppendTime;
            let config =
                LogConfig { compression: target, message_timestamp_type: log_append_time, ..LogConfig::default() };
            let stored = appended(config, &users(Some(codec))).unwrap();
            assert!(stored.is_crc_valid());
            assert_eq!((stored.timestamp_type(), stored.max_timestamp()), (log_append_time, NOW_MS));
            let records = stored.unpacked_records(LIMIT).unwrap();
            assert!(stored.records_in(&records).all(|record| record.unwrap().timestamp == NOW_MS));
            assert_eq!(records, users(None).packed_records());
        }
    }
}

#[test]
fn packed_records_are_checked_like_others() {
    let keyless = |codec| {
        let mut builder = packed(codec);
        builder.append(NOW_MS, Some(b"k"), Some(b"v"), std::iter::empty());
        builder.append(NOW_MS, None, Some(b"v"), std::iter::empty());
        builder.append(NOW_MS + 4_000_000, Some(b"k"), Some(b"v"), std::iter::empty());
        Batch::new(builder.build(ProducerIdentity::NONE)).unwrap()
    };
    let config = || LogConfig { compact: true, ..LogConfig::default() };
    let unpacked = appended(config(), &keyless(None)).unwrap_err();
    assert_eq!(unpacked.record_errors().iter().map(|record| record.batch_index).collect::<Vec<_>>(), [1, 2]);
    for codec in Codec::ALL {
        assert_eq!(appended(config(), &keyless(Some(codec))).unwrap_err(), unpacked);
    }
}

#[test]
fn a_record_larger_than_max_message_bytes_passes_if_it_packs_well() {
    let one = |codec| {
        let mut builder = packed(codec);
        builder.append(NOW_MS, None, Some(&[b'x'; 5000]), std::iter::empty());
        Batch::new(builder.build(ProducerIdentity::NONE)).unwrap()
    };
    let config = || LogConfig { max_message_bytes: 2000, ..LogConfig::default() };
    assert_eq!(appended(config(), &one(None)).unwrap_err().error_code(), 10);
    assert_eq!(appended(config(), &one(Some(Codec::Gzip))).unwrap().base_offset(), 0);
}

#[test]
fn a_batch_that_grows_too_large_when_the_topic_unpacks_it_is_refused() {
    let config = |max_message_bytes| LogConfig {
        max_message_bytes,
        compression: Some(Compression::NONE),
        ..LogConfig::default()
    };
    let sent = users(Some(Codec::Gzip));
    let error = appended(config(7512), &sent).unwrap_err();
    assert_eq!((error.error_code(), error.tells_log_start_offset()), (10, false));
    assert_eq!(appended(config(7513), &sent).unwrap().size_in_bytes(), 7513);
}

#[test]
fn a_bomb_is_refused_as_too_large() {
    let batch = bomb::batch(1025);
    assert!(batch.size_in_bytes() < 5000);
    assert_eq!(unpacked_bytes_max(LogConfig::default().max_message_bytes), 1024 * 131_072);
    let error = appended(LogConfig::default(), &batch).unwrap_err();
    assert!(matches!(error, AppendError::UnpackedTooLarge { .. }), "{error}");
    assert_eq!(error.error_code(), 10);
}

#[test]
fn the_limit_is_exact_for_every_codec() {
    let zeros = vec![0; 300_000];
    for codec in Codec::ALL {
        let packed = compress(codec, codec.default_level(), &zeros);
        assert_eq!(decompress(codec, &packed, zeros.len()).unwrap(), zeros, "{codec:?}");
        assert_eq!(decompress(codec, &packed, zeros.len() - 1), Err(Refused::TooLarge), "{codec:?}");
        assert_eq!(decompress(codec, &packed, 0), Err(Refused::TooLarge), "{codec:?}");
    }
    assert_eq!(decompress(Codec::Zstd, &bomb::zstd(3), 3 * 131_072).unwrap().len(), 3 * 131_072);
}

#[test]
fn nothing_packed_is_nothing_unpacked() {
    for codec in Codec::ALL {
        let packed = compress(codec, codec.default_level(), &[]);
        assert_eq!(decompress(codec, &packed, 0).unwrap(), Vec::<u8>::new(), "{codec:?}");
    }
}

#[test]
fn a_bare_snappy_block_and_streams_one_after_the_other_are_read() {
    let text = b"as other clients send it: no chunks, no header; other clients".repeat(20);
    let block = snap::raw::Encoder::new().compress_vec(&text).unwrap();
    assert_eq!(decompress(Codec::Snappy, &block, LIMIT).unwrap(), text);
    for codec in [Codec::Snappy, Codec::Gzip, Codec::Zstd] {
        let once = compress(codec, codec.default_level(), &text);
        let twice = [once.clone(), once].concat();
        assert_eq!(decompress(codec, &twice, LIMIT).unwrap(), [text.clone(), text.clone()].concat(), "{codec:?}");
    }
}

#[test]
fn lz4_frames_are_read_with_what_kafka_reads_and_refused_with_what_it_refuses() {
    let text = b"frames of other writers, frames of other writers".repeat(30);
    let block = lz4_flex::block::compress(&text);
    let hash = |bytes: &[u8]| twox_hash::XxHash32::oneshot(0, bytes);
    let frame = |flags: u8, block_descriptor: u8| {
        let mut frame = vec![0x04, 0x22, 0x4d, 0x18, flags, block_descriptor];
        if flags & 0x08 != 0 {
            frame.extend_from_slice(&(text.len() as u64).to_le_bytes());
        }
        frame.push((hash(&frame[4..]) >> 8) as u8);
        frame.extend_from_slice(&(block.len() as u32).to_le_bytes());
        frame.extend_from_slice(&block);
        if flags & 0x10 != 0 {
            frame.extend_from_slice(&hash(&block).to_le_bytes());
        }
        frame.extend_from_slice(&[0; 4]);
        if flags & 0x04 != 0 {
            // Kafka steps over the checksum of the content: a wrong one goes unnoticed.
            frame.extend_from_slice(&[1, 2, 3, 4]);
        }
        decompress(Codec::Lz4, &frame, LIMIT)
    };
    for flags in [0x60, 0x68, 0x70, 0x7c] {
        for block_descriptor in [0x40, 0x50, 0x60, 0x70] {
            assert_eq!(frame(flags, block_descriptor).as_ref(), Ok(&text), "{flags:x} {block_descriptor:x}");
        }
    }
    // Dependent blocks, another version, reserved bits, blocks of 256 bytes.
    for (flags, block_descriptor) in [(0x40, 0x40), (0xa0, 0x40), (0x62, 0x40), (0x60, 0x30), (0x60, 0xc0)] {
        assert_eq!(frame(flags, block_descriptor), Err(Refused::Corrupt), "{flags:x} {block_descriptor:x}");
    }
}

#[test]
fn a_level_changes_the_size_where_kafka_has_levels() {
    let text: Vec<u8> =
        (0..4000).flat_map(|i| format!("order-{i} reader-{} borrow;", i * i % 89).into_bytes()).collect();
    for (codec, least, most) in [(Codec::Gzip, 1, 9), (Codec::Lz4, 1, 17), (Codec::Lz4, 9, 2), (Codec::Zstd, -7, 19)] {
        let [fast, small] = [least, most].map(|level| compress(codec, level, &text));
        assert!(small.len() < fast.len(), "{codec:?}: {} and {}", fast.len(), small.len());
        for packed in [fast, small] {
            assert_eq!(decompress(codec, &packed, LIMIT).unwrap(), text);
        }
    }
}

fn any_codec() -> impl Strategy<Value = Codec> {
    (0usize..4).prop_map(|index| Codec::ALL[index])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_was_packed_comes_back(codec in any_codec(), bytes in any_bytes()) {
        for level in [codec.default_level(), 1, 6] {
            let packed = compress(codec, level, &bytes);
            let unpacked = decompress(codec, &packed, bytes.len());
            prop_assert_eq!(unpacked.as_deref(), Ok(bytes.as_slice()));
        }
    }

    #[test]
    fn any_bytes_are_read_within_the_limit_or_refused(codec in any_codec(), bytes in any_bytes()) {
        if let Ok(unpacked) = decompress(codec, &bytes, 1000) {
            prop_assert!(unpacked.len() <= 1000);
        }
    }

    #[test]
    fn damaged_streams_are_read_within_the_limit_or_refused(
        codec in any_codec(),
        bytes in any_bytes(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut packed = compress(codec, codec.default_level(), &bytes);
        for (at, byte) in damage {
            let at = at.index(packed.len());
            packed[at] = byte;
        }
        for end in [packed.len(), cut.index(packed.len())] {
            if let Ok(unpacked) = decompress(codec, &packed[..end], 10_000) {
                prop_assert!(unpacked.len() <= 10_000);
            }
        }
    }
}

/// Noise, and what packs well.
fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let noise = proptest::collection::vec(any::<u8>(), 0..3000);
    let words = proptest::collection::vec(0u8..4, 0..20_000).prop_map(|bytes| bytes.repeat(2));
    prop_oneof![noise, words]
}
