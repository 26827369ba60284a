//! What does not change during a course of a run: everything around what is drawn.

use serde::Serialize;

use super::{Shown, client_of, index_or_minus_one, shown};
use crate::experiment::expression::{Expr, Value};
use crate::experiment::program::Program;
use crate::experiment::{Ask, Expected, Fact, FactKind, Text};
use crate::ordered::BTreeSet;
use crate::view::Viewer;
use crate::wire::ApiKey;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Meta<'a> {
    name: &'a str,
    version: &'static str,
    experiment_hash: &'a str,
    seed: String,
    title: &'a Text,
    summary: &'a Text,
    lanes: Vec<LaneMeta<'a>>,
    programs: Vec<ProgramMeta<'a>>,
    partitions: Vec<PartitionMeta<'a>>,
    facts: Vec<FactMeta<'a>>,
    question: Option<Question<'a>>,
    opening_us: u64,
    start_us: i64,
    end_us: i64,
    outages: Vec<OutageMeta>,
    moments: Vec<i64>,
    strings: &'a [String],
    apis: Vec<(i16, &'static str)>,
}

#[derive(Serialize)]
struct LaneMeta<'a> {
    name: &'a str,
    kind: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ProgramMeta<'a> {
    name: &'a str,
    lane: i64,
    config: Vec<(&'a str, &'a str)>,
    lines: Vec<ProgramLine<'a>>,
    java: Vec<String>,
    java_line: Vec<usize>,
}

#[derive(Serialize)]
struct ProgramLine<'a> {
    text: &'a str,
    depth: usize,
}

#[derive(Serialize)]
struct PartitionMeta<'a> {
    topic: &'a str,
    partition: i32,
}

#[derive(Serialize)]
struct FactMeta<'a> {
    name: &'a str,
    label: &'a Text,
    kind: &'static str,
    unit: &'static str,
    expected: String,
    book: Option<Shown>,
    note: Option<&'a Text>,
}

#[derive(Serialize)]
struct Question<'a> {
    text: &'a Text,
    asks: &'a [Ask],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct OutageMeta {
    lane: usize,
    dying_us: i64,
    dead_us: i64,
    start_us: Option<i64>,
    serving_us: Option<i64>,
}

impl<'a> Meta<'a> {
    pub(super) fn of(viewer: &'a Viewer, experiment_hash: &'a str) -> Meta<'a> {
        let (experiment, story) = (viewer.experiment(), viewer.story());
        let apis: BTreeSet<i16> = story.frames.iter().map(|frame| frame.api_key).filter(|key| *key >= 0).collect();
        let mut moments = story.moments();
        moments.dedup();
        Meta {
            name: &experiment.name,
            version: env!("CARGO_PKG_VERSION"),
            experiment_hash,
            seed: viewer.lab().seed().to_string(),
            title: &experiment.title,
            summary: &experiment.about,
            lanes: story
                .lanes
                .iter()
                .map(|lane| LaneMeta {
                    name: &lane.name,
                    kind: if lane.client.is_some() { "client" } else { "server" },
                })
                .collect(),
            programs: experiment.programs.iter().filter_map(|program| ProgramMeta::of(viewer, program)).collect(),
            partitions: story
                .partitions
                .iter()
                .map(|shown| PartitionMeta { topic: &shown.topic, partition: shown.partition })
                .collect(),
            facts: experiment.facts.iter().map(FactMeta::of).collect(),
            question: (!experiment.opening.asks.is_empty())
                .then(|| Question { text: &experiment.opening.question, asks: &experiment.opening.asks }),
            opening_us: experiment.opening.at.0,
            // The warm-up is over when a reader arrives.
            start_us: 0,
            end_us: story.end,
            outages: story
                .outages
                .iter()
                .map(|outage| OutageMeta {
                    lane: outage.lane,
                    dying_us: outage.dying,
                    dead_us: outage.dead,
                    start_us: outage.start,
                    serving_us: outage.serving,
                })
                .collect(),
            moments,
            strings: &story.strings,
            apis: apis.into_iter().map(|key| (key, ApiKey(key).name())).collect(),
        }
    }
}

impl<'a> ProgramMeta<'a> {
    fn of(viewer: &'a Viewer, program: &'a Program) -> Option<ProgramMeta<'a>> {
        let (index, client) = client_of(viewer.experiment(), program)?;
        let lane = viewer.story().lanes.iter().position(|lane| lane.client == Some(index));
        let java = program.as_java(client);
        // The first Java line that a line of the grammar became; a callback's stands inside its send's.
        let first = |line: u32| {
            let of = java.iter().filter_map(|java| java.of).filter(|of| *of <= line).max();
            java.iter().position(|java| java.of == of).unwrap_or(0)
        };
        let java_line = (0..program.lines.len() as u32).map(first).collect();
        Some(ProgramMeta {
            name: &program.client,
            lane: index_or_minus_one(lane),
            config: client.config.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect(),
            lines: program
                .lines
                .iter()
                .map(|line| {
                    let text = line.trim_start();
                    ProgramLine { text, depth: (line.len() - text.len()) / 2 }
                })
                .collect(),
            java: java.into_iter().map(|line| line.text).collect(),
            java_line,
        })
    }
}

impl<'a> FactMeta<'a> {
    fn of(fact: &'a Fact) -> FactMeta<'a> {
        FactMeta {
            name: &fact.name,
            label: &fact.text,
            kind: fact.kind.name(),
            unit: match (&fact.expected, &fact.kind) {
                (Expected::Value(value), _) if !matches!(value, Value::Int(_)) => "text",
                (_, FactKind::Timing) if is_time(&fact.is) => "ms",
                _ => "count",
            },
            expected: fact.expected.to_string(),
            book: shown(fact.book.as_ref().map(|book| book.value.clone())),
            note: None,
        }
    }
}

/// Whether an expression tells an instant or a span.
fn is_time(expression: &Expr) -> bool {
    match expression {
        Expr::DeadAt(_) | Expr::ServingAt(_) | Expr::FaultAt(_) | Expr::Ended(_) => true,
        Expr::Binary(_, left, right) => is_time(left) || is_time(right),
        _ => false,
    }
}
