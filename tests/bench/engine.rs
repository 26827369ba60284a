//! How fast the simulator is: every experiment again and again, in CPU time of this process. Prints one JSON object.

use std::sync::Arc;

use rustix::time::{ClockId, clock_gettime};
use steplog::experiment::{Experiment, Lab};
use steplog::native::experiment;
use steplog::sim::NoTrace;

/// Long enough that what happens once does not count.
const MEASURED_SECONDS: f64 = 2.0;

fn main() {
    let experiments: Vec<Arc<Experiment>> = match experiment::all() {
        Ok(experiments) => experiments.into_iter().map(Arc::new).collect(),
        Err(error) => panic!("{error}"),
    };
    let started = cpu_seconds();
    let mut events = 0;
    let mut seed = 0;
    while cpu_seconds() - started < MEASURED_SECONDS {
        seed += 1;
        for experiment in &experiments {
            let mut lab = Lab::new(Arc::clone(experiment), Some(seed)).unwrap_or_else(|error| panic!("{error}"));
            lab.warm_up(&mut NoTrace).unwrap_or_else(|error| panic!("{error}"));
            lab.run(None, &mut NoTrace);
            events += lab.world().next_ordinal();
        }
    }
    println!("{{\"events\": {events}, \"seconds\": {}}}", cpu_seconds() - started);
}

fn cpu_seconds() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
