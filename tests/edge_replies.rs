//! Every crafted request of the recorded table, good and bad, is answered as Apache Kafka 4.3.0 answers it: field by
//! field, or by closing the connection, or not at all.

mod shell;

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::{Value, json};
use shell::fields;
use shell::recorded::{Differences, fixture};
use shell::{Seen, Shell, config};
use steplog::node::Duration;
use steplog::record::Batches;
use steplog::wire::api::ListenerKind;
use steplog::wire::messages::fetch::FetchResponse;
use steplog::wire::{ApiKey, Uuid, decode_response};

#[test]
fn each_crafted_request_gets_kafkas_answer() {
    let mut shell = Shell::start(config(&[
        ("listeners", "PLAINTEXT://127.0.0.1:25092,CONTROLLER://127.0.0.1:24092"),
        ("offsets.topic.num.partitions", "3"),
        ("transaction.state.log.num.partitions", "3"),
        ("share.coordinator.state.topic.num.partitions", "3"),
    ]));
    let mut differences = Differences::load("edge");
    let mut ids = Ids::default();
    let cases = fixture("edge-replies.json.gz");
    for case in cases.as_array().expect("cases").iter().filter(|case| case["on"] != "controller") {
        let name = case["case"].as_str().expect("a name");
        let request = ids.ours_in(&bytes_of(&case["request"]));
        let conn = shell.connect();
        let (kafka, ours) = if let Some(order) = case["order"].as_str() {
            let seen = shell.exchange(conn, request, Duration::from_ms(2500));
            let second = shell.next_frame(conn).map_or(Seen::Nothing, Seen::Reply);
            let correlation_ids: Vec<String> = [seen, second].iter().map(correlation_id).collect();
            (json!(order), json!(correlation_ids.join(",")))
        } else if name.ends_with("then half close") {
            shell.send(conn, request);
            let answered = shell.next_frame(conn).is_some();
            shell.close(conn);
            (case["reply"].clone(), if answered { json!("answered, then closed") } else { json!("closed") })
        } else {
            let seen = shell.exchange(conn, request, Duration::from_ms(2500));
            if let Seen::Reply(frame) = &seen {
                ids.learn(case, frame);
            }
            (ids.kafkas(case), ids.ours(case, &seen))
        };
        if !shell.closed.contains(&conn) {
            shell.close(conn);
        }
        differences.compare(name, &kafka, &ours);
    }
    differences.finish();
}

fn bytes_of(hex: &Value) -> Vec<u8> {
    let hex = hex.as_str().expect("hex");
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("hex")).collect()
}

fn correlation_id(seen: &Seen) -> String {
    match seen {
        Seen::Reply(frame) => i32::from_be_bytes(frame[..4].try_into().expect("4 bytes")).to_string(),
        other => format!("{other:?}"),
    }
}

/// Ids of topics and fetch sessions differ from run to run: recorded ones are replaced by ours in requests, and ours by
/// recorded ones in answers.
#[derive(Default)]
struct Ids {
    ours_by_recorded: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Ids {
    fn ours_in(&self, request: &[u8]) -> Bytes {
        let mut request = request.to_vec();
        for (recorded, ours) in &self.ours_by_recorded {
            replace(&mut request, recorded, ours);
        }
        request.into()
    }

    /// Topics are matched by name.
    fn learn(&mut self, case: &Value, frame: &Bytes) {
        let Some(body) = decoded(case, frame) else { return };
        let session =
            |body: &Value| body["sessionId"].as_i64().filter(|id| *id != 0).map(|id| (id as i32).to_be_bytes());
        if let (Some(recorded), Some(ours)) = (session(&case["body"]), session(&body)) {
            self.ours_by_recorded.insert(recorded.to_vec(), ours.to_vec());
        }
        let Some(recorded) = case["body"]["topics"].as_array() else { return };
        let named = |topics: &Value, name: &Value| -> Option<Uuid> {
            let topics = topics["topics"].as_array()?;
            let topic = topics.iter().find(|topic| topic["name"] == *name)?;
            topic["topicId"].as_str()?.parse().ok()
        };
        for topic in recorded {
            let recorded: Option<Uuid> = topic["topicId"].as_str().and_then(|id| id.parse().ok());
            if let (Some(recorded), Some(ours)) = (recorded, named(&body, &topic["name"]))
                && !recorded.is_zero()
                && !ours.is_zero()
            {
                self.ours_by_recorded.insert(recorded.0.to_vec(), ours.0.to_vec());
            }
        }
    }

    fn kafkas(&self, case: &Value) -> Value {
        match case["reply"].as_str().expect("a reply") {
            "closed" => json!("closed"),
            reply if reply.starts_with("nothing") => json!("nothing"),
            _ => {
                let reply = Bytes::from(bytes_of(&case["reply"])).slice(4..);
                normal(case, decoded(case, &reply).unwrap_or(json!("an answer of an API that is not served")))
            }
        }
    }

    fn ours(&self, case: &Value, seen: &Seen) -> Value {
        match seen {
            Seen::Closed => json!("closed"),
            Seen::Nothing => json!("nothing"),
            Seen::Reply(frame) => {
                let mut frame = frame.to_vec();
                for (recorded, ours) in &self.ours_by_recorded {
                    replace(&mut frame, ours, recorded);
                }
                normal(case, decoded(case, &frame.into()).expect("an answer of a served API"))
            }
        }
    }
}

fn replace(bytes: &mut [u8], from: &[u8], to: &[u8]) {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(from.len()).position(|window| window == from) {
        bytes[at + found..at + found + from.len()].copy_from_slice(to);
        at += found + from.len();
    }
}

/// The body as JSON, with its correlation id and, for Fetch, each batch's header.
fn decoded(case: &Value, frame: &Bytes) -> Option<Value> {
    let version = case["api_version"].as_i64()? as i16;
    let key = ApiKey(case["api_key"].as_i64()? as i16);
    let mut value = fields::response(frame, key, version)?;
    if key == ApiKey::FETCH {
        let (_, body) = decode_response::<FetchResponse>(frame, version).ok()?;
        let records = body.responses.iter().flat_map(|topic| &topic.partitions);
        value["batches"] = records.map(|data| batches(data.records.as_ref())).collect();
    }
    Some(value)
}

fn batches(records: Option<&steplog::wire::Records>) -> Value {
    let Some(records) = records else { return Value::Null };
    let batches = Batches::new(records.to_bytes().expect("in memory"));
    let described = batches.map(|batch| match batch {
        Ok(batch) => json!({
            "baseOffset": batch.base_offset(),
            "lastOffset": batch.last_offset(),
            "leaderEpoch": batch.partition_leader_epoch(),
            "size": batch.size_in_bytes(),
            "attributes": batch.attributes(),
            "baseSequence": batch.base_sequence(),
            "intact": batch.is_crc_valid(),
        }),
        Err(error) => json!(error.to_string()),
    });
    described.collect()
}

/// What differs between any two runs is replaced: times, the metadata's offset, and rows of APIs that are not served.
fn normal(case: &Value, mut value: Value) -> Value {
    if case["api_key"] == 18 {
        let served = |row: &Value| {
            let api = ApiKey(row["apiKey"].as_i64().expect("a key") as i16).api();
            api.is_some_and(|api| api.served(ListenerKind::Broker).is_some())
        };
        value["apiKeys"].as_array_mut().expect("rows").retain(served);
        for list in ["supportedFeatures", "finalizedFeatures"] {
            sort_by(&mut value[list], "name");
        }
        if !value["finalizedFeaturesEpoch"].is_null() {
            value["finalizedFeaturesEpoch"] = json!("{offset}");
        }
    }
    if case["api_key"] == 71 && value["clientInstanceId"] != json!(Uuid::ZERO.to_string()) {
        value["clientInstanceId"] = json!("{id}");
        value["subscriptionId"] = json!("{hash of the id}");
    }
    if case["api_key"] == 55 && value["topics"][0]["partitions"][0]["errorCode"] == 0 {
        value["topics"][0]["partitions"][0]["highWatermark"] = json!("{offset}");
        value["topics"][0]["partitions"][0]["currentVoters"][0]["logEndOffset"] = json!("{offset}");
    }
    if case["api_key"] == 43 {
        sort_by(&mut value["replicaElectionResults"], "topic");
    }
    if case["api_key"] == 3 {
        // Kafka lists topics in the order of a hash map.
        sort_by(&mut value["topics"], "name");
    }
    without_times(&mut value);
    value
}

fn sort_by(list: &mut Value, field: &str) {
    if let Some(list) = list.as_array_mut() {
        list.sort_by_key(|row| row[field].as_str().unwrap_or_default().to_string());
    }
}

fn without_times(value: &mut Value) {
    const FIRST_TIME: i64 = 1_700_000_000_000;
    match value {
        Value::Number(number) if number.as_i64().is_some_and(|n| (FIRST_TIME..2 * FIRST_TIME).contains(&n)) => {
            *value = json!("{ms}");
        }
        Value::String(text) => *text = without_long_numbers(text),
        Value::Array(list) => list.iter_mut().for_each(without_times),
        Value::Object(fields) => fields.values_mut().for_each(without_times),
        _ => {}
    }
}

fn without_long_numbers(text: &str) -> String {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return text.to_string();
    }
    let (mut out, mut digits) = (String::new(), String::new());
    for character in text.chars().chain(['\0']) {
        if character.is_ascii_digit() {
            digits.push(character);
            continue;
        }
        out.push_str(if digits.len() >= 13 { "{ms}" } else { &digits });
        digits.clear();
        if character != '\0' {
            out.push(character);
        }
    }
    out
}
