//! Which partition records go to, against what Apache Kafka 4.3.0's producer was recorded to do.

use std::io::Read;

use serde_json::Value;
use steplog::client::{Console, Partitioner, Partitions, ProducerPlugins, murmur2, partition_for_key};
use steplog::node::{ProducerRecord, Reply};

use crate::world::World;

fn recorded(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/client/{name}.json.gz", env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::File::open(path).expect("the fixture is there");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip of UTF-8");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn every_recorded_key_hashes_and_maps_to_partitions_as_in_kafka() {
    let recorded = recorded("hash_vectors");
    let keys = recorded["keys"].as_array().expect("keys");
    assert_eq!(keys.len(), 71);
    for key in keys {
        let of = &key["key"];
        let text = match of.as_str() {
            Some(text) => text.to_owned(),
            None => of["repeat"].as_str().expect("a text").repeat(of["times"].as_u64().expect("a number") as usize),
        };
        let bytes = text.as_bytes();
        assert_eq!(Some(bytes.len() as u64), key["bytes"].as_u64(), "{key}");
        assert_eq!(i64::from(murmur2(bytes)), key["murmur2"].as_i64().expect("a hash"), "{key}");
        for (count, partition) in key["partition"].as_object().expect("by count") {
            let count = count.parse().expect("a count");
            assert_eq!(Some(i64::from(partition_for_key(bytes, count))), partition.as_i64(), "{key} of {count}");
        }
    }
}

/// A producer that knows the topic `p3`.
fn producer(keys: &[(&str, &str)], plugins: ProducerPlugins) -> World {
    let mut world = World::producer_with(keys, plugins);
    world.broker.topics.insert("p3".to_owned(), 3);
    world.call(steplog::node::Command::PartitionsFor { topic: "p3".to_owned() });
    world.run(200);
    world
}

fn record(key: Option<&str>, value_bytes: u64) -> ProducerRecord {
    ProducerRecord {
        topic: "p3".to_owned(),
        key: key.map(|key| key.to_owned().into()),
        value: Some(vec![b'v'; usize::try_from(value_bytes).expect("small")].into()),
        ..ProducerRecord::default()
    }
}

/// The recorded settings, e.g. `[batch.size, 500, linger.ms, 0]`.
fn settings(conf: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = conf.trim_matches(['[', ']']).split(", ").filter(|word| !word.is_empty()).collect();
    words.chunks(2).map(|pair| (pair[0].to_owned(), pair[1].to_owned())).collect()
}

/// Sends as the recorded case did; gives the partition of every record.
fn replay(case: &Value, key: Option<&str>) -> Vec<i32> {
    let settings = settings(case["conf"].as_str().expect("settings"));
    let keys: Vec<(&str, &str)> = settings.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    let mut world = producer(&keys, ProducerPlugins::default());
    let sync = case["sync"].as_bool().expect("sync");
    let mut calls = Vec::new();
    for _ in 0..case["records"].as_u64().expect("records") {
        calls.push(world.send_record(record(key, case["valueBytes"].as_u64().expect("bytes"))));
        if sync {
            world.run(60);
        }
    }
    world.run(5000);
    let partition = |call| match world.reply(call) {
        Some(Reply::Acked(metadata)) => metadata.partition.partition,
        other => panic!("{other:?}"),
    };
    calls.into_iter().map(partition).collect()
}

fn runs(partitions: &[i32]) -> Vec<usize> {
    partitions.chunk_by(|a, b| a == b).map(<[i32]>::len).collect()
}

#[test]
fn round_robin_takes_the_available_partitions_in_the_order_of_kafkas_client() {
    let recorded = recorded("partitioner");
    for (name, key) in [
        ("round_robin_sync", None),
        ("round_robin_async", None),
        ("round_robin_async_small_batches", None),
        ("round_robin_with_key", Some("k")),
    ] {
        let case = &recorded["stable"][name];
        let expected: Vec<i64> =
            case["sequence"].as_array().expect("partitions").iter().map(|p| p.as_i64().expect("a number")).collect();
        let ours: Vec<i64> = replay(case, key).into_iter().map(i64::from).collect();
        assert_eq!(ours, expected, "{name}");
    }
}

#[test]
fn a_sticky_partition_changes_after_as_many_records_as_in_kafka() {
    let recorded = recorded("partitioner");
    for (name, key) in [
        ("sync_batch_size_500", None),
        ("sync_batch_size_0", None),
        ("sync_16384_long", None),
        ("same_key_ignored", Some("k")),
        ("burst_adaptive_false", None),
        ("burst_adaptive_true", None),
    ] {
        let case = &recorded["observed"][0][name];
        let stint = case["shortestRun"].as_u64().expect("a length") as usize;
        let ours = runs(&replay(case, key));
        let (_, whole) = ours.split_last().expect("runs");
        assert!(!whole.is_empty() && whole.iter().all(|run| run % stint == 0), "{name}: {ours:?} in stints of {stint}");
        assert!(whole.contains(&stint), "{name}: {ours:?}");
    }
    for name in ["ten_records_default", "ten_records_default_synchronous", "ten_records_linger0_synchronous"] {
        assert_eq!(runs(&replay(&recorded["observed"][0][name], None)), [10], "{name}");
    }
    let same_key = replay(&recorded["stable"]["same_key"], Some("k"));
    assert_eq!(runs(&same_key), [12]);
}

#[derive(Debug, Clone)]
struct Always(i32);

impl Partitioner for Always {
    fn configure(&mut self, console: &mut Console) {
        console.print(format!("always {}", self.0));
    }

    fn partition(&mut self, _: &ProducerRecord, partitions: Partitions<'_>) -> i32 {
        assert_eq!((partitions.count, partitions.available), (3, &[0, 2, 1][..]));
        self.0
    }

    fn boxed(&self) -> Box<dyn Partitioner> {
        Box::new(self.clone())
    }
}

fn with_partitioner(partition: i32) -> World {
    let plugins = ProducerPlugins { partitioner: Some(Box::new(Always(partition))), ..ProducerPlugins::default() };
    producer(&[], plugins)
}

/// A recorded exception's class and text, its outer ExecutionException left off.
fn thrown(case: &Value) -> (String, String) {
    let case = if case["cause"].is_object() { &case["cause"] } else { case };
    let class = case["class"].as_str().expect("a class").rsplit('.').next().expect("a name");
    (class.to_owned(), case["message"].as_str().expect("a text").to_owned())
}

#[test]
fn a_partitioner_may_answer_what_there_is_and_nothing_else() {
    let recorded = &recorded("partitioner")["observed"][0];
    let mut world = with_partitioner(1);
    let call = world.send_record(record(Some("k"), 10));
    world.run(100);
    assert!(matches!(world.reply(call), Some(Reply::Acked(metadata)) if metadata.partition.partition == 1));
    assert!(world.replies.iter().any(|(_, _, reply)| *reply == Reply::Printed("always 1".to_owned())));

    let mut world = with_partitioner(-2);
    let call = world.send_record(record(Some("k"), 10));
    let (class, message) = thrown(&recorded["custom_partitioner_answers_-2"]);
    assert!(matches!(world.reply(call), Some(Reply::Threw(e)) if e.class == class && e.message == message));

    // One that does not exist is waited for until the batch expires; how late that is noticed varies.
    let mut world = with_partitioner(3);
    let call = world.send_record(record(Some("k"), 10));
    world.run(119_000);
    assert_eq!(world.failed(call), None);
    world.run(2000);
    let (class, message) = thrown(&recorded["custom_partitioner_answers_3"]);
    let (at, ours, text) = world.failed(call).expect("expired");
    assert_eq!(ours, class);
    let parts: Vec<&str> = message.split("120001").collect();
    assert!(text.starts_with(parts[0]) && text.ends_with(parts[1]), "at {at}: {text}");
}

#[test]
fn an_explicit_partition_is_waited_for_or_refused_as_in_kafka() {
    let recorded = &recorded("partitioner")["stable"];
    let mut world = producer(&[("max.block.ms", "2000")], ProducerPlugins::default());
    let explicit = |partition, timestamp| ProducerRecord { partition, timestamp, ..record(None, 10) };
    let call = world.send_record(explicit(Some(2), None));
    world.run(100);
    assert!(matches!(world.reply(call), Some(Reply::Acked(metadata)) if metadata.partition.partition == 2));
    let call = world.send_record(explicit(Some(3), None));
    world.run(2100);
    let (_, class, message) = world.failed(call).expect("failed");
    assert_eq!((class.to_owned(), message.to_owned()), thrown(&recorded["explicit_out_of_range_future"]["get"]));
    for (case, wrong) in
        [("explicit_negative", explicit(Some(-1), None)), ("negative_timestamp", explicit(None, Some(-5)))]
    {
        let call = world.send_record(wrong);
        let (class, message) = thrown(&recorded[case]);
        assert!(
            matches!(world.reply(call), Some(Reply::Threw(e)) if e.class == class && e.message == message),
            "{case}"
        );
    }
}
