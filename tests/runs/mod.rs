//! Runs of experiments by Kafka's own client on Apache Kafka (`tests/oracle/kafka-client.mjs`), as if they had been
//! measured here: so every fact can be computed over them by the expression that computes it over our own runs.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use steplog::experiment::program::What;
use steplog::experiment::{Acked, Drained, Experiment, Measures, Outcome, Sent, Thrown};
use steplog::node::{Duration, FetchedBatch, TopicPartition};
use steplog::record::Batch;

/// What a run measured. The logs come from the broker's files, topic by topic as the programs drain them.
pub fn measures(experiment: &Experiment, run: &Json) -> Measures {
    let sends: Vec<Sent> = array(&run["sends"]).iter().map(sent).collect();
    let mut ids: BTreeMap<(String, String), i64> = BTreeMap::new();
    for (id, send) in (0..).zip(array(&run["sends"])) {
        ids.entry((text(&send["topic"]), named_by(send))).or_insert(id);
    }
    let printed = array(&run["printed"]).iter().map(|line| text(line).into()).collect();
    let counters = run["counters"].as_object().unwrap().iter();
    let ended = run["ended"].as_object().unwrap().iter();
    let hooks = array(&run["hooks"]);
    let node_at = |action: &str| {
        let hooks = hooks.iter().filter(|hook| hook["action"] == action);
        hooks.map(|hook| (hook["node"].as_i64().unwrap() as i32, span(&hook["end_ms"]))).collect()
    };
    Measures {
        sends,
        drained: drained(experiment, run, &ids),
        dead_at: node_at("kill"),
        serving_at: node_at("start"),
        ended: ended.map(|(client, at)| (client.clone(), span(at))).collect(),
        counters: counters.map(|(name, count)| (name.clone(), count.as_i64().unwrap())).collect(),
        printed,
        tables: run["tables"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, rows)| (name.clone(), rows_of(rows)))
            .collect(),
        ..Measures::default()
    }
}

fn array(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn text(json: &Json) -> String {
    json.as_str().unwrap_or_else(|| panic!("{json} is no text")).to_string()
}

fn span(ms: &Json) -> Duration {
    Duration((ms.as_f64().unwrap() * 1000.0) as u64)
}

/// Each is a key and a value.
fn rows_of(rows: &Json) -> Vec<(String, String)> {
    array(rows).iter().map(|row| (text(&row[0]), text(&row[1]))).collect()
}

/// A record is recognised by its value, one without by its key.
fn named_by(send: &Json) -> String {
    let name = if send["value"].is_null() { &send["key"] } else { &send["value"] };
    name.as_str().unwrap_or_default().to_string()
}

fn sent(send: &Json) -> Sent {
    let result = match send["error_class"].as_str() {
        Some(class) => Err(Thrown { class: class.to_string(), message: text(&send["error_message"]) }),
        None => Ok(Acked {
            partition: send["partition"].as_i64().unwrap() as i32,
            offset: send["offset"].as_i64().unwrap(),
            timestamp: send["timestamp"].as_i64().unwrap(),
        }),
    };
    Sent {
        client: text(&send["client"]).into(),
        topic: text(&send["topic"]).into(),
        value: send["value"].as_str().unwrap_or_default().into(),
        sent_at: span(&send["sent_ms"]),
        returned_at: Some(span(&send["returned_ms"])),
        threw: send["threw"] == true,
        outcome: Some(Outcome { at: span(&send["told_ms"]), result }),
    }
}

/// `None` if no program drains anything.
fn drained(experiment: &Experiment, run: &Json, ids: &BTreeMap<(String, String), i64>) -> Option<Drained> {
    let steps = experiment.programs.iter().flat_map(|program| &program.steps);
    let topics: Vec<&String> = steps
        .filter_map(|step| match &step.what {
            What::Drain { topic } => Some(topic),
            _ => None,
        })
        .collect();
    let mut drained = Drained::default();
    for topic in &topics {
        let partitions = experiment.topics.iter().find(|known| known.name == **topic).unwrap().partitions;
        for partition in 0..partitions {
            for hex in array(&run["logs"][format!("{topic}-{partition}")]) {
                let bytes = bytes(hex);
                for record in Batch::new(&bytes[..]).unwrap().records().unwrap() {
                    let record = record.unwrap();
                    let name = record.value.or(record.key).unwrap_or_default();
                    let name = String::from_utf8(name.to_vec()).unwrap();
                    match ids.get(&((*topic).clone(), name)) {
                        Some(id) => drained.ids.push(*id),
                        None => drained.strangers += 1,
                    }
                }
                let partition = TopicPartition { topic: (*topic).clone(), partition };
                drained.batches.push(FetchedBatch { partition, bytes: bytes.into() });
            }
        }
    }
    (!topics.is_empty()).then_some(drained)
}

fn bytes(hex: &Json) -> Vec<u8> {
    let hex = text(hex);
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}
