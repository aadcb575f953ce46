//! Tables of a terminal.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

/// A table without lines, of `width` columns at most.
#[must_use]
pub fn new(width: u16) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    table
}

/// Aligns the columns listed to the right: figures.
pub fn align_right(table: &mut Table, columns: impl IntoIterator<Item = usize>) {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
