//! A file can be read in one sitting.

use super::Rule;
use crate::tree::{Finding, Tree};

pub(super) const RULE: Rule = Rule { name: "file_length", summary: "A Rust file has at most 600 lines.", check };

const MOST_LINES: usize = 600;

fn check(tree: &Tree) -> Vec<Finding> {
    let long = tree.rust().filter_map(|file| {
        let lines = file.text.lines().count();
        let sentence = || format!("the file has {lines} lines; divide it so that none has more than {MOST_LINES}");
        (lines > MOST_LINES).then(|| Finding { path: file.path.clone(), line: 0, sentence: sentence() })
    });
    long.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_601_lines_is_found_and_one_of_600_is_not() {
        assert_eq!(super::super::found(&RULE, "a.rs", &"x();\n".repeat(601)).len(), 1);
        assert_eq!(super::super::found(&RULE, "a.rs", &"x();\n".repeat(600)).len(), 0);
    }
}
