//! `steplog trace` as books and scripts read it.

use std::process::{Command, Output};

use serde_json::Value as Json;

fn steplog(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_steplog")).args(arguments).output().expect("steplog starts")
}

fn text(arguments: &[&str]) -> String {
    let output = steplog(arguments);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn events(arguments: &[&str]) -> Vec<Json> {
    text(arguments)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

#[test]
fn every_event_has_its_id_instant_kind_and_earlier_causes() {
    let events = events(&["trace", "acks-0", "--json"]);
    let mut before = i64::MIN;
    for (ordinal, event) in events.iter().enumerate() {
        assert_eq!(event["event"], ordinal);
        let us = event["us"].as_i64().expect("an instant");
        assert!(us >= before, "{event}");
        before = us;
        assert!(event["kind"].is_string() && event.get("node").is_some(), "{event}");
        for cause in event["because"].as_array().expect("causes") {
            assert!(cause.as_u64().expect("an id") < ordinal as u64, "{event}");
        }
    }
    // What the experiment decrees at 3 s, to the µs.
    let kinds = |fault: &str| events.iter().find(|event| event["fault"] == fault).map(|event| event["us"].as_i64());
    assert_eq!((kinds("Die"), kinds("Kill")), (Some(Some(3_000_000)), Some(Some(3_100_000))));
}

#[test]
fn a_frame_is_told_alike_where_it_is_sent_and_where_it_ends() {
    let events = events(&["trace", "acks-0", "--json", "--until", "3.2s"]);
    let ended = events.iter().filter(|event| event["frame"].is_object());
    let mut kinds = std::collections::BTreeSet::new();
    for event in ended {
        let frame = &event["frame"];
        let sent_by = &events[frame["sent_by"].as_u64().expect("an id") as usize];
        let sends = sent_by["sends"].as_array().expect("what it sent");
        assert!(sends.contains(frame), "{event} {sent_by}");
        kinds.insert(event["kind"].as_str().expect("a kind").to_owned());
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["buffered", "bytes", "lost"]);
    let produce =
        events.iter().flat_map(|event| event["sends"].as_array()).flatten().filter(|frame| frame["api"] == "Produce");
    // One every 20 ms, until the producer hears at 3.1002 s that the broker is dead.
    assert_eq!(produce.filter(|frame| frame["direction"] == "request").count(), 156);
}

#[test]
fn the_table_tells_the_same_events() {
    let rows = text(&["trace", "hello"]);
    let ids = rows.lines().skip(1).filter_map(|row| row.get(..7)?.trim().parse::<usize>().ok());
    let lines = events(&["trace", "hello", "--json"]).len();
    assert_eq!(ids.collect::<Vec<_>>(), (0..lines).collect::<Vec<_>>());
    assert!(rows.contains("Produce v13 request #6, Hello → broker-1"), "{rows}");
}

#[test]
fn an_unknown_experiment_exits_2() {
    let output = steplog(&["trace", "acks-9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("there is no experiment `acks-9`"));
}
