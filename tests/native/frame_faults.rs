//! Frame faults in real time: the proxy between our clients and a node does what the simulated network does.

use std::path::PathBuf;

use super::broker_process::{Broker, stderr, steplog};

const NOT_IDEMPOTENT: &str = "false";
const IDEMPOTENT: &str = "true";

/// Thirty records, one every 20 ms; then what the log holds is read. `facts` are `expression = expected`.
fn file(idempotent: &str, fault: &str, facts: &[(&str, &str)]) -> String {
    let facts = facts.iter().enumerate().map(|(n, (is, expected))| {
        format!(
            r#"
[[fact]]
name = "f{n}"
text = {{ en = "f", zh = "f" }}
is = '{is}'
kind = "structural"
expected = {expected}
source = "tests#/here"
"#
        )
    });
    let facts: String = facts.collect();
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
wait 300 ms
repeat 30 every 20 ms:
  send(t, v{{i}})
flush
close
"""
config = {{ "linger.ms" = 0, acks = "all", "enable.idempotence" = {idempotent} }}

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
kind = "frame"
client = "producer"
node = 1
api = "Produce"
nth = 5
{fault}
{facts}
"#
    )
}

/// Every fact must hold: in virtual time too, so that a fact that is wrong is not taken for a proxy that is.
fn holds(idempotent: &str, fault: &str, facts: &[(&str, &str)], places: &[&[&str]]) {
    let directory = tempfile::tempdir().unwrap();
    let path: PathBuf = directory.path().join("frames.toml");
    std::fs::write(&path, file(idempotent, fault, facts)).unwrap();
    for place in [&[][..]].iter().chain(places) {
        let output = steplog(&[&["run", path.to_str().unwrap()], *place].concat());
        let shown = String::from_utf8_lossy(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{fault} {place:?}: {}{shown}", stderr(&output));
    }
}

const ALL_LAND_ONCE: [(&str, &str); 3] = [("count(ok)", "30"), ("count(landed)", "30"), ("count(landed_twice)", "0")];

#[test]
fn an_answer_that_the_proxy_loses_makes_a_duplicate_without_idempotence_and_none_with_it() {
    for fault in
        ["action = \"cut-after\"\ndirection = \"request\"", "action = \"cut-before\"\ndirection = \"response\""]
    {
        let twice = [("count(ok)", "30"), ("count(landed_twice)", "{ min = 1 }"), ("fault_at(1)", "{ min = 300 }")];
        holds(NOT_IDEMPOTENT, fault, &twice, &[&["--real"]]);
        holds(IDEMPOTENT, fault, &ALL_LAND_ONCE, &[&["--real"]]);
    }
}

#[test]
fn a_request_that_the_proxy_sends_again_lands_twice_and_its_producer_never_knows() {
    let fault = "action = \"send-again\"\ndirection = \"request\"";
    holds(NOT_IDEMPOTENT, fault, &[("count(ok)", "30"), ("count(landed_twice)", "{ min = 1 }")], &[&["--real"]]);
    holds(IDEMPOTENT, fault, &ALL_LAND_ONCE, &[&["--real"]]);
}

#[test]
fn a_silent_cut_reorders_five_in_flight_without_idempotence_and_not_with_it() {
    let fault = "action = \"cut-before\"\ndirection = \"request\"\nfor = \"300 ms\"";
    holds(NOT_IDEMPOTENT, fault, &[("count(landed)", "30"), ("sorted(landed)", "false")], &[&["--real"]]);
    holds(IDEMPOTENT, fault, &[("sorted(landed)", "true"), ("count(landed)", "30")], &[&["--real"]]);
}

#[test]
fn a_frame_that_the_proxy_holds_comes_later_and_nothing_overtakes_it() {
    for direction in ["request", "response"] {
        let fault = format!("action = \"hold\"\ndirection = \"{direction}\"\nfor = \"400 ms\"");
        let held = [("max(waited(ok))", "{ min = 400, max = 3000 }"), ("sorted(landed)", "true"), ("count(ok)", "30")];
        holds(NOT_IDEMPOTENT, &fault, &held, &[&["--real"]]);
    }
}

#[test]
fn a_foreign_cluster_is_reached_through_the_proxy_too() {
    let broker = Broker::start(&["--memory"]);
    let fault = "action = \"cut-after\"\ndirection = \"request\"";
    let twice = [("count(ok)", "30"), ("count(landed_twice)", "{ min = 1 }")];
    holds(NOT_IDEMPOTENT, fault, &twice, &[&["--bootstrap", &broker.address]]);
}
