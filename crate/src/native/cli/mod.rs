//! The command line: what is typed, which subcommand it means, and how the process ends.
//!
//! One file per subcommand. A subcommand prints its result on stdout, everything else on stderr, and returns an
//! [`Outcome`]; only [`main`] turns that into an exit code.

mod broker;
mod decode;
mod list;
mod log_sizes;
mod report;
mod run;
mod table;
mod trace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// How a command ended. The numbers are a contract for books, scripts and tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// 0: done; all structural facts hold.
    Success,
    /// 1: it ran and failed: a structural fact does not hold, or the server could not start or go on. The text is for
    /// stderr; empty if everything is said already.
    Failed(String),
    /// 2: the command or a file it names is wrong.
    Wrong(String),
    /// 3: this place cannot do a step of the experiment.
    CannotDo(String),
}

impl Outcome {
    fn exit(self) -> ExitCode {
        let (code, text) = match self {
            Outcome::Success => (0, String::new()),
            Outcome::Failed(text) => (1, text),
            Outcome::Wrong(text) => (2, text),
            Outcome::CannotDo(text) => (3, text),
        };
        if !text.is_empty() {
            eprintln!("steplog: {text}");
        }
        ExitCode::from(code)
    }
}

/// Prints a result. Who has read enough (`steplog list | head -1`) may close the pipe.
fn print(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
}

#[derive(Debug, Parser)]
#[command(name = "steplog", version, about = "A Kafka you can step")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Broker(broker::Arguments),
    Decode(decode::Arguments),
    List(list::Arguments),
    LogSizes(log_sizes::Arguments),
    Run(run::Arguments),
    Trace(trace::Arguments),
}

/// Parses the command line and runs what it asks for. Clap itself ends with 2 on a wrong command line.
pub fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Broker(arguments) => broker::execute(arguments),
        Command::Decode(arguments) => decode::execute(arguments),
        Command::List(arguments) => list::execute(arguments),
        Command::LogSizes(arguments) => log_sizes::execute(arguments),
        Command::Run(arguments) => run::execute(arguments),
        Command::Trace(arguments) => trace::execute(arguments),
    };
    outcome.exit()
}
