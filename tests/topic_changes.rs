//! What becomes of topics while a broker runs: their end, on disk and for those who wait for them, and configurations
//! that take effect at once.

mod shell;

use bytes::Bytes;
use shell::{Shell, config};
use steplog::disk::{Disk, Slice};
use steplog::node::{ConnId, Duration};
use steplog::record::{BatchBuilder, Batches, ProducerIdentity, TimestampType};
use steplog::wire::messages::configs::{
    IncrementalAlterConfigsRequest, IncrementalAlterConfigsResource, IncrementalAlterConfigsResponse,
    IncrementalAlterableConfig,
};
use steplog::wire::messages::create_topics::{CreatableTopic, CreateTopicsRequest, CreateTopicsResponse};
use steplog::wire::messages::delete_topics::{DeleteTopicState, DeleteTopicsRequest, DeleteTopicsResponse};
use steplog::wire::messages::fetch::{FetchPartition, FetchRequest, FetchResponse, FetchTopic};
use steplog::wire::messages::produce::{PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData};
use steplog::wire::{ErrorCode, Message, RequestHeader, Uuid, decode_response, encode_request};

const TOPIC: i8 = 2;
const BROKER: i8 = 4;

fn frame<M: Message>(key: i16, version: i16, body: &M) -> Bytes {
    let header = RequestHeader {
        request_api_key: key,
        request_api_version: version,
        correlation_id: 1,
        client_id: Some("test".to_string()),
        ..Default::default()
    };
    let chunks = encode_request(&header, body).expect("a request");
    chunks.iter().flat_map(|chunk| chunk.to_bytes().expect("in memory")).collect::<Vec<u8>>().into()
}

fn answer<M: Message>(shell: &mut Shell, conn: ConnId, version: i16) -> M {
    let frame = shell.next_frame(conn).expect("an answer");
    decode_response::<M>(&frame, version).expect("a valid answer").1
}

fn call<M: Message, R: Message>(shell: &mut Shell, key: i16, version: i16, body: &M) -> R {
    let conn = shell.connect();
    shell.send(conn, frame(key, version, body));
    answer(shell, conn, version)
}

fn create(shell: &mut Shell, name: &str) -> Uuid {
    let topic =
        CreatableTopic { name: name.to_string(), num_partitions: 1, replication_factor: 1, ..Default::default() };
    let body = CreateTopicsRequest { topics: vec![topic], ..Default::default() };
    let response: CreateTopicsResponse = call(shell, 19, 7, &body);
    assert_eq!(response.topics[0].error_code, 0, "{response:?}");
    response.topics[0].topic_id
}

fn delete(shell: &mut Shell, name: &str) -> i16 {
    let topic = DeleteTopicState { name: Some(name.to_string()), ..Default::default() };
    let body = DeleteTopicsRequest { topics: vec![topic], ..Default::default() };
    let response: DeleteTopicsResponse = call(shell, 20, 6, &body);
    response.responses[0].error_code
}

fn set(shell: &mut Shell, kind: i8, resource: &str, key: &str, value: &str) {
    let change =
        IncrementalAlterableConfig { name: key.to_string(), value: Some(value.to_string()), ..Default::default() };
    let resource = IncrementalAlterConfigsResource {
        resource_type: kind,
        resource_name: resource.to_string(),
        configs: vec![change],
        ..Default::default()
    };
    let body = IncrementalAlterConfigsRequest { resources: vec![resource], ..Default::default() };
    let response: IncrementalAlterConfigsResponse = call(shell, 44, 1, &body);
    assert_eq!(response.responses[0].error_code, 0, "{response:?}");
}

fn produce_request(topic: &str, value: &[u8], timeout_ms: i32) -> ProduceRequest {
    let mut batch = BatchBuilder::new();
    batch.append(shell::WALL_MS - 5, None, Some(value), std::iter::empty());
    let records = Some(Slice::Bytes(batch.build(ProducerIdentity::NONE)));
    let partition = PartitionProduceData { index: 0, records, ..Default::default() };
    let topic = TopicProduceData { name: topic.to_string(), partition_data: vec![partition], ..Default::default() };
    ProduceRequest { acks: -1, timeout_ms, topic_data: vec![topic], ..Default::default() }
}

fn produce(shell: &mut Shell, topic: &str, value: &[u8]) -> (i16, i64) {
    let response: ProduceResponse = call(shell, 0, 11, &produce_request(topic, value, 1000));
    let partition = &response.responses[0].partition_responses[0];
    (partition.error_code, partition.base_offset)
}

fn fetch_request(topic: &str, max_wait_ms: i32) -> FetchRequest {
    let partition = FetchPartition { partition: 0, partition_max_bytes: 1 << 20, ..Default::default() };
    let topic = FetchTopic { topic: topic.to_string(), partitions: vec![partition], ..Default::default() };
    FetchRequest { max_wait_ms, min_bytes: 1, topics: vec![topic], ..Default::default() }
}

fn directories(shell: &Shell, of: &str) -> Vec<String> {
    let names = shell.server.disk().list("").expect("a list");
    names.into_iter().filter(|name| name.starts_with(of)).collect()
}

#[test]
fn a_deleted_topics_directory_is_put_aside_and_removed_after_a_while() {
    let mut shell = Shell::start(config(&[]));
    create(&mut shell, "orders");
    assert_eq!(produce(&mut shell, "orders", b"one"), (0, 0));
    assert_eq!(delete(&mut shell, "orders"), 0);
    let aside = directories(&shell, "orders-0");
    assert_eq!(aside.len(), 1);
    assert!(aside[0].starts_with("orders-0.") && aside[0].ends_with("-delete"), "{aside:?}");
    assert_eq!(aside[0].len(), "orders-0.".len() + 32 + "-delete".len());
    shell.wait(Duration::from_ms(59_900));
    assert_eq!(directories(&shell, "orders-0"), aside);
    shell.wait(Duration::from_ms(200));
    assert_eq!(directories(&shell, "orders-0"), Vec::<String>::new());
    assert_eq!(produce(&mut shell, "orders", b"two").0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0);
}

#[test]
fn what_a_broker_did_not_come_to_remove_goes_in_its_next_life() {
    let mut shell = Shell::start(config(&[("log.segment.delete.delay.ms", "1000")]));
    create(&mut shell, "orders");
    assert_eq!(delete(&mut shell, "orders"), 0);
    let mut shell = Shell::start_on(config(&[("log.segment.delete.delay.ms", "1000")]), shell.kill(), 2);
    assert_eq!(directories(&shell, "orders-0").len(), 1);
    shell.wait(Duration::from_ms(1_100));
    assert_eq!(directories(&shell, "orders-0"), Vec::<String>::new());
}

#[test]
fn a_topic_that_is_created_again_has_a_new_id_and_begins_empty() {
    let mut shell = Shell::start(config(&[]));
    let first = create(&mut shell, "orders");
    for value in [b"one", b"two"] {
        produce(&mut shell, "orders", value);
    }
    shell.wait(Duration::from_ms(70_000));
    assert_eq!(delete(&mut shell, "orders"), 0);
    let second = create(&mut shell, "orders");
    assert_ne!(first, second);
    assert_eq!(produce(&mut shell, "orders", b"three"), (0, 0));
    // The old directory goes, the new one stays, also over a crash.
    shell.wait(Duration::from_ms(61_000));
    assert_eq!(directories(&shell, "orders-0"), ["orders-0"]);
    let mut shell = Shell::start_on(config(&[]), shell.kill(), 2);
    assert_eq!(produce(&mut shell, "orders", b"four"), (0, 1));
}

#[test]
fn deleting_and_creating_in_one_breath_leaves_the_new_topic() {
    let mut shell = Shell::start(config(&[]));
    create(&mut shell, "orders");
    produce(&mut shell, "orders", b"one");
    let topic = DeleteTopicState { name: Some("orders".to_string()), ..Default::default() };
    let gone = frame(20, 6, &DeleteTopicsRequest { topics: vec![topic], ..Default::default() });
    let topic =
        CreatableTopic { name: "orders".to_string(), num_partitions: 2, replication_factor: 1, ..Default::default() };
    let again = frame(19, 7, &CreateTopicsRequest { topics: vec![topic], ..Default::default() });
    let conn = shell.connect();
    shell.send(conn, [gone, again].concat());
    let deleted: DeleteTopicsResponse = answer(&mut shell, conn, 6);
    let created: CreateTopicsResponse = answer(&mut shell, conn, 7);
    assert_eq!((deleted.responses[0].error_code, created.topics[0].error_code), (0, 0));
    assert_eq!(produce(&mut shell, "orders", b"two"), (0, 0));
}

#[test]
fn a_waiting_fetch_hears_of_its_topics_end() {
    let mut shell = Shell::start(config(&[]));
    create(&mut shell, "orders");
    let conn = shell.connect();
    shell.send(conn, frame(1, 12, &fetch_request("orders", 30_000)));
    assert_eq!(shell.next_frame(conn), None);
    assert_eq!(delete(&mut shell, "orders"), 0);
    let response: FetchResponse = answer(&mut shell, conn, 12);
    let partition = &response.responses[0].partitions[0];
    assert_eq!(partition.error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION.0);
}

#[test]
fn a_smaller_max_message_bytes_refuses_the_next_record() {
    let mut shell = Shell::start(config(&[]));
    create(&mut shell, "orders");
    assert_eq!(produce(&mut shell, "orders", &[7; 500]), (0, 0));
    set(&mut shell, TOPIC, "orders", "max.message.bytes", "200");
    assert_eq!(produce(&mut shell, "orders", &[7; 500]).0, ErrorCode::MESSAGE_TOO_LARGE.0);
    set(&mut shell, TOPIC, "orders", "max.message.bytes", "1000");
    assert_eq!(produce(&mut shell, "orders", &[7; 500]), (0, 1));
    // The topic's own value counts more than the cluster's.
    set(&mut shell, BROKER, "", "message.max.bytes", "100");
    assert_eq!(produce(&mut shell, "orders", &[7; 500]), (0, 2));
    create(&mut shell, "others");
    assert_eq!(produce(&mut shell, "others", &[7; 500]).0, ErrorCode::MESSAGE_TOO_LARGE.0);
    // And the broker's more than the cluster's.
    set(&mut shell, BROKER, "1", "message.max.bytes", "1000");
    assert_eq!(produce(&mut shell, "others", &[7; 500]), (0, 0));
}

#[test]
fn a_topic_changes_over_to_log_append_time() {
    let mut shell = Shell::start(config(&[]));
    create(&mut shell, "orders");
    produce(&mut shell, "orders", b"one");
    set(&mut shell, TOPIC, "orders", "message.timestamp.type", "LogAppendTime");
    produce(&mut shell, "orders", b"two");
    let response: FetchResponse = call(&mut shell, 1, 12, &fetch_request("orders", 0));
    let records = response.responses[0].partitions[0].records.as_ref().expect("records").to_bytes().expect("read");
    let kinds: Vec<TimestampType> = Batches::new(records).map(|batch| batch.expect("whole").timestamp_type()).collect();
    assert_eq!(kinds, [TimestampType::CreateTime, TimestampType::LogAppendTime]);
}

#[test]
fn what_is_configured_while_a_broker_runs_is_there_in_its_next_life() {
    let mut shell = Shell::start(config(&[]));
    create(&mut shell, "orders");
    set(&mut shell, BROKER, "1", "message.max.bytes", "200");
    let mut shell = Shell::start_on(config(&[]), shell.kill(), 2);
    assert_eq!(produce(&mut shell, "orders", &[7; 500]).0, ErrorCode::MESSAGE_TOO_LARGE.0);
}

#[test]
fn smaller_segments_begin_with_the_next_batch() {
    let mut shell = Shell::start(config(&[]));
    create(&mut shell, "orders");
    let half = vec![7; 600_000];
    for offset in 0..2 {
        assert_eq!(produce(&mut shell, "orders", &half), (0, offset));
    }
    assert_eq!(shell.server.state().topics[0].partitions[0].segments.len(), 1);
    set(&mut shell, TOPIC, "orders", "segment.bytes", "1048576");
    assert_eq!(produce(&mut shell, "orders", &half), (0, 2));
    assert_eq!(shell.server.state().topics[0].partitions[0].segments.len(), 2);
}
