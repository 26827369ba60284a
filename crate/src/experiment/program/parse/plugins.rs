//! `partitioner:` and `interceptor Name:` with the lines below them.

use super::{Parser, expect, is_name};
use crate::experiment::ClientKind;
use crate::experiment::program::plugins::{Calls, Does, Hook, Interceptor, Key, PartitionerRules, To, When};
use crate::experiment::syntax::{Cursor, SyntaxError, did_you_mean, is_word};

const PRODUCERS: [(&str, When, &[&str]); 5] = [
    ("configure", When::Configure, &[]),
    ("send", When::Send, &["topic", "key", "value"]),
    ("ack", When::Ack, &["metadata", "topic", "partition", "offset"]),
    ("error", When::Error, &["metadata", "topic", "partition", "offset", "class", "message"]),
    ("close", When::Close, &["sends", "acks", "errors"]),
];

const CONSUMERS: [(&str, When, &[&str]); 3] =
    [("configure", When::Configure, &[]), ("consume", When::Consume, &["count"]), ("close", When::Close, &[])];

/// Which block the lines that are indented belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plugin {
    Partitioner,
    Interceptor,
}

impl Parser<'_> {
    /// Whether the line begins such a block, or belongs to one.
    pub(super) fn plugin(&mut self, cursor: &mut Cursor<'_>, line: u32, depth: usize) -> Result<bool, SyntaxError> {
        if depth > 0 {
            match self.plugin {
                Some(Plugin::Partitioner) => self.rule(cursor)?,
                Some(Plugin::Interceptor) => self.hook(cursor, line)?,
                None => return Ok(false),
            }
            return Ok(true);
        }
        let place = cursor.place();
        let is_new = if cursor.take_word("partitioner") {
            if self.program.partitioner.is_some() || self.kind != ClientKind::Producer {
                return Err(cursor.error_at(place, "a producer has one `partitioner:`, and other clients have none"));
            }
            self.program.partitioner = Some(PartitionerRules { rules: Vec::new(), line });
            Plugin::Partitioner
        } else if cursor.take_word("interceptor") {
            let name_at = cursor.place();
            let name = cursor.run(is_word).to_string();
            if name.is_empty() || self.program.interceptors.iter().any(|other| other.name == name) {
                return Err(cursor.error_at(name_at, "an interceptor needs a name of its own, e.g. `Prefix`"));
            }
            let (hooks, calls) = (Vec::new(), Calls::default());
            self.program.interceptors.push(Interceptor { name, line, hooks, calls });
            Plugin::Interceptor
        } else {
            self.plugin = None;
            return Ok(false);
        };
        if !self.program.steps.is_empty() {
            return Err(cursor.error_at(place, "this belongs above the first statement"));
        }
        self.plugin = Some(is_new);
        expect(cursor, ":").map(|()| true)
    }

    /// `key vip: 0`, `others: hash 1, 2`.
    fn rule(&mut self, cursor: &mut Cursor<'_>) -> Result<(), SyntaxError> {
        let place = cursor.place();
        let rules = self.program.partitioner.as_ref().map_or(&[][..], |partitioner| &partitioner.rules);
        if rules.iter().any(|(key, _)| *key == Key::Any) {
            return Err(cursor.error_at(place, "no rule can follow `others`"));
        }
        let key = match cursor.run(is_word) {
            "others" => Key::Any,
            "key" => match cursor.run(is_name) {
                "null" => Key::Null,
                start if cursor.take("*") => Key::BeginsWith(start.to_string()),
                key => Key::Is(key.to_string()),
            },
            _ => return Err(cursor.error_at(place, "expected `key …:` or `others:`")),
        };
        expect(cursor, ":")?;
        let to = match cursor.take_word("hash") {
            false => To::Partition(partition(cursor)?),
            true => {
                let mut over = vec![partition(cursor)?];
                while cursor.take(",") {
                    over.push(partition(cursor)?);
                }
                To::Hash(over)
            }
        };
        if let Some(partitioner) = &mut self.program.partitioner {
            partitioner.rules.push((key, to));
        }
        Ok(())
    }

    /// `on send: prefix "x-"`.
    fn hook(&mut self, cursor: &mut Cursor<'_>, line: u32) -> Result<(), SyntaxError> {
        let place = cursor.place();
        let known: &[(&str, When, &[&str])] = match self.kind {
            ClientKind::Consumer => &CONSUMERS,
            _ => &PRODUCERS,
        };
        let all = || known.iter().map(|(name, ..)| *name);
        cursor.take_word("on");
        let word = cursor.run(is_word);
        let Some((_, when, words)) = known.iter().find(|(name, ..)| *name == word) else {
            let near = did_you_mean(word, all());
            let all = all().collect::<Vec<_>>().join(", ");
            return Err(cursor.error_at(place, format!("expected `on` one of {all}{near}")));
        };
        expect(cursor, ":")?;
        let place = cursor.place();
        let does = match (cursor.run(is_word), when) {
            ("print", _) => Does::Print(self.text_with(cursor, words)?),
            ("throw", When::Send | When::Ack | When::Error | When::Consume) => {
                Does::Throw(self.text_with(cursor, &[])?.0)
            }
            ("prefix", When::Send) => Does::Prefix(self.text_with(cursor, &[])?.0),
            ("header", When::Send) => {
                let name = cursor.run(is_name).to_string();
                expect(cursor, "=")?;
                Does::Header(name, cursor.run(is_name).to_string())
            }
            _ => {
                let message = "expected `print \"…\"`, `throw \"…\"`, or on send `prefix \"…\"` or `header name=value`";
                return Err(cursor.error_at(place, message));
            }
        };
        if let Some(interceptor) = self.program.interceptors.last_mut() {
            interceptor.hooks.push(Hook { when: *when, does, line });
        }
        Ok(())
    }

    /// A partitioner needs a last rule for every key.
    pub(super) fn check_partitioner(&self) -> Result<(), SyntaxError> {
        let Some(partitioner) = &self.program.partitioner else { return Ok(()) };
        if partitioner.rules.last().is_some_and(|(key, _)| *key == Key::Any) {
            return Ok(());
        }
        let message = "the last rule of a partitioner is for all other keys, e.g. `others: hash 0, 1`".to_string();
        Err(SyntaxError { line: partitioner.line + 1, column: 1, message })
    }
}

fn partition(cursor: &mut Cursor<'_>) -> Result<i32, SyntaxError> {
    let place = cursor.place();
    let number = cursor.run(|c| c == '-' || c.is_ascii_digit()).parse();
    number.map_err(|_| cursor.error_at(place, "expected a partition's number"))
}
