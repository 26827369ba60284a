//! `steplog log-sizes` against the sizes of batches that Apache Kafka 4.3.0 wrote.

use std::path::PathBuf;

use serde_json::Value;

use super::broker_process::{stderr, steplog};

fn recorded() -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/facts/storage_sizes.json");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    let output = steplog(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn sizes(arguments: &[&str]) -> Value {
    serde_json::from_str(&stdout(&[&["log-sizes", "--json"], arguments].concat())).unwrap()
}

/// The options that describe a recorded batch, in which all bytes of keys and values are zero.
fn options(batch: &Value) -> Vec<String> {
    let number = |name: &str| batch[name].as_u64();
    let mut options = vec!["--records".to_owned(), number("n").unwrap().to_string()];
    options.extend(["--interval".to_owned(), number("stepMs").unwrap().to_string()]);
    for (option, size) in [("--key-size", number("key")), ("--value-size", number("value"))] {
        options.extend(size.into_iter().flat_map(|size| [option.to_owned(), size.to_string()]));
    }
    for header in batch["headers"].as_array().unwrap() {
        let name = header[0].as_str().unwrap();
        let value = header[1].as_u64().map(|size| format!("={}", "0".repeat(size as usize)));
        options.extend(["--header".to_owned(), format!("{name}{}", value.unwrap_or_default())]);
    }
    options
}

#[test]
fn a_batch_of_every_recorded_shape_has_kafkas_size() {
    let mut compared = 0;
    for run in recorded()["observed"].as_array().unwrap() {
        for batch in run["batches"].as_array().unwrap() {
            let options = options(batch);
            let ours = sizes(&options.iter().map(String::as_str).collect::<Vec<&str>>());
            assert_eq!(ours[0]["bytes"], batch["batchBytes"], "{options:?}");
            if let Some(hex) = batch["recordsHex"].as_str() {
                assert_eq!(ours[0]["unpacked_bytes"], hex.len() / 2, "{options:?}");
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 2 * 33);
}

#[test]
fn the_fields_of_a_batch_sum_up_to_its_size() {
    let ours = sizes(&["--key", "key0", "--value", "value0", "--header", "a=b", "--records", "100", "--interval", "9"]);
    let sum = |name: &str| ours[0][name].as_object().unwrap().values().map(|size| size.as_u64().unwrap()).sum::<u64>();
    assert_eq!(sum("header"), 61);
    assert_eq!(sum("fields"), ours[0]["unpacked_bytes"].as_u64().unwrap());
    assert_eq!(61 + sum("fields"), ours[0]["bytes"].as_u64().unwrap());
}

#[test]
fn the_chapters_two_records_take_95_bytes() {
    let text = stdout(&["log-sizes", "--key", "key0", "--value", "value0", "--records", "2"]);
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert!(lines.contains(&vec!["batch", "header", "61", "1", "61"]), "{text}");
    assert!(lines.contains(&vec!["key", "4", "2", "8"]), "{text}");
    assert!(lines.contains(&vec!["in", "all", "95"]), "{text}");
    assert!(text.ends_with("\n20 bytes are keys, values and headers; 75 describe them, 37.5 a record\n"), "{text}");
}

/// Written by Apache Kafka 4.3.0.
fn segment(name: &str) -> String {
    format!("{}/tests/fixtures/segments/{name}/00000000000000000000.log", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_log_files_batches_stand_where_dump_log_finds_them() {
    let file = segment("one-by-one");
    let dump = std::fs::read_to_string(format!("{file}.dump.txt")).unwrap();
    let ours = sizes(&[&file]);
    let batches: Vec<&str> = dump.lines().filter(|line| line.starts_with("baseOffset")).collect();
    assert_eq!(ours.as_array().unwrap().len(), batches.len());
    for (ours, line) in ours.as_array().unwrap().iter().zip(batches) {
        let words: Vec<&str> = line.split(' ').collect();
        for (name, in_dump) in
            [("position", "position:"), ("bytes", "size:"), ("base_offset", "baseOffset:"), ("records", "count:")]
        {
            let at = words.iter().position(|word| *word == in_dump).unwrap();
            assert_eq!(ours[name].to_string(), words[at + 1], "{name} of {line}");
        }
    }
}

#[test]
fn a_file_that_ends_within_a_batch_shows_the_whole_ones_and_says_where_it_is_cut() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("cut.log");
    let whole = std::fs::read(segment("one-by-one")).unwrap();
    std::fs::write(&file, &whole[..200]).unwrap();
    let output = steplog(&["log-sizes", file.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    let expected = format!("steplog: {}, byte 144: the last 56 bytes are no whole batch\n", file.display());
    assert_eq!(stderr(&output), expected);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().any(|line| line.split_whitespace().next() == Some("72")), "{text}");
}

#[test]
fn what_is_no_log_file_is_refused_at_its_byte() {
    let output = steplog(&["log-sizes", concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), [].as_slice()));
    assert!(stderr(&output).contains("README.md, byte 0: Invalid magic found in record: "), "{}", stderr(&output));
}

#[test]
fn a_batch_of_more_than_a_gibibyte_is_refused() {
    for arguments in [["--value-size", "4000000000"], ["--key-size", "1073741824"]] {
        let output = steplog(&[&["log-sizes"], &arguments[..]].concat());
        let expected = "steplog: the batch is larger than 1073741824 bytes; ask for fewer or smaller records\n";
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(2), expected));
    }
}

#[test]
fn packed_records_are_counted_as_they_were_and_as_they_are_stored() {
    let plain = sizes(&[&segment("none-297")]);
    for (codec, bytes) in [("gzip", 2613), ("lz4", 4709), ("snappy", 4199), ("zstd", 1915)] {
        let packed = sizes(&[&segment(&format!("{codec}-297"))]);
        assert_eq!(packed[0]["codec"], codec);
        assert_eq!(packed[0]["bytes"], bytes, "{codec}");
        assert_eq!(packed[0]["packed_bytes"], bytes - 61, "{codec}");
        assert_eq!(packed[0]["fields"], plain[0]["fields"], "{codec}");
        assert_eq!(packed[0]["unpacked_bytes"], 11406 - 61, "{codec}");
    }
}

#[test]
fn a_described_batch_is_packed_on_request() {
    let record = ["--key", "k", "--value", "the same again", "--records", "100"];
    let plain = sizes(&record);
    for codec in ["gzip", "snappy", "lz4", "zstd"] {
        let packed = sizes(&[&record[..], &["--compression", codec]].concat());
        assert_eq!((&packed[0]["codec"], &packed[0]["fields"]), (&codec.into(), &plain[0]["fields"]));
        assert!(packed[0]["bytes"].as_u64().unwrap() < plain[0]["bytes"].as_u64().unwrap() / 2, "{codec}");
    }
    let output = steplog(&["log-sizes", "--compression", "brotli"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("it must be one of none, gzip, snappy, lz4, zstd"), "{}", stderr(&output));
}
