//! `steplog list`: the experiments and what each shows.

use super::Outcome;

/// List the experiments.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

pub fn execute(_arguments: Arguments) -> Outcome {
    Outcome::CannotDo("no experiment is in this build yet".to_owned())
}
