//! `send(topic, key, value, …)`: the record, with what else it may say.

use super::{NO_END, Parser, expect, is_name};
use crate::experiment::program::{Datum, RECORD, SendRecord, Template, What, modulus, next_word};
use crate::experiment::syntax::{Cursor, SyntaxError, did_you_mean, is_word};

/// What may follow key and value, each with how it goes on.
const EXTRAS: [&str; 3] = ["partition", "timestamp", "header"];

/// As large as a record of Kafka's can be told to be in a book: eight times the default max.request.size.
const SIZE_MAX: u32 = 8 << 20;

impl Parser<'_> {
    pub(super) fn send(&mut self, cursor: &mut Cursor<'_>, awaited: bool) -> Result<What, SyntaxError> {
        expect(cursor, "(")?;
        let topic = self.topic(cursor)?.0.to_string();
        expect(cursor, ",")?;
        let (key, value) = (None, self.datum(cursor)?);
        let (partition, timestamp, headers) = (None, None, Vec::new());
        let timestamp_counts = false;
        let mut record = SendRecord { topic, key, value, partition, timestamp, timestamp_counts, headers, awaited };
        let mut has_key = false;
        while cursor.take(",") {
            let mut ahead = cursor.clone();
            let place = ahead.place();
            let word = ahead.run(is_word);
            // `partition` alone is a value like any other.
            match word {
                "partition" if is_number(&ahead) => {
                    *cursor = ahead;
                    record.partition = Some(number(cursor, record.partition.is_some(), place)?);
                }
                "timestamp" if is_number(&ahead) => {
                    *cursor = ahead;
                    record.timestamp = Some(number(cursor, record.timestamp.is_some(), place)?);
                    if cursor.take("+") {
                        let place = cursor.place();
                        if !cursor.take("{i}") || self.open.is_empty() {
                            let wanted = "expected `{i}`, the turn of the repeat that this line is in";
                            return Err(cursor.error_at(place, wanted));
                        }
                        record.timestamp_counts = true;
                    }
                }
                "header" if ahead.rest().starts_with(' ') => {
                    *cursor = ahead;
                    let name = cursor.run(is_name).to_string();
                    if name.is_empty() || !cursor.take("=") {
                        return Err(cursor.error("expected a header's name and value, e.g. `trace=a-1`"));
                    }
                    record.headers.push((name, self.datum(cursor)?));
                }
                _ if has_key || record.partition.is_some() || record.timestamp.is_some() => {
                    let near = did_you_mean(word, EXTRAS);
                    let wanted = "expected `partition 3`, `timestamp 1700000000000` or `header name=value`";
                    return Err(cursor.error_at(place, format!("{wanted}{near}")));
                }
                _ => {
                    record.key = record.value.take();
                    record.value = self.datum(cursor)?;
                    has_key = true;
                }
            }
        }
        expect(cursor, ")")?;
        Ok(What::Send(record))
    }

    /// A key, value or header; `null` is none.
    fn datum(&self, cursor: &mut Cursor<'_>) -> Result<Option<Datum>, SyntaxError> {
        if cursor.take_word("null") {
            return Ok(None);
        }
        let text = self.template(cursor)?;
        let mut size = None;
        if cursor.take_word("of") {
            let place = cursor.place();
            size = cursor.run(is_word).parse().ok().filter(|size| (1..=SIZE_MAX).contains(size));
            if size.is_none() || !cursor.take_word("bytes") {
                return Err(cursor.error_at(place, format!("expected a size from 1 to {SIZE_MAX}, e.g. `1000 bytes`")));
            }
        }
        Ok(Some(Datum { text, size }))
    }

    /// A word or a text in quotes.
    pub(super) fn template(&self, cursor: &mut Cursor<'_>) -> Result<Template, SyntaxError> {
        let place = cursor.place();
        if cursor.take("\"") {
            let text = cursor.quoted().ok_or_else(|| cursor.error_at(place, NO_END))?;
            return self.checked(cursor, place, text, self.words());
        }
        let word = cursor.run(|c| is_name(c) || c == '{' || c == '}');
        if word.is_empty() {
            return Err(cursor.error_at(place, "expected what to send, e.g. `v{i}`, `\"two words\"` or `null`"));
        }
        self.checked(cursor, place, word, self.words())
    }

    /// What may stand in braces in what is sent or printed.
    fn words(&self) -> &'static [&'static str] {
        if self.is_for_each_record() { &RECORD } else { &[] }
    }

    /// A text in quotes.
    pub(super) fn text(&self, cursor: &mut Cursor<'_>) -> Result<Template, SyntaxError> {
        self.text_with(cursor, self.words())
    }

    /// A text in quotes, in which these words may stand in braces.
    pub(super) fn text_with(&self, cursor: &mut Cursor<'_>, words: &[&str]) -> Result<Template, SyntaxError> {
        let place = cursor.place();
        if !cursor.take("\"") {
            return Err(cursor.error_at(place, "expected a text in double quotes"));
        }
        let text = cursor.quoted().ok_or_else(|| cursor.error_at(place, NO_END))?;
        self.checked(cursor, place, text, words)
    }

    fn checked(&self, cursor: &Cursor<'_>, place: usize, text: &str, words: &[&str]) -> Result<Template, SyntaxError> {
        let wrong = || {
            let all: String = words.iter().map(|word| format!(", `{{{word}}}`")).collect();
            format!("`{text}`: the only braces here are `{{i}}`, the turn of the repeat{all}")
        };
        let mut rest = text;
        while let Some((before, word, after)) = next_word(rest) {
            let message = match word {
                _ if before.contains('}') => wrong(),
                word if is_turn(word) && self.open.is_empty() => {
                    "`{i}` is the turn of a repeat, and this line is in none".to_string()
                }
                word if is_turn(word) => String::new(),
                word if words.contains(&word) => String::new(),
                word if RECORD.contains(&word) && words.is_empty() => {
                    "a record's fields are known only below `for each record:`".to_string()
                }
                _ => wrong(),
            };
            if !message.is_empty() {
                return Err(cursor.error_at(place, message));
            }
            rest = after;
        }
        if rest.contains(['{', '}']) {
            return Err(cursor.error_at(place, wrong()));
        }
        Ok(Template(text.to_string()))
    }
}

fn is_turn(word: &str) -> bool {
    word == "i" || modulus(word).is_some()
}

fn is_number(cursor: &Cursor<'_>) -> bool {
    cursor.rest().trim_start().starts_with(|c: char| c == '-' || c.is_ascii_digit())
}

fn number<N: std::str::FromStr>(cursor: &mut Cursor<'_>, is_second: bool, word_at: usize) -> Result<N, SyntaxError> {
    if is_second {
        return Err(cursor.error_at(word_at, "this stands here already"));
    }
    let place = cursor.place();
    let number = cursor.run(|c| c == '-' || c.is_ascii_digit()).parse();
    number.map_err(|_| cursor.error_at(place, "expected a whole number"))
}
