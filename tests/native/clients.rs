//! Our own clients over TCP.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use steplog::client::{Client, ConsumerConfig, ProducerConfig};
use steplog::native::client::NativeClient;
use steplog::node::{Command, Duration as Span, ProducerRecord, Reply, SeekTo, TopicPartition};

use super::broker_process::{Broker, PATIENCE};

fn keys(bootstrap: &str, more: &[(&str, &str)]) -> BTreeMap<String, String> {
    let pairs = [("bootstrap.servers", bootstrap)].into_iter().chain(more.iter().copied());
    pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

pub struct Producer(NativeClient);

impl Producer {
    pub fn start(bootstrap: &str, more: &[(&str, &str)]) -> Producer {
        let config = ProducerConfig::parse(&keys(bootstrap, more)).expect("a valid configuration");
        Producer(NativeClient::start(Client::producer("test", config, 1)).expect("a client can be started"))
    }

    /// What the callback says.
    pub fn send(&mut self, topic: &str, value: &[u8]) -> Option<Reply> {
        let record = ProducerRecord {
            topic: topic.to_owned(),
            partition: Some(0),
            value: Some(value.to_vec().into()),
            ..ProducerRecord::default()
        };
        self.0.ask(Command::Send(record), PATIENCE)
    }
}

/// The values of partition 0 from its beginning, `count` of them.
fn read(bootstrap: &str, topic: &str, count: usize) -> Vec<Vec<u8>> {
    let config = ConsumerConfig::parse(&keys(bootstrap, &[])).expect("a valid configuration");
    let mut consumer = NativeClient::start(Client::consumer("test", config, 1)).expect("a client can be started");
    let partition = TopicPartition { topic: topic.to_owned(), partition: 0 };
    consumer.ask(Command::Assign { partitions: vec![partition.clone()] }, PATIENCE).expect("an answer");
    consumer.ask(Command::Seek { partition, to: SeekTo::Beginning }, PATIENCE).expect("an answer");
    let mut values = Vec::new();
    while values.len() < count {
        match consumer.ask(Command::Poll { timeout: Span::from_ms(10_000) }, PATIENCE) {
            Some(Reply::Polled { records, .. }) if !records.is_empty() => {
                values.extend(records.into_iter().map(|record| record.value.unwrap_or_default().to_vec()));
            }
            other => panic!("{} of {count} records came, then {other:?}", values.len()),
        }
    }
    values
}

#[test]
fn what_is_produced_over_tcp_is_fetched_in_order() {
    let broker = Broker::start(&["--memory", "--topic", "orders:1"]);
    let mut producer = Producer::start(&broker.address, &[]);
    let sent: Vec<Vec<u8>> = (0..100).map(|i| format!("order {i}").into_bytes()).collect();
    for (offset, value) in (0..).zip(&sent) {
        match producer.send("orders", value) {
            Some(Reply::Acked(metadata)) => assert_eq!(metadata.offset, offset),
            other => panic!("record {offset}: {other:?}"),
        }
    }
    assert_eq!(read(&broker.address, "orders", sent.len()), sent);
}

#[test]
fn acknowledged_records_survive_sigkill_and_the_restarted_broker_serves_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let log_dirs = format!("log.dirs={}", directory.path().display());
    let mut broker = Broker::start(&["--set", &log_dirs, "--topic", "orders:1"]);
    let mut producer = Producer::start(&broker.address, &[]);
    for i in 0..50 {
        let reply = producer.send("orders", format!("{i}").as_bytes());
        assert!(matches!(reply, Some(Reply::Acked(_))), "{reply:?}");
    }
    broker.end(Some(Signal::KILL));
    let started = std::time::Instant::now();
    let broker = Broker::start(&["--set", &log_dirs]);
    // Kafka would wait for its own dead session: nine seconds.
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
    let expected: Vec<Vec<u8>> = (0..50).map(|i| format!("{i}").into_bytes()).collect();
    assert_eq!(read(&broker.address, "orders", 50), expected);
}

#[test]
fn a_signal_asks_for_a_controlled_shutdown_that_leaves_a_clean_directory() {
    for signal in [Signal::TERM, Signal::INT] {
        let directory = tempfile::tempdir().unwrap();
        let log_dirs = format!("log.dirs={}", directory.path().display());
        let mut broker = Broker::start(&["--set", &log_dirs]);
        let (status, said) = broker.end(Some(signal));
        assert_eq!((status.code(), said.as_str()), (Some(0), ""), "{signal:?}");
        assert!(directory.path().join(".kafka_cleanshutdown").exists(), "{signal:?}");
    }
}

#[test]
fn a_broker_in_memory_creates_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let log_dirs = format!("log.dirs={}/log", directory.path().display());
    let broker = Broker::start(&["--memory", "--set", &log_dirs, "--topic", "orders:1"]);
    let mut producer = Producer::start(&broker.address, &[]);
    assert!(matches!(producer.send("orders", b"one"), Some(Reply::Acked(_))));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}
