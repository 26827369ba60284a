//! Recorded answers of Apache Kafka, and what may differ from them.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::Value;

/// Reads a packed fixture; a missing one fails the test.
pub fn fixture(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/broker/{name}", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut text = String::new();
    if name.ends_with(".gz") {
        flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).expect("gzip");
    } else {
        text = String::from_utf8(bytes).expect("UTF-8");
    }
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The two lists of `differences.json` for one set of cases.
pub struct Differences {
    /// Case → what we answer instead.
    deliberate: BTreeMap<String, Value>,
    not_yet: BTreeMap<String, String>,
    problems: Vec<String>,
    seen: Vec<String>,
}

impl Differences {
    pub fn load(set: &str) -> Differences {
        let lists = fixture("differences.json");
        let entries = |list: &str| lists[list][set].as_array().cloned().unwrap_or_default();
        let name = |entry: &Value| entry["case"].as_str().expect("a case").to_string();
        let mut differences = Differences {
            deliberate: BTreeMap::new(),
            not_yet: BTreeMap::new(),
            problems: Vec::new(),
            seen: Vec::new(),
        };
        for entry in entries("deliberate") {
            assert!(entry["reason"].as_str().is_some_and(|reason| !reason.is_empty()), "a reason for {entry}");
            differences.deliberate.insert(name(&entry), entry["ours"].clone());
        }
        for entry in entries("not_yet") {
            for case in entry["cases"].as_array().expect("cases") {
                let issue = entry["issue"].as_str().expect("an issue").to_string();
                differences.not_yet.insert(case.as_str().expect("a case").to_string(), issue);
            }
        }
        differences
    }

    /// Compares one case; both lists are held to what they say.
    pub fn compare(&mut self, case: &str, kafka: &Value, ours: &Value) {
        self.seen.push(case.to_string());
        let equal = kafka == ours;
        match (self.deliberate.get(case), self.not_yet.get(case)) {
            (Some(_), Some(_)) => self.problems.push(format!("{case}: stands in both lists")),
            (Some(_), None) if equal => self.problems.push(format!("{case}: is listed as different, and is not")),
            (Some(listed), None) if listed != ours => {
                self.problems.push(format!("{case}: is listed with\n  {listed}\nand we answer\n  {ours}"));
            }
            (None, Some(issue)) if equal => {
                self.problems.push(format!("{case}: waits for issue {issue}, and passes: take it off the list"));
            }
            (None, None) if !equal => {
                self.problems.push(format!("{case}: Kafka answers\n  {kafka}\nand we\n  {ours}"));
            }
            _ => {}
        }
    }

    /// Fails if anything was wrong, or if a listed case does not exist.
    pub fn finish(mut self) {
        for listed in self.deliberate.keys().chain(self.not_yet.keys()) {
            if !self.seen.contains(listed) {
                self.problems.push(format!("{listed}: is listed and no such case was seen"));
            }
        }
        assert!(
            self.problems.is_empty(),
            "{} of {} cases:\n{}",
            self.problems.len(),
            self.seen.len(),
            self.problems.join("\n")
        );
    }
}
