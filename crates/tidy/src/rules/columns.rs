//! Lines have at most 120 columns.

use super::Rule;
use crate::tree::{Finding, Source, Tree};

pub(super) const RULE: Rule = Rule {
    name: "columns",
    summary: "A line has at most 120 columns; rows of tables and words that cannot be broken may be longer.",
    check,
};

const MOST_COLUMNS: usize = 120;
/// Extensions of files written by hand; others are generated, or fixtures.
const WRITTEN: [&str; 10] = ["rs", "md", "toml", "py", "sh", "js", "mjs", "css", "c", "h"];

fn check(tree: &Tree) -> Vec<Finding> {
    tree.files.iter().filter(|file| is_written(file)).flat_map(long_lines).collect()
}

fn is_written(file: &Source) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    match name.rsplit_once('.') {
        Some((_, extension)) => WRITTEN.contains(&extension),
        None => !name.starts_with("LICENSE"),
    }
}

fn long_lines(file: &Source) -> Vec<Finding> {
    let is_long = |line: &str| {
        let is_table = file.path.ends_with(".md") && line.trim_start().starts_with('|');
        !is_table && line.chars().count() > MOST_COLUMNS && line.trim().contains(' ')
    };
    let sentence = |line: &str| {
        format!("the line has {} columns; break it so that none has more than {MOST_COLUMNS}", line.chars().count())
    };
    let long = file.text.lines().enumerate().filter(|(_, line)| is_long(line));
    long.map(|(at, line)| Finding { path: file.path.clone(), line: at + 1, sentence: sentence(line) }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn a_line_of_121_columns_is_found_and_one_of_120_is_not() {
        let text = format!("{} a\n{} a\n", "ü".repeat(118), "ü".repeat(119));
        assert_eq!(found(&RULE, "scripts/a", &text).len(), 1);
        assert!(found(&RULE, "a.md", &text)[0].starts_with("2: the line has 121 columns"));
        assert!(found(&RULE, "a.json", &text).is_empty());
    }

    #[test]
    fn rows_of_tables_and_addresses_may_be_longer() {
        assert!(found(&RULE, "a.md", &format!("| a | {} |", "b ".repeat(100))).is_empty());
        assert!(found(&RULE, "a.md", &"b".repeat(200)).is_empty());
    }
}
