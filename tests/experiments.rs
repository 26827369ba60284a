//! What stands in `tests/experiments/` was recorded from Apache Kafka: every expected value is compared with its source,
//! and every law is tried on the recorded runs themselves. And a file with a mistake says which.

mod runs;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use steplog::experiment::expression::Value;
use steplog::experiment::{
    Acked, Client, ClientKind, Drained, Expected, Experiment, Fact, FactKind, Measures, Outcome, Place, Sent, Source,
    Thrown,
};
use steplog::native::experiment;
use steplog::node::Duration;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn json_of(file: &str) -> Json {
    let text = std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// `/batch {0,1}.size` is two pointers.
fn braces(pointer: &str) -> Vec<String> {
    let Some((before, rest)) = pointer.split_once('{') else { return vec![pointer.to_string()] };
    let (choices, after) = rest.split_once('}').expect("an unclosed brace");
    choices.split(',').map(|choice| format!("{before}{choice}{after}")).collect()
}

/// What a pointer points at; `*` is every element.
fn resolve<'a>(json: &'a Json, pointer: &str) -> Vec<&'a Json> {
    let Some((before, after)) = pointer.split_once("/*") else { return json.pointer(pointer).into_iter().collect() };
    let all = json.pointer(before).and_then(Json::as_array).into_iter().flatten();
    all.flat_map(|element| resolve(element, after)).collect()
}

/// The recorded values that a source names, in its order; never none.
fn recorded(source: &Source) -> Vec<Json> {
    if source.file.ends_with(".log") {
        return braces(&source.pointer).iter().map(|pointer| digest_in_file(&source.file, pointer)).collect();
    }
    let document = json_of(&source.file);
    let pointers = braces(&source.pointer);
    let found: Vec<Json> = pointers.iter().flat_map(|pointer| resolve(&document, pointer)).cloned().collect();
    assert!(!found.is_empty(), "{}#{} points at nothing", source.file, source.pointer);
    found
}

/// CRC-32C of the n-th batch of a segment file, its CRC, times and producer id zeroed.
fn digest_in_file(file: &str, pointer: &str) -> Json {
    let bytes = std::fs::read(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    let n: usize = pointer.trim_start_matches("/batch/").parse().expect("a batch's number");
    let len_at = |at: usize| 12 + u32::from_be_bytes(bytes[at + 8..at + 12].try_into().unwrap()) as usize;
    let start = (0..n).fold(0, |at, _| at + len_at(at));
    let mut batch = bytes[start..start + len_at(start)].to_vec();
    batch[17..21].fill(0);
    batch[27..51].fill(0);
    Json::from(crc32c::crc32c(&batch))
}

fn ints(json: &Json) -> Option<Vec<i64>> {
    json.as_array()?.iter().map(Json::as_i64).collect()
}

/// `0-141,145-399`.
fn ids(text: &str) -> Vec<i64> {
    let part = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        first.parse::<i64>().unwrap()..=last.parse().unwrap()
    };
    text.split(',').filter(|text| !text.is_empty()).flat_map(part).collect()
}

/// A run of Kafka's own client against Kafka's own broker, as if it had been measured here.
fn measures_of(experiment: &Experiment, run: &Json) -> Measures {
    let topic = &experiment.topics[0].name;
    let text = |key: &str| run[key].as_str().unwrap_or_else(|| panic!("{key}"));
    let ms = |key: &str| Duration::from_ms(run[key].as_u64().unwrap_or_else(|| panic!("{key}")));
    let landed = ids(text("landed_ids"));
    let mut outcomes: BTreeMap<i64, Result<Acked, Thrown>> = BTreeMap::new();
    for id in ids(text("ok_ids")) {
        let offset = match run["ok_offset_max"].as_i64() {
            Some(-1) => -1,
            _ => landed.iter().position(|landed| *landed == id).map_or(-2, |offset| offset as i64),
        };
        outcomes.insert(id, Ok(Acked { partition: 0, offset, timestamp: 0 }));
    }
    for kind in run["failure_kinds"].as_array().unwrap() {
        let class = kind["class"].as_str().unwrap().rsplit('.').next().unwrap().to_string();
        let message = kind["example"].as_str().unwrap().replace("{topic}", topic);
        for id in ids(kind["ids"].as_str().unwrap()) {
            outcomes.insert(id, Err(Thrown { class: class.clone(), message: message.clone() }));
        }
    }
    let sent = |id: i64| Sent {
        client: "AcksLab".into(),
        topic: topic.as_str().into(),
        value: format!("v{id}").into(),
        sent_at: Duration::ZERO,
        returned_at: Some(Duration::ZERO),
        threw: false,
        outcome: outcomes.get(&id).map(|result| Outcome { at: Duration::ZERO, result: result.clone() }),
    };
    Measures {
        sends: (0..run["sent"].as_i64().unwrap()).map(sent).collect(),
        drained: Some(Drained { ids: landed, strangers: 0, batches: Vec::new() }),
        dead_at: BTreeMap::from([(1, ms("killed_at_ms"))]),
        serving_at: BTreeMap::from([(1, ms("port_back_at_ms"))]),
        ended: BTreeMap::from([("AcksLab".to_string(), ms("elapsed_ms"))]),
        ..Measures::default()
    }
}

/// The runs of a file that tells each run by cases, of which the experiment's producers do one each, in this order.
fn cases_of<'a>(experiment: &'a Experiment, file: &str, run: &Json) -> Vec<&'a str> {
    let mut cases: Vec<&str> = Vec::new();
    for source in experiment.facts.iter().map(|fact| &fact.source).filter(|source| source.file == file) {
        let case = source.pointer.trim_start_matches("/stable/").split('.').next().unwrap();
        if run[case].get("log").is_some() && !cases.contains(&case) {
            cases.push(case);
        }
    }
    cases
}

/// What such cases would have measured; their sends are numbered one case after the other.
fn measures_of_cases(experiment: &Experiment, cases: &[&str], run: &Json) -> Measures {
    let mut measures = Measures::default();
    let mut log = Vec::new();
    let producers = experiment.clients.iter().filter(|client| client.kind == ClientKind::Producer);
    for (at, (case, producer)) in cases.iter().zip(producers).enumerate() {
        let first = measures.sends.len() as i64;
        for (id, offset) in (0..).zip(run[case]["offsets"].as_array().unwrap()) {
            let acked = |offset| Acked { partition: 0, offset, timestamp: 0 };
            let thrown =
                || Thrown { class: run[case]["exceptions"][0].as_str().unwrap().to_string(), message: String::new() };
            let result = offset.as_i64().map(acked).ok_or_else(thrown);
            measures.sends.push(Sent {
                client: producer.name.as_str().into(),
                topic: experiment.topics[at].name.as_str().into(),
                value: format!("{id}").into(),
                sent_at: Duration::ZERO,
                returned_at: Some(Duration::ZERO),
                threw: false,
                outcome: Some(Outcome { at: Duration::ZERO, result }),
            });
        }
        log.extend(ints(&run[case]["log"]).unwrap().iter().map(|id| id + first));
    }
    measures.drained = Some(Drained { ids: log, strangers: 0, batches: Vec::new() });
    measures
}

/// What is not as it was recorded, one line each.
type Wrong = Vec<String>;

fn check_value(of: &str, expected: &Value, source: &Source, wrong: &mut Wrong) {
    let found = recorded(source);
    let is_so = match expected {
        Value::Int(int) => found.iter().all(|json| json.as_i64() == Some(*int)),
        Value::List(list) if found.iter().all(Json::is_array) => {
            found.iter().all(|json| ints(json).as_ref() == Some(list))
        }
        Value::List(list) => found.iter().map(Json::as_i64).eq(list.iter().copied().map(Some)),
        Value::Text(text) => found.iter().all(|json| json == text.as_str()),
        Value::Texts(texts) if found.iter().all(Json::is_array) => found.iter().all(|json| *json == json!(texts)),
        Value::Texts(texts) => found.iter().eq(texts.iter().map(|text| json!(text)).collect::<Vec<Json>>().iter()),
        // A law is recorded as a sentence; what makes it one is that it holds in every recorded run.
        Value::Bool(_) => found.iter().all(|json| json.is_string() || json.is_array()),
    };
    if !is_so {
        wrong.push(format!("{of}: {expected} is not {found:?}"));
    }
}

/// The runs of a file in which Kafka's own client ran the experiment.
const RUNS: &str = "/observed/*";

/// What a fact is worth in each run that its source names.
fn check_runs(experiment: &Experiment, fact: &Fact, of: &str, wrong: &mut Wrong) {
    let mut numbers = Vec::new();
    for run in recorded(&fact.source) {
        match (fact.is.value(&runs::measures(experiment, &run)), fact.kind) {
            (Some(Value::Int(found)), FactKind::Timing) => numbers.push(found),
            (Some(found), _) if fact.expected.holds(&found) => {}
            (Some(found), _) => wrong.push(format!("{of}: {found} is not {}", fact.expected)),
            (None, _) => wrong.push(format!("{of} has no value in run {}", run["run"])),
        }
    }
    if fact.kind == FactKind::Timing {
        let (min, max) = (numbers.iter().min().copied(), numbers.iter().max().copied());
        if fact.expected != (Expected::Range { min, max }) {
            wrong.push(format!("{of}: {} is not {}", Expected::Range { min, max }, fact.expected));
        }
    }
}

fn check_fact(experiment: &Experiment, fact: &Fact, wrong: &mut Wrong) {
    let of = format!("{}: {}", experiment.name, fact.name);
    match &fact.expected {
        _ if fact.source.pointer == RUNS => check_runs(experiment, fact, &of, wrong),
        Expected::Value(value) => check_value(&of, value, &fact.source, wrong),
        Expected::Range { min, max } if fact.source.pointer.starts_with("/varying/") => {
            let found = recorded(&fact.source);
            if found != [Json::from(vec![*min, *max])] {
                wrong.push(format!("{of}: {found:?} is not {}", fact.expected));
            }
        }
        range => {
            for found in recorded(&fact.source) {
                if !range.holds(&Value::Int(found.as_i64().unwrap())) {
                    wrong.push(format!("{of}: {found} is not {range}"));
                }
            }
        }
    }
    if let Some(book) = &fact.book {
        check_value(&format!("{of}, the book"), &book.value, &book.source, wrong);
    }
}

#[test]
fn every_expected_value_and_every_figure_of_the_book_is_what_was_recorded() {
    let experiments = experiment::all().unwrap();
    assert!(experiments.len() >= 5);
    let mut wrong = Wrong::new();
    for experiment in &experiments {
        assert!(experiment.facts.iter().any(|fact| fact.kind == FactKind::Structural), "{}", experiment.name);
        for fact in &experiment.facts {
            check_fact(experiment, fact, &mut wrong);
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn every_structural_fact_holds_in_every_recorded_run_of_apache_kafka() {
    let mut tried = 0;
    for experiment in experiment::all().unwrap() {
        let documents: BTreeMap<&str, Json> = experiment
            .facts
            .iter()
            .map(|fact| fact.source.file.as_str())
            .filter(|file| file.ends_with(".json"))
            .map(|file| (file, json_of(file)))
            .collect();
        for (file, document) in documents {
            let runs = document["observed"].as_array().unwrap();
            for run in runs {
                let cases = cases_of(&experiment, file, run);
                let measures = measures_of_cases(&experiment, &cases, run);
                let facts = experiment.facts.iter().filter(|fact| fact.kind == FactKind::Structural);
                for fact in facts.filter(|fact| fact.source.file == file && !cases.is_empty()) {
                    let value = fact.is.value(&measures);
                    let holds = value.as_ref().is_some_and(|value| fact.expected.holds(value));
                    assert!(holds, "{}: {} is {value:?} in run {} of {file}", experiment.name, fact.name, run["run"]);
                    tried += 1;
                }
            }
            for run in runs.iter().filter(|run| run.get("ok_ids").is_some()) {
                let measures = measures_of(&experiment, run);
                for fact in experiment.facts.iter().filter(|fact| fact.kind == FactKind::Structural) {
                    let value = fact.is.value(&measures);
                    let holds = value.as_ref().is_some_and(|value| fact.expected.holds(value));
                    assert!(holds, "{}: {} is {value:?} in run {} of {file}", experiment.name, fact.name, run["run"]);
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 100, "only {tried} were tried");
}

#[test]
fn what_kafkas_client_ran_is_still_what_the_experiment_says() {
    let mut changed = BTreeSet::new();
    for experiment in experiment::all().unwrap() {
        let path = format!("tests/oracle/facts/{}.json", experiment.name);
        let Some(file) = root().join(&path).exists().then(|| json_of(&path)) else { continue };
        let Some(ran) = file.get("ran") else { continue };
        let lines = |client: &Client| experiment.program_of(&client.name).map(|program| &program.lines);
        let clients: Vec<Json> = experiment
            .clients
            .iter()
            .map(|client| json!({ "name": client.name, "config": client.config, "lines": lines(client) }))
            .collect();
        if ran["clients"] != Json::from(clients) || ran["faults"] != json!(experiment.faults) {
            changed.insert(experiment.name);
        }
    }
    assert!(changed.is_empty(), "npm run test:oracle -- --record NAME for each of {changed:?}");
}

#[test]
fn an_experiment_compiles_to_bytes_and_back() {
    for experiment in experiment::all().unwrap() {
        assert_eq!(Experiment::from_bytes(&experiment.to_bytes()).unwrap(), experiment);
    }
    assert!(Experiment::from_bytes(b"no experiment").is_err());
}

#[test]
fn the_experiments_on_acks_duplicates_and_order_run_in_all_four_places() {
    let outages = ["hello", "acks-0", "acks-1", "acks-all", "acks-0-prevented"];
    let idempotence = ["idempotent-batch-header", "duplicate-without-idempotence", "duplicate-refused", "sequence-gap"];
    let order = ["reorder", "reorder-prevented", "idempotence-first-batch-hole"];
    let edges = ["what-idempotence-cannot", "broker-check-chain"];
    for name in outages.iter().chain(&idempotence).chain(&order).chain(&edges) {
        let experiment = experiment::find(name).unwrap();
        assert_eq!(experiment.places, Place::ALL, "{name}");
        assert!(experiment.left_out.is_empty(), "{name}");
    }
}

/// hello with one text replaced.
fn hello_with(from: &str, to: &str) -> String {
    let path: &Path = &root().join("tests/experiments/hello/experiment.toml");
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{from}");
    experiment::read("hello", "hello.toml", &text.replacen(from, to, 1)).expect_err(to).to_string()
}

#[test]
fn a_mistake_in_a_file_is_named_with_its_place_and_what_would_be_right() {
    let cases = [
        (
            "partitions = 1",
            "partitons = 1",
            "hello.toml:38:1: [[topic]] has no key `partitons` (did you mean `partitions`?)",
        ),
        ("seed = 1", "seed = 1\nsede = 2", "hello.toml:2:1: an experiment has no key `sede` (did you mean `seed`?)"),
        (
            "id = 1",
            "id = 1\nweight = 7",
            "hello.toml:34:1: [[cluster.node]] has no key `weight`: it has id, roles, config",
        ),
        ("send(hello, k{i}", "send(helo, k{i}", "hello.toml:46:14: there is no topic `helo` (did you mean `hello`?)"),
        ("repeat 3:", "repeat three:", "hello.toml:45:8: expected how often: a number from 1 to 1000000"),
        (
            "'offsets(ok)'",
            "'offsets(okay)'",
            "hello.toml:68:15: `okay` is neither measured nor counted by a program (did you mean `ok`?)",
        ),
        (
            "kind = \"producer\"",
            "kind = \"produser\"",
            "hello.toml:43:8: there is no `produser` here (did you mean `producer`?)",
        ),
        (
            "\"linger.ms\" = 0",
            "\"linger.sm\" = 0",
            "hello.toml:41:1: Hello: unknown configuration key `linger.sm`; the nearest known one is `linger.ms`",
        ),
        (
            "\"linger.ms\" = 0",
            "linger.ms = 0",
            "hello.toml:51:1: write \"linger.…\" in quotes: Kafka's keys contain dots",
        ),
        (
            "fact = \"batch_bytes\"",
            "fact = \"batch_byte\"",
            "hello.toml:29:8: there is no fact `batch_byte` (did you mean `batch_bytes`?)",
        ),
        ("\"controller\"]", "\"leader\"]", "hello.toml:34:20: there is no `leader` here: there are broker, controller"),
        ("at = \"0 ms\"", "at = \"0\"", "hello.toml:22:6: `at` must be a duration, e.g. \"20 ms\" or \"6.5 s\""),
        ("\"real\", ", "", "hello.toml:1:1: `real` must stand either in `places` or, with its reason, in [[left_out]]"),
        ("seed = 1", "seed = ", "hello.toml:1:8: string values must be quoted, expected literal string"),
        (
            "apis = [\"Produce\"",
            "apis = [\"Prodcue\"",
            "hello.toml:19:9: there is no `Prodcue` here (did you mean `Produce`?)",
        ),
        (
            "[[cluster.node]]\nid = 1",
            "[[cluster.node]]\nid = 1\nconfig = { \"num.partitons\" = 3 }",
            "hello.toml:32:1: node 1: Unknown configuration num.partitons. The nearest valid key is num.partitions.",
        ),
        (
            "seed = 1",
            "seed = 1\n[[fault]]\nkind = \"kill\"\nnode = 2\nat = \"1 s\"",
            "hello.toml:4:8: there is no node 2",
        ),
        (
            "seed = 1",
            "seed = 1\n[[fault]]\nkind = \"kill\"\nnode = 1\nat = \"1 s\"\ndying_ms = 100\nstart_at = \"1100 ms\"",
            "hello.toml:7:12: `start_at` must come after the death",
        ),
        (
            "#/stable/one-by-one.batch 0.size",
            "",
            "hello.toml:87:10: `source` must be a file and a pointer into it, e.g. \
             tests/oracle/facts/acks0.json#/stable/sent",
        ),
    ];
    for (from, to, wanted) in cases {
        assert_eq!(hello_with(from, to), wanted, "{to}");
    }
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest_and_all() {
    let error = experiment::find("acks-2").expect_err("there is none").to_string();
    let all: Vec<String> = experiment::all().unwrap().into_iter().map(|experiment| experiment.name).collect();
    let all = all.join(", ");
    assert!(all.contains("acks-0, "), "{all}");
    assert_eq!(
        error,
        format!(
            "there is no experiment `acks-2` (did you mean `acks-0`?): there are {all}, or give the path of an \
             experiment.toml"
        )
    );
}

#[test]
fn a_file_that_is_cut_or_garbled_anywhere_never_panics() {
    let text = std::fs::read_to_string(root().join("tests/experiments/acks-0/experiment.toml")).unwrap();
    for at in text.char_indices().map(|(at, _)| at).step_by(89) {
        let (before, after) = text.split_at(at);
        let _ = experiment::read("cut", "cut.toml", before);
        for garbage in ["{", "\"", "'''", "\n", "9999999999999999999999", "。", "["] {
            let _ = experiment::read("garbled", "garbled.toml", &format!("{before}{garbage}{after}"));
        }
    }
}
