//! Client programs: a small closed grammar of lines, shown to the reader as code.
//!
//! ```text
//! # a comment
//! repeat 400 every 20 ms:                   the lines below, indented, 400 times; {i} counts them from 0. The next
//!   send(a2.acks0, v{i})                    turn starts 20 ms after the last line of this one returned
//!     on ok: told_ok += 1                   the callback: counts in a name of your own
//!     on error: told_failed += 1
//! repeat 3:                                 without a pause
//!   send(hello, k{i}, v{i})                 topic, key, value
//!   print "sent {i}"                        a line of output, measured as `printed`
//!   await                                   waits for the callback of the last send, as its future's get() does
//! await send(hello, v3)                     both in one line
//! send(t, k, "two words", partition 2, timestamp 1700000000000, header trace=a-1, header empty=null)
//! send(t, null, v{i} of 1000 bytes)         no key; a value filled up with dots to so many bytes
//! send(t, "k{i % 10}", v{i}, timestamp 1700000000000 + {i})   what is left of {i} divided by 10; a millisecond more each turn
//!   on ok: print "{metadata} is in partition {partition} at offset {offset}, {timestamp}"
//!   on error: print "{class}: {message}"
//!   on throw: print "{class}"               send() itself threw: there is no callback
//! construct producer(acks=1, enable.idempotence=true)   makes a client and closes it; `bootstrap.servers=null` unsets
//!   on ok: print "constructed"
//!   on error: print "{class}: {message} {cause}"
//! print config linger.ms                    `linger.ms = 5`: this client's own setting, given or by default
//! flush                                     waits until every record has had its callback
//! close                                     closes the client
//! wait 500 ms                               does nothing for a while
//! wait for AcksLab                          until that client's program has ended
//! assign(a2.acks0-0, earliest)              a consumer's partitions: earliest, latest or an offset
//! seek(a2.acks0-0, 17)                      to an offset, beginning or end
//! poll 500 ms                               returns records, or none after that time
//! drain(a2.acks0)                           reads the topic from its beginning to its end offset: what has landed
//! for each record:                          the lines below, for each record that the last poll or drain returned
//!   db.insert(orders, {key}, {value})         a row more in a toy database's table: its key and what it says
//!   db.insert_once(orders, {key}, {value})    the same, unless there is a row of this key
//!   db.upsert(orders, {key}, {value})         the row of this key, made or replaced
//! gap = produce_raw(t-0, {pid: 7, sequence: 2})   a raw client's request, once and as it stands; its answer is kept as `gap`
//! ```
//!
//! Durations are a whole number and `us`, `ms` or `s`. A line does one thing; nesting is two spaces, and what stands
//! below a send or a `construct` may be as many `on` lines as it needs. A key, value or header is `null`, one word of
//! letters, digits and `. _ - { }`, or a text in double quotes. A value is how a drained record is recognised (a null
//! one by its key), so it should differ from send to send. What an exception would end in Java ends the program here:
//! an awaited send that fails without `on error`, a send() that throws without `on throw`, a `construct` without
//! `on error`. A partitioner and interceptors of the client stand above its first statement: [`plugins`]. For each record `{key}`,
//! `{value}` and `{offset}` are the record's.
//!
//! What `produce_raw` does not mention is as a producer without idempotence writes it: one record, acks=all, Produce
//! version 11. A number is a number, or `{i}`:
//!
//! | field | what |
//! |---|---|
//! | `version`, `acks` | of the request; from version 13 on topics go by id, and this client knows none |
//! | `topic`, `partition` | another than the one in front, which may not exist |
//! | `pid`, `epoch`, `sequence` | the producer's; with a `pid` the others begin at 0 |
//! | `count`, `key: none`, `size` | so many records; without keys; one value so long that the batch has so many bytes |
//! | `timestamp`, `ahead_ms` | of the records; so far ahead of the clock |
//! | `base_offset`, `leader_epoch`, `magic`, `attributes`, `last_offset_delta`, `max_timestamp`, `records_count` | the batch's header; attributes are codec 0–7, 8 LogAppendTime, 16 transactional, 32 control |
//! | `length_plus`, `crc: wrong` | a length that is not the batch's, a checksum that is not its |
//! | `records` | instead of the batch `null`, `none` (no bytes), the batch `twice`, `cut` by a byte, or with `rubbish_behind` |

use serde::{Deserialize, Serialize};

use crate::client::{ConsumerInterceptor, ConsumerPlugins, Partitioner, ProducerInterceptor, ProducerPlugins};
use crate::experiment::ClientKind;
use crate::node::{ConsumerRecord, Duration, RawField};
use crate::ordered::BTreeMap;

mod java;
mod parse;
pub mod plugins;

pub use java::JavaLine;
pub use parse::{Names, parse};
use plugins::{Interceptor, PartitionerRules};

/// A client's program: its lines as the reader sees them, and what they do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Whose program it is.
    pub client: String,
    pub lines: Vec<String>,
    pub steps: Vec<Step>,
    /// The names that callbacks count in, in order of first use.
    pub counters: Vec<String>,
    /// The names under which answers to raw requests are kept, in order of first use.
    pub answers: Vec<String>,
    /// The tables of the toy database, in order of first use.
    pub tables: Vec<String>,
    /// What it adds to its client.
    pub partitioner: Option<PartitionerRules>,
    pub interceptors: Vec<Interceptor>,
}

impl Program {
    /// What a producer is made with.
    pub fn producer_plugins(&self) -> ProducerPlugins {
        let interceptor = |one: &Interceptor| Box::new(one.clone()) as Box<dyn ProducerInterceptor>;
        ProducerPlugins {
            partitioner: self.partitioner.as_ref().map(Partitioner::boxed),
            interceptors: self.interceptors.iter().map(interceptor).collect(),
        }
    }

    /// What a consumer is made with.
    pub fn consumer_plugins(&self) -> ConsumerPlugins {
        let interceptor = |one: &Interceptor| Box::new(one.clone()) as Box<dyn ConsumerInterceptor>;
        ConsumerPlugins { interceptors: self.interceptors.iter().map(interceptor).collect() }
    }
}

/// One statement. A `repeat` or `for each record` is a step at its head and one at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Index into [`Program::lines`].
    pub line: u32,
    pub what: What,
    /// The `on` lines below it.
    pub callbacks: Vec<Callback>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// `end` is the index of the [`What::End`] that belongs to it.
    Repeat {
        times: u64,
        every: Duration,
        end: u32,
    },
    /// As [`What::Repeat`], once for each record that came last.
    ForEachRecord {
        end: u32,
    },
    /// `head` is the index of its [`What::Repeat`] or [`What::ForEachRecord`].
    End {
        head: u32,
    },
    Send(SendRecord),
    /// Waits for the callback of the last send.
    Await,
    Print(Template),
    /// Prints one of the client's own settings.
    PrintConfig {
        key: String,
    },
    /// Makes a client of these keys and closes it. A key without a value is not set.
    Construct {
        kind: ClientKind,
        config: BTreeMap<String, Option<String>>,
    },
    Flush,
    Close,
    Wait(Duration),
    WaitFor {
        client: String,
    },
    Assign {
        topic: String,
        partition: i32,
        from: StartAt,
    },
    Seek {
        topic: String,
        partition: i32,
        to: StartAt,
    },
    Poll(Duration),
    Drain {
        topic: String,
    },
    ProduceRaw(RawSend),
    Row(Row),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendRecord {
    pub topic: String,
    pub key: Option<Datum>,
    pub value: Option<Datum>,
    /// As written: it may be one that does not exist.
    pub partition: Option<i32>,
    /// Milliseconds since the epoch.
    pub timestamp: Option<i64>,
    /// Whether each turn's is a millisecond after the last one's.
    pub timestamp_counts: bool,
    pub headers: Vec<(String, Option<Datum>)>,
    /// Whether the program waits for the callback.
    pub awaited: bool,
}

/// A key, value or header.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datum {
    pub text: Template,
    /// Filled up with dots to so many bytes.
    pub size: Option<u32>,
}

impl Datum {
    /// The text, filled up.
    pub fn padded(&self, mut text: String) -> String {
        let size = self.size.map_or(0, |size| size as usize);
        text.extend(std::iter::repeat_n('.', size.saturating_sub(text.len())));
        text
    }
}

/// An `on` line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Callback {
    pub on: On,
    pub action: Action,
    pub line: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum On {
    Ok,
    Error,
    /// `send()` itself threw.
    Throw,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// Index into [`Program::counters`].
    Count(u32),
    Print(Template),
}

/// A raw client's request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawSend {
    /// One of the experiment's.
    pub topic: String,
    pub partition: i32,
    /// Any topic, which the request names instead.
    pub instead: Option<String>,
    pub fields: Vec<(RawField, Number)>,
    /// Index into [`Program::answers`].
    pub answer: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Number {
    Is(i64),
    /// `{i}`.
    Turn,
}

/// A statement of the toy database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub how: Insert,
    /// Index into [`Program::tables`].
    pub table: u32,
    pub key: Template,
    pub value: Template,
}

/// What happens to a row whose key is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Insert {
    /// There is another beside it: the table has no unique key.
    Always,
    /// It stays as it is.
    Once,
    /// It is replaced.
    Upsert,
}

/// Text in which `{i}` stands for the turn of the innermost block, from 0, `{i % 10}` for what is left of it divided by
/// 10, and other words for those of the record that it is run for, or for what a callback is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template(pub String);

/// What a record's fields are called.
pub(super) const RECORD: [&str; 3] = ["key", "value", "offset"];

impl Template {
    /// What the words stand for is not looked into again.
    pub fn fill(&self, turn: u64, words: &[(&str, String)]) -> String {
        let mut filled = String::new();
        let mut rest = self.0.as_str();
        while let Some((before, word, after)) = next_word(rest) {
            filled += before;
            match words.iter().find(|(name, _)| *name == word) {
                Some((_, told)) => filled += told,
                None => filled += &modulus(word).map_or(turn, |modulus| turn % modulus).to_string(),
            }
            rest = after;
        }
        filled + rest
    }

    /// With what a record has; no key reads as none.
    pub fn fill_for(&self, turn: u64, record: &ConsumerRecord) -> String {
        let text =
            |bytes: &Option<bytes::Bytes>| String::from_utf8_lossy(bytes.as_deref().unwrap_or_default()).into_owned();
        let [key, value, offset] = RECORD;
        let words = [(key, text(&record.key)), (value, text(&record.value)), (offset, record.offset.to_string())];
        self.fill(turn, &words)
    }
}

/// The 10 of `i % 10`.
fn modulus(word: &str) -> Option<u64> {
    word.strip_prefix("i % ")?.parse().ok().filter(|modulus| *modulus > 0)
}

/// The text before the next `{word}`, the word, and the text after it.
fn next_word(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('{')?;
    let (word, after) = rest.split_once('}')?;
    Some((before, word, after))
}

/// Where a consumer starts in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartAt {
    Beginning,
    End,
    Offset(i64),
}
