//! `steplog broker`: one node from a Kafka `server.properties`.

use std::path::PathBuf;

use super::Outcome;

/// Serve one node from a Kafka server.properties file.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A Kafka server.properties file.
    file: Option<PathBuf>,
    /// Set or override one key of the file.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Keep everything in memory; nothing survives the process.
    #[arg(long)]
    memory: bool,
    /// Create this topic if it does not exist.
    #[arg(long = "topic", value_name = "NAME:PARTITIONS")]
    topics: Vec<String>,
}

pub fn execute(arguments: Arguments) -> Outcome {
    Outcome::CannotDo(format!("no broker is in this build yet: {arguments:?}"))
}
