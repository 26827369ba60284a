//! Records of a real `__cluster_metadata` log, as Kafka's dump tool prints them.

use bytes::Bytes;
use serde_json::{Map, Value};
use steplog::wire::messages::control_records::{LeaderChangeMessage, SnapshotFooterRecord, SnapshotHeaderRecord};
use steplog::wire::messages::metadata_records::*;
use steplog::wire::tree;
use steplog::wire::{Message, decode, decode_record, encode, encode_record, json, record_type};

use crate::corpus::{fixture, hex};

/// JSON and re-encoded bytes of a record value.
type Reading = (Value, Bytes);

fn metadata_record<M: Message>(value: &Bytes, version: i16) -> Reading {
    let record: M = decode_record(value).unwrap();
    (serde_json::from_str(&json::to_json(&record, version)).unwrap(), encode_record(&record, version).unwrap())
}

fn control_record<M: Message>(value: &Bytes) -> Reading {
    // A control record's value begins with its version.
    let version = i16::from_be_bytes([value[0], value[1]]);
    let record: M = decode(value, 0, version).unwrap();
    (serde_json::from_str(&json::to_json(&record, version)).unwrap(), encode(&record, version).unwrap())
}

fn read(name: &str, value: &Bytes, version: i16) -> Reading {
    match name {
        "REGISTER_BROKER_RECORD" => metadata_record::<RegisterBrokerRecord>(value, version),
        "TOPIC_RECORD" => metadata_record::<TopicRecord>(value, version),
        "PARTITION_RECORD" => metadata_record::<PartitionRecord>(value, version),
        "CONFIG_RECORD" => metadata_record::<ConfigRecord>(value, version),
        "PARTITION_CHANGE_RECORD" => metadata_record::<PartitionChangeRecord>(value, version),
        "REMOVE_TOPIC_RECORD" => metadata_record::<RemoveTopicRecord>(value, version),
        "FEATURE_LEVEL_RECORD" => metadata_record::<FeatureLevelRecord>(value, version),
        "PRODUCER_IDS_RECORD" => metadata_record::<ProducerIdsRecord>(value, version),
        "BROKER_REGISTRATION_CHANGE_RECORD" => metadata_record::<BrokerRegistrationChangeRecord>(value, version),
        "NO_OP_RECORD" => metadata_record::<NoOpRecord>(value, version),
        "BEGIN_TRANSACTION_RECORD" => metadata_record::<BeginTransactionRecord>(value, version),
        "END_TRANSACTION_RECORD" => metadata_record::<EndTransactionRecord>(value, version),
        "REGISTER_CONTROLLER_RECORD" => metadata_record::<RegisterControllerRecord>(value, version),
        "CLEAR_ELR_RECORD" => metadata_record::<ClearElrRecord>(value, version),
        "LeaderChange" => control_record::<LeaderChangeMessage>(value),
        "SnapshotHeader" => control_record::<SnapshotHeaderRecord>(value),
        "SnapshotFooter" => control_record::<SnapshotFooterRecord>(value),
        other => panic!("no record {other}"),
    }
}

#[test]
fn records_of_a_real_metadata_log_decode_to_kafkas_fields_and_encode_to_the_same_bytes() {
    let list: Vec<Map<String, Value>> = serde_json::from_slice(&fixture("metadata_records.json")).unwrap();
    assert_eq!(list.len(), 56);
    for entry in &list {
        let value = hex(entry["hex"].as_str().unwrap());
        let name = entry.get("type").or(entry.get("control")).and_then(Value::as_str).unwrap();
        let version = entry.get("version").and_then(Value::as_i64).unwrap_or_default() as i16;
        let (data, again) = read(name, &value, version);
        assert_eq!(data, entry["data"], "{name}");
        assert_eq!(again, value, "{name}");
        if entry.contains_key("type") {
            let (key, stored_version, at) = record_type(&value).unwrap();
            assert_eq!(stored_version, version, "{name}");
            let (tree, error) = tree::record(&value, at, key, version);
            assert_eq!((error, tree.nodes[0].end as usize), (None, value.len()), "{name}");
        }
    }
}
