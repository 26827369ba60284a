//! Client programs: a small closed grammar of lines, shown to the reader as code.
//!
//! ```text
//! # a comment
//! repeat 400 every 20 ms:                   the lines below, indented, 400 times; {i} counts them from 0. The next
//!   send(a2.acks0, v{i})                    turn starts 20 ms after the last line of this one returned
//!     on ok: told_ok += 1                   the callback: counts in a name of your own
//!     on error: told_failed += 1
//! repeat 3:                                 without a pause
//!   await send(hello, k{i}, v{i})           topic, key, value; waits for the callback
//! flush                                     waits until every record has had its callback
//! close                                     closes the client
//! wait 500 ms                               does nothing for a while
//! wait for AcksLab                          until that client's program has ended
//! assign(a2.acks0-0, earliest)              a consumer's partitions: earliest, latest or an offset
//! seek(a2.acks0-0, 17)                      to an offset, beginning or end
//! poll 500 ms                               returns records, or none after that time
//! drain(a2.acks0)                           reads the topic from its beginning to its end offset: what has landed
//! ```
//!
//! Durations are a whole number and `us`, `ms` or `s`. A line does one thing; nesting is two spaces. What is sent is
//! one word of letters, digits and `. _ - { }` each; a value is how a drained record is recognised, so it should
//! differ from send to send.

use serde::{Deserialize, Serialize};

use crate::node::Duration;

mod java;
mod parse;

pub use java::JavaLine;
pub use parse::{Names, parse};

/// A client's program: its lines as the reader sees them, and what they do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Program {
    /// Whose program it is.
    pub client: String,
    pub lines: Vec<String>,
    pub steps: Vec<Step>,
    /// The names that `on ok` and `on error` count in, in order of first use.
    pub counters: Vec<String>,
}

/// One statement. A `repeat` is a step at its head and one at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Index into [`Program::lines`].
    pub line: u32,
    pub what: What,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// `end` is the index of the [`What::End`] that belongs to it.
    Repeat {
        times: u64,
        every: Duration,
        end: u32,
    },
    /// `head` is the index of its [`What::Repeat`].
    End {
        head: u32,
    },
    Send(SendRecord),
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
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendRecord {
    pub topic: String,
    pub key: Option<Template>,
    pub value: Template,
    /// Whether the program waits for the callback.
    pub awaited: bool,
    /// Indices into [`Program::counters`], with the line that counts.
    pub on_ok: Option<Counts>,
    pub on_error: Option<Counts>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub counter: u32,
    pub line: u32,
}

/// Text in which `{i}` stands for the turn of the innermost `repeat`, from 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Template(pub String);

impl Template {
    pub fn fill(&self, turn: u64) -> String {
        self.0.replace("{i}", &turn.to_string())
    }
}

/// Where a consumer starts in a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum StartAt {
    Beginning,
    End,
    Offset(i64),
}
