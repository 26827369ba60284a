//! The book's experiments, run in the simulator: one seed, one trace, however they are run.

use std::collections::BTreeSet;
use std::sync::Arc;

use steplog::experiment::{Experiment, Lab};
use steplog::native::experiment;
use steplog::node::{Duration, Input};
use steplog::sim::{Event, NoTrace, Store, Timeline, Trace, TraceHash, What};

fn all() -> impl Iterator<Item = Arc<Experiment>> {
    experiment::all().unwrap_or_else(|error| panic!("{error}")).into_iter().map(Arc::new)
}

fn run(experiment: &Arc<Experiment>, seed: u64, trace: &mut dyn Trace) -> TraceHash {
    let mut lab = Lab::new(experiment.clone(), Some(seed)).unwrap_or_else(|error| panic!("{error}"));
    lab.warm_up(trace).unwrap_or_else(|error| panic!("{}: {}", experiment.name, error.0));
    lab.run(None, trace);
    lab.world().trace_hash()
}

fn is_arrival(event: &Event) -> bool {
    matches!(event.what, What::Handled { input: Input::Bytes { .. }, .. })
}

#[test]
fn one_seed_gives_one_trace_whether_it_is_kept_or_not_and_another_seed_another() {
    for experiment in all() {
        let name = experiment.name.clone();
        let mut speaks = false;
        let hashes = [1, 2, 3].map(|seed| {
            let mut events: Vec<Event> = Vec::new();
            let kept = run(&experiment, seed, &mut events);
            assert_eq!(run(&experiment, seed, &mut NoTrace), kept, "{name}, seed {seed}");
            speaks |= events.iter().any(is_arrival);
            let mut again = TraceHash::default();
            events.iter().for_each(|event| again.event(event));
            assert_eq!(again, kept, "{name}, seed {seed}: hashed from its events");
            kept
        });
        let different = BTreeSet::from(hashes).len();
        // Chance is in the links and in what clients draw before they speak: without a frame one seed is like the other.
        assert_eq!(different, if speaks { 3 } else { 1 }, "{name}: {hashes:?}");
    }
}

#[test]
fn seeking_about_never_goes_astray_and_ends_where_a_straight_run_ends() {
    for experiment in all() {
        let name = experiment.name.clone();
        let straight = run(&experiment, 1, &mut NoTrace);
        let mut warm_up = Store::default();
        let mut lab = Lab::new(experiment, Some(1)).unwrap_or_else(|error| panic!("{error}"));
        lab.warm_up(&mut warm_up).unwrap_or_else(|error| panic!("{name}: {}", error.0));
        let begun = lab.begun().unwrap_or_default();
        let mut timeline = Timeline::new(1, &name, lab, warm_up);
        timeline.set_keyframe_every(100);
        for ms in [5_000, 100, 26_000, 3_050, 0, 14_000, 4_999, 60_000] {
            timeline.seek(begun + Duration::from_ms(ms)).unwrap_or_else(|astray| panic!("{name}: {astray}"));
        }
        timeline.seek_ordinal(u64::MAX).unwrap_or_else(|astray| panic!("{name}: {astray}"));
        assert_eq!(timeline.state().world().trace_hash(), straight, "{name}");
    }
}
