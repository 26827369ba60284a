//! `steplog decode`, as it is typed.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::broker_process::{STEPLOG, stderr, steplog};

/// Recorded between a real client and Apache Kafka 4.3.0: ApiVersions 0 by an aiokafka producer.
const API_VERSIONS_REQUEST: &str = "0012000000000001001361696f6b61666b612d70726f64756365722d31";
/// Recorded: a broker's answer to AllocateProducerIds 0, with an error.
const ALLOCATE_PRODUCER_IDS_RESPONSE: &str = "000001a10000000000004d00000000000000000000000000";

fn stdout(arguments: &[&str]) -> String {
    let output = steplog(arguments);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// The text of a wrong command; it ends with 2 and prints nothing else.
fn refusal(arguments: &[&str]) -> String {
    let output = steplog(arguments);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), [].as_slice()), "{arguments:?}");
    stderr(&output)
}

#[test]
fn a_request_says_itself_what_it_is() {
    let wanted = json!({
        "header": {
            "requestApiKey": 18,
            "requestApiVersion": 0,
            "correlationId": 1,
            "clientId": "aiokafka-producer-1",
        },
        "body": {},
    });
    for arguments in [vec!["decode", API_VERSIONS_REQUEST], vec!["decode", "--request", API_VERSIONS_REQUEST]] {
        let read: Value = serde_json::from_str(&stdout(&arguments)).unwrap();
        assert_eq!(read, wanted);
    }
}

#[test]
fn a_response_is_read_by_name_or_key_of_its_api() {
    let wanted = json!({
        "header": { "correlationId": 417 },
        "body": { "throttleTimeMs": 0, "errorCode": 77, "producerIdStart": 0, "producerIdLen": 0 },
    });
    for key in ["67", "AllocateProducerIds", "allocateproducerids"] {
        let text = stdout(&["decode", "--response", key, "0", ALLOCATE_PRODUCER_IDS_RESPONSE]);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), wanted);
    }
}

#[test]
fn hexadecimal_may_have_spaces_and_come_from_a_pipe() {
    let mut child = Command::new(STEPLOG)
        .args(["decode", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary can be started");
    let lines = API_VERSIONS_REQUEST.replace("0001", " 00 01\n");
    child.stdin.take().expect("a pipe").write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), stdout(&["decode", API_VERSIONS_REQUEST]));
}

#[test]
fn the_tree_gives_every_field_its_bytes() {
    let wanted = " 0–4                              header
 0–3   00 00 01 a1                  correlation_id     417
 4     00                           tagged_fields
 5–23                             body
 5–8   00 00 00 00                  throttle_time_ms   0
 9–10  00 4d                        error_code         77 STALE_BROKER_EPOCH
11–18  00 00 00 00 00 00 00 00      producer_id_start  0
19–22  00 00 00 00                  producer_id_len    0
23     00                           tagged_fields
";
    let arguments = ["decode", "--response", "67", "0", "--tree", ALLOCATE_PRODUCER_IDS_RESPONSE];
    assert_eq!(stdout(&arguments), wanted);
    let fields: Value = serde_json::from_str(&stdout(&[&arguments[..], &["--json"]].concat())).unwrap();
    let field = json!({ "name": "error_code", "value": "77", "start": 9, "end": 11, "depth": 1 });
    assert_eq!(fields[5], field);
}

#[test]
fn what_is_wrong_is_said_with_its_byte_and_what_would_be_right() {
    let texts = [
        (vec!["0g"], "byte 0: `g` is no hexadecimal digit; a byte is two of 0-9 and a-f"),
        (vec!["00123"], "byte 2 has one digit; a byte is two of 0-9 and a-f"),
        (
            vec!["13880000"],
            "byte 0: 5000 is the key of no API; a request begins with key and version, 2 bytes each. A response is \
             read with --response KEY VERSION",
        ),
        (vec!["0000000a00120000000000010000"], "bytes 0 to 3 are the frame's size; leave them out"),
        (vec!["0003006300000001ffff00"], "byte 2: Metadata has versions 0 to 13, not 99"),
        (
            vec!["000300000000"],
            "byte 4 of 6 (Metadata request, correlation_id): 4 bytes are needed and 2 are left; a response is read \
             with --response KEY VERSION",
        ),
        (
            vec!["--response", "3", "0", "000000010000000500000000"],
            "byte 4 of 12 (Metadata response, brokers): 5 elements are announced and 4 bytes are left; is it an answer \
             to this API, in this version?",
        ),
        (vec!["--response", "3", "14", "00"], "--response: Metadata has versions 0 to 13, not `14`"),
        (
            vec!["--response", "Metdata", "0", "00"],
            "--response: `Metdata` is no API of Kafka 4.3.0, neither name nor key (did you mean `Metadata`?)",
        ),
    ];
    for (arguments, text) in texts {
        assert_eq!(refusal(&[&["decode"], &arguments[..]].concat()), format!("steplog: {text}\n"));
    }
}

#[test]
fn a_cut_frame_shows_the_tree_up_to_the_cut() {
    let output = steplog(&["decode", "--tree", "000300000000"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap().lines().nth(1).map(str::trim_end),
        Some("0–1  00 03                        request_api_key      3 Metadata")
    );
}

#[test]
fn bytes_after_the_body_are_told_of_and_ignored() {
    let output = steplog(&["decode", &format!("{API_VERSIONS_REQUEST}0000")]);
    assert_eq!(output.status.code(), Some(0));
    let text = "steplog: the body ends at byte 29; 2 bytes after it are ignored, as Kafka ignores them\n";
    assert_eq!(stderr(&output), text);
}
