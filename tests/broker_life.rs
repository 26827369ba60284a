//! A broker's life on one node: starting, being killed, shutting down, and what each leaves for the next.

mod shell;

use bytes::Bytes;
use shell::{Shell, bomb, config};
use steplog::broker::{ConfigError, ServerConfig};
use steplog::disk::{Disk, MemoryDisk, read_file};
use steplog::log::{Log, LogConfig};
use steplog::node::{Duration, EffectKind, ExitReason, Input, Note, TopicPartition};
use steplog::record::{BatchBuilder, Batches, ControlRecordType, ProducerIdentity};
use steplog::wire::messages::configs::{DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResponse};
use steplog::wire::messages::create_topics::{CreatableTopic, CreateTopicsRequest};
use steplog::wire::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use steplog::wire::messages::produce::{PartitionProduceData, ProduceRequest, TopicProduceData};
use steplog::wire::schema::Message;
use steplog::wire::{ErrorCode, RequestHeader, decode_response, encode_request, record_type};

fn frame<M: Message>(key: i16, version: i16, correlation_id: i32, body: &M) -> Bytes {
    let header = RequestHeader {
        request_api_key: key,
        request_api_version: version,
        correlation_id,
        client_id: Some("test".to_string()),
        ..Default::default()
    };
    let chunks = encode_request(&header, body).expect("a request");
    chunks.iter().flat_map(|chunk| chunk.to_bytes().expect("in memory")).collect::<Vec<u8>>().into()
}

fn create_topic(shell: &mut Shell, name: &str) {
    let topic =
        CreatableTopic { name: name.to_string(), num_partitions: 1, replication_factor: 1, ..Default::default() };
    let conn = shell.connect();
    shell.send(conn, frame(19, 7, 1, &CreateTopicsRequest { topics: vec![topic], ..Default::default() }));
    assert!(shell.next_frame(conn).is_some());
}

fn produce(acks: i16) -> Bytes {
    let mut batch = BatchBuilder::new();
    batch.append(shell::WALL_MS, None, Some(b"value"), std::iter::empty());
    let records = Some(steplog::disk::Slice::Bytes(batch.build(ProducerIdentity::NONE)));
    let partition = PartitionProduceData { index: 0, records, ..Default::default() };
    let topic = TopicProduceData { name: "orders".to_string(), partition_data: vec![partition], ..Default::default() };
    let body = ProduceRequest { acks, timeout_ms: 1000, topic_data: vec![topic], ..Default::default() };
    frame(0, 11, 7, &body)
}

fn fetch(offset: i64, max_wait_ms: i32) -> Bytes {
    let partition =
        FetchPartition { partition: 0, fetch_offset: offset, partition_max_bytes: 1 << 20, ..Default::default() };
    let topic = FetchTopic { topic: "orders".to_string(), partitions: vec![partition], ..Default::default() };
    let body = FetchRequest { max_wait_ms, min_bytes: 1, topics: vec![topic], ..Default::default() };
    frame(1, 12, 9, &body)
}

fn orders() -> TopicPartition {
    TopicPartition { topic: "orders".to_string(), partition: 0 }
}

fn leader_epochs(shell: &Shell) -> Vec<i32> {
    let epoch = |note: &Note| match note {
        Note::BecameLeader { partition, leader_epoch, .. } if *partition == orders() => Some(*leader_epoch),
        _ => None,
    };
    shell.notes.iter().filter_map(epoch).collect()
}

#[test]
fn a_fresh_node_formats_its_directory_and_comes_to_serve() {
    let mut shell = Shell::start(config(&[]));
    assert!(matches!(shell.notes.last(), Some(Note::Serving { .. })), "{:?}", shell.notes);
    let meta = read_file(shell.server.disk_mut(), "meta.properties").expect("formatted");
    let meta = String::from_utf8(meta.to_vec()).expect("text");
    assert!(meta.contains("cluster.id=AAAAAAAAAAAAAAAAAAAAAA\n") && meta.contains("node.id=1\n"), "{meta}");
    assert!(shell.server.state().serving);
}

#[test]
fn nothing_listens_before_the_broker_is_unfenced() {
    let shell = Shell::start(config(&[]));
    let listen = shell.effects.iter().position(|effect| matches!(effect.kind, EffectKind::Listen { .. }));
    let committed = shell
        .effects
        .iter()
        .rposition(|effect| matches!(effect.kind, EffectKind::Note(Note::MetadataCommitted { .. })));
    assert!(listen > committed, "the commit of the unfencing comes first");
}

#[test]
fn a_node_refuses_the_directory_of_another() {
    let mut shell = Shell::start(config(&[]));
    shell.shut_down();
    let other = Shell::start_on(config(&[("node.id", "2")]), shell.kill(), 2);
    match other.exit {
        Some((1, ExitReason::BadDirectory(text))) => {
            assert!(text.contains("stored node.id 1 doesn't match 2"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    let mut foreign = config(&[]);
    foreign.cluster_id = Some("AAAAAAAAAAAAAAAAAAAABB".to_string());
    let other = Shell::start_on(foreign, Shell::start(config(&[])).kill(), 2);
    assert!(matches!(other.exit, Some((1, ExitReason::BadDirectory(_)))), "{:?}", other.exit);
}

#[test]
fn logs_without_meta_properties_are_not_formatted_over() {
    let mut disk = MemoryDisk::new();
    disk.open("orders-0/00000000000000000000.log", true).expect("created");
    let shell = Shell::start_on(config(&[]), disk, 1);
    assert!(matches!(shell.exit, Some((1, ExitReason::BadDirectory(_)))), "{:?}", shell.exit);
}

#[test]
fn a_killed_node_comes_back_at_once_with_all_it_had_acked_two_epochs_later() {
    let mut shell = Shell::start(config(&[]));
    create_topic(&mut shell, "orders");
    let conn = shell.connect();
    shell.send(conn, produce(-1));
    assert!(shell.next_frame(conn).is_some(), "acked");
    assert_eq!(leader_epochs(&shell), [0]);

    // A lone node does not wait for its own dead session: no time passes.
    let shell = Shell::start_on(config(&[]), shell.kill(), 2);
    assert!(shell.listening);
    assert_eq!(shell.now.0, 0);
    assert_eq!(leader_epochs(&shell), [2], "an election of the last known leader (KIP-966)");
    let state = shell.server.state();
    let partition = &state.topics[0].partitions[0];
    assert_eq!((partition.log_end_offset, partition.high_watermark, partition.leader_epoch), (1, 1, 2));
    assert_eq!(partition.in_sync_replicas, [1]);
    assert_eq!(partition.segments[0].batches[0].leader_epoch, 0);
}

#[test]
fn a_shutdown_in_order_leaves_its_mark_and_the_checkpoints() {
    let mut shell = Shell::start(config(&[]));
    create_topic(&mut shell, "orders");
    let conn = shell.connect();
    shell.send(conn, produce(1));
    shell.shut_down();
    assert_eq!(shell.exit, Some((0, ExitReason::Shutdown)));
    assert!(shell.closed.contains(&conn));
    let mut disk = shell.kill();
    let text = |disk: &mut MemoryDisk, path: &str| {
        String::from_utf8(read_file(disk, path).unwrap_or_else(|error| panic!("{error:?}")).to_vec()).expect("text")
    };
    assert!(text(&mut disk, ".kafka_cleanshutdown").starts_with("{\"version\":0,\"brokerEpoch\":"));
    assert_eq!(text(&mut disk, "recovery-point-offset-checkpoint"), "0\n1\norders 0 1\n");
    assert_eq!(text(&mut disk, "replication-offset-checkpoint"), "0\n1\norders 0 1\n");

    let mut next = Shell::start_on(config(&[]), disk, 2);
    assert!(next.listening);
    assert_eq!(leader_epochs(&next), [2]);
    assert_eq!(text(next.server.disk_mut(), "orders-0/leader-epoch-checkpoint"), "0\n2\n0 0\n2 1\n");
    assert!(!next.server.disk().exists(".kafka_cleanshutdown"), "good for one start");
}

#[test]
fn a_torn_tail_is_cut_after_a_kill() {
    let mut shell = Shell::start(config(&[]));
    create_topic(&mut shell, "orders");
    let conn = shell.connect();
    shell.send(conn, produce(1));
    let mut disk = shell.kill();
    let file = disk.open("orders-0/00000000000000000000.log", false).expect("there");
    disk.append(file, &[&[1, 2, 3]]).expect("room");
    disk.close(file);
    let next = Shell::start_on(config(&[]), disk, 2);
    let loaded = Note::LogLoaded { partition: orders(), log_start: 0, log_end: 1, truncated: 3 };
    assert!(next.notes.contains(&loaded), "{:?}", next.notes);
}

#[test]
fn a_waiting_fetch_gets_what_is_appended_and_names_both_causes() {
    let mut shell = Shell::start(config(&[]));
    create_topic(&mut shell, "orders");
    let (reader, writer) = (shell.connect(), shell.connect());
    shell.send(reader, fetch(0, 500));
    assert!(shell.paused.contains(&reader), "muted while it waits");
    assert_eq!(shell.next_frame(reader), None);
    shell.send(writer, produce(1));
    let answer = shell.next_frame(reader).expect("woken");
    let (_, body) = decode_response::<FetchResponse>(&answer, 12).expect("a Fetch response");
    assert_eq!(body.responses[0].partitions[0].high_watermark, 1);
    assert!(!shell.paused.contains(&reader));
    let mut sends = shell.effects.iter().filter(|effect| matches!(effect.kind, EffectKind::Send { .. }));
    let last = sends.next_back().expect("the answer");
    assert_eq!(last.because.earlier.len(), 1, "the request; the append is what is being handled: {last:?}");
}

#[test]
fn a_waiting_fetch_is_answered_empty_when_its_time_is_up() {
    let mut shell = Shell::start(config(&[]));
    create_topic(&mut shell, "orders");
    let conn = shell.connect();
    shell.send(conn, fetch(0, 500));
    shell.wait(Duration::from_ms(499));
    assert_eq!(shell.next_frame(conn), None);
    shell.wait(Duration::from_ms(1));
    let answer = shell.next_frame(conn).expect("time is up");
    let (_, body) = decode_response::<FetchResponse>(&answer, 12).expect("a Fetch response");
    assert_eq!(body.responses[0].partitions[0].error_code, 0);
}

#[test]
fn a_waiting_request_holds_back_those_behind_it_and_no_other_connection() {
    let mut shell = Shell::start(config(&[]));
    create_topic(&mut shell, "orders");
    let (conn, other) = (shell.connect(), shell.connect());
    let behind = frame(18, 0, 10, &steplog::wire::messages::api_versions::ApiVersionsRequest::default());
    shell.send(conn, [fetch(0, 500), behind.clone()].concat());
    assert_eq!(shell.next_frame(conn), None);
    shell.send(other, behind);
    assert!(shell.next_frame(other).is_some());
    shell.send(other, produce(1));
    let first = shell.next_frame(conn).expect("the Fetch");
    let second = shell.next_frame(conn).expect("ApiVersions");
    assert_eq!((&first[..4], &second[..4]), (&[0, 0, 0, 9][..], &[0, 0, 0, 10][..]), "in order");
}

#[test]
fn an_idle_connection_is_closed_after_its_time() {
    let mut shell = Shell::start(config(&[("connections.max.idle.ms", "10000")]));
    let conn = shell.connect();
    shell.wait(Duration::from_ms(9_999));
    assert!(!shell.closed.contains(&conn));
    shell.wait(Duration::from_ms(2));
    assert!(shell.closed.contains(&conn));
}

#[test]
fn a_failed_write_ends_the_node_with_the_reason() {
    let mut shell = Shell::start(config(&[]));
    create_topic(&mut shell, "orders");
    shell.server.disk_mut().set_capacity(Some(0));
    let conn = shell.connect();
    shell.send(conn, produce(1));
    match &shell.exit {
        Some((1, ExitReason::StorageFailed(text))) => assert!(text.contains("orders-0"), "{text}"),
        other => panic!("{other:?}"),
    }
    shell.feed(Input::Tick);
}

/// The types of all records in the metadata log, control records by their own names.
fn metadata_record_types(shell: &mut Shell) -> Vec<String> {
    let log = read_file(shell.server.disk_mut(), "__cluster_metadata-0/00000000000000000000.log").expect("a log");
    let mut types = Vec::new();
    for batch in Batches::new(log) {
        let batch = batch.expect("a batch");
        assert!(batch.is_crc_valid());
        for record in batch.records().expect("uncompressed") {
            let record = record.expect("a record");
            types.push(if batch.is_control_batch() {
                format!("{:?}", ControlRecordType::of(&record).expect("known"))
            } else {
                let value = Bytes::copy_from_slice(record.value.expect("a value"));
                format!("{} v{}", record_type(&value).expect("a type").0, record_type(&value).expect("a type").1)
            });
        }
    }
    types
}

#[test]
fn the_metadata_log_begins_as_kafkas_does() {
    let mut shell = Shell::start(config(&[]));
    create_topic(&mut shell, "orders");
    // As observed in __cluster_metadata of a fresh 4.3.0 node, less the controller's own registration (27), the cordoned
    // directories (17 v3) and the NoOps (20): LeaderChange; begin, six features, min.insync.replicas, end; the broker
    // registers and is unfenced; a topic with its partition.
    let expected = [
        "LeaderChange",
        "23 v0",
        "12 v0",
        "12 v0",
        "12 v0",
        "12 v0",
        "12 v0",
        "12 v0",
        "4 v0",
        "24 v0",
        "0 v4",
        "17 v0",
        "2 v0",
        "3 v2",
    ];
    assert_eq!(metadata_record_types(&mut shell), expected);
}

#[test]
fn every_listed_difference_of_behaviour_is_there_and_no_other() {
    let lists = shell::recorded::fixture("differences.json");
    let listed: Vec<&str> = lists["deliberate"]["behaviour"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|entry| entry["case"].as_str().expect("a case"))
        .collect();
    type Shown = (&'static str, fn() -> bool);
    let shown: [Shown; 5] = [
        ("a restarted lone node does not wait for its own dead session", || {
            let next = Shell::start_on(config(&[]), Shell::start(config(&[])).kill(), 2);
            next.listening && next.now.0 == 0
        }),
        ("an unknown configuration key is refused", || {
            let properties = [("nope".to_string(), "1".to_string())].into();
            matches!(ServerConfig::from_properties(&properties), Err(ConfigError::Unknown { .. }))
        }),
        ("packed records may unpack to 64 times max.message.bytes, and at least 128 MiB", || {
            let mut disk = MemoryDisk::new();
            let mut log = Log::create(&mut disk, "t-0", LogConfig::default(), 0).expect("a log");
            let refused = log.append_as_leader(&mut disk, &bomb::batch(1025), 0, 0);
            refused.is_err_and(|error| error.error_code() == ErrorCode::MESSAGE_TOO_LARGE.0)
        }),
        ("an empty directory is formatted at the start", || {
            Shell::start(config(&[])).server.disk().exists("meta.properties")
        }),
        ("DescribeConfigs gives no documentation", || {
            let mut shell = Shell::start(config(&[]));
            let broker = DescribeConfigsResource {
                resource_type: 4,
                resource_name: "1".to_string(),
                configuration_keys: Some(vec!["node.id".to_string()]),
                ..Default::default()
            };
            let body =
                DescribeConfigsRequest { resources: vec![broker], include_documentation: true, ..Default::default() };
            let conn = shell.connect();
            shell.send(conn, frame(32, 4, 1, &body));
            let answer = shell.next_frame(conn).expect("an answer");
            let (_, body) = decode_response::<DescribeConfigsResponse>(&answer, 4).expect("valid");
            let described = body.results.iter().flat_map(|result| &result.configs);
            described.map(|config| (config.name.as_str(), config.documentation.is_none())).eq([("node.id", true)])
        }),
    ];
    assert_eq!(listed, shown.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (name, differs) in shown {
        assert!(differs(), "{name}: is listed as different, and is not");
    }
}
