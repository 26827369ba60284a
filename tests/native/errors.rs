//! What can be wrong when a broker starts or goes on: the exit code and the text that says what to do.

use std::process::{Command, Stdio};

use rustix::process::Signal;
use steplog::node::Reply;

use super::broker_process::{Broker, STEPLOG, stderr, steplog};
use super::clients::Producer;

#[test]
fn a_misspelt_key_names_the_nearest_one_and_exits_2() {
    let output = steplog(&["broker", "--set", "num.partition=3"]);
    assert_eq!(output.status.code(), Some(2));
    let expected = "steplog: --set: Unknown configuration num.partition. The nearest valid key is num.partitions.\n";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn a_wrong_value_exits_2_with_kafkas_text() {
    let output = steplog(&["broker", "--set", "num.partitions=many"]);
    assert_eq!(output.status.code(), Some(2));
    let expected = "steplog: --set: Invalid value many for configuration num.partitions: Not a number of type INT\n";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn an_unreadable_file_exits_2() {
    let output = steplog(&["broker", "/no/such/server.properties"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        stderr(&output),
        "steplog: cannot read /no/such/server.properties: No such file or directory (os error 2)\n"
    );
}

#[test]
fn a_topic_without_a_count_exits_2() {
    let output = steplog(&["broker", "--topic", "orders"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("expected NAME:PARTITIONS, e.g. orders:3"), "{}", stderr(&output));
}

#[test]
fn a_busy_port_exits_1_and_says_how_to_choose_another() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let output = steplog(&["broker", "--memory", "--set", &format!("listeners=PLAINTEXT://127.0.0.1:{port}")]);
    assert_eq!(output.status.code(), Some(1));
    let expected = format!(
        "steplog: cannot listen on 127.0.0.1:{port}: the port is in use; choose another with \
         --set listeners=PLAINTEXT://HOST:PORT (port 0: any free one)\n"
    );
    assert_eq!(stderr(&output), expected);
}

#[test]
fn a_second_broker_on_the_same_directory_exits_1_and_leaves_the_first_alone() {
    let directory = tempfile::tempdir().unwrap();
    let log_dirs = format!("log.dirs={}", directory.path().display());
    let mut first = Broker::start(&["--set", &log_dirs]);
    let output = steplog(&["broker", "--set", "listeners=PLAINTEXT://127.0.0.1:0", "--set", &log_dirs]);
    assert_eq!(output.status.code(), Some(1));
    let expected = format!(
        "steplog: another process is using {}; end it, or choose another directory with --set log.dirs=DIR\n",
        directory.path().display()
    );
    assert_eq!(stderr(&output), expected);
    let (status, said) = first.end(Some(Signal::TERM));
    assert_eq!((status.code(), said.as_str()), (Some(0), ""));
}

#[test]
fn a_full_disk_ends_the_broker_with_exit_1_and_the_files_name() {
    let directory = tempfile::tempdir().unwrap();
    // Index files are preallocated with 10 MiB, so the limit lies above; dash and bash count in 512 and 1024 bytes.
    let mut command = Command::new("bash");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 12288; exec \"$@\"", "bash", STEPLOG, "broker"])
        .args(["--set", "listeners=PLAINTEXT://127.0.0.1:0", "--topic", "full:1"])
        .args(["--set", &format!("log.dirs={}", directory.path().display())])
        .stdin(Stdio::null());
    let mut broker = Broker::spawn(command);
    let mut producer =
        Producer::start(&broker.address, &[("delivery.timeout.ms", "3000"), ("request.timeout.ms", "1000")]);
    let mut acked = 0;
    for _ in 0..20 {
        match producer.send("full", &[7; 900_000]) {
            Some(Reply::Acked(_)) => acked += 1,
            _ => break,
        }
    }
    assert!((12..=13).contains(&acked), "{acked} batches of 900 kB were acknowledged below a limit of 12 MiB");
    let (status, said) = broker.end(None);
    assert_eq!(status.code(), Some(1));
    assert!(said.contains("full-0/00000000000000000000.log"), "{said}");
    assert!(said.contains("no space left (or the file-size limit is reached)"), "{said}");
}
