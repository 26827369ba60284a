//! The functions of expressions: what they take, what they give, and what they are worth.

use serde::{Deserialize, Serialize};

use super::{Expr, Value, reads, whole_ms};
use crate::experiment::measures::{Acked, Measures, Sent};
use crate::ordered::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Type {
    Number,
    Truth,
    List,
    Text,
    Texts,
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Type::Number => "a number",
            Type::Truth => "true or false",
            Type::List => "a list",
            Type::Text => "a text",
            Type::Texts => "a list of texts",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Function {
    Count,
    First,
    Last,
    At,
    Min,
    Max,
    Before,
    Tail,
    AllButLast,
    Minus,
    Agree,
    Sorted,
    Descents,
    Distinct,
    Runs,
    Offsets,
    Partitions,
    Timestamps,
    InPartition,
    Classes,
    Messages,
    Blocked,
    Waited,
    SentAt,
    ToldAt,
    Matching,
}

/// A name, what it takes and what it gives.
type Signature = (&'static str, Function, &'static [Type], Type);

/// One name may stand here for several types of its first argument.
#[rustfmt::skip]
pub(super) const FUNCTIONS: [Signature; 30] = {
    use Type::*;
    [
        ("count", Function::Count, &[List], Number),
        ("count", Function::Count, &[Texts], Number),
        ("first", Function::First, &[List], Number),
        ("first", Function::First, &[Texts], Text),
        ("last", Function::Last, &[List], Number),
        ("last", Function::Last, &[Texts], Text),
        ("at", Function::At, &[List, Number], Number),
        ("at", Function::At, &[Texts, Number], Text),
        ("min", Function::Min, &[List], Number),
        ("max", Function::Max, &[List], Number),
        ("before", Function::Before, &[List, Number], List),
        ("tail", Function::Tail, &[List, Number], List),
        ("all_but_last", Function::AllButLast, &[List], List),
        ("minus", Function::Minus, &[List, List], List),
        ("agree", Function::Agree, &[List, List], Number),
        ("sorted", Function::Sorted, &[List], Truth),
        ("descents", Function::Descents, &[List], Number),
        ("distinct", Function::Distinct, &[List], List),
        ("runs", Function::Runs, &[List], List),
        ("offsets", Function::Offsets, &[List], List),
        ("partitions", Function::Partitions, &[List], List),
        ("timestamps", Function::Timestamps, &[List], List),
        ("in_partition", Function::InPartition, &[List, Number], List),
        ("classes", Function::Classes, &[List], Texts),
        ("messages", Function::Messages, &[List], Texts),
        ("blocked", Function::Blocked, &[List], List),
        ("waited", Function::Waited, &[List], List),
        ("sent_at", Function::SentAt, &[List], List),
        ("told_at", Function::ToldAt, &[List], List),
        ("matching", Function::Matching, &[Texts, Text], Texts),
    ]
};

/// `None` if what it needs was not measured.
pub(super) fn call(function: Function, arguments: &[Expr], measures: &Measures) -> Option<Value> {
    let argument = |n: usize| arguments.get(n).and_then(|argument| argument.value(measures));
    match argument(0)? {
        Value::List(list) => of_list(function, list, argument(1), measures),
        Value::Texts(texts) => of_texts(function, texts, argument(1)),
        _ => None,
    }
}

fn of_list(function: Function, list: Vec<i64>, second: Option<Value>, measures: &Measures) -> Option<Value> {
    let number = || match second {
        Some(Value::Int(number)) => Some(number),
        _ => None,
    };
    let sends = || list.iter().filter_map(|id| measures.sends.get(usize::try_from(*id).ok()?));
    let told = |what: fn(&Acked) -> i64| Value::List(sends().filter_map(Sent::told).map(what).collect());
    let thrown = || sends().filter_map(Sent::thrown);
    let times = |when: fn(&Sent) -> Option<crate::node::Duration>| {
        Value::List(sends().filter_map(when).map(whole_ms).collect())
    };
    Some(match function {
        Function::Count => Value::Int(i64::try_from(list.len()).ok()?),
        Function::First => Value::Int(*list.first()?),
        Function::Last => Value::Int(*list.last()?),
        Function::At => Value::Int(*list.get(usize::try_from(number()?).ok()?)?),
        Function::Min => Value::Int(*list.iter().min()?),
        Function::Max => Value::Int(*list.iter().max()?),
        Function::Sorted => Value::Bool(list.is_sorted()),
        Function::Descents => {
            let descents = list.windows(2).filter(|pair| pair.first() > pair.last()).count();
            Value::Int(i64::try_from(descents).ok()?)
        }
        Function::Before => {
            let limit = number()?;
            Value::List(list.into_iter().filter(|id| *id < limit).collect())
        }
        Function::Tail => {
            let n = usize::try_from(number()?).unwrap_or(0);
            Value::List(list.get(list.len().saturating_sub(n)..)?.to_vec())
        }
        Function::AllButLast => Value::List(list.split_last().map_or_else(Vec::new, |(_, rest)| rest.to_vec())),
        Function::Minus => {
            let Some(Value::List(second)) = second else { return None };
            Value::List(list.into_iter().filter(|id| !second.contains(id)).collect())
        }
        Function::Agree => {
            let Some(Value::List(second)) = second else { return None };
            Value::Int(list.iter().zip(&second).filter(|(a, b)| a == b).count() as i64)
        }
        Function::Distinct => Value::List(list.into_iter().collect::<BTreeSet<i64>>().into_iter().collect()),
        Function::Runs => Value::List(list.chunk_by(|a, b| a == b).map(|run| run.len() as i64).collect()),
        Function::Offsets => told(|told| told.offset),
        Function::Partitions => told(|told| told.partition.into()),
        Function::Timestamps => told(|told| told.timestamp),
        Function::InPartition => {
            let partition = number()?;
            let fits = |id: &i64| measures.told(*id).is_some_and(|told| i64::from(told.partition) == partition);
            Value::List(list.iter().copied().filter(fits).collect())
        }
        Function::Classes => Value::Texts(thrown().map(|thrown| thrown.class.clone()).collect()),
        Function::Messages => Value::Texts(thrown().map(|thrown| thrown.message.clone()).collect()),
        Function::Blocked => times(Sent::blocked),
        Function::Waited => times(Sent::waited),
        Function::SentAt => times(|sent| Some(sent.sent_at)),
        Function::ToldAt => times(|sent| Some(sent.outcome.as_ref()?.at)),
        Function::Matching => return None,
    })
}

fn of_texts(function: Function, texts: Vec<String>, second: Option<Value>) -> Option<Value> {
    Some(match (function, second) {
        (Function::Count, _) => Value::Int(i64::try_from(texts.len()).ok()?),
        (Function::First, _) => Value::Text(texts.into_iter().next()?),
        (Function::Last, _) => Value::Text(texts.into_iter().next_back()?),
        (Function::At, Some(Value::Int(n))) => Value::Text(texts.into_iter().nth(usize::try_from(n).ok()?)?),
        (Function::Matching, Some(Value::Text(pattern))) => {
            Value::Texts(texts.into_iter().filter(|text| reads(text, &pattern)).collect())
        }
        _ => return None,
    })
}
