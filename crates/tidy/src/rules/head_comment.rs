//! Each file starts with a description.

use super::Rule;
use crate::tree::{Finding, Tree};

pub(super) const RULE: Rule =
    Rule { name: "head_comment", summary: "A source file begins with a comment that says what it holds.", check };

fn check(tree: &Tree) -> Vec<Finding> {
    let sources = tree.rust().filter(|f| f.path.contains("/src/") && f.stem() != "tests");
    sources
        .filter(|f| !f.text.starts_with("//!"))
        .map(|f| f.finding(0, "the file begins without a //! comment; say in a sentence what it holds".into()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn a_source_file_without_a_head_comment_is_found() {
        assert_eq!(found(&RULE, "crates/x/src/a.rs", "use b;\n").len(), 1);
        assert_eq!(found(&RULE, "crates/x/src/a.rs", "//! A.\n").len(), 0);
        assert_eq!(found(&RULE, "crates/x/src/a/tests.rs", "use b;\n").len(), 0);
    }
}
