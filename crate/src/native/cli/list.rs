//! `steplog list`: the experiments and what each shows.

use super::{Outcome, print};
use crate::experiment::Place;
use crate::native::experiment;

/// List the experiments.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

pub fn execute(_arguments: Arguments) -> Outcome {
    let experiments = match experiment::all() {
        Ok(experiments) => experiments,
        Err(error) => return Outcome::Wrong(error.to_string()),
    };
    let mut table = super::table::new(&["name", "what it shows", "where"]);
    for experiment in experiments {
        let places: Vec<&str> = experiment.places.iter().copied().map(Place::name).collect();
        table.add_row([experiment.name, experiment.title.en, places.join(", ")]);
    }
    print(&super::table::text(&table));
    Outcome::Success
}
