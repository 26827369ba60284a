//! A directory with one file damaged, as crashes, bad disks and curious hands leave it. The broker starts or says what
//! is wrong; what it serves afterwards is what was written, as far as the damaged file was not itself what was written.

use bytes::Bytes;
use steplog::disk::{Disk, MemoryDisk, Slice};
use steplog::node::{Duration, ExitReason, Rng};
use steplog::record::{BatchBuilder, Batches, ProducerIdentity};
use steplog::wire::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use steplog::wire::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use steplog::wire::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use steplog::wire::schema::Message;
use steplog::wire::{RequestHeader, decode_response, encode_request};

use super::requests::pick;
use super::shell::{Seen, Shell, WALL_MS, config};

/// A few seconds; for a long hunt raise it.
const CASES: u64 = 25;

fn call<M: Message, R: Message>(shell: &mut Shell, key: i16, version: i16, body: &M) -> R {
    let header = RequestHeader { request_api_key: key, request_api_version: version, ..Default::default() };
    let chunks = encode_request(&header, body).expect("a request");
    let request: Vec<u8> = chunks.iter().flat_map(|chunk| chunk.to_bytes().expect("in memory")).collect();
    let conn = shell.connect();
    let Seen::Reply(answer) = shell.exchange(conn, request, Duration::from_ms(5000)) else {
        panic!("no answer to key {key}; exit: {:?}", shell.exit)
    };
    shell.close(conn);
    decode_response::<R>(&answer, version).expect("an answer").1
}

fn produce(shell: &mut Shell, sequence: i32, value_bytes: usize) -> i16 {
    let mut batch = BatchBuilder::new();
    let value = vec![sequence as u8; value_bytes];
    batch.append(WALL_MS + i64::from(sequence), Some(b"key"), Some(&value), std::iter::empty());
    let producer = ProducerIdentity { producer_id: 7, producer_epoch: 0, base_sequence: sequence };
    let records = Some(Slice::Bytes(batch.build(producer)));
    let partition = PartitionProduceData { index: 0, records, ..Default::default() };
    let topic = TopicProduceData { name: "orders".to_string(), partition_data: vec![partition], ..Default::default() };
    let body = ProduceRequest { acks: -1, timeout_ms: 1000, topic_data: vec![topic], ..Default::default() };
    let answer: ProduceResponse = call(shell, 0, 11, &body);
    answer.responses[0].partition_responses[0].error_code
}

/// Everything in `orders-0` by offset: the sequence of each batch. Ends at the first error.
fn read_back(shell: &mut Shell) -> Vec<(i64, i32)> {
    let mut found: Vec<(i64, i32)> = Vec::new();
    loop {
        let fetch_offset = found.last().map_or(0, |(offset, _)| offset + 1);
        let partition = FetchPartition { fetch_offset, partition_max_bytes: 8 << 20, ..Default::default() };
        let topic = FetchTopic { topic: "orders".to_string(), partitions: vec![partition], ..Default::default() };
        let body = FetchRequest { topics: vec![topic], ..Default::default() };
        let answer: FetchResponse = call(shell, 1, 12, &body);
        let data = &answer.responses[0].partitions[0];
        let bytes = data.records.as_ref().map_or_else(Bytes::new, |records| records.to_bytes().expect("in memory"));
        let before = found.len();
        for batch in Batches::new(bytes).map_while(Result::ok).filter(|batch| batch.is_crc_valid()) {
            if batch.base_offset() >= fetch_offset {
                found.push((batch.base_offset(), batch.base_sequence()));
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Two lives, the second one ended as told: two segments in `orders-0`, an empty `orders-1`.
fn directory(clean: bool) -> (MemoryDisk, Vec<(i64, i32)>) {
    let more: &[(&str, &str)] = &[("log.segment.bytes", "1048576")];
    let mut shell = Shell::start(config(more));
    let topic =
        CreatableTopic { name: "orders".to_string(), num_partitions: 2, replication_factor: 1, ..Default::default() };
    let body = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
    let _: steplog::wire::messages::create_topics::CreateTopicsResponse = call(&mut shell, 19, 7, &body);
    for sequence in 0..14 {
        assert_eq!(produce(&mut shell, sequence, 100_000), 0);
    }
    shell.shut_down();
    let mut shell = Shell::start_on(config(more), shell.kill(), 2);
    for sequence in 14..24 {
        assert_eq!(produce(&mut shell, sequence, if sequence % 2 == 0 { 10 } else { 7000 }), 0);
    }
    shell.wait(Duration::from_ms(120_000));
    let written = read_back(&mut shell);
    assert_eq!(written, (0..24).map(|i| (i64::from(i), i)).collect::<Vec<_>>());
    if clean {
        shell.shut_down();
    }
    (shell.kill(), written)
}

/// What was done to a file, for the failure's text.
fn damage(rng: &mut Rng, disk: &mut MemoryDisk, path: &str, bytes: &Bytes) -> (String, u64) {
    let mut bytes = bytes.to_vec();
    let len = bytes.len() as u64;
    let at = match rng.below(3) {
        0 => len.saturating_sub(rng.below(len.min(200) + 1)),
        1 => rng.below(len.min(200) + 1),
        _ => rng.below(len + 1),
    } as usize;
    let what = match rng.below(8) {
        0 => {
            disk.remove(path).expect("removed");
            return ("removed".to_string(), 0);
        }
        1 => {
            bytes.truncate(at);
            format!("cut to {at} of {len}")
        }
        2 => {
            bytes.extend((0..=rng.below(100)).map(|_| rng.below(256) as u8));
            return (replace(disk, path, &bytes, format!("noise behind {len}")), len);
        }
        3 => {
            bytes.extend(vec![0; 1 + rng.below(5000) as usize]);
            return (replace(disk, path, &bytes, format!("zeros behind {len}")), len);
        }
        4 => {
            bytes[at..].fill(0);
            format!("zeros from {at} of {len}")
        }
        5 => {
            let until = (at + 8).min(bytes.len());
            bytes[at..until].fill(*pick(rng, &[0x7f, 0x80, 0xff, b'9']));
            format!("a limit at {at} of {len}")
        }
        6 => {
            bytes[at..].iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
            format!("noise from {at} of {len}")
        }
        _ if at < bytes.len() => {
            bytes[at] ^= 1 << rng.below(8);
            format!("a bit at {at} of {len}")
        }
        _ => "nothing".to_string(),
    };
    (replace(disk, path, &bytes, what), at as u64)
}

fn replace(disk: &mut MemoryDisk, path: &str, bytes: &[u8], what: String) -> String {
    let file = disk.open(path, true).expect("opened");
    disk.set_len(file, 0).and_then(|()| disk.append(file, &[bytes])).expect("written");
    disk.close(file);
    what
}

/// The offset of the first batch that is not whole before `position` of the segment.
fn first_damaged(path: &str, bytes: &Bytes, position: u64) -> i64 {
    let base = path.rsplit('/').next().and_then(|name| name.trim_end_matches(".log").parse().ok()).unwrap_or(0);
    let (mut end, mut next) = (0, base);
    for batch in Batches::new(bytes.clone()).map_while(Result::ok) {
        end += batch.size_in_bytes();
        if end > position {
            break;
        }
        next = batch.next_offset();
    }
    next
}

fn is_told(why: &ExitReason) -> bool {
    matches!(why, ExitReason::BadDirectory(text) | ExitReason::StorageFailed(text) if !text.is_empty())
}

#[test]
fn a_damaged_directory_is_refused_in_words_or_served_as_it_was_written() {
    for clean in [false, true] {
        let (whole, written) = directory(clean);
        let files: Vec<(String, Bytes)> = whole.files().map(|(path, bytes)| (path.to_string(), bytes)).collect();
        let mut rng = Rng::new(11);
        for case in 0..CASES {
            let mut disk = whole.clone();
            let (path, bytes) = pick(&mut rng, &files);
            let (what, position) = damage(&mut rng, &mut disk, path, bytes);
            let case = format!("case {case}, clean stop: {clean}, {path}: {what}");
            println!("{case}");
            let more: &[(&str, &str)] = &[("log.segment.bytes", "1048576")];
            let mut shell = Shell::start_on(config(more), disk, 3);
            if let Some((code, why)) = &shell.exit {
                assert!(*code == 1 && is_told(why), "{case}: {code} {why:?}");
                // The mark of a clean stop is used up: now it counts as a crash.
                shell = Shell::start_on(config(more), shell.kill(), 3);
            }
            if let Some((code, why)) = &shell.exit {
                assert!(*code == 1 && is_told(why), "{case}: {code} {why:?}");
                continue;
            }
            assert!(shell.listening, "{case}: neither serving nor ended");
            if path.starts_with("__cluster_metadata") {
                continue;
            }
            // Another topic's id, by chance: put aside, as Kafka does, and nothing of it is lost.
            if shell.server.disk().files().any(|(path, _)| path.contains("-stray/")) {
                continue;
            }
            let intact = if path.starts_with("orders-0/") && path.ends_with(".log") {
                first_damaged(path, bytes, position)
            } else {
                i64::MAX
            };
            let expected: Vec<_> = written.iter().copied().filter(|(offset, _)| *offset < intact).collect();
            let found = read_back(&mut shell);
            assert!(found.starts_with(&expected), "{case}: {found:?}");
            // And it goes on from there, across one more life.
            let sequence = found.last().map_or(0, |(_, sequence)| sequence + 1);
            let error = produce(&mut shell, sequence, 10);
            if shell.exit.is_some() {
                continue;
            }
            let now = read_back(&mut shell);
            if intact == i64::MAX {
                assert_eq!(error, 0, "{case}");
                assert_eq!(now.len(), found.len() + 1, "{case}: {now:?}");
            }
            if case.len() % 2 == 0 {
                shell.shut_down();
            }
            let mut shell = Shell::start_on(config(more), shell.kill(), 4);
            assert_eq!(shell.exit, None, "{case}, the life after");
            if intact == i64::MAX {
                assert_eq!(read_back(&mut shell), now, "{case}, the life after");
            }
        }
    }
}
