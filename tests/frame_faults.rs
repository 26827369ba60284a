//! What a producer goes through when the network holds, cuts or repeats one of its frames: what Apache Kafka's clients and
//! broker did behind a proxy that did the same (`tests/oracle/facts/`: `dropped-response`, `reorder`).

use std::sync::Arc;

use steplog::experiment::expression::{self, Names, Value};
use steplog::experiment::{Experiment, Lab, Measures};
use steplog::native::experiment;
use steplog::node::Duration;
use steplog::sim::NoTrace;

/// A record every 20 ms, each a request of its own; then what the log holds is read.
fn file(config: &str, fault: &str) -> String {
    format!(
        r#"
seed = 1
places = ["page", "run", "real", "bootstrap"]
title = {{ en = "t", zh = "t" }}
about = {{ en = "a", zh = "a" }}
focus = {{ nodes = [1], topics = ["t"], apis = ["Produce"] }}
opening = {{ at = "0 ms", question = {{ en = "q", zh = "q" }} }}

[[cluster.node]]
id = 1
roles = ["broker", "controller"]

[[topic]]
name = "t"
partitions = 1
replication_factor = 1

[[client]]
name = "producer"
kind = "producer"
program = """
repeat 30 every 20 ms:
  send(t, v{{i}})
flush
close
"""
config = {{ "linger.ms" = 0, acks = "all", {config} }}

[[client]]
name = "reader"
kind = "consumer"
program = """
wait for producer
drain(t)
close
"""
config = {{ "auto.offset.reset" = "earliest" }}

[[fault]]
node = 1
{fault}
"#
    )
}

fn frame(action: &str) -> String {
    format!("kind = \"frame\"\nclient = \"producer\"\napi = \"Produce\"\nnth = 5\n{action}")
}

const NOT_IDEMPOTENT: &str = r#""enable.idempotence" = false"#;
const IDEMPOTENT: &str = r#""enable.idempotence" = true"#;

fn read(config: &str, fault: &str) -> Experiment {
    experiment::read("frames", "experiment.toml", &file(config, fault)).unwrap_or_else(|error| panic!("{error}"))
}

fn run(config: &str, fault: &str) -> Measures {
    let mut lab = Lab::new(Arc::new(read(config, fault)), None).expect("a lab");
    lab.warm_up(&mut NoTrace).expect("a warm cluster");
    lab.run(None, &mut NoTrace);
    assert!(lab.programs().ended());
    let measures = lab.programs().measures().clone();
    assert_eq!(measures.failures, []);
    measures
}

fn value(measures: &Measures, expression: &str) -> Value {
    let names = Names { clients: vec!["producer"], nodes: vec![1], faults: 1, ..Names::default() };
    let expression = expression::parse(expression, &names).unwrap_or_else(|error| panic!("{error}"));
    expression.value(measures).unwrap_or_else(|| panic!("{expression:?} was not measured"))
}

fn int(measures: &Measures, expression: &str) -> i64 {
    match value(measures, expression) {
        Value::Int(int) => int,
        other => panic!("{expression}: {other}"),
    }
}

#[test]
fn a_lost_answer_makes_a_duplicate_without_idempotence_and_none_with_it() {
    // Cut after the request, or before its answer: the same to everybody.
    for action in
        ["action = \"cut-after\"\ndirection = \"request\"", "action = \"cut-before\"\ndirection = \"response\""]
    {
        let measures = run(NOT_IDEMPOTENT, &frame(action));
        assert_eq!(int(&measures, "count(ok)"), 30, "{action}");
        assert_eq!(value(&measures, "landed_twice"), Value::List(vec![4]), "{action}");

        let measures = run(IDEMPOTENT, &frame(action));
        assert_eq!(int(&measures, "count(ok)"), 30, "{action}");
        assert_eq!(int(&measures, "count(landed_twice)"), 0, "{action}");
        assert_eq!(int(&measures, "count(landed)"), 30, "{action}");
    }
}

#[test]
fn with_five_in_flight_a_silent_cut_reorders_without_idempotence_and_not_with_it() {
    let action = frame("action = \"cut-before\"\ndirection = \"request\"\nfor = \"300 ms\"");
    assert_eq!(value(&run(NOT_IDEMPOTENT, &action), "sorted(landed)"), Value::Bool(false));
    assert_eq!(value(&run(IDEMPOTENT, &action), "sorted(landed)"), Value::Bool(true));
    let one = format!(r#"{NOT_IDEMPOTENT}, "max.in.flight.requests.per.connection" = 1"#);
    assert_eq!(value(&run(&one, &action), "sorted(landed)"), Value::Bool(true));
}

#[test]
fn an_answer_that_is_held_beyond_the_request_timeout_makes_a_duplicate_without_idempotence_and_none_with_it() {
    let action = frame("action = \"hold\"\ndirection = \"response\"\nfor = \"2500 ms\"");
    let timeouts = r#", "request.timeout.ms" = 1000, "delivery.timeout.ms" = 15000"#;
    let measures = run(&format!("{NOT_IDEMPOTENT}{timeouts}"), &action);
    assert_eq!(int(&measures, "count(ok)"), 30);
    assert!(int(&measures, "count(landed_twice)") >= 1);
    let measures = run(&format!("{IDEMPOTENT}{timeouts}"), &action);
    assert_eq!((int(&measures, "count(ok)"), int(&measures, "count(landed_twice)")), (30, 0));
}

#[test]
fn a_request_that_is_sent_again_lands_twice_without_idempotence_and_its_producer_never_knows() {
    let action = frame("action = \"send-again\"\ndirection = \"request\"");
    let measures = run(NOT_IDEMPOTENT, &action);
    assert_eq!(int(&measures, "count(ok)"), 30);
    assert_eq!(value(&measures, "landed_twice"), Value::List(vec![4]));
    // What follows has moved by one, and the callbacks tell so.
    assert_eq!(value(&measures, "offsets([4, 5])"), Value::List(vec![4, 6]));
    let measures = run(IDEMPOTENT, &action);
    assert_eq!((int(&measures, "count(ok)"), int(&measures, "count(landed_twice)")), (30, 0));
}

#[test]
fn a_held_request_delays_its_record_by_so_long() {
    let measures = run(NOT_IDEMPOTENT, &frame("action = \"hold\"\ndirection = \"request\"\nfor = \"400 ms\""));
    let took = |id: usize| {
        let sent = &measures.sends[id];
        sent.outcome.as_ref().expect("a callback").at.0 - sent.sent_at.0
    };
    assert!(took(3) < Duration::from_ms(3).0);
    assert!(took(4) >= Duration::from_ms(400).0);
    assert_eq!(int(&measures, "fault_at(1)"), 80);
    assert_eq!(value(&measures, "sorted(landed)"), Value::Bool(true));
}

#[test]
fn frames_are_counted_from_an_instant_or_from_when_a_condition_came_true() {
    let action = |from: &str| frame(&format!("action = \"send-again\"\ndirection = \"request\"\n{from}"));
    let twice = |from: &str| value(&run(NOT_IDEMPOTENT, &action(from)), "landed_twice");
    assert_eq!(twice("at = \"0 ms\""), Value::List(vec![4]));
    assert_eq!(twice("at = \"110 ms\""), Value::List(vec![10]));
    assert_eq!(twice("when = \"acked(producer, 9)\""), Value::List(vec![14]));
}

#[test]
fn a_node_can_die_once_a_record_is_acked_and_come_back_so_long_after() {
    let measures = run(IDEMPOTENT, "kind = \"kill\"\nwhen = \"acked(producer, 10)\"\nstart_after = \"500 ms\"");
    let acked_at = measures.sends[10].outcome.as_ref().expect("a callback").at;
    assert_eq!(measures.dead_at[&1], acked_at);
    assert_eq!(measures.fault_at[&0], acked_at);
    assert!(measures.serving_at[&1].0 >= acked_at.0 + Duration::from_ms(500).0);
    assert_eq!(int(&measures, "count(landed)"), 30);
}

#[test]
fn a_wrong_fault_is_told_with_its_line_and_what_would_be_right() {
    let wrong = |fault: &str| match experiment::read("frames", "e.toml", &file(IDEMPOTENT, fault)) {
        Ok(_) => panic!("{fault} is taken"),
        Err(error) => error.message,
    };
    let hold = "action = \"hold\"\ndirection = \"request\"\n";
    for (fault, message) in [
        ("kind = \"frames\"\nat = \"1 s\"".to_owned(), "there is no `frames` here (did you mean `frame`?)"),
        (frame(hold), "[[fault]] needs `for`: a duration, e.g. \"20 ms\" or \"6.5 s\""),
        (frame(hold).replace("Produce", "Prodice"), "there is no `Prodice` here (did you mean `Produce`?)"),
        (frame(hold).replace("nth = 5", "nth = 0"), "`nth` counts from 1"),
        (frame(hold).replace("\"producer\"", "\"producr\""), "there is no client `producr` (did you mean `producer`?)"),
        (
            frame("action = \"send-again\"\ndirection = \"response\""),
            "only a request can be sent again: a client that gets one answer twice is lost",
        ),
        (
            "kind = \"kill\"\nwhen = \"acked(producr, 1)\"".to_owned(),
            "there is no client `producr` (did you mean `producer`?)",
        ),
        (
            "kind = \"kill\"\nwhen = \"acked(producer, 1)\"\nstart_at = \"1 s\"".to_owned(),
            "[[fault]] has no key `start_at` (did you mean `start_after`?)",
        ),
    ] {
        assert_eq!(wrong(&fault), message, "{fault}");
    }
}
