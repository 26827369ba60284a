//! How tables look on a terminal and in a file: columns by spaces, a rule below the heads, nothing at the ends of lines.

use comfy_table::{ContentArrangement, Table};

pub(super) fn new(heads: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset("     ──            ").set_content_arrangement(ContentArrangement::Dynamic).set_header(heads);
    table
}

/// The table's lines without the spaces that would fill them up.
pub(super) fn text(table: &Table) -> String {
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
