//! `steplog run` on real time.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::broker_process::{Broker, PATIENCE, STEPLOG, stderr, steplog};

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

/// Runs with a temporary directory of its own, so that what is left behind is seen.
fn run_in(directory: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(STEPLOG);
    command.arg("run").args(arguments).env("TMPDIR", directory).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn hello_runs_on_real_processes_twice_and_shows_that_the_file_is_what_was_fetched() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let output = run_in(directory.path(), &["hello", "--real", "--json"]).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&report["place"], &report["ok"]), (&"real".into(), &true.into()));
        let shown = stderr(&output);
        assert!(
            shown.contains(
                "hello-0/00000000000000000000.log: 216 bytes; fetched: 3 batches of 72, 72, 72 bytes, the same bytes"
            ),
            "{shown}"
        );
    }
    assert_eq!(entries(directory.path()), 0, "files are left behind");
}

#[test]
fn an_interrupted_run_ends_its_broker_and_removes_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let child = run_in(directory.path(), &["acks-0", "--real"]).spawn().unwrap();
    let deadline = Instant::now() + PATIENCE;
    while entries(directory.path()) == 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(500));
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).unwrap();
    kill_process(pid, Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), "steplog: interrupted\n");
    assert_eq!(entries(directory.path()), 0, "files are left behind");
}

#[test]
fn hello_runs_against_any_cluster_with_topics_of_its_own() {
    let broker = Broker::start(&["--memory"]);
    for _ in 0..2 {
        let output = steplog(&["run", "hello", "--bootstrap", &broker.address, "--json"]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&report["place"], &report["ok"]), (&"bootstrap".into(), &true.into()));
    }
}

#[test]
fn a_fault_without_its_hook_exits_3_and_names_it() {
    let output = steplog(&["run", "acks-0", "--bootstrap", "127.0.0.1:9", "--on", "kill=true"]);
    assert_eq!(output.status.code(), Some(3));
    let expected = "steplog: this place cannot do `stop` to a node: say how with --on 'stop=COMMAND {node}'\n";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn a_cluster_of_other_nodes_exits_3_and_says_which() {
    let broker = Broker::start(&["--memory", "--set", "node.id=7"]);
    let output = steplog(&["run", "hello", "--bootstrap", &broker.address]);
    assert_eq!(output.status.code(), Some(3));
    let expected =
        "steplog: the experiment's brokers are 1, the cluster's are 7: this place cannot stand for that cluster\n";
    assert_eq!(stderr(&output), expected);
}

#[test]
fn a_cluster_that_is_configured_otherwise_exits_3_and_names_the_key() {
    let directory = tempfile::tempdir().unwrap();
    let hello = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/experiments/hello/experiment.toml");
    let keys = "\n[cluster.config]\n\"log.segment.bytes\" = 2000000\n\"unclean.leader.election.enable\" = false\n";
    let experiment = directory.path().join("experiment.toml");
    std::fs::write(&experiment, std::fs::read_to_string(hello).unwrap() + keys).unwrap();
    let experiment = experiment.to_str().unwrap();
    let broker = Broker::start(&["--memory"]);
    let output = steplog(&["run", experiment, "--bootstrap", &broker.address]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let expected = "steplog: broker 1: log.segment.bytes is 2000000 in the experiment, and on the cluster it is \
                    1073741824: this place cannot stand for that cluster\n";
    assert_eq!(stderr(&output), expected);
    let broker = Broker::start(&["--memory", "--set", "log.segment.bytes=2000000"]);
    let output = steplog(&["run", experiment, "--bootstrap", &broker.address]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn no_cluster_at_the_address_exits_1() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let output = steplog(&["run", "hello", "--bootstrap", &format!("127.0.0.1:{free}")]);
    assert_eq!(output.status.code(), Some(1));
    let expected = format!("steplog: 127.0.0.1:{free}: no cluster: Connection refused (os error 111)\n");
    assert_eq!(stderr(&output), expected);
}

#[test]
fn an_argument_that_is_no_hook_exits_2() {
    let output = steplog(&["run", "acks-0", "--bootstrap", "127.0.0.1:9", "--on", "explode=true"]);
    assert_eq!(output.status.code(), Some(2));
    let expected = "steplog: --on explode=true: expected EVENT=COMMAND with EVENT one of kill, stop, cont, term, start, power-cut, disk-lost\n";
    assert_eq!(stderr(&output), expected);
}
