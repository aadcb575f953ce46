//! The command line keeps clap and words; what computes belongs to the libraries.

use super::Rule;
use crate::tree::{Finding, Tree};

pub(super) const RULE: Rule =
    Rule { name: "cli_length", summary: "The command line, crates/cli/src, has at most 4200 lines in all.", check };

const FOLDER: &str = "crates/cli/src/";
const MOST_LINES: usize = 4_200;

fn check(tree: &Tree) -> Vec<Finding> {
    let files = tree.rust().filter(|file| file.path.starts_with(FOLDER));
    let lines: usize = files.map(|file| file.text.lines().count()).sum();
    let sentence = || {
        format!(
            "the command line has {lines} lines, more than {MOST_LINES}; move what is neither clap nor words to a \
             library"
        )
    };
    (lines > MOST_LINES).then(|| Finding { path: FOLDER.into(), line: 0, sentence: sentence() }).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_of_all_files_of_the_command_line_are_added_up() {
        let (half, one) = ("x();\n".repeat(2_100), "x();\n");
        let (a, b, c) = ("crates/cli/src/a.rs", "crates/cli/src/a/b.rs", "crates/goodness/src/c.rs");
        let count = |files: &[(&str, &str)]| check(&Tree::of(files)).len();
        assert_eq!(count(&[(a, &half), (b, &half), (c, one)]), 0);
        assert_eq!(count(&[(a, &half), (b, &half), ("crates/cli/src/c.rs", one)]), 1);
    }
}
