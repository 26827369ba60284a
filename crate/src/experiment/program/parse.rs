//! Reads a program's text. Every error says line, column and what would be right.

use super::{Counts, Program, SendRecord, StartAt, Step, Template, What};
use crate::experiment::syntax::{Cursor, SyntaxError, did_you_mean, duration, is_word};
use crate::node::Duration;

mod raw;
mod rows;

/// The names of an experiment that a program may use.
#[derive(Debug, Clone, Default)]
pub struct Names<'a> {
    pub clients: Vec<&'a str>,
    /// Each with its number of partitions.
    pub topics: Vec<(&'a str, i32)>,
}

const WORDS: [&str; 14] = [
    "repeat",
    "send",
    "await send",
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
];

/// How often a `repeat` may go round: enough for any book, little enough for a page.
const TIMES_MAX: u64 = 1_000_000;

/// Reads the program of `client`.
pub fn parse(client: &str, text: &str, names: &Names<'_>) -> Result<Program, SyntaxError> {
    let mut parser = Parser {
        names,
        program: Program {
            client: client.to_string(),
            lines: Vec::new(),
            steps: Vec::new(),
            counters: Vec::new(),
            answers: Vec::new(),
            tables: Vec::new(),
        },
        open: Vec::new(),
        last: None,
    };
    for (number, line) in (1..).zip(text.lines()) {
        parser.line(number, line.trim_end())?;
    }
    let lines = parser.program.lines.len() as u32;
    parser.close_blocks(lines.max(1), 0)?;
    if parser.program.steps.is_empty() {
        return Err(SyntaxError { line: 1, column: 1, message: "a program needs at least one line".to_string() });
    }
    Ok(parser.program)
}

struct Parser<'a> {
    names: &'a Names<'a>,
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
        // A comment goes to the end of its line; nothing that is sent contains a `#`.
        let code = text.split('#').next().unwrap_or("").trim_end();
        let mut cursor = Cursor::new(number, code);
        if cursor.is_at_end() {
            return Ok(());
        }
        let indent = code.len() - code.trim_start().len();
        if indent % 2 == 1 || code[..indent].contains('\t') {
            return Err(cursor.error("indent by two spaces for each level"));
        }
        let depth = indent / 2;
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
        self.program.steps.push(Step { line: index, what });
        self.last = Some((depth, step));
        Ok(())
    }

    /// Ends the blocks that a line at this depth is no longer in.
    fn close_blocks(&mut self, number: u32, depth: usize) -> Result<(), SyntaxError> {
        while self.open.len() > depth {
            let Some(head) = self.open.pop() else { break };
            let end = self.program.steps.len() as u32;
            let Some(Step { line, what }) = self.program.steps.get_mut(head as usize) else { continue };
            let (What::Repeat { end: end_of_head, .. } | What::ForEachRecord { end: end_of_head }) = what else {
                continue;
            };
            if head + 1 == end {
                let message = "this block needs at least one indented line below it".to_string();
                return Err(SyntaxError { line: (*line + 1).min(number), column: 1, message });
            }
            *end_of_head = end;
            let line = *line;
            self.program.steps.push(Step { line, what: What::End { head } });
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
            "await" => Err(cursor.error("only a send can be awaited: expected `send(`")),
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

    fn send(&mut self, cursor: &mut Cursor<'_>, awaited: bool) -> Result<What, SyntaxError> {
        expect(cursor, "(")?;
        let topic = self.topic(cursor)?.0.to_string();
        expect(cursor, ",")?;
        let mut key = None;
        let mut value = self.template(cursor)?;
        if cursor.take(",") {
            key = Some(value);
            value = self.template(cursor)?;
        }
        expect(cursor, ")")?;
        Ok(What::Send(SendRecord { topic, key, value, awaited, on_ok: None, on_error: None }))
    }

    fn template(&self, cursor: &mut Cursor<'_>) -> Result<Template, SyntaxError> {
        let place = cursor.place();
        let word = cursor.run(|c| is_name(c) || c == '{' || c == '}');
        if word.is_empty() {
            return Err(cursor.error_at(place, "expected what to send, e.g. `v{i}`"));
        }
        let outside = word.replace("{i}", "");
        if outside != word && self.open.is_empty() {
            return Err(cursor.error_at(place, "`{i}` is the turn of a repeat, and this line is in none"));
        }
        let of_record =
            ["{key}", "{value}", "{offset}"].iter().fold(outside.clone(), |rest, field| rest.replace(field, ""));
        if of_record.contains(['{', '}']) {
            let message = format!(
                "`{word}`: the only braces are `{{i}}`, the turn of the repeat, and a record's `{{key}}`, `{{value}}` and `{{offset}}`"
            );
            return Err(cursor.error_at(place, message));
        }
        if of_record != outside && !self.is_for_each_record() {
            return Err(cursor.error_at(place, "a record's fields are known only below `for each record:`"));
        }
        Ok(Template(word.to_string()))
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

    /// `on ok: name += 1` and `on error: name += 1`, two spaces further in than their send.
    fn callback(&mut self, cursor: &mut Cursor<'_>, index: u32, depth: usize) -> Result<(), SyntaxError> {
        let place = cursor.place();
        cursor.take("on");
        let ok = match cursor.run(is_word) {
            "ok" => true,
            "error" => false,
            _ => return Err(cursor.error_at(place, "expected `on ok:` or `on error:`")),
        };
        expect(cursor, ":")?;
        let name_at = cursor.place();
        let name = cursor.run(is_word);
        if name.is_empty() {
            return Err(cursor.error_at(name_at, "expected a name to count in, e.g. `told_ok += 1`"));
        }
        if crate::experiment::expression::Ids::ALL.iter().any(|(measure, _)| *measure == name) {
            let message = format!("`{name}` is measured already: count in another name, e.g. `told_{name}`");
            return Err(cursor.error_at(name_at, message));
        }
        expect(cursor, "+=")?;
        expect(cursor, "1")?;
        if !cursor.is_at_end() {
            return Err(cursor.error("expected the end of the line"));
        }
        let counter = index_of(&mut self.program.counters, name);
        let send = self.last.filter(|(of, _)| depth == of + 1).and_then(|(_, step)| {
            match &mut self.program.steps.get_mut(step as usize)?.what {
                What::Send(send) => Some(send),
                _ => None,
            }
        });
        let Some(send) = send else {
            return Err(cursor.error_at(place, "this belongs right below a send, two spaces further in"));
        };
        let slot = if ok { &mut send.on_ok } else { &mut send.on_error };
        if slot.is_some() {
            return Err(cursor.error_at(place, "this send has such a callback already"));
        }
        *slot = Some(Counts { counter, line: index });
        Ok(())
    }
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

    fn read(text: &str) -> Result<Program, SyntaxError> {
        let names = Names { clients: vec!["AcksLab", "reader"], topics: vec![("a2.acks0", 1)] };
        parse("AcksLab", text, &names)
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
    fn what_is_wrong_is_said_with_its_place_and_what_would_be_right() {
        let all = "expected one of repeat, send, await send, flush, close, wait, assign, seek, poll, drain, for each record, \
                   db, produce_raw, on ok";
        let cases = [
            ("sned(a2.acks0, v)", format!("line 1, column 1: `sned` is no statement (did you mean `send`?): {all}")),
            ("send(a2.acks, v)", "line 1, column 6: there is no topic `a2.acks` (did you mean `a2.acks0`?)".into()),
            ("send(a2.acks0 v)", "line 1, column 15: expected `,`".into()),
            ("send(a2.acks0, )", "line 1, column 16: expected what to send, e.g. `v{i}`".into()),
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
            ("await flush", "line 1, column 7: only a send can be awaited: expected `send(`".into()),
            (
                "flush\n  on ok: told += 1",
                "line 2, column 3: this belongs right below a send, two spaces further in".into(),
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
            ("for every record:", "line 1, column 5: expected `for each record:`".into()),
        ];
        for (text, wanted) in cases {
            assert_eq!(read(text).expect_err(text).to_string(), wanted, "{text}");
        }
    }
}
