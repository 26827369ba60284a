//! Judges a run: every fact with its value, what was expected, and whether it holds.

use super::expression::Value;
use super::{Expected, Experiment, FactKind, Measures, Place};
use crate::node::Duration;

/// What `steplog run --json` prints, and what the page shows beside the book's figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub experiment: String,
    pub seed: u64,
    pub place: Place,
    /// Every structural fact holds, as far as they were judged.
    pub ok: bool,
    /// The same in page and run for the same seed; 0 where no trace is kept.
    pub trace_hash: u64,
    pub elapsed: Duration,
    /// In the experiment's order.
    pub facts: Vec<Judged>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    pub name: String,
    pub kind: FactKind,
    /// `None` if what it needs was not measured.
    pub value: Option<Value>,
    pub expected: Expected,
    /// `None` for timing facts, and in a run that was stopped before its end.
    pub holds: Option<bool>,
    pub book: Option<Value>,
}

/// Who ran what, for the head of a [`Report`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ran {
    pub seed: u64,
    pub place: Place,
    pub trace_hash: u64,
    pub elapsed: Duration,
    /// False for a run that was stopped on purpose before its end: then nothing is judged.
    pub judged: bool,
}

impl Report {
    pub fn of(experiment: &Experiment, measures: &Measures, ran: Ran) -> Report {
        let judge = |fact: &super::Fact| {
            let value = fact.is.value(measures);
            let judged = ran.judged && fact.kind == FactKind::Structural;
            let holds = judged.then(|| value.as_ref().is_some_and(|value| fact.expected.holds(value)));
            Judged {
                name: fact.name.clone(),
                kind: fact.kind,
                value,
                expected: fact.expected.clone(),
                holds,
                book: fact.book.as_ref().map(|book| book.value.clone()),
            }
        };
        let facts: Vec<Judged> = experiment.facts.iter().map(judge).collect();
        Report {
            experiment: experiment.name.clone(),
            seed: ran.seed,
            place: ran.place,
            ok: measures.failures.is_empty() && facts.iter().all(|fact| fact.holds != Some(false)),
            trace_hash: ran.trace_hash,
            elapsed: ran.elapsed,
            facts,
        }
    }
}

impl Expected {
    pub fn holds(&self, value: &Value) -> bool {
        match (self, value) {
            (Expected::Value(wanted), value) => wanted == value,
            (Expected::Range { min, max }, Value::Int(int)) => {
                min.is_none_or(|min| min <= *int) && max.is_none_or(|max| *int <= max)
            }
            (Expected::Range { .. }, _) => false,
        }
    }
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expected::Value(value) => write!(f, "{value}"),
            Expected::Range { min: Some(min), max: Some(max) } => write!(f, "{min} … {max}"),
            Expected::Range { min: Some(min), max: None } => write!(f, "≥ {min}"),
            Expected::Range { min: None, max: Some(max) } => write!(f, "≤ {max}"),
            Expected::Range { min: None, max: None } => f.write_str("any"),
        }
    }
}

impl FactKind {
    pub const fn name(self) -> &'static str {
        match self {
            FactKind::Structural => "structural",
            FactKind::Timing => "timing",
        }
    }
}
