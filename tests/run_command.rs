//! `steplog run` and `steplog list` as books and scripts use them: the JSON contract and the exit codes.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value as Json;

fn steplog(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_steplog")).args(arguments).output().expect("steplog starts")
}

fn json(output: &Output) -> Json {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// hello with one text replaced, in a folder of its own.
fn hello_with(from: &str, to: &str) -> (tempfile::TempDir, String) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/experiments/hello/experiment.toml");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("experiment.toml");
    std::fs::write(&file, text.replacen(from, to, 1)).unwrap();
    let file = file.to_str().unwrap().to_string();
    (folder, file)
}

#[test]
fn the_json_report_has_the_promised_keys_and_nothing_else() {
    let output = steplog(&["run", "acks-0", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = json(&output);
    let keys: Vec<&str> = report.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["experiment", "seed", "place", "ok", "trace_hash", "elapsed_virtual_ms", "facts"]);
    assert_eq!((&report["experiment"], &report["place"]), (&Json::from("acks-0"), &Json::from("run")));
    assert_eq!(report["ok"], true);
    assert_eq!(report["trace_hash"].as_str().unwrap().len(), 16);
    let facts = report["facts"].as_array().unwrap();
    let fact = |name: &str| facts.iter().find(|fact| fact["name"] == name).unwrap_or_else(|| panic!("{name}"));
    for fact in facts {
        let keys: Vec<&str> = fact.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["name", "kind", "value", "expected", "holds", "book"]);
        assert_eq!(fact["holds"], if fact["kind"] == "timing" { Json::Null } else { Json::from(true) }, "{fact}");
    }
    assert_eq!((&fact("sent")["value"], &fact("sent")["book"]), (&Json::from(400), &Json::from(400)));
    assert_eq!(fact("lost")["expected"], serde_json::json!({ "min": 1 }));
    assert_eq!(fact("elapsed")["book"], 27335);
}

#[test]
fn a_bootstrap_address_without_a_port_is_a_wrong_command() {
    for address in ["nowhere", ":9092", "127.0.0.1:0", "127.0.0.1:9092,"] {
        let output = steplog(&["run", "hello", "--bootstrap", address]);
        assert_eq!(output.status.code(), Some(2), "{address}");
        assert!(stderr(&output).contains("expected HOST:PORT"), "{}", stderr(&output));
    }
}

#[test]
fn the_seed_can_be_replaced_and_is_told() {
    let hash = |seed: &str| {
        let report = json(&steplog(&["run", "hello", "--json", "--seed", seed]));
        assert_eq!(report["seed"].to_string(), seed);
        report["trace_hash"].clone()
    };
    assert_eq!(hash("7"), hash("7"));
    assert_ne!(hash("7"), hash("8"));
}

#[test]
fn a_structural_fact_that_does_not_hold_exits_with_1() {
    let (_folder, file) = hello_with("expected = [72, 72, 72]", "expected = [72, 72, 73]");
    let output = steplog(&["run", &file, "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let report = json(&output);
    assert_eq!(report["ok"], false);
    let broken: Vec<&Json> = report["facts"].as_array().unwrap().iter().filter(|fact| fact["holds"] == false).collect();
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0]["name"], "sizes");
}

#[test]
fn a_wrong_name_a_wrong_file_and_a_wrong_instant_exit_with_2_and_say_what_is_right() {
    let unknown = steplog(&["run", "helo"]);
    assert_eq!(unknown.status.code(), Some(2));
    assert!(stderr(&unknown).contains("did you mean `hello`?"), "{}", stderr(&unknown));
    let (_folder, file) = hello_with("seed = 1", "sed = 1");
    let wrong = steplog(&["run", &file]);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("experiment.toml:1:1: an experiment has no key `sed` (did you mean `seed`?)"));
    let missing = steplog(&["run", "nowhere/experiment.toml"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("cannot read nowhere/experiment.toml"), "{}", stderr(&missing));
    let instant = steplog(&["run", "hello", "--until", "soon"]);
    assert_eq!(instant.status.code(), Some(2));
    assert!(stderr(&instant).contains("expected a duration, e.g. 3.2s or 900ms"), "{}", stderr(&instant));
}

#[test]
fn a_place_that_is_left_out_exits_with_3_and_gives_the_reason() {
    let left_out = "places = [\"page\", \"run\", \"bootstrap\"]\n[[left_out]]\nplace = \"real\"\n\
                    reason = { en = \"no clock can be skewed here\", zh = \"这里不能拨表\" }";
    let (_folder, file) = hello_with("places = [\"page\", \"run\", \"real\", \"bootstrap\"]", left_out);
    let output = steplog(&["run", &file, "--real"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("no clock can be skewed here"), "{}", stderr(&output));
    assert_eq!(steplog(&["run", &file]).status.code(), Some(0));
}

#[test]
fn until_stops_early_and_judges_nothing() {
    let output = steplog(&["run", "acks-0", "--until", "3.2s", "--json"]);
    assert_eq!(output.status.code(), Some(0));
    let report = json(&output);
    assert!(
        (3_100..=3_200).contains(&report["elapsed_virtual_ms"].as_u64().unwrap()),
        "{}",
        report["elapsed_virtual_ms"]
    );
    assert!(report["facts"].as_array().unwrap().iter().all(|fact| fact["holds"].is_null()));
}

#[test]
fn list_names_every_experiment_and_the_table_shows_every_fact() {
    let list = steplog(&["list"]);
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    for name in ["hello", "acks-0", "acks-1", "acks-all", "acks-0-prevented"] {
        assert!(list.lines().any(|line| line.trim_start().starts_with(&format!("{name} "))), "{name}: {list}");
    }
    let hello = String::from_utf8_lossy(&steplog(&["run", "hello"]).stdout).into_owned();
    assert!(hello.contains("12 of 12 structural facts hold"), "{hello}");
    assert!(hello.contains("position: 72 CreateTime:"), "{hello}");
}

#[test]
fn list_json_tells_a_script_which_cluster_an_experiment_wants() {
    let list = json(&steplog(&["list", "--json"]));
    let acks_0 = list.as_array().unwrap().iter().find(|experiment| experiment["name"] == "acks-0").unwrap();
    assert_eq!(acks_0["places"], serde_json::json!(["page", "run", "real", "bootstrap"]));
    assert_eq!(acks_0["nodes"], serde_json::json!([{ "id": 1, "roles": ["broker", "controller"], "config": {} }]));
    let topic = serde_json::json!({ "name": "a2.acks0", "partitions": 1, "replication_factor": 1, "config": {} });
    assert_eq!(acks_0["topics"], serde_json::json!([topic]));
}
