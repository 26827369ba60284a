//! How tables look on a terminal and in a file: columns by spaces, a rule below the heads, nothing at the ends of lines.

use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width};

pub(super) fn new(heads: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset("     ──            ").set_content_arrangement(ContentArrangement::Dynamic).set_header(heads);
    table
}

/// None of these columns gets wider than `characters`: what is longer goes on in the next line of its cell.
pub(super) fn wrap(table: &mut Table, columns: std::ops::RangeInclusive<usize>, characters: u16) {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::UpperBoundary(Width::Fixed(characters)));
        }
    }
}

/// The table's lines without the spaces that would fill them up.
pub(super) fn text(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
