//! Settings: the exceptions, texts and defaults that Apache Kafka 4.3.0's clients were recorded with.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::Value;
use steplog::client::config::KnownKey;
use steplog::client::{AdminConfig, ConfigError, ConsumerConfig, ProducerConfig};

fn recorded() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/client/config.json.gz");
    let file = std::fs::File::open(path).expect("the fixture is there");
    let mut text = String::new();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).expect("gzip of UTF-8");
    serde_json::from_str(&text).expect("JSON")
}

/// Cases in which we differ, each with its reason.
const DIFFERENT: &[(&str, &str)] = &[
    ("value.serializer that is not a Serializer", "there are no Java classes to look at"),
    ("no value.serializer", "records are bytes, nothing serializes them"),
    ("no key.serializer", "records are bytes, nothing serializes them"),
    ("no key.deserializer", "records are bytes, nothing deserializes them"),
    ("bootstrap.servers unresolvable", "names are resolved by the shell, when it connects"),
    ("unknown key: it is kept and warned about", "an unknown key is an error that names the nearest"),
    ("transactional.id", "transactions are not served"),
    ("auto.offset.reset=by_duration:PT1H", "looking up by duration is not served"),
];

fn parse(case: &Value) -> Result<(), ConfigError> {
    let mut keys = BTreeMap::from([("bootstrap.servers".to_owned(), "127.0.0.1:1".to_owned())]);
    for (key, value) in case["config"].as_object().expect("keys") {
        match value.as_str().expect("text") {
            "(not set)" => keys.remove(key),
            value => keys.insert(key.clone(), value.to_owned()),
        };
    }
    let is_consumer =
        ["consumer", "auto.offset", "isolation", "enable.auto", "max.poll", "heartbeat", "group", "fetch"]
            .iter()
            .any(|start| case["case"].as_str().is_some_and(|name| name.starts_with(start)))
            || case["case"] == "no key.deserializer";
    if is_consumer { ConsumerConfig::parse(&keys).map(drop) } else { ProducerConfig::parse(&keys).map(drop) }
}

#[test]
fn good_and_bad_settings_end_as_with_kafkas_clients() {
    let recorded = recorded();
    let cases = recorded["cases"].as_array().expect("cases");
    assert_eq!(cases.len(), 73);
    let mut met = 0;
    for case in cases {
        let name = case["case"].as_str().expect("name");
        let expected: Vec<(&str, &str)> = case["thrown"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|e| (e["class"].as_str().expect("class"), e["message"].as_str().expect("message")))
            .collect();
        let ours = parse(case);
        let thrown: Vec<(&str, &str)> = match &ours {
            Err(ConfigError::Thrown(thrown)) => thrown.chain().map(|e| (e.class, e.message.as_str())).collect(),
            _ => Vec::new(),
        };
        let same = thrown == expected && ours.is_err() != expected.is_empty();
        let listed = DIFFERENT.iter().any(|(case, _)| *case == name);
        assert_eq!(same, !listed, "{name}: Kafka {expected:?}, we {ours:?}");
        met += u32::from(same);
    }
    assert_eq!(met, 73 - DIFFERENT.len() as u32);
}

#[test]
fn every_key_of_kafkas_clients_is_known_with_its_default() {
    let recorded = recorded();
    let known = [
        ("producer", ProducerConfig::known_keys()),
        ("consumer", ConsumerConfig::known_keys()),
        ("admin", AdminConfig::known_keys()),
    ];
    for (client, known) in known {
        let kafkas = recorded[client].as_array().expect("keys");
        for key in kafkas {
            let name = key["name"].as_str().expect("name");
            let ours: Vec<&KnownKey> = known.iter().filter(|known| known.name == name).collect();
            assert_eq!(ours.len(), 1, "{client}: {name}");
            // bootstrap.controllers could stand in for it in Kafka; here an admin client needs it.
            if (client, name) != ("admin", "bootstrap.servers") {
                assert_eq!(ours[0].default.as_deref(), key["default"].as_str(), "{client}: {name}");
            }
        }
        assert_eq!(known.len(), kafkas.len(), "{client} knows a key that Kafka does not");
    }
}

#[test]
fn an_unknown_key_is_an_error_that_names_the_nearest() {
    let keys = BTreeMap::from([
        ("bootstrap.servers".to_owned(), "localhost:9092".to_owned()),
        ("linger.msec".to_owned(), "5".to_owned()),
    ]);
    let error = ProducerConfig::parse(&keys).expect_err("unknown");
    assert_eq!(error.to_string(), "unknown configuration key `linger.msec`; the nearest known one is `linger.ms`");
}

#[test]
fn a_key_that_does_nothing_here_is_named() {
    let keys = BTreeMap::from([
        ("bootstrap.servers".to_owned(), "localhost:9092".to_owned()),
        ("send.buffer.bytes".to_owned(), "1000".to_owned()),
        ("acks".to_owned(), "1".to_owned()),
    ]);
    assert_eq!(ProducerConfig::parse(&keys).expect("valid").no_effect, ["send.buffer.bytes"]);
}
