//! Tables and wrapped lines of a terminal.

use comfy_table::{Cell, CellAlignment, ColumnConstraint, ContentArrangement, Table, Width, presets};

/// Blanks around the cell of a table without lines.
const PADDING: u16 = 2;

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
    columns.iter().for_each(|column| keep(table, *column, 0, most));
}

/// Likewise, and breaks their heads at blanks only.
pub(crate) fn keep_whole_with_heads(table: &mut Table, columns: &[usize], most: u16) {
    columns.iter().for_each(|column| keep(table, *column, head_word(table, *column), most));
}

fn keep(table: &mut Table, index: usize, least: u16, most: u16) {
    let cells = table.row_iter().filter_map(|row| row.cell_iter().nth(index)).map(Cell::content);
    let longest = cells.map(|cell| columns_of(&cell)).max().unwrap_or(0).max(least).min(most);
    if let Some(column) = table.column_mut(index) {
        let width = longest + column.padding_width();
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(width)));
    }
}

/// Columns of the longest word of a head.
fn head_word(table: &Table, index: usize) -> u16 {
    let head = table.header().and_then(|row| row.cell_iter().nth(index)).map(Cell::content);
    head.iter().flat_map(|it| it.split(' ')).map(columns_of).max().unwrap_or(0)
}

/// Columns of the longest line of a cell.
fn columns_of(cell: &str) -> u16 {
    cell.lines().map(|line| line.chars().count() as u16).max().unwrap_or(0)
}

/// Adds rows whose first cell is a setting, which has a line break where it would be broken inside a word: at a blank,
/// or after a comma.
pub(crate) fn add_settings(table: &mut Table, rows: Vec<Vec<String>>, width: u16) {
    let columns = 1..rows.iter().map(Vec::len).max().unwrap_or(1);
    let longest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|it| columns_of(it));
        cells.max().unwrap_or(0).max(head_word(table, column))
    };
    let others: u16 = columns.map(longest).map(|it| it + PADDING).sum();
    let most = width.saturating_sub(others + PADDING).clamp(width / 4, width * 2 / 5);
    for mut row in rows {
        row[0] = folded(&row[0], most);
        table.add_row(row);
    }
    keep_whole(table, &[0], most);
}

/// Columns that the other columns of a table leave to `column`, in `width` columns. Nothing is around the table.
pub(crate) fn room(table: &mut Table, column: usize, width: u16) -> u16 {
    let count = table.column_count();
    let longest = |index: usize| {
        let cells = table.row_iter().filter_map(|row| row.cell_iter().nth(index)).map(Cell::content);
        cells.map(|cell| columns_of(&cell)).max().unwrap_or(0).max(head_word(table, index))
    };
    let others = (0..count).filter(|index| *index != column).map(longest).map(|it| it + PADDING);
    width.saturating_sub(others.sum()).max(width / 8)
}

/// `text` in lines of `most` columns, broken at blanks and after commas; a longer part after other marks of a setting,
/// too. What is longer still has a line of its own.
pub(crate) fn folded(text: &str, most: u16) -> String {
    let mut lines = vec![String::new()];
    let fits = |line: &str, part: &str| line.chars().count() + part.trim_end().chars().count() <= usize::from(most);
    for part in text.split_inclusive([' ', ',']) {
        let pieces: Vec<&str> = match fits("", part) {
            true => vec![part],
            false => part.split_inclusive(['=', ':', '.', '/', '+']).collect(),
        };
        for piece in pieces {
            let line = lines.last_mut().expect("there is always a line");
            if line.is_empty() || fits(line, piece) {
                line.push_str(piece);
            } else {
                lines.push(piece.into());
            }
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_breaks_at_blanks_and_after_commas_only() {
        let setting = "eevdf:base_slice=820us,run_to_parity=on backup-*.nice=18";
        assert_eq!(folded(setting, 24), "eevdf:base_slice=820us,\nrun_to_parity=on\nbackup-*.nice=18");
        assert_eq!(folded(setting, 80), setting);
        assert_eq!(folded("a_setting_longer_than_a_line b", 5), "a_setting_longer_than_a_line\nb");
        let mut table = new(60);
        table.set_header(["setting", "a long head of a narrow column", "ratio, 95 % interval"]);
        let row = |setting: &str| [setting, "8.62 ms", "0.60× 0.59…0.62"].map(String::from).to_vec();
        add_settings(&mut table, vec![row(setting), row("default")], 60);
        let text = trimmed(&table);
        for line in ["eevdf:base_slice=820us,", "run_to_parity=on", "backup-*.nice=18", "default"] {
            assert!(text.lines().any(|it| it.trim_start().starts_with(line)), "{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 60), "{text}");
    }

    #[test]
    fn a_head_wraps_at_blanks_and_no_figure_is_broken() {
        let mut table = new(80);
        table.set_header(["setting", "p99 read latency", "ratio, 95 % interval", "result", "iops >= -20%"]);
        let setting = "eevdf+mq-deadline:fifo_batch=2,writes_starved=15";
        let row = [setting, "101 ms", "0.69× 0.65…0.72", "better", "kept"].map(String::from).to_vec();
        add_settings(&mut table, vec![row], 80);
        keep_whole_with_heads(&mut table, &[1, 2, 3], 26);
        let text = trimmed(&table);
        for whole in ["latency", "interval", "0.69× 0.65…0.72", "fifo_batch=2,", "writes_starved=15", "-20%"] {
            assert!(text.contains(whole), "{whole}: {text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
