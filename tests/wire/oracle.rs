//! Recorded frames decode to the fields that Kafka's own classes print, and encode to the same bytes again.

use serde_json::{Value, json};
use steplog::wire::WireErrorKind::{self, CountTooLarge, Null, TagOrder, TooShort, UnknownMessage, VarintTooLong};
use steplog::wire::api::{self, ApiKey, ListenerKind};
use steplog::wire::schema::Kind;
use steplog::wire::{decode_request_header, json, messages};

use crate::corpus::{Frame, fixture, frames, hex, kind, read, read_request, tree_of};

/// Recorded, but of versions that Kafka 4.3.0 does not serve: it reads the header and then knows what to do.
const WITHOUT_SCHEMA: &[&str] = &["ApiVersions-v5-req-0", "Metadata-v14-req-0"];

fn readable() -> impl Iterator<Item = Frame> {
    let frames = frames();
    assert!(frames.len() >= 200, "{} frames", frames.len());
    frames.into_iter().filter(|frame| !WITHOUT_SCHEMA.contains(&frame.name.as_str()))
}

#[test]
fn every_recorded_frame_decodes_to_kafkas_fields() {
    for frame in readable() {
        let read = read(&frame, &frame.bytes).unwrap_or_else(|error| panic!("{}: {error}", frame.name));
        assert_eq!(read.header, frame.header, "{}", frame.name);
        assert_eq!(read.body, frame.body, "{}", frame.name);
    }
}

#[test]
fn every_recorded_frames_tree_reads_as_kafkas_json() {
    for frame in readable() {
        let (tree, error) = tree_of(&frame, &frame.bytes);
        assert_eq!(error, None, "{}", frame.name);
        let text = json::frame_to_json(&frame.bytes, &tree, kind(&frame));
        let read: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", frame.name));
        assert_eq!(read, json!({ "header": frame.header, "body": frame.body }), "{}", frame.name);
    }
}

#[test]
fn every_recorded_frame_encodes_to_the_same_bytes() {
    for frame in readable() {
        let read = read(&frame, &frame.bytes).unwrap_or_else(|error| panic!("{}: {error}", frame.name));
        let again = read.again.unwrap_or_else(|error| panic!("{}: {error}", frame.name));
        assert_eq!(again, frame.bytes, "{}", frame.name);
    }
}

#[test]
fn a_version_without_schema_is_a_typed_error_and_its_header_is_read() {
    let mut found = 0;
    for frame in frames().iter().filter(|frame| WITHOUT_SCHEMA.contains(&frame.name.as_str())) {
        let (header, _) = decode_request_header(&frame.bytes).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&json::to_json(&header, 2)).unwrap(), frame.header);
        let error = read(frame, &frame.bytes).err().map(|error| error.kind);
        let api = frame.key.api().unwrap();
        let expected = unsupported(frame.key.0, frame.version, api.first_version, api.last_version);
        assert_eq!(error, Some(expected));
        found += 1;
    }
    assert_eq!(found, WITHOUT_SCHEMA.len());
}

/// What becomes of a frame that Kafka refuses, reads in part, or writes differently.
#[derive(Debug, PartialEq)]
enum Outcome {
    Refused(WireErrorKind),
    /// Read; so many bytes after the body are ignored, and encoding gives the rest.
    Leftover(usize),
    /// Read, but encoded to these bytes.
    Differs(&'static str),
    /// Read, but not to be encoded.
    NotEncoded(WireErrorKind),
    Same,
}
use Outcome::{Differs, Leftover, NotEncoded, Refused};

fn unsupported(key: i16, version: i16, min: i16, max: i16) -> WireErrorKind {
    WireErrorKind::UnsupportedVersion { key, version, min, max }
}

fn outcome(bytes: &bytes::Bytes) -> Outcome {
    let read = match read_request(bytes) {
        Ok(read) => read,
        Err(error) => return Refused(error.kind),
    };
    match read.again {
        Err(error) => NotEncoded(error.kind),
        Ok(again) if again == *bytes => Outcome::Same,
        Ok(again) if again == bytes[..read.end] => Leftover(bytes.len() - read.end),
        Ok(again) => {
            let text: String = again.iter().map(|byte| format!("{byte:02x}")).collect();
            Differs(text.leak())
        }
    }
}

#[test]
fn frames_that_kafka_does_not_read_back_end_as_in_kafka() {
    let expected = [
        // librdkafka writes three bytes too many.
        ("confluent-kafka-2.16.1/metadata:5", Leftover(3)),
        ("confluent-kafka-2.16.1/metadata:11", Leftover(3)),
        // The header is whole, and there is no body schema to read the broken rest with.
        ("edge/edge:15", Refused(unsupported(18, 99, 0, 4))),
        // The header's tagged fields are missing.
        ("edge/edge:17", Refused(TooShort { needed: 1, left: 0 })),
        // Keys that Kafka 4 has retired.
        ("edge/edge:27", Refused(UnknownMessage { key: 4 })),
        ("edge/edge:29", Refused(UnknownMessage { key: 5 })),
        ("edge/edge:31", Refused(UnknownMessage { key: 6 })),
        ("edge/edge:33", Refused(UnknownMessage { key: 7 })),
        // Produce 2 and Fetch 3, gone since 4.0 (KIP-896).
        ("edge/edge:41", Refused(unsupported(0, 2, 3, 13))),
        ("edge/edge:43", Refused(unsupported(1, 3, 4, 18))),
        ("edge/edge:73", Refused(VarintTooLong)),
        ("edge/edge:75", Refused(CountTooLarge { count: i32::MAX as usize, left: 0 })),
        // A count of −7 is null, and written as −1.
        ("edge/edge:77", Differs("0003000100000001000465646765ffffffff")),
        ("edge/edge:79", Refused(Null)),
        // A broken UTF-8 sequence becomes U+FFFD.
        (
            "edge/edge:81",
            Differs(
                "00030001000000010004656467650000000100\
                                  04efbfbd28",
            ),
        ),
        ("edge/edge:83", Refused(TooShort { needed: 1, left: 0 })),
        ("edge/edge:85", Leftover(4)),
        ("edge/edge:87", Leftover(3)),
        // Unknown tags 9 and 8 are read in this order, which may not be written.
        ("edge/edge:91", NotEncoded(TagOrder { tag: 8 })),
        // franz-go's version 5, which 4.3.0 does not have.
        ("franz-go-1.22.3/admin:1", Refused(unsupported(18, 5, 0, 4))),
        ("franz-go-1.22.3/admin:7", Refused(unsupported(18, 5, 0, 4))),
    ];
    let list: Vec<Value> = serde_json::from_slice(&fixture("refused.json")).unwrap();
    let found: Vec<_> = list
        .iter()
        .map(|entry| (entry["src"].as_str().unwrap(), outcome(&hex(entry["hex"].as_str().unwrap()))))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn the_api_table_is_what_kafka_has_and_advertises_on_both_listeners() {
    let list: Vec<Value> = serde_json::from_slice(&fixture("api_table.json")).unwrap();
    let range = |value: &Value| {
        let bound = |i: usize| value[i].as_i64().unwrap() as i16;
        value.is_array().then(|| bound(0)..=bound(1))
    };
    for entry in &list {
        let key = ApiKey(entry["key"].as_i64().unwrap() as i16);
        let Some(schema) = range(&entry["schema"]) else {
            assert!(key.api().is_none(), "key {} is retired", key.0);
            continue;
        };
        let api = key.api().unwrap_or_else(|| panic!("key {} is missing", key.0));
        assert_eq!(api.name, entry["name"]);
        assert_eq!(api.first_version..=api.last_version, schema, "{}", api.name);
        assert_eq!(api.advertised(ListenerKind::Broker), range(&entry["broker"]), "{}", api.name);
        assert_eq!(api.advertised(ListenerKind::Controller), range(&entry["controller"]), "{}", api.name);
        for version in schema {
            let first = entry["first_flexible"].as_i64().unwrap_or(i64::MAX);
            assert_eq!(api.is_flexible(version), i64::from(version) >= first, "{} v{version}", api.name);
        }
    }
    assert_eq!(api::all().len(), list.iter().filter(|entry| entry["schema"].is_array()).count());
}

#[test]
fn every_served_api_has_schemas_that_agree_with_the_api_table() {
    let mut served = [0, 0];
    for api in api::all() {
        let listeners = [ListenerKind::Broker, ListenerKind::Controller];
        let ranges = listeners.into_iter().enumerate().filter_map(|(at, listener)| Some((at, api.served(listener)?)));
        for (at, range) in ranges {
            for kind in [Kind::Request(api.key.0), Kind::Response(api.key.0)] {
                let schema = messages::schema(kind).unwrap_or_else(|| panic!("{kind:?} has no schema"));
                assert_eq!((schema.first_version, schema.last_version), (api.first_version, api.last_version));
                assert!(range.clone().all(|version| schema.is_flexible(version) == api.is_flexible(version)));
            }
            served[at] += 1;
        }
    }
    assert_eq!(served, [42, 7], "on the broker's listener, on the controller's");
}
