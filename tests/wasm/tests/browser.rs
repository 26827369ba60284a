//! The page's engine, through the API that the page uses, in a real browser.
//!
//! Run by wasm-pack. `npm test` sets the variables read here to what `steplog run … --json` printed, so that the browser
//! is compared with the native build and not with an older run of itself.
#![cfg(target_arch = "wasm32")]

use js_sys::{Array, Float64Array, Reflect};
use steplog::web::codecs::{Codec, set_codecs};
use steplog::web::{Lab, names_codec};
use wasm_bindgen::{JsCast, JsValue, closure::Closure};
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

/// Every experiment, compiled; see `build.rs`.
const EXPERIMENTS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/experiments.rs"));
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

/// What `engine.ts` does with the page's second wasm, here with the same crate linked in.
fn load_codecs() {
    let codec = |id: u8| Codec::ALL.into_iter().find(|codec| *codec as u8 == id).unwrap();
    let compress = move |id: u8, bytes: Vec<u8>, level: i32| steplog_codecs::compress(codec(id), level, &bytes);
    let decompress = move |id: u8, bytes: Vec<u8>, limit: f64| {
        steplog_codecs::decompress(codec(id), &bytes, limit as usize).map_err(|refused| JsValue::from(refused as u8))
    };
    let compress = Closure::<dyn Fn(u8, Vec<u8>, i32) -> Vec<u8>>::new(compress);
    let decompress = Closure::<dyn Fn(u8, Vec<u8>, f64) -> Result<Vec<u8>, JsValue>>::new(decompress);
    set_codecs(compress.into_js_value().unchecked_into(), decompress.into_js_value().unchecked_into());
}

fn run(experiment: &[u8], seed: u64) -> Lab {
    if names_codec(experiment).unwrap() {
        load_codecs();
    }
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
    assert!(EXPERIMENTS.iter().any(|(_, experiment)| names_codec(experiment).unwrap()));
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
