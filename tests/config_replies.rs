//! What Apache Kafka 4.3.0 answered when it was asked about topics and configurations, good and bad, request after
//! request: we answer the same, down to the texts, and list the same keys with the same values, sources and synonyms.

mod shell;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};
use shell::recorded::{Differences, fixture};
use shell::{Seen, Shell};
use steplog::broker::ServerConfig;
use steplog::node::Duration;
use steplog::wire::json::to_json;
use steplog::wire::messages::configs::{
    AlterConfigsResponse, DescribeConfigsResponse, IncrementalAlterConfigsResponse, ListConfigResourcesResponse,
};
use steplog::wire::messages::create_partitions::CreatePartitionsResponse;
use steplog::wire::messages::create_topics::CreateTopicsResponse;
use steplog::wire::messages::delete_topics::DeleteTopicsResponse;
use steplog::wire::{ApiKey, Message, Uuid, decode_response};

#[test]
fn every_question_about_topics_and_configurations_gets_kafkas_answer() {
    let recorded = fixture("config-replies.json.gz");
    let properties = recorded["properties"].as_object().expect("properties").iter();
    let properties = properties.map(|(key, value)| (key.clone(), value.as_str().expect("a text").to_string()));
    let config = ServerConfig::from_properties(&properties.collect()).expect("Kafka started with it");
    let mut shell = Shell::start(config);
    let mut differences = Differences::load("configs");
    let mut ids: BTreeMap<Uuid, Uuid> = BTreeMap::new();
    for case in recorded["cases"].as_array().expect("cases") {
        let name = case["case"].as_str().expect("a name");
        let mut request = bytes_of(&case["request"]);
        for (recorded, ours) in &ids {
            replace(&mut request, recorded, ours);
        }
        let conn = shell.connect();
        let ours = match shell.exchange(conn, request, Duration::from_ms(2500)) {
            Seen::Reply(frame) => decoded(case, &frame),
            Seen::Closed => json!("closed"),
            Seen::Nothing => json!("nothing"),
        };
        shell.close(conn);
        learn(&mut ids, &case["reply"]["topics"], &ours["topics"]);
        differences.compare(name, &normal(case["reply"].clone()), &normal(ours));
    }
    differences.finish();
}

fn bytes_of(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().expect("hex");
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

fn replace(bytes: &mut [u8], from: &Uuid, to: &Uuid) {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(16).position(|window| window == from.0) {
        bytes[at + found..at + found + 16].copy_from_slice(&to.0);
        at += found + 16;
    }
}

/// The ids of created topics, by name.
fn learn(ids: &mut BTreeMap<Uuid, Uuid>, recorded: &Value, ours: &Value) {
    let id = |topic: &Value| topic["topicId"].as_str()?.parse().ok();
    for topic in recorded.as_array().into_iter().flatten() {
        let same = ours.as_array().into_iter().flatten().find(|other| other["name"] == topic["name"]);
        if let (Some(recorded), Some(ours)) = (id(topic), same.and_then(id)) {
            ids.insert(recorded, ours);
        }
    }
}

fn decoded(case: &Value, frame: &Bytes) -> Value {
    let version = case["api_version"].as_i64().expect("a version") as i16;
    match ApiKey(case["api_key"].as_i64().expect("a key") as i16) {
        ApiKey::CREATE_TOPICS => json_of::<CreateTopicsResponse>(frame, version),
        ApiKey::DELETE_TOPICS => json_of::<DeleteTopicsResponse>(frame, version),
        ApiKey::CREATE_PARTITIONS => json_of::<CreatePartitionsResponse>(frame, version),
        ApiKey::DESCRIBE_CONFIGS => json_of::<DescribeConfigsResponse>(frame, version),
        ApiKey::ALTER_CONFIGS => json_of::<AlterConfigsResponse>(frame, version),
        ApiKey::INCREMENTAL_ALTER_CONFIGS => json_of::<IncrementalAlterConfigsResponse>(frame, version),
        ApiKey::LIST_CONFIG_RESOURCES => json_of::<ListConfigResourcesResponse>(frame, version),
        other => panic!("key {} is none of these", other.0),
    }
}

fn json_of<M: Message>(frame: &Bytes, version: i16) -> Value {
    let (_, body) = decode_response::<M>(frame, version).expect("an answer");
    serde_json::from_str(&to_json(&body, version)).expect("JSON")
}

/// Kafka lists resources and configs in the order of a hash map and shuffles deleted topics; ids differ from run to run.
fn normal(mut value: Value) -> Value {
    match &mut value {
        Value::Array(list) => {
            list.iter_mut().for_each(|item| *item = normal(item.take()));
            let is_synonyms = list.iter().any(|item| item.get("source").is_some());
            if !is_synonyms {
                list.sort_by_key(Value::to_string);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_id = name == "topicId" && *field != "AAAAAAAAAAAAAAAAAAAAAA";
                *field = if is_id { json!("{id}") } else { normal(field.take()) };
            }
        }
        _ => {}
    }
    value
}
