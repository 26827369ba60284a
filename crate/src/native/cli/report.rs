//! A report as text for people and as JSON for scripts.

use serde_json::{Value as Json, json};

use crate::experiment::expression::{Expr, Value};
use crate::experiment::{Expected, Experiment, FactKind, Measures, Report};
use crate::view::file_text;

/// A longer value, say all that a program printed, goes on in the next line of its cell.
const LINE: u16 = 48;

/// The contract of `run --json`. A list is an array, an open range has one of `min` and `max`.
pub(super) fn json(report: &Report) -> Json {
    let facts = report.facts.iter().map(|fact| {
        json!({
            "name": fact.name,
            "kind": fact.kind.name(),
            "value": fact.value.as_ref().map(value),
            "expected": expected(&fact.expected),
            "holds": fact.holds,
            "book": fact.book.as_ref().map(value),
        })
    });
    json!({
        "experiment": report.experiment,
        "seed": report.seed,
        "place": report.place.name(),
        "ok": report.ok,
        "trace_hash": trace_hash(report),
        "elapsed_virtual_ms": report.elapsed.as_ms(),
        "facts": facts.collect::<Vec<Json>>(),
    })
}

/// Sixteen hexadecimal digits: JSON's numbers are too small.
fn trace_hash(report: &Report) -> String {
    format!("{:016x}", report.trace_hash)
}

fn value(value: &Value) -> Json {
    match value {
        Value::Int(int) => json!(int),
        Value::Bool(truth) => json!(truth),
        Value::List(list) => json!(list),
        Value::Text(text) => json!(text),
        Value::Texts(texts) => json!(texts),
    }
}

fn expected(expected: &Expected) -> Json {
    match expected {
        Expected::Value(wanted) => value(wanted),
        Expected::Range { min, max } => {
            let ends = [("min", min), ("max", max)];
            ends.into_iter().filter_map(|(name, end)| end.map(|end| (name.to_string(), json!(end)))).collect()
        }
    }
}

/// Every fact in a row, what went wrong in the program's eyes, and the batches if the experiment is about them.
pub(super) fn text(experiment: &Experiment, report: &Report, measures: &Measures) -> String {
    let place = report.place.name();
    let mut text = format!("{}: {}\n", report.experiment, experiment.title.en);
    text += &format!("place {place}, seed {}, {} of cluster time\n\n", report.seed, seconds(report.elapsed.as_ms()));
    let mut table = super::table::new(&["fact", "kind", "value", "expected", "holds", "book"]);
    super::table::wrap(&mut table, 2..=5, LINE);
    for fact in &report.facts {
        let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "–".to_string(), Value::to_string);
        let holds = match fact.holds {
            Some(true) => "yes",
            Some(false) => "NO",
            None => "",
        };
        table.add_row([
            fact.name.clone(),
            fact.kind.name().to_string(),
            shown(&fact.value),
            fact.expected.to_string(),
            holds.to_string(),
            fact.book.as_ref().map_or_else(String::new, Value::to_string),
        ]);
    }
    text += &super::table::text(&table);
    let exceptions = exceptions(measures);
    if !exceptions.is_empty() {
        text += "\nwhat the failed sends threw\n";
    }
    for (exception, ids) in exceptions {
        text += &format!("  {exception}\n    ids {}\n", Value::List(ids));
    }
    let drained = measures.drained.iter().flat_map(|drained| &drained.batches);
    let shown: Vec<_> = drained.filter(|batch| is_looked_into(experiment, &batch.partition.topic)).collect();
    if !shown.is_empty() {
        let batches = shown.iter().map(|batch| batch.bytes.as_ref());
        text += &format!("\nthe batches as fetched, which are the bytes of the file\n{}", file_text(batches));
    }
    text += &verdict(report);
    text
}

/// Whether a fact looks into this topic's batches. Those of a longer experiment would fill screens.
fn is_looked_into(experiment: &Experiment, topic: &str) -> bool {
    let names = |of: &Option<String>| of.as_deref().is_none_or(|named| named == topic);
    experiment.facts.iter().any(|fact| matches!(&fact.is, Expr::Batch(_, of) if names(of)))
}

/// The distinct exceptions in the order in which they first came.
fn exceptions(measures: &Measures) -> Vec<(String, Vec<i64>)> {
    let mut found: Vec<(String, Vec<i64>)> = Vec::new();
    for id in (0..).take(measures.sends.len()) {
        let Some(exception) = measures.exception_of(id) else { continue };
        match found.iter_mut().find(|(known, _)| *known == exception) {
            Some((_, ids)) => ids.push(id),
            None => found.push((exception, vec![id])),
        }
    }
    found
}

fn verdict(report: &Report) -> String {
    let structural = report.facts.iter().filter(|fact| fact.kind == FactKind::Structural);
    let (judged, held) = structural.fold((0, 0), |(judged, held), fact| {
        (judged + u32::from(fact.holds.is_some()), held + u32::from(fact.holds == Some(true)))
    });
    let sum = match judged {
        0 => "stopped before the end: nothing is judged".to_string(),
        judged => format!("{held} of {judged} structural facts hold"),
    };
    match report.trace_hash {
        0 => format!("\n{sum}\n"),
        _ => format!("\n{sum}; trace {}\n", trace_hash(report)),
    }
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03} s", ms / 1000, ms % 1000)
}
