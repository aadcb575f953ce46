//! What is cited can be looked up: `specs section 2.4` is a heading of the fact sheet.

use super::Rule;
use crate::tree::{Finding, Tree};

pub(super) const RULE: Rule =
    Rule { name: "citations", summary: "Every section of the fact sheet that is cited exists.", check };

/// The fact sheet.
const SHEET: &str = "docs/specs/cpu-schedulers.md";

/// What a section number follows.
const CITES: [&str; 3] = ["specs section ", "specs sections ", "specs/cpu-schedulers.md "];

/// What stands between the numbers of one citation.
const JOINS: [&str; 4] = [" and ", " to ", ", ", "-"];

fn check(tree: &Tree) -> Vec<Finding> {
    let sheet = tree.get(SHEET).map_or("", |sheet| &sheet.text);
    let headings: Vec<&str> = sheet.lines().filter(|line| line.starts_with("##")).filter_map(number_of).collect();
    let mut findings = Vec::new();
    for file in tree.files.iter().filter(|f| !Tree::is_own(f)) {
        for (at, cites) in CITES.iter().flat_map(|cites| file.text.match_indices(cites)) {
            for section in sections(&file.text[at + cites.len()..]) {
                if !headings.contains(&section) {
                    findings.push(file.finding(at, format!("{SHEET} has no section {section}; name one that it has")));
                }
            }
        }
    }
    findings
}

/// The number of a heading such as `### 2.4 Formulas` or `## 2. Linux`.
fn number_of(heading: &str) -> Option<&str> {
    number(heading.trim_start_matches('#').trim_start()).map(|(section, _)| section)
}

/// The numbers at the start of `text`, joined as in `5.1, 5.2 and 7`.
fn sections(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = number(text);
    while let Some((section, after)) = rest {
        found.push(section);
        rest = JOINS.iter().find_map(|join| after.strip_prefix(join)).and_then(number);
    }
    found
}

/// A section number and what follows it; a full stop at its end is the sentence's.
fn number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let section = text[..end].trim_end_matches('.');
    (!section.is_empty()).then(|| (section, &text[section.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_that_the_sheet_lacks_is_found() {
        let sheet = "# Facts\n## 2. Linux\n### 2.4 Sleep\n## 5. CFS\n";
        let found = |text: &str| {
            let said = (RULE.check)(&Tree::of(&[(SHEET, sheet), ("docs/a.md", text)]));
            said.iter().map(|f| f.sentence.split_once(';').unwrap().0.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            found("specs section 2. So.\nspecs sections 2.4, 2 and 5; /// specs/cpu-schedulers.md 2.4 (1)"),
            [""; 0]
        );
        for text in ["specs section 3", "specs section 2-3.", "specs sections 2.4 to 3", "specs/cpu-schedulers.md 3"] {
            assert_eq!(found(text), ["docs/specs/cpu-schedulers.md has no section 3"], "{text}");
        }
    }
}
