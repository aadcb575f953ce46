//! Tables and wrapped lines of a terminal.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

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

/// Keeps the cells of the columns listed on one line, up to `most` characters. Heads wrap.
pub(crate) fn keep_whole(table: &mut Table, columns: &[usize], most: u16) {
    for &index in columns {
        let cells = table.row_iter().filter_map(|row| row.cell_iter().nth(index)).map(Cell::content);
        let longest = cells.map(|c| c.chars().count() as u16).max().unwrap_or(0).min(most);
        if let Some(column) = table.column_mut(index) {
            let width = longest + column.padding_width();
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
        }
    }
}

/// A table as text, without spaces at the ends of lines.
#[must_use]
pub fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

/// `head` and `text`, wrapped at the spaces of `text` so that lines have `width` columns at most. Lines after the first
/// start with `indent`. A longer word has a line of its own.
#[must_use]
pub fn wrapped(head: &str, text: &str, width: u16, indent: &str) -> String {
    let (mut lines, mut has_word) = (vec![head.to_string()], false);
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        if has_word && line.chars().count() + 1 + word.chars().count() > usize::from(width) {
            lines.push(format!("{indent}{word}"));
        } else {
            if has_word {
                line.push(' ');
            }
            line.push_str(word);
        }
        has_word = true;
    }
    lines.join("\n")
}
