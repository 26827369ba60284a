//! The typed expressions of facts, over what was measured.
//!
//! ```text
//! count(failed) >= (serving_at(1) - dead_at(1) - 500 ms) // 5100 ms
//! lost == tail(before(ok, first(failed)), count(lost))
//! ```
//!
//! | | |
//! |---|---|
//! | numbers | `17`, `-1`, `500 ms`, `5 s`: a time is whole milliseconds since t = 0 |
//! | lists | `[0, 1, 2]`; ids of sends, counted from 0: `sent`, `ok`, `failed`, `offset_minus_one` (ok at offset −1), `landed` (in log order), `lost` (ok, not in the log), `failed_but_landed`, `landed_twice`, `polled` |
//! | fetched batches | one number each, of all or with `batch.size("topic")` of one topic's: `batch.partition`, `batch.size`, `batch.base_offset`, `batch.last_offset`, `batch.count`, `batch.base_sequence`, `batch.last_sequence`, `batch.producer_id`, `batch.producer_epoch`, `batch.leader_epoch`, `batch.attributes`, `batch.magic`, `batch.digest` (CRC-32C of its bytes with times, producer id and CRC zeroed) |
//! | counters | the names that a program counts in |
//! | functions on any list | `count(L)`, `first(L)`, `last(L)`, `min(L)`, `max(L)`, `sorted(L)`, `before(L, id)`, `tail(L, n)`, `minus(L, L)`, `distinct(L)` (each once, ascending), `runs(L)` (how long each run of equal neighbours is) |
//! | on ids of sends | one number each: `offsets(L)`, `partitions(L)` (as the callbacks told), `blocked(L)` (ms that `send()` took), `waited(L)` (ms from `send()` to the callback); ids: `by(L, Client)`, `said(L, "Exception: text")` (whose exception reads so; `{n}` is any number) |
//! | raw requests | by the name that keeps their answers, one number for each: `gap.error_code`, `gap.base_offset`, `gap.record_errors` of those that were answered, `gap.closed` (1: the connection was closed instead) |
//! | tables | of the toy database: `rows(table)` |
//! | instants | `dead_at(node)`, `serving_at(node)`, `fault_at(n)` (the file's n-th `[[fault]]`, from 1: when it began, or met its frame), `ended(Client)` |
//! | operators | `*` `//` (rounds down), `+` `-`, `==` `!=` `<` `<=` `>` `>=`, `not`, `and`, `or` |
//!
//! What has not been measured has no value, and neither has what is computed from it.

use serde::{Deserialize, Serialize};

use super::measures::Measures;
use crate::ordered::BTreeSet;

mod parse;

pub use parse::{Names, parse};

/// What an expression is worth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    /// Times are whole milliseconds since t = 0.
    Int(i64),
    Bool(bool),
    /// Ids of sends, offsets, sizes.
    List(Vec<i64>),
}

/// A checked expression: its operands have the types that its operators want.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expr {
    Value(Value),
    Ids(Ids),
    /// Of the batches of one topic, if it is named.
    Batch(BatchField, Option<String>),
    Answers(String, AnswerField),
    Counter(String),
    Rows(String),
    DeadAt(i32),
    ServingAt(i32),
    /// By its index in the file.
    FaultAt(usize),
    Ended(String),
    Said(Box<Expr>, String),
    By(Box<Expr>, String),
    Call(Function, Vec<Expr>),
    Not(Box<Expr>),
    Binary(Operator, Box<Expr>, Box<Expr>),
}

/// Lists of send ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ids {
    Sent,
    Ok,
    Failed,
    OffsetMinusOne,
    Landed,
    Lost,
    FailedButLanded,
    LandedTwice,
    Polled,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BatchField {
    Size,
    BaseOffset,
    LastOffset,
    Count,
    BaseSequence,
    LastSequence,
    ProducerId,
    ProducerEpoch,
    LeaderEpoch,
    Attributes,
    Magic,
    Partition,
    Digest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AnswerField {
    ErrorCode,
    BaseOffset,
    RecordErrors,
    Closed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Function {
    Count,
    First,
    Last,
    Before,
    Tail,
    Minus,
    Sorted,
    Offsets,
    Partitions,
    Blocked,
    Waited,
    Min,
    Max,
    Distinct,
    Runs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Operator {
    Multiply,
    DivideDown,
    Add,
    Subtract,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    And,
    Or,
}

impl Ids {
    pub const ALL: [(&'static str, Ids); 9] = [
        ("sent", Ids::Sent),
        ("ok", Ids::Ok),
        ("failed", Ids::Failed),
        ("offset_minus_one", Ids::OffsetMinusOne),
        ("landed", Ids::Landed),
        ("lost", Ids::Lost),
        ("failed_but_landed", Ids::FailedButLanded),
        ("landed_twice", Ids::LandedTwice),
        ("polled", Ids::Polled),
    ];
}

impl BatchField {
    pub const ALL: [(&'static str, BatchField); 13] = [
        ("size", BatchField::Size),
        ("base_offset", BatchField::BaseOffset),
        ("last_offset", BatchField::LastOffset),
        ("count", BatchField::Count),
        ("base_sequence", BatchField::BaseSequence),
        ("last_sequence", BatchField::LastSequence),
        ("producer_id", BatchField::ProducerId),
        ("producer_epoch", BatchField::ProducerEpoch),
        ("leader_epoch", BatchField::LeaderEpoch),
        ("attributes", BatchField::Attributes),
        ("magic", BatchField::Magic),
        ("partition", BatchField::Partition),
        ("digest", BatchField::Digest),
    ];
}

impl AnswerField {
    pub const ALL: [(&'static str, AnswerField); 4] = [
        ("error_code", AnswerField::ErrorCode),
        ("base_offset", AnswerField::BaseOffset),
        ("record_errors", AnswerField::RecordErrors),
        ("closed", AnswerField::Closed),
    ];
}

impl Expr {
    /// `None` if something in it has not been measured, e.g. the first of an empty list.
    pub fn value(&self, measures: &Measures) -> Option<Value> {
        match self {
            Expr::Value(value) => Some(value.clone()),
            Expr::Ids(ids) => measures.ids(*ids).map(Value::List),
            Expr::Batch(field, topic) => measures.batches(*field, topic.as_deref()).map(Value::List),
            Expr::Answers(name, field) => measures.answers(name, *field).map(Value::List),
            Expr::Rows(table) => Some(Value::Int(i64::try_from(measures.tables.get(table)?.len()).ok()?)),
            Expr::Counter(name) => measures.counters.get(name).map(|n| Value::Int(*n)),
            Expr::DeadAt(node) => measures.dead_at.get(node).map(|at| ms(*at)),
            Expr::ServingAt(node) => measures.serving_at.get(node).map(|at| ms(*at)),
            Expr::FaultAt(fault) => measures.fault_at.get(fault).map(|at| ms(*at)),
            Expr::Ended(client) => measures.ended.get(client).map(|at| ms(*at)),
            Expr::Said(ids, text) => {
                let said = |id: &i64| measures.exception_of(*id).is_some_and(|exception| reads(&exception, text));
                Some(Value::List(list(ids.value(measures)?)?.into_iter().filter(said).collect()))
            }
            Expr::By(ids, client) => {
                let of = |id: &i64| measures.is_by(*id, client);
                Some(Value::List(list(ids.value(measures)?)?.into_iter().filter(of).collect()))
            }
            Expr::Call(function, arguments) => call(*function, arguments, measures),
            Expr::Not(operand) => match operand.value(measures)? {
                Value::Bool(b) => Some(Value::Bool(!b)),
                _ => None,
            },
            Expr::Binary(operator, a, b) => binary(*operator, a.value(measures)?, b.value(measures)?),
        }
    }
}

fn whole_ms(span: crate::node::Duration) -> i64 {
    i64::try_from(span.as_ms()).unwrap_or(i64::MAX)
}

fn ms(at: crate::node::Duration) -> Value {
    Value::Int(whole_ms(at))
}

fn list(value: Value) -> Option<Vec<i64>> {
    match value {
        Value::List(list) => Some(list),
        _ => None,
    }
}

fn int(value: Value) -> Option<i64> {
    match value {
        Value::Int(int) => Some(int),
        _ => None,
    }
}

fn call(function: Function, arguments: &[Expr], measures: &Measures) -> Option<Value> {
    let argument = |n: usize| arguments.get(n).and_then(|argument| argument.value(measures));
    let first = list(argument(0)?)?;
    let of_each =
        |measure: &dyn Fn(i64) -> Option<i64>| Value::List(first.iter().filter_map(|id| measure(*id)).collect());
    Some(match function {
        Function::Count => Value::Int(i64::try_from(first.len()).ok()?),
        Function::First => Value::Int(*first.first()?),
        Function::Last => Value::Int(*first.last()?),
        Function::Sorted => Value::Bool(first.is_sorted()),
        Function::Before => {
            let limit = int(argument(1)?)?;
            Value::List(first.into_iter().filter(|id| *id < limit).collect())
        }
        Function::Tail => {
            let n = usize::try_from(int(argument(1)?)?).unwrap_or(0);
            Value::List(first.get(first.len().saturating_sub(n)..)?.to_vec())
        }
        Function::Minus => {
            let second = list(argument(1)?)?;
            Value::List(first.into_iter().filter(|id| !second.contains(id)).collect())
        }
        Function::Offsets => of_each(&|id| measures.offset_of(id)),
        Function::Partitions => of_each(&|id| measures.partition_of(id)),
        Function::Blocked => of_each(&|id| measures.blocked(id).map(whole_ms)),
        Function::Waited => of_each(&|id| measures.waited(id).map(whole_ms)),
        Function::Min => Value::Int(*first.iter().min()?),
        Function::Max => Value::Int(*first.iter().max()?),
        Function::Distinct => Value::List(first.into_iter().collect::<BTreeSet<i64>>().into_iter().collect()),
        Function::Runs => {
            let runs = first.chunk_by(|a, b| a == b).map(|run| i64::try_from(run.len()).ok());
            Value::List(runs.collect::<Option<Vec<i64>>>()?)
        }
    })
}

fn binary(operator: Operator, a: Value, b: Value) -> Option<Value> {
    use Operator::*;
    Some(match (operator, a, b) {
        (Equal, a, b) => Value::Bool(a == b),
        (NotEqual, a, b) => Value::Bool(a != b),
        (And, Value::Bool(a), Value::Bool(b)) => Value::Bool(a && b),
        (Or, Value::Bool(a), Value::Bool(b)) => Value::Bool(a || b),
        (Multiply, Value::Int(a), Value::Int(b)) => Value::Int(a.checked_mul(b)?),
        (DivideDown, Value::Int(a), Value::Int(b)) => {
            let (quotient, rest) = (a.checked_div(b)?, a.checked_rem(b)?);
            Value::Int(if rest != 0 && (rest < 0) != (b < 0) { quotient - 1 } else { quotient })
        }
        (Add, Value::Int(a), Value::Int(b)) => Value::Int(a.checked_add(b)?),
        (Subtract, Value::Int(a), Value::Int(b)) => Value::Int(a.checked_sub(b)?),
        (Less, Value::Int(a), Value::Int(b)) => Value::Bool(a < b),
        (LessOrEqual, Value::Int(a), Value::Int(b)) => Value::Bool(a <= b),
        (Greater, Value::Int(a), Value::Int(b)) => Value::Bool(a > b),
        (GreaterOrEqual, Value::Int(a), Value::Int(b)) => Value::Bool(a >= b),
        _ => return None,
    })
}

/// Whether `text` reads as `pattern`, in which `{n}` is any number.
fn reads(text: &str, pattern: &str) -> bool {
    let mut rest = text;
    for (n, literal) in pattern.split("{n}").enumerate() {
        if n > 0 {
            let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            if after.len() == rest.len() {
                return false;
            }
            rest = after;
        }
        match rest.strip_prefix(literal) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    rest.is_empty()
}

impl std::fmt::Display for Value {
    /// Lists as ranges of consecutive numbers, `0-141, 145-399`, as in the recorded facts.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let list = match self {
            Value::Int(int) => return write!(f, "{int}"),
            Value::Bool(b) => return write!(f, "{b}"),
            Value::List(list) => list,
        };
        f.write_str("[")?;
        let mut rest = list.as_slice();
        while let Some(first) = rest.first() {
            let run = (1..rest.len()).find(|n| rest[*n].checked_sub(*n as i64) != Some(*first)).unwrap_or(rest.len());
            if rest.len() < list.len() {
                f.write_str(", ")?;
            }
            match run {
                1 => write!(f, "{first}")?,
                _ => write!(f, "{first}-{}", rest[run - 1])?,
            }
            rest = &rest[run..];
        }
        f.write_str("]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_holds_any_number_at_its_gaps_and_nothing_else() {
        let pattern = "Expiring {n} record(s) for t-0:{n} ms has passed";
        assert!(reads("Expiring 14 record(s) for t-0:8003 ms has passed", pattern));
        assert!(!reads("Expiring record(s) for t-0:8003 ms has passed", pattern));
        assert!(!reads("Expiring 14 record(s) for t-0:8003 ms has passed.", pattern));
        assert!(reads("t 7", "t {n}"));
    }

    #[test]
    fn division_rounds_down_as_the_floor_in_a_formula_does() {
        let divide = |a, b| binary(Operator::DivideDown, Value::Int(a), Value::Int(b));
        assert_eq!(divide(17_200, 5_100), Some(Value::Int(3)));
        assert_eq!(divide(-1, 5_100), Some(Value::Int(-1)));
        assert_eq!(divide(1, 0), None);
    }

    #[test]
    fn lists_read_as_ranges() {
        assert_eq!(Value::List(vec![0, 1, 2, 5, 7, 8]).to_string(), "[0-2, 5, 7-8]");
        assert_eq!(Value::List(vec![]).to_string(), "[]");
        assert_eq!(Value::List(vec![72, 72, 72]).to_string(), "[72, 72, 72]");
    }
}
