//! `for each record:` and the toy database's `db.insert(orders, {key}, {value})`.

use super::{Parser, expect, index_of};
use crate::experiment::program::{Insert, Row, What};
use crate::experiment::syntax::{Cursor, SyntaxError, did_you_mean, is_word};

const INSERTS: [(&str, Insert); 3] =
    [("insert", Insert::Always), ("insert_once", Insert::Once), ("upsert", Insert::Upsert)];

impl Parser<'_> {
    pub(super) fn for_each_record(&mut self, cursor: &mut Cursor<'_>) -> Result<What, SyntaxError> {
        if !(cursor.take_word("each") && cursor.take_word("record")) {
            return Err(cursor.error("expected `for each record:`"));
        }
        expect(cursor, ":")?;
        Ok(What::ForEachRecord { end: 0 })
    }

    /// Whether this line is run for a record.
    pub(super) fn is_for_each_record(&self) -> bool {
        let is = |step: &u32| {
            let step = self.program.steps.get(*step as usize);
            matches!(step.map(|step| &step.what), Some(What::ForEachRecord { .. }))
        };
        self.open.iter().any(is)
    }

    pub(super) fn row(&mut self, cursor: &mut Cursor<'_>) -> Result<What, SyntaxError> {
        expect(cursor, ".")?;
        let place = cursor.place();
        let word = cursor.run(is_word);
        let Some((_, how)) = INSERTS.iter().find(|(spelt, _)| *spelt == word) else {
            let near = did_you_mean(word, INSERTS.iter().map(|(spelt, _)| *spelt));
            return Err(cursor.error_at(place, format!("`db` has no `{word}`{near}")));
        };
        expect(cursor, "(")?;
        let place = cursor.place();
        let table = cursor.run(is_word);
        if table.is_empty() {
            return Err(cursor.error_at(place, "expected a table's name, e.g. `orders`"));
        }
        expect(cursor, ",")?;
        let key = self.template(cursor)?;
        expect(cursor, ",")?;
        let value = self.template(cursor)?;
        expect(cursor, ")")?;
        let table = index_of(&mut self.program.tables, table);
        Ok(What::Row(Row { how: *how, table, key, value }))
    }
}
