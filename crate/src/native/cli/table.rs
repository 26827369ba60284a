//! How tables look on a terminal and in a file: columns by spaces, a rule below the heads.

use comfy_table::{ContentArrangement, Table};

pub(super) fn new(heads: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset("     ──            ").set_content_arrangement(ContentArrangement::Dynamic).set_header(heads);
    table
}
