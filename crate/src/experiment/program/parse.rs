//! Reads a program's text. Every error says line, column and what would be right.

use super::{On, Program, StartAt, Step, What};
use crate::experiment::ClientKind;
use crate::experiment::syntax::{Cursor, SyntaxError, did_you_mean, duration, is_word};
use crate::node::Duration;
use crate::ordered::BTreeMap;

mod callback;
mod plugins;
mod raw;
mod record;
mod rows;

use plugins::Plugin;

/// The names of an experiment that a program may use.
#[derive(Debug, Clone, Default)]
pub struct Names<'a> {
    pub clients: Vec<&'a str>,
    /// Each with its number of partitions.
    pub topics: Vec<(&'a str, i32)>,
}

/// What a line can begin with.
const WORDS: [&str; 20] = [
    "repeat",
    "send",
    "await",
    "print",
    "construct",
    "flush",
    "close",
    "wait",
    "assign",
    "seek",
    "poll",
    "drain",
    "for each record",
    "db",
    "produce_raw",
    "on ok",
    "on error",
    "on throw",
    "partitioner:",
    "interceptor",
];

/// How often a `repeat` may go round: enough for any book, little enough for a page.
const TIMES_MAX: u64 = 1_000_000;

/// Reads the program of `client`.
pub fn parse(client: &str, kind: ClientKind, text: &str, names: &Names<'_>) -> Result<Program, SyntaxError> {
    let mut parser = Parser {
        names,
        kind,
        plugin: None,
        program: Program {
            client: client.to_string(),
            lines: Vec::new(),
            steps: Vec::new(),
            counters: Vec::new(),
            answers: Vec::new(),
            tables: Vec::new(),
            partitioner: None,
            interceptors: Vec::new(),
        },
        open: Vec::new(),
        last: None,
    };
    for (number, line) in (1..).zip(text.lines()) {
        parser.line(number, line.trim_end())?;
    }
    let lines = parser.program.lines.len() as u32;
    parser.close_blocks(lines.max(1), 0)?;
    parser.check_partitioner()?;
    if parser.program.steps.is_empty() {
        return Err(SyntaxError { line: 1, column: 1, message: "a program needs at least one line".to_string() });
    }
    Ok(parser.program)
}

struct Parser<'a> {
    names: &'a Names<'a>,
    /// What the client is.
    kind: ClientKind,
    /// The block of a partitioner or interceptor that the line before belongs to.
    plugin: Option<Plugin>,
    program: Program,
    /// The steps of the blocks that are open, outermost first; a line's depth is how many there are.
    open: Vec<u32>,
    /// Depth and step of the line before, for `on ok`, which belongs to a send.
    last: Option<(usize, u32)>,
}

impl<'a> Parser<'a> {
    fn line(&mut self, number: u32, text: &str) -> Result<(), SyntaxError> {
        let index = self.program.lines.len() as u32;
        self.program.lines.push(text.to_string());
        let code = without_comment(text);
        let mut cursor = Cursor::new(number, code);
        if cursor.is_at_end() {
            return Ok(());
        }
        let indent = code.len() - code.trim_start().len();
        if indent % 2 == 1 || code[..indent].contains('\t') {
            return Err(cursor.error("indent by two spaces for each level"));
        }
        let depth = indent / 2;
        if self.plugin(&mut cursor, index, depth)? {
            return match cursor.is_at_end() {
                true => Ok(()),
                false => Err(cursor.error("expected the end of the line")),
            };
        }
        if cursor.rest().starts_with("on ") {
            return self.callback(&mut cursor, index, depth);
        }
        if depth > self.open.len() {
            return Err(cursor.error("only the lines below a `repeat` or `for each record` are indented"));
        }
        self.close_blocks(number, depth)?;
        let step = self.program.steps.len() as u32;
        let what = self.statement(&mut cursor)?;
        if !cursor.is_at_end() {
            let rest = cursor.rest().to_string();
            return Err(cursor.error(format!("`{rest}` is too much: expected the end of the line")));
        }
        if matches!(what, What::Repeat { .. } | What::ForEachRecord { .. }) {
            self.open.push(step);
        }
        self.program.steps.push(Step { line: index, what, callbacks: Vec::new() });
        self.last = Some((depth, step));
        Ok(())
    }

    /// Ends the blocks that a line at this depth is no longer in.
    fn close_blocks(&mut self, number: u32, depth: usize) -> Result<(), SyntaxError> {
        while self.open.len() > depth {
            let Some(head) = self.open.pop() else { break };
            let end = self.program.steps.len() as u32;
            let Some(Step { line, what, .. }) = self.program.steps.get_mut(head as usize) else { continue };
            let (What::Repeat { end: end_of_head, .. } | What::ForEachRecord { end: end_of_head }) = what else {
                continue;
            };
            if head + 1 == end {
                let message = "this block needs at least one indented line below it".to_string();
                return Err(SyntaxError { line: (*line + 1).min(number), column: 1, message });
            }
            *end_of_head = end;
            let line = *line;
            self.program.steps.push(Step { line, what: What::End { head }, callbacks: Vec::new() });
        }
        Ok(())
    }

    fn statement(&mut self, cursor: &mut Cursor<'_>) -> Result<What, SyntaxError> {
        let place = cursor.place();
        let word = cursor.run(is_word);
        if !word.is_empty() && cursor.take("=") {
            return self.kept_answer(cursor, place, word);
        }
        match word {
            "repeat" => self.repeat(cursor),
            "for" => self.for_each_record(cursor),
            "db" => self.row(cursor),
            "produce_raw" => self.produce_raw(cursor, None),
            "send" => self.send(cursor, false),
            "await" if cursor.take_word("send") => self.send(cursor, true),
            "await" if cursor.is_at_end() => match self.has_sent() {
                true => Ok(What::Await),
                false => Err(cursor.error_at(place, "there is no send before this that could be awaited")),
            },
            "await" => Err(cursor.error("only a send can be awaited: expected `send(` or the end of the line")),
            "print" if cursor.take_word("config") => {
                let place = cursor.place();
                let key = cursor.run(is_name).to_string();
                match key.is_empty() {
                    true => Err(cursor.error_at(place, "expected a configuration key, e.g. `linger.ms`")),
                    false => Ok(What::PrintConfig { key }),
                }
            }
            "print" => Ok(What::Print(self.text(cursor)?)),
            "construct" => self.construct(cursor),
            "flush" => Ok(What::Flush),
            "close" => Ok(What::Close),
            "wait" if cursor.take_word("for") => {
                let place = cursor.place();
                let client = cursor.run(is_name);
                if !self.names.clients.contains(&client) {
                    let near = did_you_mean(client, self.names.clients.iter().copied());
                    return Err(cursor.error_at(place, format!("there is no client `{client}`{near}")));
                }
                if client == self.program.client {
                    return Err(cursor.error_at(place, "a program cannot wait for itself"));
                }
                Ok(What::WaitFor { client: client.to_string() })
            }
            "wait" => Ok(What::Wait(span(cursor)?)),
            "poll" => Ok(What::Poll(span(cursor)?)),
            "assign" => {
                let (topic, partition, from) = self.partition_and_place(cursor, &["earliest", "latest"])?;
                Ok(What::Assign { topic, partition, from })
            }
            "seek" => {
                let (topic, partition, to) = self.partition_and_place(cursor, &["beginning", "end"])?;
                Ok(What::Seek { topic, partition, to })
            }
            "drain" => {
                expect(cursor, "(")?;
                let topic = self.topic(cursor)?.0.to_string();
                expect(cursor, ")")?;
                Ok(What::Drain { topic })
            }
            other => {
                let near = did_you_mean(other, WORDS);
                let message = format!("`{other}` is no statement{near}: expected one of {}", WORDS.join(", "));
                Err(cursor.error_at(place, message))
            }
        }
    }

    fn repeat(&mut self, cursor: &mut Cursor<'_>) -> Result<What, SyntaxError> {
        let place = cursor.place();
        let digits = cursor.run(is_word);
        let times = digits.parse().ok().filter(|times| (1..=TIMES_MAX).contains(times));
        let Some(times) = times else {
            return Err(cursor.error_at(place, format!("expected how often: a number from 1 to {TIMES_MAX}")));
        };
        let every = if cursor.take_word("every") { span(cursor)? } else { Duration::ZERO };
        expect(cursor, ":")?;
        Ok(What::Repeat { times, every, end: 0 })
    }

    fn has_sent(&self) -> bool {
        self.program.steps.iter().any(|step| matches!(step.what, What::Send(_)))
    }

    /// `construct producer(acks=1, client.id="a b")`.
    fn construct(&mut self, cursor: &mut Cursor<'_>) -> Result<What, SyntaxError> {
        let place = cursor.place();
        let kind = match cursor.run(is_word) {
            "producer" => ClientKind::Producer,
            "consumer" => ClientKind::Consumer,
            "admin" => ClientKind::Admin,
            _ => return Err(cursor.error_at(place, "expected what to construct: producer, consumer or admin")),
        };
        expect(cursor, "(")?;
        let mut config = BTreeMap::new();
        while !cursor.take(")") {
            if !config.is_empty() && !cursor.take(",") {
                return Err(cursor.error("expected `,` or `)`"));
            }
            let place = cursor.place();
            let key = cursor.run(is_name).to_string();
            if key.is_empty() || !cursor.take("=") {
                return Err(cursor.error_at(place, "expected a key and its value, e.g. `acks=1`"));
            }
            let value = match cursor.take("\"") {
                true => Some(cursor.quoted().ok_or_else(|| cursor.error(NO_END))?.to_string()),
                false => Some(cursor.run(|c| is_name(c) || c == ':').to_string()).filter(|value| value != "null"),
            };
            if config.insert(key, value).is_some() {
                return Err(cursor.error_at(place, "this key stands here already"));
            }
        }
        Ok(What::Construct { kind, config })
    }

    fn topic(&self, cursor: &mut Cursor<'_>) -> Result<(&'a str, i32), SyntaxError> {
        let place = cursor.place();
        let name = cursor.run(is_name);
        self.names.topics.iter().copied().find(|(topic, _)| *topic == name).ok_or_else(|| {
            let near = did_you_mean(name, self.names.topics.iter().map(|(topic, _)| *topic));
            cursor.error_at(place, format!("there is no topic `{name}`{near}"))
        })
    }

    /// `topic-0`.
    fn partition(&self, cursor: &mut Cursor<'_>) -> Result<(String, i32), SyntaxError> {
        let place = cursor.place();
        let name = cursor.run(is_name);
        let found = name.rsplit_once('-').and_then(|(topic, partition)| {
            let partition: i32 = partition.parse().ok()?;
            let known = self.names.topics.iter().any(|(name, n)| *name == topic && (0..*n).contains(&partition));
            known.then(|| (topic.to_string(), partition))
        });
        found.ok_or_else(|| {
            let all: Vec<String> = self.names.topics.iter().map(|(topic, _)| format!("{topic}-0")).collect();
            let near = did_you_mean(name, all.iter().map(String::as_str));
            cursor.error_at(place, format!("there is no partition `{name}`{near}"))
        })
    }

    /// `(topic-0, earliest)`.
    fn partition_and_place(
        &self,
        cursor: &mut Cursor<'_>,
        words: &[&str; 2],
    ) -> Result<(String, i32, StartAt), SyntaxError> {
        expect(cursor, "(")?;
        let (topic, partition) = self.partition(cursor)?;
        expect(cursor, ",")?;
        let place = cursor.place();
        let start = match cursor.run(is_word) {
            word if word == words[0] => StartAt::Beginning,
            word if word == words[1] => StartAt::End,
            digits => match digits.parse() {
                Ok(offset) => StartAt::Offset(offset),
                Err(_) => {
                    let message = format!("expected {}, {} or an offset", words[0], words[1]);
                    return Err(cursor.error_at(place, message));
                }
            },
        };
        expect(cursor, ")")?;
        Ok((topic, partition, start))
    }

    /// The statement right above an `on` line, if one can be answered so.
    fn answered(&mut self, on: On, depth: usize) -> Option<&mut Step> {
        let (of, step) = self.last?;
        let step = self.program.steps.get_mut(step as usize)?;
        let fits = match step.what {
            What::Send(_) => true,
            What::Construct { .. } => on != On::Throw,
            _ => false,
        };
        (fits && depth == of + 1).then_some(step)
    }
}

/// A text in quotes that goes to the end of its line.
const NO_END: &str = "this text has no end: expected `\"`";

/// A comment goes from a `#` outside quotes to the end of its line.
fn without_comment(text: &str) -> &str {
    let mut quoted = false;
    let comment = text.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        *c == '#' && !quoted
    });
    text[..comment.map_or(text.len(), |(at, _)| at)].trim_end()
}

/// Where `name` is in `names`, at their end if it is new.
fn index_of(names: &mut Vec<String>, name: &str) -> u32 {
    let at = names.iter().position(|known| known == name).unwrap_or(names.len());
    if at == names.len() {
        names.push(name.to_string());
    }
    at as u32
}

/// Characters of Kafka's topic names and client ids.
fn is_name(c: char) -> bool {
    is_word(c) || c == '.' || c == '-'
}

fn expect(cursor: &mut Cursor<'_>, token: &str) -> Result<(), SyntaxError> {
    if cursor.take(token) { Ok(()) } else { Err(cursor.error(format!("expected `{token}`"))) }
}

fn span(cursor: &mut Cursor<'_>) -> Result<Duration, SyntaxError> {
    let place = cursor.place();
    let number = cursor.run(|c| c.is_ascii_digit() || c == '.');
    let unit = cursor.run(|c| c.is_ascii_alphabetic());
    duration(&format!("{number} {unit}"))
        .ok_or_else(|| cursor.error_at(place, "expected a duration, e.g. `20 ms` or `3 s`"))
}

#[cfg(test)]
mod tests;
