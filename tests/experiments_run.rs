//! Every experiment on the virtual clock: its structural facts hold for several seeds.

use std::sync::Arc;

use steplog::experiment::expression::Value;
use steplog::experiment::{Experiment, FactKind, Lab, Place, Report};
use steplog::native::experiment;
use steplog::node::Duration;
use steplog::sim::NoTrace;

const SEEDS: [u64; 3] = [1, 2, 3];

fn run(experiment: &Arc<Experiment>, seed: u64) -> (Lab, Report) {
    let mut lab = Lab::new(experiment.clone(), Some(seed)).expect("its configurations are checked when it is read");
    lab.warm_up(&mut NoTrace).unwrap();
    lab.run(None, &mut NoTrace);
    let report = lab.report(Place::Run, true);
    (lab, report)
}

fn find(name: &str) -> Arc<Experiment> {
    Arc::new(experiment::find(name).unwrap())
}

fn int(report: &Report, name: &str) -> i64 {
    match report.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone()) {
        Some(Some(Value::Int(int))) => int,
        other => panic!("{name} is {other:?}"),
    }
}

#[test]
fn every_structural_fact_of_every_experiment_holds_with_every_seed() {
    let mut broken = Vec::new();
    for experiment in experiment::all().unwrap().into_iter().map(Arc::new) {
        for seed in SEEDS {
            let (lab, report) = run(&experiment, seed);
            for failure in &lab.programs().measures().failures {
                broken.push(format!("{} seed {seed}: {failure:?}", experiment.name));
            }
            for fact in &report.facts {
                assert_eq!(fact.holds.is_none(), fact.kind == FactKind::Timing);
                if fact.holds == Some(false) {
                    let expected = &fact.expected;
                    broken.push(format!(
                        "{} seed {seed}: {} is {:?}, not {expected}",
                        experiment.name, fact.name, fact.value
                    ));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_outage_is_long_enough_for_three_failures_of_five_seconds_each() {
    for seed in SEEDS {
        let (lab, report) = run(&find("acks-0"), seed);
        let dead_at = lab.programs().measures().dead_at[&1];
        assert_eq!(dead_at, Duration::from_ms(3_100));
        let outage = int(&report, "serving_at") - dead_at.as_ms() as i64;
        assert_eq!((outage - 500) / 5_100, 3);
        assert!(int(&report, "failed") >= 3);
    }
}

#[test]
fn what_hello_fetches_is_what_lies_in_the_file() {
    let (lab, _) = run(&find("hello"), 1);
    let drained = lab.programs().measures().drained.as_ref().unwrap();
    let fetched: Vec<u8> = drained.batches.iter().flat_map(|batch| batch.bytes.to_vec()).collect();
    let server = lab.world().machine(lab.servers()[&1]).and_then(|machine| machine.as_server()).unwrap();
    let files: Vec<_> =
        server.disk().files().filter(|(path, _)| path.contains("hello-0/") && path.ends_with(".log")).collect();
    assert_eq!(files.len(), 1);
    assert_eq!(fetched.len(), 216);
    assert_eq!(fetched, files[0].1);
}

#[test]
fn a_run_that_is_stopped_early_is_not_judged() {
    let experiment = find("acks-0");
    let mut lab = Lab::new(experiment, None).unwrap();
    lab.warm_up(&mut NoTrace).unwrap();
    lab.run(Some(Duration::from_ms(2_999)), &mut NoTrace);
    let report = lab.report(Place::Run, false);
    assert!(report.ok && report.facts.iter().all(|fact| fact.holds.is_none()));
    assert!((100..=150).contains(&int(&report, "sent")), "{}", int(&report, "sent"));
}
