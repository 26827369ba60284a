//! `steplog run`: an experiment and its facts, in one of three places.

use super::Outcome;

/// Run an experiment and check its facts.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// An experiment's name (see `steplog list`), or a path to an experiment.toml.
    pub name: String,
    /// Replaces the experiment's seed.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Stop at this instant of cluster time, e.g. `3.2s` or `900ms`.
    #[arg(long, value_name = "T")]
    pub until: Option<String>,
    /// Run with real processes, ports, files, clocks and signals.
    #[arg(long, conflicts_with = "bootstrap")]
    pub real: bool,
    /// Run against the Kafka cluster that answers there.
    #[arg(long, value_name = "HOST:PORT")]
    pub bootstrap: Option<String>,
    /// With --bootstrap: what carries out a fault, as `EVENT=command {node}`. Events: kill, stop, cont, term, start,
    /// power-cut, disk-lost.
    #[arg(long = "on", value_name = "EVENT=COMMAND", requires = "bootstrap")]
    pub on: Vec<String>,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    pub json: bool,
}

pub fn execute(arguments: Arguments) -> Outcome {
    Outcome::CannotDo(format!("no experiment is in this build yet: {arguments:?}"))
}
