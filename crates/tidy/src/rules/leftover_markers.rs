//! Open work belongs in issues, not in the text.

use super::Rule;
use crate::code;
use crate::tree::{Finding, Tree};

pub(super) const RULE: Rule = Rule {
    name: "leftover_markers",
    summary: "No marker of unfinished work is left: an issue holds it, or the work is done.",
    check,
};

const MARKERS: [&str; 7] = ["TODO", "FIXME", "XXX", "HACK", "todo!", "unimplemented!", "dbg!"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|f| !Tree::is_own(f) && !f.path.ends_with(".lock")) {
        for marker in MARKERS {
            for at in code::places(&file.text, marker) {
                findings.push(file.finding(at, format!("{marker} is left over; do it, or write an issue and drop it")));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn markers_are_found_in_code_and_in_comments() {
        for marker in MARKERS {
            assert_eq!(found(&RULE, "docs/a.md", &format!("a\n{marker} b")).len(), 1, "{marker}");
            assert_eq!(found(&RULE, "crates/x/src/a.rs", &format!("// {marker}(b)")).len(), 1, "{marker}");
        }
        assert_eq!(found(&RULE, "docs/a.md", "hackers, todos"), [""; 0]);
    }
}
