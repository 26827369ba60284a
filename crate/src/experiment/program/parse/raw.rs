//! `answer = produce_raw(topic-0, {pid: 7, sequence: {i}})`.

use super::{Parser, expect, index_of, is_name};
use crate::experiment::program::{Number, RawSend, What};
use crate::experiment::syntax::{Cursor, SyntaxError, did_you_mean, is_word};
use crate::node::{RawDomain, RawField};

/// The one field whose value is a name.
const TOPIC: &str = "topic";

impl Parser<'_> {
    /// What follows `name =`.
    pub(super) fn kept_answer(
        &mut self,
        cursor: &mut Cursor<'_>,
        place: usize,
        name: &str,
    ) -> Result<What, SyntaxError> {
        if !cursor.take_word("produce_raw") {
            return Err(cursor.error("only the answer of a raw request can be kept: expected `produce_raw(`"));
        }
        if name.starts_with(|c: char| c.is_ascii_digit()) || name == "batch" {
            return Err(cursor.error_at(place, format!("`{name}` cannot name an answer: choose another name")));
        }
        self.produce_raw(cursor, Some(name))
    }

    pub(super) fn produce_raw(&mut self, cursor: &mut Cursor<'_>, kept: Option<&str>) -> Result<What, SyntaxError> {
        expect(cursor, "(")?;
        let (topic, partition) = self.partition(cursor)?;
        let (mut fields, mut instead) = (Vec::new(), None);
        if cursor.take(",") {
            expect(cursor, "{")?;
            while !cursor.take("}") {
                if !(fields.is_empty() && instead.is_none()) {
                    expect(cursor, ",")?;
                }
                let place = cursor.place();
                let name = cursor.run(is_word);
                if name == TOPIC {
                    expect(cursor, ":")?;
                    instead = Some(cursor.run(is_name).to_string());
                    continue;
                }
                let Some((_, field, domain)) = RawField::ALL.iter().find(|(spelt, ..)| *spelt == name) else {
                    let near = did_you_mean(name, RawField::ALL.iter().map(|(spelt, ..)| *spelt).chain([TOPIC]));
                    return Err(cursor.error_at(place, format!("a raw request has no field `{name}`{near}")));
                };
                expect(cursor, ":")?;
                fields.push((*field, self.field_value(cursor, *domain)?));
            }
        }
        expect(cursor, ")")?;
        let answer = kept.map(|name| index_of(&mut self.program.answers, name));
        Ok(What::ProduceRaw(RawSend { topic, partition, instead, fields, answer }))
    }

    fn field_value(&self, cursor: &mut Cursor<'_>, domain: RawDomain) -> Result<Number, SyntaxError> {
        let place = cursor.place();
        let (min, max) = match domain {
            RawDomain::Words(words) => {
                let word = cursor.run(is_word);
                let found = words.iter().position(|spelt| *spelt == word);
                let found = found.and_then(|at| i64::try_from(at).ok()).map(Number::Is);
                return found.ok_or_else(|| cursor.error_at(place, format!("expected one of {}", words.join(", "))));
            }
            RawDomain::Number(min, max) => (min, max),
        };
        if cursor.take("{i}") {
            if self.open.is_empty() {
                return Err(cursor.error_at(place, "`{i}` is the turn of a repeat, and this line is in none"));
            }
            return Ok(Number::Turn);
        }
        let digits = cursor.run(|c| c.is_ascii_digit() || c == '-');
        let number = digits.parse().ok().filter(|number| (min..=max).contains(number));
        number
            .map(Number::Is)
            .ok_or_else(|| cursor.error_at(place, format!("expected a whole number from {min} to {max}, or `{{i}}`")))
    }
}
