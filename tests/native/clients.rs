//! Our own clients over TCP.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use steplog::client::{AdminConfig, Client, ConsumerConfig, ProducerConfig};
use steplog::native::client::NativeClient;
use steplog::node::{
    AdminCommand, Command, ConfigResource, Duration as Span, NewTopic, ProducerRecord, Reply, SeekTo, TopicPartition,
};

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

#[test]
fn an_admin_client_changes_topics_and_configurations() {
    let broker = Broker::start(&["--memory"]);
    let config = AdminConfig::parse(&keys(&broker.address, &[])).expect("a valid configuration");
    let mut admin = NativeClient::start(Client::admin("test", config, 1)).expect("a client can be started");
    let mut ask = |command: AdminCommand| admin.ask(Command::Admin(command), PATIENCE).expect("an answer");
    let failure = |reply: Reply| match reply {
        Reply::Failed(exception) => exception.to_string(),
        other => panic!("{other:?}"),
    };
    let Reply::Cluster(nodes) = ask(AdminCommand::DescribeCluster) else { panic!("no cluster") };
    let nodes: Vec<(i32, String)> =
        nodes.iter().map(|node| (node.id, format!("{}:{}", node.address.host, node.address.port))).collect();
    assert_eq!(nodes, [(1, broker.address.clone())]);
    let name = "orders".to_owned();
    let topic = NewTopic { name: name.clone(), partitions: 1, replication_factor: 1, configs: Vec::new() };
    assert_eq!(ask(AdminCommand::CreateTopics { topics: vec![topic] }), Reply::Done);
    assert_eq!(ask(AdminCommand::CreatePartitions { topic: name.clone(), total: 3 }), Reply::Done);
    assert_eq!(
        failure(ask(AdminCommand::CreatePartitions { topic: name.clone(), total: 2 })),
        "InvalidPartitionsException: The topic orders currently has 3 partition(s); 2 would not be an increase."
    );
    let resource = ConfigResource::Topic(name.clone());
    let change = |value: &str| AdminCommand::AlterConfigs {
        resource: resource.clone(),
        changes: vec![("retention.ms".to_owned(), Some(value.to_owned()))],
    };
    assert_eq!(ask(change("1000")), Reply::Done);
    assert_eq!(
        failure(ask(change("soon"))),
        "InvalidConfigurationException: Invalid value soon for configuration retention.ms: Not a number of type LONG"
    );
    let Reply::Configs(entries) = ask(AdminCommand::DescribeConfigs { resource: resource.clone() }) else {
        panic!("no configuration")
    };
    let retention = entries.iter().find(|entry| entry.name == "retention.ms").expect("described");
    assert_eq!(retention.value.as_deref(), Some("1000"));
    let Reply::Configs(entries) = ask(AdminCommand::DescribeConfigs { resource: ConfigResource::Broker(1) }) else {
        panic!("no configuration")
    };
    assert!(entries.iter().any(|entry| entry.name == "node.id" && entry.value.as_deref() == Some("1")));
    assert_eq!(ask(AdminCommand::DeleteTopics { topics: vec![name.clone()] }), Reply::Done);
    assert_eq!(
        failure(ask(AdminCommand::DeleteTopics { topics: vec![name] })),
        "UnknownTopicOrPartitionException: This server does not host this topic-partition."
    );
}
