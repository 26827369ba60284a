//! `steplog run`: an experiment and its facts, in one of three places.

use std::sync::Arc;

use super::{Outcome, print, report};
use crate::experiment::syntax::duration;
use crate::experiment::{Experiment, Fault, Lab, Measures, Place, Ran, Report};
use crate::native::experiment;
use crate::native::place::{self, Hooks, PlaceError};
use crate::node::Duration;
use crate::sim::NoTrace;

/// Run an experiment and check its facts.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// An experiment's name (see `steplog list`), or a path to an experiment.toml.
    pub name: String,
    /// Replaces the experiment's seed.
    #[arg(long)]
    pub seed: Option<u64>,
    /// Stop at this instant of cluster time, e.g. `3.2s` or `900ms`. Before the end nothing is judged.
    #[arg(long, value_name = "T", value_parser = parse_instant)]
    pub until: Option<Duration>,
    /// Run with real processes, ports, files, clocks and signals.
    #[arg(long, conflicts_with = "bootstrap")]
    pub real: bool,
    /// Run against the Kafka cluster that answers there.
    #[arg(long, value_name = "HOST:PORT", value_parser = parse_bootstrap)]
    pub bootstrap: Option<String>,
    /// With --bootstrap: what carries out a fault, as `EVENT=command {node}`. Events: kill, stop, cont, term, start,
    /// power-cut, disk-lost.
    #[arg(long = "on", value_name = "EVENT=COMMAND", requires = "bootstrap", conflicts_with = "real")]
    pub on: Vec<String>,
    /// Print one JSON document instead of tables.
    #[arg(long)]
    pub json: bool,
}

pub(super) fn parse_instant(text: &str) -> Result<Duration, String> {
    duration(text).ok_or_else(|| "expected a duration, e.g. 3.2s or 900ms".to_string())
}

/// As `bootstrap.servers`: one address, or several separated by commas.
fn parse_bootstrap(text: &str) -> Result<String, String> {
    let is_address = |address: &str| {
        let parts = address.rsplit_once(':');
        parts.is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0))
    };
    let fits = text.split(',').all(is_address);
    fits.then(|| text.to_string()).ok_or_else(|| "expected HOST:PORT, several with commas between".to_string())
}

pub fn execute(arguments: Arguments) -> Outcome {
    let experiment = match experiment::find(&arguments.name) {
        Ok(experiment) => Arc::new(experiment),
        Err(error) => return Outcome::Wrong(error.to_string()),
    };
    let place = match (arguments.real, &arguments.bootstrap) {
        (true, _) => Place::Real,
        (_, Some(_)) => Place::Bootstrap,
        _ => Place::Run,
    };
    if let Some(left) = experiment.left_out.iter().find(|left| left.place == place) {
        return Outcome::CannotDo(format!(
            "{} does not run in place `{}`: {}",
            experiment.name,
            place.name(),
            left.reason.en
        ));
    }
    match place {
        Place::Real | Place::Bootstrap => run_on_real_time(&arguments, experiment, place),
        Place::Page | Place::Run => run_virtually(&arguments, experiment),
    }
}

/// The simulator: the same trace as in the page.
fn run_virtually(arguments: &Arguments, experiment: Arc<Experiment>) -> Outcome {
    let mut lab = match Lab::new(experiment.clone(), arguments.seed) {
        Ok(lab) => lab,
        Err(error) => return Outcome::Wrong(error.to_string()),
    };
    if let Err(error) = lab.warm_up(&mut NoTrace) {
        return Outcome::Failed(error.to_string());
    }
    lab.run(arguments.until, &mut NoTrace);
    let stopped = arguments.until.is_some() && !lab.programs().ended();
    let report = lab.report(Place::Run, !stopped);
    finish(arguments.json, &experiment, &report, lab.programs().measures())
}

/// Our nodes as processes, or a foreign cluster.
fn run_on_real_time(arguments: &Arguments, experiment: Arc<Experiment>, place: Place) -> Outcome {
    let seed = arguments.seed.unwrap_or(experiment.seed);
    let until = arguments.until;
    let ran = match &arguments.bootstrap {
        Some(address) => match Hooks::parse(&arguments.on) {
            Ok(hooks) => place::bootstrap(Arc::clone(&experiment), seed, until, address, hooks),
            Err(error) => return Outcome::Wrong(error.to_string()),
        },
        None => match std::env::current_exe() {
            Ok(steplog) => place::real(Arc::clone(&experiment), seed, until, &steplog),
            Err(error) => return Outcome::Failed(format!("cannot find this program's own file: {error}")),
        },
    };
    match ran {
        Ok(ran) => {
            let head = Ran { seed, place, trace_hash: 0, elapsed: ran.elapsed, judged: ran.ended || until.is_none() };
            let report = Report::of(&experiment, &ran.measures, head);
            let outcome = finish(arguments.json, &experiment, &report, &ran.measures);
            for remark in ran.remarks {
                eprintln!("{remark}");
            }
            outcome
        }
        Err(PlaceError::CannotDo(text)) => Outcome::CannotDo(text),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// Prints a report and turns it into how the command ends.
fn finish(json: bool, experiment: &Experiment, report: &Report, measures: &Measures) -> Outcome {
    match json {
        true => print(&format!("{}\n", report::json(report))),
        false => print(&report::text(experiment, report, measures)),
    }
    for failure in &measures.failures {
        let line = failure.line.map(|line| format!(", line {}", line + 1)).unwrap_or_default();
        eprintln!("steplog: the program of {}{line}: {}", failure.client, failure.what);
    }
    for (index, fault) in experiment.faults.iter().enumerate() {
        if matches!(fault, Fault::Frame(_)) && !measures.fault_at.contains_key(&index) {
            eprintln!("steplog: fault {} met no frame", index + 1);
        }
    }
    if report.ok { Outcome::Success } else { Outcome::Failed(String::new()) }
}
