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
mod tests {
    use super::*;
    use crate::experiment::program::Template;

    fn read(text: &str) -> Result<Program, SyntaxError> {
        let names = Names { clients: vec!["AcksLab", "reader"], topics: vec![("a2.acks0", 1)] };
        parse("AcksLab", ClientKind::Producer, text, &names)
    }

    #[test]
    fn a_program_becomes_steps_that_know_their_lines() {
        let text = "# the chapter's\nrepeat 400 every 20 ms:\n  send(a2.acks0, v{i})\n    on ok: told_ok += 1\nclose";
        let program = read(text).unwrap();
        assert_eq!(program.lines.len(), 5);
        assert_eq!(program.counters, ["told_ok"]);
        let lines: Vec<u32> = program.steps.iter().map(|step| step.line).collect();
        assert_eq!(lines, [1, 2, 1, 4]);
        assert_eq!(program.steps[0].what, What::Repeat { times: 400, every: Duration::from_ms(20), end: 2 });
        assert_eq!(program.steps[2].what, What::End { head: 0 });
    }

    #[test]
    fn a_record_may_say_everything_that_kafkas_can() {
        let text = "send(a2.acks0, null, \"a # b\" of 9 bytes, partition 3, timestamp -5, header h=null) # that";
        let What::Send(send) = read(text).unwrap().steps.remove(0).what else { panic!("a send") };
        let value = send.value.unwrap();
        assert_eq!((send.key, send.partition, send.timestamp), (None, Some(3), Some(-5)));
        assert_eq!(
            (value.padded(value.text.0.clone()).as_str(), send.headers),
            ("a # b....", vec![("h".to_string(), None)])
        );
        let What::Send(send) = read("send(a2.acks0, partition)").unwrap().steps.remove(0).what else { panic!() };
        assert_eq!(send.value.unwrap().text.0, "partition");
    }

    #[test]
    fn what_a_callback_is_told_is_filled_in_once() {
        let template = Template("{class}: {message} in turn {i}".to_string());
        let words = [("class", "E".to_string()), ("message", "{class}".to_string())];
        assert_eq!(template.fill(7, &words), "E: {class} in turn 7");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_what_would_be_right() {
        let all = "expected one of repeat, send, await, print, construct, flush, close, wait, assign, seek, poll, drain, \
                   for each record, db, produce_raw, on ok, on error, on throw, partitioner:, interceptor";
        let cases = [
            ("sned(a2.acks0, v)", format!("line 1, column 1: `sned` is no statement (did you mean `send`?): {all}")),
            ("send(a2.acks, v)", "line 1, column 6: there is no topic `a2.acks` (did you mean `a2.acks0`?)".into()),
            ("send(a2.acks0 v)", "line 1, column 15: expected `,`".into()),
            (
                "send(a2.acks0, )",
                "line 1, column 16: expected what to send, e.g. `v{i}`, `\"two words\"` or `null`".into(),
            ),
            (
                "send(a2.acks0, v{i})",
                "line 1, column 16: `{i}` is the turn of a repeat, and this line is in none".into(),
            ),
            ("repeat 0:", "line 1, column 8: expected how often: a number from 1 to 1000000".into()),
            ("repeat 4 every 20:\n  flush", "line 1, column 16: expected a duration, e.g. `20 ms` or `3 s`".into()),
            ("repeat 4:\nflush", "line 1, column 1: this block needs at least one indented line below it".into()),
            ("flush\n flush", "line 2, column 2: indent by two spaces for each level".into()),
            (
                "flush\n  flush",
                "line 2, column 3: only the lines below a `repeat` or `for each record` are indented".into(),
            ),
            ("flush now", "line 1, column 7: `now` is too much: expected the end of the line".into()),
            ("wait for AcksLab", "line 1, column 10: a program cannot wait for itself".into()),
            ("wait for raeder", "line 1, column 10: there is no client `raeder` (did you mean `reader`?)".into()),
            (
                "await flush",
                "line 1, column 7: only a send can be awaited: expected `send(` or the end of the line".into(),
            ),
            ("await", "line 1, column 1: there is no send before this that could be awaited".into()),
            (
                "send(a2.acks0, k, v, partitoin 3)",
                "line 1, column 22: expected `partition 3`, `timestamp 1700000000000` or `header name=value` (did you \
                 mean `partition`?)"
                    .into(),
            ),
            ("send(a2.acks0, v, partition 3, partition 4)", "line 1, column 32: this stands here already".into()),
            ("send(a2.acks0, v, partition 99999999999)", "line 1, column 29: expected a whole number".into()),
            (
                "send(a2.acks0, v of 0 bytes)",
                "line 1, column 21: expected a size from 1 to 8388608, e.g. `1000 bytes`".into(),
            ),
            ("send(a2.acks0, \"v)", "line 1, column 16: this text has no end: expected `\"`".into()),
            (
                "print \"{class}\"",
                "line 1, column 7: `{class}`: the only braces here are `{i}`, the turn of the repeat".into(),
            ),
            (
                "construct produser(acks=1)",
                "line 1, column 11: expected what to construct: producer, consumer or admin".into(),
            ),
            ("construct producer(acks 1)", "line 1, column 20: expected a key and its value, e.g. `acks=1`".into()),
            (
                "construct producer(acks=1)\n  on throw: told += 1",
                "line 2, column 3: this belongs right below a send, two spaces further in".into(),
            ),
            (
                "flush\n  on ok: told += 1",
                "line 2, column 3: this belongs right below a send or a construct, two spaces further in".into(),
            ),
            (
                "send(a2.acks0, v)\n  on ok: ok += 1",
                "line 2, column 10: `ok` is measured already: count in another name, e.g. `told_ok`".into(),
            ),
            (
                "assign(a2.acks0-1, earliest)",
                "line 1, column 8: there is no partition `a2.acks0-1` (did you mean `a2.acks0-0`?)".into(),
            ),
            ("seek(a2.acks0-0, start)", "line 1, column 18: expected beginning, end or an offset".into()),
            ("", "line 1, column 1: a program needs at least one line".into()),
            (
                "gap = produce_raw(a2.acks0-0, {pdi: 7})",
                "line 1, column 32: a raw request has no field `pdi` (did you mean `pid`?)".into(),
            ),
            (
                "produce_raw(a2.acks0-0, {magic: 300})",
                "line 1, column 33: expected a whole number from -128 to 127, or `{i}`".into(),
            ),
            ("produce_raw(a2.acks0-0, {crc: bad})", "line 1, column 31: expected one of right, wrong".into()),
            (
                "gap = flush",
                "line 1, column 7: only the answer of a raw request can be kept: expected `produce_raw(`".into(),
            ),
            (
                "db.insert(orders, {key}, v)",
                "line 1, column 19: a record's fields are known only below `for each record:`".into(),
            ),
            ("db.inset(orders, k, v)", "line 1, column 4: `db` has no `inset` (did you mean `insert`?)".into()),
            ("partitioner:\n  key vip: 0\nflush", "line 1, column 1: the last rule of a partitioner is for all other keys, e.g. `others: hash 0, 1`".into()),
            ("partitioner:\n  others: 0\n  key vip: 1", "line 3, column 3: no rule can follow `others`".into()),
            ("partitioner:\n  others: none", "line 2, column 11: expected a partition's number".into()),
            ("flush\npartitioner:", "line 2, column 1: this belongs above the first statement".into()),
            ("interceptor I:\n  on sned: print \"x\"", "line 2, column 3: expected `on` one of configure, send, ack, error, close (did you mean `send`?)".into()),
            ("interceptor I:\n  on ack: prefix \"x\"", "line 2, column 11: expected `print \"…\"`, `throw \"…\"`, or on send `prefix \"…\"` or `header name=value`".into()),
            ("for every record:", "line 1, column 5: expected `for each record:`".into()),
        ];
        for (text, wanted) in cases {
            assert_eq!(read(text).expect_err(text).to_string(), wanted, "{text}");
        }
    }
}
