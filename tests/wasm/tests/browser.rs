//! The page's engine, through the API that the page uses, in a real browser.
//!
//! Run by wasm-pack. `npm test` sets the variables read here to what `steplog run … --json` printed, so that the browser
//! is compared with the native build and not with an older run of itself.
#![cfg(target_arch = "wasm32")]

use js_sys::{Array, Float64Array, Reflect};
use steplog::web::Lab;
use wasm_bindgen::JsValue;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

macro_rules! experiments {
    ($($name:literal),*) => {
        [$(($name, include_bytes!(concat!("../../../www/public/experiments/", $name, ".bin")).as_slice())),*]
    };
}
const EXPERIMENTS: [(&str, &[u8]); 5] = experiments!["acks-0", "acks-0-prevented", "acks-1", "acks-all", "hello"];
const ACKS_0: &[u8] = EXPERIMENTS[0].1;
const FACTS: &str = env!("ACKS_0_FACTS");
/// `name:seed:hash` of every experiment and three seeds.
const TRACE_HASHES: &str = env!("TRACE_HASHES");

fn native_hash(name: &str, seed: &str) -> &'static str {
    let mut hashes = TRACE_HASHES.split(',').map(|entry| entry.split(':').collect::<Vec<_>>());
    hashes.find(|entry| entry[..2] == [name, seed]).unwrap()[2]
}

fn get(object: &JsValue, key: &str) -> JsValue {
    Reflect::get(object, &key.into()).unwrap()
}

fn run(experiment: &[u8], seed: u64) -> Lab {
    let mut lab = Lab::new(experiment, Some(seed)).unwrap();
    let end = get(&lab.meta().unwrap(), "endUs").as_f64().unwrap();
    lab.seek(end).unwrap();
    lab
}

fn at_end() -> Lab {
    run(ACKS_0, 1)
}

#[wasm_bindgen_test]
fn every_experiment_and_seed_has_the_native_trace_hash() {
    assert_eq!(TRACE_HASHES.split(',').count(), 3 * EXPERIMENTS.len());
    for (name, experiment) in EXPERIMENTS {
        for seed in 1..=3 {
            assert_eq!(run(experiment, seed).hash(), native_hash(name, &seed.to_string()), "{name}, seed {seed}");
        }
    }
}

#[wasm_bindgen_test]
fn the_facts_are_the_native_ones_and_all_structural_facts_hold() {
    let facts = Array::from(&at_end().facts().unwrap());
    let numbers: Vec<String> = facts
        .iter()
        .filter_map(|fact| Some(format!("{}={}", get(&fact, "name").as_string()?, get(&fact, "value").as_f64()?)))
        .collect();
    assert_eq!(numbers.join(","), FACTS);
    assert!(facts.iter().all(|fact| get(&fact, "holds") != JsValue::FALSE));
}

#[wasm_bindgen_test]
fn a_replay_from_the_middle_ends_where_the_first_run_did() {
    let mut lab = at_end();
    lab.seek(5_000_000.0).unwrap();
    assert_ne!(lab.hash(), native_hash("acks-0", "1"));
    for _ in 0..20 {
        lab.step("event", 1, false).unwrap();
        lab.step("event", -1, false).unwrap();
    }
    lab.seek(f64::from(i32::MAX)).unwrap();
    assert_eq!(lab.hash(), native_hash("acks-0", "1"));
}

#[wasm_bindgen_test]
fn what_is_drawn_after_a_seek_is_what_was_drawn_before() {
    let mut lab = at_end();
    let draw = |lab: &Lab| Float64Array::to_vec(&lab.view(0.0, false));
    lab.seek(3_050_000.0).unwrap();
    let first = draw(&lab);
    lab.seek(20_000_000.0).unwrap();
    lab.seek(3_050_000.0).unwrap();
    assert_eq!(draw(&lab), first);
}

#[wasm_bindgen_test]
fn bytes_of_another_version_are_refused_with_a_sentence() {
    let error = JsValue::from(Lab::new(&ACKS_0[..40], None).err().unwrap());
    assert!(get(&error, "message").as_string().unwrap().contains("not an experiment compiled by this version"));
}
