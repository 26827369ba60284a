//! `for each record` and the toy database: what a consumer's program does with what it has read.

use super::Programs;
use crate::experiment::program::{Insert, Row, Template};

impl Programs {
    /// A template's text at the line that the client's program is at.
    pub(super) fn fill(&self, client: usize, template: &Template) -> String {
        let turn = self.turn_of(client).unwrap_or(0);
        let Some(running) = self.clients.get(client) else { return template.fill(turn, &[]) };
        match running.for_each.and_then(|depth| running.records.get(usize::try_from(*running.turns.get(depth)?).ok()?))
        {
            Some(record) => template.fill_for(turn, record),
            None => template.fill(turn, &[]),
        }
    }

    pub(super) fn row(&mut self, client: usize, row: &Row) {
        let filled = (self.fill(client, &row.key), self.fill(client, &row.value));
        let Some(table) = self.program_of(client).and_then(|program| program.tables.get(row.table as usize)).cloned()
        else {
            return;
        };
        let rows = self.measures.tables.entry(table).or_default();
        let there = rows.iter_mut().find(|(key, _)| *key == filled.0 && row.how != Insert::Always);
        match (there, row.how) {
            (Some(there), Insert::Upsert) => *there = filled,
            (Some(_), _) => {}
            (None, _) => rows.push(filled),
        }
    }
}
