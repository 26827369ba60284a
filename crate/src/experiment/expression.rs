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
//! | lists | `[0, 1, 2]`; ids of sends, counted from 0: `sent`, `ok`, `failed` (told an exception), `thrown` (of those, by send() itself), `offset_minus_one` (ok at offset −1), `landed` (in log order), `log` (the same, and again for each further copy), `lost` (ok, not in the log), `failed_but_landed`, `landed_twice`, `polled` |
//! | fetched batches | one number each, of all or with `batch.size("topic")` of one topic's: `batch.partition`, `batch.size`, `batch.base_offset`, `batch.last_offset`, `batch.count`, `batch.base_sequence`, `batch.last_sequence`, `batch.producer_id`, `batch.producer_epoch`, `batch.leader_epoch`, `batch.attributes`, `batch.magic`, `batch.digest` (CRC-32C of its bytes with times, producer id and CRC zeroed); and a text each, `batch.codec` (`"none"`, `"gzip"`, …) |
//! | texts | `"sent 0"`, and lists of them `["a", "b"]`: `printed` (what programs and interceptors printed, in order), `landed_keys`, `landed_values` (what was drained; a null reads `null`) |
//! | counters | the names that a program counts in |
//! | of lists | `count(L)`, `first(L)`, `last(L)`, `at(L, n)` (from 0), `min(L)`, `max(L)`, `before(L, id)`, `tail(L, n)`, `all_but_last(L)`, `minus(L, L)`, `agree(L, L)` (in how many places both hold the same), `distinct(L)` (each once, ascending), `sorted(L)`, `runs(L)` (how long each run of equal neighbours is), `descents(L)` (how often a number is less than the one before it); `count`, `first`, `last` and `at` of texts too |
//! | of sends | what their callbacks told: `offsets(L)`, `partitions(L)`, `timestamps(L)`, `in_partition(L, n)`, `classes(L)` and `messages(L)` of exceptions; `blocked(L)` (ms that `send()` took), `waited(L)` (ms from `send()` to the callback), `sent_at(L)` and `told_at(L)` (the instants of both); `by(L, Client)` |
//! | of texts | `matching(T, "ok {n}")`: those that read so; `{n}` is any number, and in `said(L, "Exception: text")` too, the ids whose exception reads so |
//! | raw requests | by the name that keeps their answers, one number for each: `gap.error_code`, `gap.base_offset`, `gap.record_errors` of those that were answered, `gap.closed` (1: the connection was closed instead) |
//! | tables | of the toy database: `rows(table)` |
//! | instants | `dead_at(node)`, `serving_at(node)`, `fault_at(n)` (the file's n-th `[[fault]]`, from 1: when it began, or met its frame), `ended(Client)` |
//! | operators | `*` `//` (rounds down), `+` `-`, `==` `!=` `<` `<=` `>` `>=`, `not`, `and`, `or` |
//!
//! What has not been measured has no value, and neither has what is computed from it.

use serde::{Deserialize, Serialize};

use super::measures::Measures;

mod function;
mod parse;

pub use function::Function;
pub use parse::{Names, is_measured, parse};

/// What an expression is worth.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Value {
    /// Times are whole milliseconds since t = 0.
    Int(i64),
    Bool(bool),
    /// Ids of sends, offsets, sizes.
    List(Vec<i64>),
    Text(String),
    Texts(Vec<String>),
}

/// A checked expression: its operands have the types that its operators want.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expr {
    Value(Value),
    Ids(Ids),
    Texts(Texts),
    /// Of the batches of one topic, if it is named.
    Batch(BatchField, Option<String>),
    /// Of the batches of one topic, if it is named.
    Codecs(Option<String>),
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
    Thrown,
    OffsetMinusOne,
    Landed,
    Log,
    Lost,
    FailedButLanded,
    LandedTwice,
    Polled,
}

/// Measured lists of texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Texts {
    Printed,
    LandedKeys,
    LandedValues,
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
    pub const ALL: [(&'static str, Ids); 11] = [
        ("sent", Ids::Sent),
        ("ok", Ids::Ok),
        ("failed", Ids::Failed),
        ("thrown", Ids::Thrown),
        ("offset_minus_one", Ids::OffsetMinusOne),
        ("landed", Ids::Landed),
        ("log", Ids::Log),
        ("lost", Ids::Lost),
        ("failed_but_landed", Ids::FailedButLanded),
        ("landed_twice", Ids::LandedTwice),
        ("polled", Ids::Polled),
    ];
}

impl Texts {
    pub const ALL: [(&'static str, Texts); 3] =
        [("printed", Texts::Printed), ("landed_keys", Texts::LandedKeys), ("landed_values", Texts::LandedValues)];
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
            Expr::Texts(texts) => measures.texts(*texts).map(Value::Texts),
            Expr::Batch(field, topic) => measures.batches(*field, topic.as_deref()).map(Value::List),
            Expr::Codecs(topic) => measures.codecs(topic.as_deref()).map(Value::Texts),
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
            Expr::Call(function, arguments) => function::call(*function, arguments, measures),
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
            Value::Text(text) => return f.write_str(text),
            Value::Texts(texts) => return write!(f, "[{}]", texts.join(", ")),
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
    fn what_callbacks_told_can_be_counted_by_partition_and_read_as_text() {
        use crate::experiment::{Acked, Outcome, Sent, Thrown};
        use crate::node::Duration;
        let sent = |result| Sent {
            client: "P".into(),
            topic: "t".into(),
            value: "v".into(),
            sent_at: Duration::from_ms(5),
            returned_at: Some(Duration::from_ms(6)),
            threw: false,
            outcome: Some(Outcome { at: Duration::from_ms(8), result }),
        };
        let told = |partition| Ok(Acked { partition, offset: 9, timestamp: 7 });
        let thrown = Thrown { class: "TimeoutException".to_string(), message: "after 5 ms".to_string() };
        let measures = Measures {
            sends: [told(2), told(2), told(0), Err(thrown)].into_iter().map(sent).collect(),
            printed: vec!["sent 0".into(), "ok".into(), "sent 1".into()],
            ..Measures::default()
        };
        let names = Names::default();
        for law in [
            "partitions(ok) == [2, 2, 0] and runs(partitions(ok)) == [2, 1]",
            "count(in_partition(ok, 2)) == 2 and in_partition(sent, 0) == [2]",
            "min(all_but_last(runs(partitions(ok)))) == 2 and max(offsets(ok)) == 9",
            "agree(partitions(ok), [2, 0, 0]) == 2 and last(sent_at(ok)) == 5",
            "waited(ok) == [3, 3, 3] and blocked(failed) == [1] and first(told_at(ok)) == 8 ms",
            "classes(failed) == [\"TimeoutException\"] and first(messages(failed)) == \"after 5 ms\"",
            "matching(printed, \"sent {n}\") == [\"sent 0\", \"sent 1\"] and at(printed, 1) == \"ok\"",
            "count(printed) == 3 and count(thrown) == 0",
        ] {
            assert_eq!(parse(law, &names).unwrap().value(&measures), Some(Value::Bool(true)), "{law}");
        }
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
