//! Requests to break things with: recorded ones with bytes changed, and made ones with numbers at their limits.

use std::io::Read;

use bytes::Bytes;
use serde_json::Value;
use steplog::disk::Slice;
use steplog::node::Rng;
use steplog::record::{BatchBuilder, ProducerIdentity};
use steplog::wire::messages::api_versions::ApiVersionsRequest;
use steplog::wire::messages::create_topics::{
    CreatableReplicaAssignment, CreatableTopic, CreatableTopicConfig, CreateTopicsRequest,
};
use steplog::wire::messages::fetch::{FetchPartition, FetchRequest, FetchTopic};
use steplog::wire::messages::init_producer_id::InitProducerIdRequest;
use steplog::wire::messages::list_offsets::{ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic};
use steplog::wire::messages::metadata::{MetadataRequest, MetadataRequestTopic};
use steplog::wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use steplog::wire::schema::Message;
use steplog::wire::{RequestHeader, Uuid, encode_request};

use super::shell::WALL_MS;

pub const SERVED: [i16; 7] = [0, 1, 2, 3, 18, 19, 22];

const NUMBERS: [i64; 17] = [
    0,
    1,
    -1,
    -2,
    -3,
    -4,
    -5,
    -6,
    2,
    100,
    i16::MAX as i64,
    i16::MIN as i64,
    i32::MAX as i64,
    i32::MIN as i64,
    i64::MAX,
    i64::MIN,
    WALL_MS,
];

const NAMES: [&str; 12] =
    ["orders", "orders", "orders", "auto", "", ".", "..", "../x", "a/b", "__consumer_offsets", "\u{7f}é中", "a_b.c"];

/// The recorded requests of the APIs that are served, with their 4-byte size.
pub fn recorded() -> Vec<Bytes> {
    let path = format!("{}/tests/fixtures/wire/decoded.json.gz", env!("CARGO_MANIFEST_DIR"));
    let packed = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed.as_slice()).read_to_string(&mut text).expect("gzip");
    let entries: Vec<Value> = serde_json::from_str(&text).expect("JSON");
    let served = |entry: &&Value| {
        let key = entry["key"].as_i64().expect("a key");
        entry["request"].as_bool() == Some(true) && SERVED.iter().any(|served| i64::from(*served) == key)
    };
    let hex = |text: &str| -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex")).collect()
    };
    let frames: Vec<Bytes> =
        entries.iter().filter(served).map(|entry| sized(&hex(entry["hex"].as_str().expect("hex")))).collect();
    assert!(frames.len() > 90, "{} recorded requests", frames.len());
    frames
}

pub fn sized(frame: &[u8]) -> Bytes {
    let mut out = (frame.len() as u32).to_be_bytes().to_vec();
    out.extend_from_slice(frame);
    out.into()
}

pub fn pick<'a, T>(rng: &mut Rng, from: &'a [T]) -> &'a T {
    &from[rng.below(from.len() as u64) as usize]
}

fn number(rng: &mut Rng) -> i64 {
    *pick(rng, &NUMBERS)
}

fn name(rng: &mut Rng) -> String {
    match rng.below(20) {
        0 => "n".repeat(249),
        1 => "n".repeat(250),
        2 => format!("new-{}", rng.below(50)),
        _ => pick(rng, &NAMES).to_string(),
    }
}

/// A few of something.
fn some<T>(rng: &mut Rng, mut one: impl FnMut(&mut Rng) -> T) -> Vec<T> {
    (0..*pick(rng, &[0, 1, 1, 1, 2, 3])).map(|_| one(rng)).collect()
}

/// A batch, whole or with some bytes of its header at a limit (its CRC then mostly wrong, sometimes made right again).
fn records(rng: &mut Rng) -> Option<Slice> {
    let mut all = Vec::new();
    for _ in 0..*pick(rng, &[1, 1, 1, 1, 2, 0]) {
        let mut batch = BatchBuilder::new();
        for _ in 0..=rng.below(3) {
            let timestamp = if rng.below(3) == 0 { number(rng) } else { WALL_MS };
            batch.append(timestamp, Some(b"key"), Some(b"value"), std::iter::once((b"h".as_slice(), None)));
        }
        let producer = match rng.below(3) {
            0 => ProducerIdentity {
                producer_id: number(rng),
                producer_epoch: number(rng) as i16,
                base_sequence: number(rng) as i32,
            },
            _ => ProducerIdentity::NONE,
        };
        let mut bytes = batch.build(producer).to_vec();
        if rng.below(2) == 0 {
            let at = rng.below(bytes.len() as u64 - 8) as usize;
            overwrite(rng, &mut bytes, at);
            let crc = crc32c::crc32c(&bytes[21..]);
            bytes[17..21].copy_from_slice(&crc.to_be_bytes());
        }
        all.extend(bytes);
    }
    if rng.below(10) == 0 {
        let length = rng.below(all.len() as u64 + 1) as usize;
        all.truncate(length);
    }
    (rng.below(20) > 0).then(|| Slice::Bytes(all.into()))
}

/// Puts a number at its limit somewhere, in one of its widths.
fn overwrite(rng: &mut Rng, bytes: &mut [u8], at: usize) {
    let value = number(rng).to_be_bytes();
    let width = (*pick(rng, &[1, 2, 4, 8])).min(bytes.len() - at);
    bytes[at..at + width].copy_from_slice(&value[8 - width..]);
}

fn encode<M: Message>(rng: &mut Rng, key: i16, versions: std::ops::RangeInclusive<i16>, body: &M) -> Bytes {
    let span = (versions.end() - versions.start() + 1) as u64;
    let header = RequestHeader {
        request_api_key: key,
        request_api_version: versions.start() + rng.below(span) as i16,
        correlation_id: number(rng) as i32,
        client_id: (rng.below(4) > 0).then(|| "fuzz".to_string()),
        ..Default::default()
    };
    // What a version cannot carry is left to another draw.
    let Ok(chunks) = encode_request(&header, body) else { return Bytes::from_static(&[0, 0, 0, 0]) };
    chunks.iter().flat_map(|chunk| chunk.to_bytes().expect("in memory")).collect::<Vec<u8>>().into()
}

/// A request whose form is right and whose numbers and names are not.
pub fn made(rng: &mut Rng, topic_id: Uuid) -> Bytes {
    let id = |rng: &mut Rng| if rng.below(4) == 0 { Uuid(rng.bytes16()) } else { topic_id };
    match rng.below(10) {
        0..=3 => {
            let topics = some(rng, |rng| TopicProduceData {
                name: name(rng),
                topic_id: id(rng),
                partition_data: some(rng, |rng| PartitionProduceData {
                    index: *pick(rng, &[0, 0, 0, 1, 2, -1, i32::MAX]),
                    records: records(rng),
                    ..Default::default()
                }),
                ..Default::default()
            });
            let body = ProduceRequest {
                transactional_id: (rng.below(8) == 0).then(|| "t".to_string()),
                acks: *pick(rng, &[-1, -1, 0, 1, 1, 2, i16::MIN]),
                timeout_ms: number(rng) as i32,
                topic_data: topics,
                ..Default::default()
            };
            encode(rng, 0, 3..=13, &body)
        }
        4..=5 => {
            let topics = some(rng, |rng| FetchTopic {
                topic: name(rng),
                topic_id: id(rng),
                partitions: some(rng, |rng| FetchPartition {
                    partition: *pick(rng, &[0, 0, 1, -1]),
                    current_leader_epoch: *pick(rng, &[-1, -1, 0, 1, i32::MAX]),
                    fetch_offset: *pick(rng, &[0, 0, 1, 3, -1, i64::MAX, i64::MIN]),
                    last_fetched_epoch: *pick(rng, &[-1, -1, 0, 1, i32::MAX, i32::MIN]),
                    log_start_offset: number(rng),
                    partition_max_bytes: number(rng) as i32,
                    ..Default::default()
                }),
                ..Default::default()
            });
            let body = FetchRequest {
                replica_id: *pick(rng, &[-1, -1, 1, 2, -2, i32::MIN]),
                max_wait_ms: *pick(rng, &[0, 10, -1, i32::MIN, i32::MAX]),
                min_bytes: number(rng) as i32,
                max_bytes: number(rng) as i32,
                isolation_level: number(rng) as i8,
                session_id: number(rng) as i32,
                session_epoch: *pick(rng, &[-1, 0, 0, 1, i32::MAX]),
                topics,
                ..Default::default()
            };
            encode(rng, 1, 4..=18, &body)
        }
        6 => {
            let topics = some(rng, |rng| ListOffsetsTopic {
                name: name(rng),
                partitions: some(rng, |rng| ListOffsetsPartition {
                    partition_index: *pick(rng, &[0, 0, 1, -1]),
                    current_leader_epoch: *pick(rng, &[-1, 0, 7]),
                    timestamp: number(rng),
                    ..Default::default()
                }),
                ..Default::default()
            });
            let replica_id = *pick(rng, &[-1, -1, -2, 1, 5]);
            let isolation_level = number(rng) as i8;
            encode(rng, 2, 1..=11, &ListOffsetsRequest { replica_id, isolation_level, topics, ..Default::default() })
        }
        7 => {
            let topics = some(rng, |rng| MetadataRequestTopic {
                name: (rng.below(5) > 0).then(|| name(rng)),
                topic_id: if rng.below(4) == 0 { id(rng) } else { Uuid::default() },
                ..Default::default()
            });
            let topics = (rng.below(5) > 0).then_some(topics);
            let body = MetadataRequest { topics, allow_auto_topic_creation: true, ..Default::default() };
            encode(rng, 3, 0..=13, &body)
        }
        8 => {
            let topics = some(rng, |rng| CreatableTopic {
                name: name(rng),
                num_partitions: *pick(rng, &[1, 2, -1, -1, 0, 10_001, i32::MAX, i32::MIN]),
                replication_factor: *pick(rng, &[1, 1, -1, -1, 0, 2, i16::MAX, i16::MIN]),
                assignments: if rng.below(3) == 0 {
                    some(rng, |rng| CreatableReplicaAssignment {
                        partition_index: *pick(rng, &[0, 0, 1, -1, i32::MAX]),
                        broker_ids: some(rng, |rng| *pick(rng, &[1, 1, 2, -1, i32::MIN])),
                        ..Default::default()
                    })
                } else {
                    Vec::new()
                },
                configs: some(rng, |rng| CreatableTopicConfig {
                    name: pick(rng, &["retention.ms", "segment.bytes", "cleanup.policy", "no.such.key", ""])
                        .to_string(),
                    value: (rng.below(4) > 0).then(|| number(rng).to_string()),
                    ..Default::default()
                }),
                ..Default::default()
            });
            let validate_only = rng.below(3) == 0;
            encode(rng, 19, 2..=7, &CreateTopicsRequest { topics, validate_only, ..Default::default() })
        }
        _ => match rng.below(2) {
            0 => {
                let body = InitProducerIdRequest {
                    transactional_id: (rng.below(3) == 0).then(|| name(rng)),
                    transaction_timeout_ms: number(rng) as i32,
                    producer_id: number(rng),
                    producer_epoch: number(rng) as i16,
                    ..Default::default()
                };
                encode(rng, 22, 0..=6, &body)
            }
            _ => encode(rng, 18, 0..=4, &ApiVersionsRequest::default()),
        },
    }
}

/// Changes a few bytes of a frame; its size is mostly set right again.
pub fn mutated(rng: &mut Rng, frame: &Bytes, others: &[Bytes]) -> Bytes {
    let mut bytes = frame[4..].to_vec();
    for _ in 0..=rng.below(3) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        match rng.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            1 if at < bytes.len() => bytes[at] = *pick(rng, &[0, 1, 0x7f, 0x80, 0xff]),
            2 if at < bytes.len() => overwrite(rng, &mut bytes, at),
            3 => bytes.truncate(at),
            4 => bytes.splice(at..at, [0xff; 5]).for_each(drop),
            5 => {
                let other = pick(rng, others);
                let from = rng.below(other.len() as u64) as usize;
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            _ => {
                let until = (at + 1 + rng.below(16) as usize).min(bytes.len());
                let piece = bytes[at.min(until)..until].to_vec();
                bytes.splice(at..at, piece).for_each(drop);
            }
        }
    }
    let frame = sized(&bytes);
    if rng.below(20) > 0 {
        return frame;
    }
    let mut frame = frame.to_vec();
    overwrite(rng, &mut frame, 0);
    frame.into()
}
