//! A `steplog broker` of one test.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

pub const STEPLOG: &str = env!("CARGO_BIN_EXE_steplog");

/// Generous: a loaded machine must not fail a test.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Killed when it is dropped.
pub struct Broker {
    child: Child,
    stderr: Option<ChildStderr>,
    pub address: String,
}

impl Broker {
    /// Any free port; `arguments` come after `broker`.
    pub fn start(arguments: &[&str]) -> Broker {
        let mut command = Command::new(STEPLOG);
        command.args(["broker", "--set", "listeners=PLAINTEXT://127.0.0.1:0"]).args(arguments);
        Broker::spawn(command)
    }

    /// A command that becomes a broker.
    pub fn spawn(mut command: Command) -> Broker {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary can be started");
        let stdout = child.stdout.take().expect("stdout is a pipe");
        let stderr = child.stderr.take();
        let (sender, first_line) = channel();
        std::thread::spawn(move || {
            let mut line = String::new();
            let _ = BufReader::new(stdout).read_line(&mut line);
            let _ = sender.send(line);
        });
        let mut broker = Broker { child, stderr, address: String::new() };
        let line = first_line.recv_timeout(PATIENCE).expect("a first line of output, or its end");
        match line.trim_end().strip_prefix("ready ") {
            Some(address) => broker.address = address.to_owned(),
            None => panic!("not ready but {line:?}; stderr: {}", broker.end(None).1),
        }
        broker
    }

    pub fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a pid");
        kill_process(pid, signal).expect("our child can be signalled");
    }

    /// Sends the signal, if any, and waits for the end: how it ended and what it said.
    pub fn end(&mut self, signal: Option<Signal>) -> (ExitStatus, String) {
        if let Some(signal) = signal {
            self.signal(signal);
        }
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            match self.child.try_wait().expect("our child can be waited for") {
                Some(status) => break status,
                None if Instant::now() > deadline => panic!("the broker does not end"),
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let mut text = String::new();
        if let Some(mut stderr) = self.stderr.take() {
            stderr.read_to_string(&mut text).expect("stderr is text");
        }
        (status, text)
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs the binary to its end.
pub fn steplog(arguments: &[&str]) -> Output {
    Command::new(STEPLOG).args(arguments).stdin(Stdio::null()).output().expect("the binary can be started")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
