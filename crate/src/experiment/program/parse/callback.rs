//! `on ok:`, `on error:` and `on throw:`, two spaces further in than what they answer.

use super::{Parser, expect, index_of};
use crate::experiment::program::{Action, Callback, On, What};
use crate::experiment::syntax::{Cursor, SyntaxError, is_word};

/// What a callback is told, by what it is told of.
const METADATA: [&str; 5] = ["topic", "partition", "offset", "timestamp", "metadata"];
const EXCEPTION: [&str; 3] = ["class", "message", "cause"];

impl Parser<'_> {
    pub(super) fn callback(&mut self, cursor: &mut Cursor<'_>, line: u32, depth: usize) -> Result<(), SyntaxError> {
        let place = cursor.place();
        cursor.take("on");
        let on = match cursor.run(is_word) {
            "ok" => On::Ok,
            "error" => On::Error,
            "throw" => On::Throw,
            _ => return Err(cursor.error_at(place, "expected `on ok:`, `on error:` or `on throw:`")),
        };
        expect(cursor, ":")?;
        let Some(step) = self.answered(on, depth) else {
            let of = if on == On::Throw { "a send" } else { "a send or a construct" };
            return Err(cursor.error_at(place, format!("this belongs right below {of}, two spaces further in")));
        };
        let words: &[&str] = match (on, &step.what) {
            (On::Ok, What::Send(_)) => &METADATA,
            (On::Ok, _) => &[],
            _ => &EXCEPTION,
        };
        let action = match cursor.take_word("print") {
            true => Action::Print(self.text_with(cursor, words)?),
            false => Action::Count(self.counter(cursor)?),
        };
        if !cursor.is_at_end() {
            return Err(cursor.error("expected the end of the line"));
        }
        if let Some(step) = self.answered(on, depth) {
            step.callbacks.push(Callback { on, action, line });
        }
        Ok(())
    }

    /// `name += 1`.
    fn counter(&mut self, cursor: &mut Cursor<'_>) -> Result<u32, SyntaxError> {
        let place = cursor.place();
        let name = cursor.run(is_word);
        if name.is_empty() {
            return Err(cursor.error_at(place, "expected `told_ok += 1` with a name of yours, or `print \"…\"`"));
        }
        if crate::experiment::expression::is_measured(name) {
            let message = format!("`{name}` is measured already: count in another name, e.g. `told_{name}`");
            return Err(cursor.error_at(place, message));
        }
        expect(cursor, "+=")?;
        expect(cursor, "1")?;
        Ok(index_of(&mut self.program.counters, name))
    }
}
