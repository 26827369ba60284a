//! The only module that knows wasm-bindgen: the engine of `www/src/engine.ts`, over [`crate::view`].
//!
//! What is drawn each frame goes out as one array of numbers, in the layout that `engine.ts` documents; control calls and
//! details go out as plain objects.

pub mod codecs;
mod meta;

use js_sys::{Float64Array, Uint8Array};
use serde::Serialize;
use wasm_bindgen::prelude::*;

use self::meta::Meta;
use crate::experiment::expression::Value;
use crate::experiment::program::Program;
use crate::experiment::{Client, Experiment, Judged};
use crate::node::Duration;
use crate::sim::{FrameAction, TraceHash, WriteId};
use crate::view::{BranchShown, StepKind, Viewer};

/// A run of one experiment, standing at one position.
#[wasm_bindgen]
pub struct Lab {
    viewer: Viewer,
    experiment_hash: String,
}

fn failed(error: impl std::fmt::Display) -> JsError {
    JsError::new(&error.to_string())
}

fn to_js(value: &impl Serialize) -> Result<JsValue, JsError> {
    value.serialize(&serde_wasm_bindgen::Serializer::json_compatible()).map_err(failed)
}

#[wasm_bindgen]
impl Lab {
    /// Runs the compiled experiment to its end. Fails on bytes that another version compiled.
    #[wasm_bindgen(constructor)]
    pub fn new(experiment: &[u8], seed: Option<u64>) -> Result<Lab, JsError> {
        let mut hash = TraceHash::default();
        hash.bytes(experiment);
        let experiment = Experiment::from_bytes(experiment).map_err(failed)?;
        let viewer = Viewer::open(experiment, seed).map_err(failed)?;
        Ok(Lab { viewer, experiment_hash: hex(hash.value()) })
    }

    pub fn meta(&self) -> Result<JsValue, JsError> {
        to_js(&Meta::of(&self.viewer, &self.experiment_hash))
    }

    pub fn us(&self) -> f64 {
        self.viewer.at() as f64
    }

    pub fn seek(&mut self, us: f64) -> Result<(), JsError> {
        self.viewer.seek(us as i64).map_err(failed)
    }

    pub fn seek_event(&mut self, event: f64) -> Result<(), JsError> {
        self.viewer.seek_event(event as u64).map_err(failed)
    }

    pub fn step(&mut self, kind: &str, direction: i32, fold: bool) -> Result<(), JsError> {
        let kind = match kind {
            "event" => StepKind::Event,
            "frame" => StepKind::Frame,
            "line" => StepKind::Line,
            "moment" => StepKind::Moment,
            other => return Err(JsError::new(&format!("no step called {other}: event, frame, line or moment"))),
        };
        self.viewer.step(kind, direction > 0, fold).map_err(failed)
    }

    pub fn beats(&self, fold: bool) -> Float64Array {
        numbers(&self.viewer.story().beats(fold))
    }

    pub fn view(&self, from_us: f64, fold: bool) -> Float64Array {
        numbers(&view(&self.viewer, from_us as i64, fold))
    }

    pub fn facts(&self) -> Result<JsValue, JsError> {
        to_js(&facts_now(self.viewer.report().facts))
    }

    /// The bytes of a frame of `view()` and their fields.
    pub fn frame(&self, id: f64) -> Result<JsValue, JsError> {
        bytes(self.viewer.frame(id as usize))
    }

    pub fn segment(&self, partition: usize) -> Result<JsValue, JsError> {
        bytes(self.viewer.segment(partition))
    }

    pub fn why(&self, record: usize) -> Result<JsValue, JsError> {
        let links = self.viewer.why(record).into_iter().map(|link| WhyNow {
            event: link.event,
            us: link.at,
            lane: index_or_minus_one(link.lane),
            mark: link.kind.name(),
            a: link.a,
            b: link.b,
            frame: index_or_minus_one(link.frame),
        });
        to_js(&links.collect::<Vec<_>>())
    }

    /// Does something to a frame of `view()`; tells its id on the branch that this begins, or −1 if it cannot be done.
    pub fn act(&mut self, frame: f64, action: &str, span_us: f64) -> Result<f64, JsError> {
        let action = action_of(action, span_us)?;
        told(self.viewer.act(frame as usize, action))
    }

    /// Does again what `branches()` told.
    pub fn act_at(
        &mut self,
        ordinal: f64,
        write: f64,
        effect: u32,
        action: &str,
        span_us: f64,
    ) -> Result<f64, JsError> {
        let (write, action) = (WriteId { ordinal: write as u64, effect }, action_of(action, span_us)?);
        told(self.viewer.act_at(ordinal as u64, write, action))
    }

    pub fn branch(&self) -> u32 {
        self.viewer.branch()
    }

    pub fn switch(&mut self, branch: u32) -> Result<(), JsError> {
        self.viewer.switch(branch).map_err(failed)
    }

    pub fn branches(&self) -> Result<JsValue, JsError> {
        to_js(&self.viewer.branches().map(BranchNow::from).collect::<Vec<_>>())
    }

    pub fn hash(&self) -> String {
        hex(self.viewer.lab().world().trace_hash().value())
    }
}

/// Whether the codecs have to be there before this experiment is run.
#[wasm_bindgen]
pub fn names_codec(experiment: &[u8]) -> Result<bool, JsError> {
    Ok(Experiment::from_bytes(experiment).map_err(failed)?.names_codec())
}

fn action_of(name: &str, span_us: f64) -> Result<FrameAction, JsError> {
    let span = Duration::from_us(span_us as u64);
    let actions =
        [FrameAction::Hold(span), FrameAction::CutBefore(span), FrameAction::CutAfter(span), FrameAction::SendAgain];
    let action = actions.into_iter().find(|action| action.name() == name);
    action.ok_or_else(|| JsError::new("no such action"))
}

fn told(frame: Result<Option<usize>, crate::sim::Astray>) -> Result<f64, JsError> {
    frame.map(|frame| index_or_minus_one(frame) as f64).map_err(failed)
}

fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}

fn numbers(words: &[i64]) -> Float64Array {
    let array = Float64Array::new_with_length(words.len() as u32);
    for (index, word) in (0..).zip(words) {
        array.set_index(index, *word as f64);
    }
    array
}

fn index_or_minus_one(index: Option<usize>) -> i64 {
    index.map_or(-1, |index| index as i64)
}

/// The layout stands in `engine.ts`, at `decodeView`.
fn view(viewer: &Viewer, from: i64, fold: bool) -> Vec<i64> {
    let (story, ordinal) = (viewer.story(), viewer.ordinal());
    let mut words = vec![viewer.at(), ordinal as i64 - 1, i64::from(viewer.at_end())];

    let programs = viewer.experiment().programs.iter();
    let clients = programs.map(|program| client_of(viewer.experiment(), program).map(|(index, _)| index));
    rows(&mut words, clients, |client| {
        let line = client.and_then(|client| viewer.lab().programs().line_of(client));
        let calls = client.and_then(|client| story.calls.get(&client)).map_or(&[][..], Vec::as_slice);
        let begun = calls.partition_point(|(begun, _)| *begun < ordinal);
        let waits = calls.get(..begun).and_then(<[_]>::last);
        let blocked = waits.is_some_and(|(_, answered)| answered.is_none_or(|answered| answered >= ordinal));
        [line.map_or(-1, i64::from), i64::from(blocked)]
    });
    rows(&mut words, 0..story.partitions.len(), |partition| match viewer.leader(partition) {
        Some((ends, process)) => [
            index_or_minus_one(story.lanes.iter().position(|lane| lane.process == process)),
            ends.log_start_offset,
            ends.high_watermark,
            ends.log_end_offset,
        ],
        None => [-1, 0, 0, 0],
    });
    let frames = story.frames.iter().enumerate();
    let frames = frames.filter(|(_, frame)| frame.event < ordinal && frame.end >= from && !(fold && frame.background));
    rows(&mut words, frames, |(id, frame)| {
        [
            id as i64,
            frame.conn as i64,
            frame.from as i64,
            frame.to as i64,
            frame.sent,
            frame.end,
            i64::from(frame.outcome),
            frame.kind as i64,
            i64::from(frame.api_key),
            i64::from(frame.api_version),
            i64::from(frame.correlation_id),
            frame.size as i64,
            frame.records.0,
            frame.records.1,
            i64::from(frame.background),
        ]
    });
    let marks = story.marks.iter().filter(|mark| mark.event < ordinal && mark.at >= from);
    rows(&mut words, marks.filter(|mark| !(fold && mark.background)), |mark| {
        let background = i64::from(mark.background);
        [mark.event as i64, mark.at, mark.lane as i64, mark.kind as i64, mark.a, mark.b, background]
    });
    let records = viewer.records().filter_map(|(index, record)| Some((index, record, record.state(ordinal)?)));
    rows(&mut words, records, |(index, record, state)| {
        [index as i64, index_or_minus_one(record.partition), record.offset(ordinal), state as i64]
    });
    words
}

/// A count, then so many rows.
fn rows<T, const N: usize>(words: &mut Vec<i64>, items: impl Iterator<Item = T>, row: impl Fn(T) -> [i64; N]) {
    let count_at = words.len();
    words.push(0);
    let mut count = 0;
    for item in items {
        words.extend(row(item));
        count += 1;
    }
    if let Some(at) = words.get_mut(count_at) {
        *at = count;
    }
}

fn client_of<'e>(experiment: &'e Experiment, program: &Program) -> Option<(usize, &'e Client)> {
    experiment.clients.iter().enumerate().find(|(_, client)| client.name == program.client)
}

fn bytes(inspected: Option<crate::view::Inspected>) -> Result<JsValue, JsError> {
    let inspected = inspected.ok_or_else(|| JsError::new("there are no bytes to show"))?;
    let object = js_sys::Object::new();
    let fields: Vec<FieldNow> = inspected.fields.into_iter().map(FieldNow::from).collect();
    let set = |name: &str, value: &JsValue| js_sys::Reflect::set(&object, &name.into(), value).map(|_| ());
    set("bytes", &Uint8Array::from(inspected.bytes.as_ref())).map_err(|_| JsError::new("cannot set a property"))?;
    set("fields", &to_js(&fields)?).map_err(|_| JsError::new("cannot set a property"))?;
    Ok(object.into())
}

/// A fact's value as the page shows it: a number, a word, or ids as ranges.
#[derive(Serialize)]
#[serde(untagged)]
enum Shown {
    Number(i64),
    Bool(bool),
    Text(String),
}

fn shown(value: Option<Value>) -> Option<Shown> {
    value.map(|value| match value {
        Value::Int(int) => Shown::Number(int),
        Value::Bool(bool) => Shown::Bool(bool),
        Value::Text(text) => Shown::Text(text),
        list @ (Value::List(_) | Value::Texts(_)) => Shown::Text(list.to_string()),
    })
}

#[derive(Serialize)]
struct BranchNow {
    parent: i64,
    acted: Option<ActedNow>,
    ends: Vec<FactNow>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ActedNow {
    us: i64,
    ordinal: u64,
    write: u64,
    effect: u32,
    action: &'static str,
    span_us: u64,
    api_key: i16,
    kind: u8,
    first_record: i64,
    last_record: i64,
}

impl From<BranchShown> for BranchNow {
    fn from(branch: BranchShown) -> BranchNow {
        let acted = branch.acted.map(|acted| ActedNow {
            us: acted.at,
            ordinal: acted.ordinal,
            write: acted.write.ordinal,
            effect: acted.write.effect,
            action: acted.action.name(),
            span_us: acted.action.span().0,
            api_key: acted.frame.api_key,
            kind: acted.frame.kind as u8,
            first_record: acted.frame.records.0,
            last_record: acted.frame.records.1,
        });
        let ends = branch.ends.map_or_else(Vec::new, |report| facts_now(report.facts));
        BranchNow { parent: branch.parent.map_or(-1, i64::from), acted, ends }
    }
}

fn facts_now(facts: Vec<Judged>) -> Vec<FactNow> {
    let now = |fact: Judged| FactNow { value: shown(fact.value), holds: fact.holds, name: fact.name };
    facts.into_iter().map(now).collect()
}

#[derive(Serialize)]
struct FactNow {
    name: String,
    value: Option<Shown>,
    holds: Option<bool>,
}

#[derive(Serialize)]
struct WhyNow {
    event: u64,
    us: i64,
    lane: i64,
    mark: &'static str,
    a: i64,
    b: i64,
    frame: i64,
}

#[derive(Serialize)]
struct FieldNow {
    name: String,
    value: String,
    start: usize,
    end: usize,
    depth: u8,
}

impl From<crate::view::Field> for FieldNow {
    fn from(field: crate::view::Field) -> FieldNow {
        FieldNow { name: field.name, value: field.value, start: field.start, end: field.end, depth: field.depth }
    }
}
