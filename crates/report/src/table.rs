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

/// Breaks the cells of all columns at blanks only, and of the columns listed nowhere: of words up to `most` characters.
pub(crate) fn keep_words(table: &mut Table, whole: &[usize], most: u16) {
    for index in 0..table.column_count() {
        let cells = table.row_iter().filter_map(|row| row.cell_iter().nth(index)).map(Cell::content);
        let longest = cells.flat_map(|it| it.split(' ').map(columns_of).collect::<Vec<_>>()).max().unwrap_or(0);
        let least = head_word(table, index).max(longest.min(most));
        match whole.contains(&index) {
            true => keep(table, index, least, most),
            false => constrain(table, index, least),
        }
    }
}

fn keep(table: &mut Table, index: usize, least: u16, most: u16) {
    let cells = table.row_iter().filter_map(|row| row.cell_iter().nth(index)).map(Cell::content);
    let longest = cells.map(|cell| columns_of(&cell)).max().unwrap_or(0).max(least).min(most);
    constrain(table, index, longest);
}

/// Gives a column at least so many characters.
fn constrain(table: &mut Table, index: usize, least: u16) {
    if let Some(column) = table.column_mut(index) {
        let width = least + column.padding_width();
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

/// Columns that the other columns of a table leave to `column`, in `width` columns; 0 if they leave none. Nothing is
/// around the table.
pub(crate) fn room(table: &mut Table, column: usize, width: u16) -> u16 {
    let count = table.column_count();
    let longest = |index: usize| {
        let cells = table.row_iter().filter_map(|row| row.cell_iter().nth(index)).map(Cell::content);
        cells.map(|cell| columns_of(&cell)).max().unwrap_or(0).max(head_word(table, index))
    };
    let others = (0..count).filter(|index| *index != column).map(longest).map(|it| it + PADDING);
    width.saturating_sub(others.sum())
}

/// Marks of a setting after which it may be broken, the first that will do.
const BREAKS: [&[char]; 3] = [&[' ', ','], &[':', '.', '+'], &['=', '/']];

/// `text` in lines of `most` columns, broken at blanks and after commas; a longer part after other marks of a setting,
/// too. What is longer still has a line of its own.
pub(crate) fn folded(text: &str, most: u16) -> String {
    let mut lines = vec![String::new()];
    for piece in pieces(text, &BREAKS, most) {
        let line = lines.last_mut().expect("there is always a line");
        let columns = line.chars().count() + piece.trim_end().chars().count();
        if line.is_empty() || columns <= usize::from(most) {
            line.push_str(piece);
        } else {
            lines.push(piece.into());
        }
    }
    lines.iter().map(|line| line.trim_end()).collect::<Vec<_>>().join("\n")
}

/// Columns of the longest part of a setting that only `=` and `/` break.
pub(crate) fn longest_part(text: &str) -> u16 {
    pieces(text, &BREAKS[..2], 0).into_iter().map(|part| part.trim_end().chars().count() as u16).max().unwrap_or(0)
}

/// Parts of `text` behind the first of `breaks`; those longer than `most` behind the others, too.
fn pieces<'a>(text: &'a str, breaks: &[&[char]], most: u16) -> Vec<&'a str> {
    let Some((marks, others)) = breaks.split_first() else { return vec![text] };
    let mut found = Vec::new();
    let mut start = 0;
    for (at, mark) in text.char_indices().filter(|(_, letter)| marks.contains(letter)) {
        let next = at + mark.len_utf8();
        // The point of a number or a range breaks nothing.
        let is_of_number = mark == '.' && text[next..].starts_with(|it: char| it == '.' || it.is_ascii_digit());
        if !is_of_number {
            found.push(&text[start..next]);
            start = next;
        }
    }
    found.push(&text[start..]);
    let is_long = |part: &str| part.trim_end().chars().count() > usize::from(most);
    let each = found.into_iter().filter(|part| !part.is_empty());
    each.flat_map(|part| if is_long(part) { pieces(part, others, most) } else { vec![part] }).collect()
}

/// A table as text, without spaces at the ends of lines.
#[must_use]
pub fn trimmed(table: &Table) -> String {
    table.lines().map(|line| line.trim_end().to_string()).collect::<Vec<_>>().join("\n")
}

/// `head` and `text`, wrapped at the spaces of `text` so that lines have `width` columns at most, and none begins with
/// `%`. Lines after the first start with `indent`. A longer word has a line of its own.
#[must_use]
pub fn wrapped(head: &str, text: &str, width: u16, indent: &str) -> String {
    let (mut lines, mut has_word) = (vec![head.to_string()], false);
    for word in words(text) {
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

/// The words of `text`: what is between its spaces, a number with the `%` behind it.
fn words(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, _) in text.match_indices(' ').filter(|(at, _)| !text[at + 1..].starts_with('%')) {
        found.push(&text[start..at]);
        start = at + 1;
    }
    found.push(&text[start..]);
    found
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
        assert_eq!(folded("eevdf+bfq:low_latency=off", 20), "eevdf+bfq:\nlow_latency=off");
        assert_eq!(folded("redis-benchmark.class=batch", 24), "redis-benchmark.\nclass=batch");
        assert_eq!(folded("eevdf:base_slice=0.7ms", 20), "eevdf:\nbase_slice=0.7ms", "a number stays whole");
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
    fn a_number_keeps_its_per_cent_sign_where_a_sentence_is_wrapped() {
        let text = "to 3.10 ms (95 %: 2 to 4 ms)";
        assert_eq!(wrapped("", text, 15, "  "), "to 3.10 ms\n  (95 %: 2 to 4\n  ms)");
        assert_eq!(wrapped("- ", text, 80, ""), format!("- {text}"));
        assert_eq!(wrapped("", "", 80, ""), "");
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
