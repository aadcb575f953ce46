//! The repository contains no paths of a particular machine.

use super::Rule;
use crate::tree::{Finding, Tree};

pub(super) const RULE: Rule =
    Rule { name: "machine_paths", summary: "No file names a path of somebody's own machine.", check };

/// Home folders of users. `/home/someone/` is allowed in examples.
const PRIVATE: [&str; 3] = ["/home/", "/root/", "/Users/"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|f| !Tree::is_own(f)) {
        for path in PRIVATE {
            for (at, _) in file.text.match_indices(path) {
                let before = file.text[..at].chars().next_back();
                let example = file.text[at + path.len()..].starts_with("someone/");
                if !example
                    && !before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '~' | '}' | '*'))
                {
                    findings.push(file.finding(at, format!("{path} is a path of one machine; write it relative")));
                }
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
    fn paths_of_one_machine_are_found() {
        for path in PRIVATE {
            assert_eq!(found(&RULE, "docs/a.md", &format!("see {path}x/y")).len(), 1, "{path}");
        }
        assert_eq!(
            found(&RULE, "docs/a.md", "crates/root/ and ./home/ and /home/someone/a and https://a.b/root/"),
            [""; 0]
        );
    }
}
