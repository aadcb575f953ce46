//! The changelog can be read by people and by programs.

use super::Rule;
use crate::tree::{Finding, Source, Tree};

pub(super) const RULE: Rule = Rule {
    name: "changelog",
    summary: "CHANGELOG.md has versions, the four headings, and whole sentences, with a number under Measured.",
    check,
};

const HEADINGS: [&str; 4] = ["Breaking", "New", "Fixed", "Measured"];

fn check(tree: &Tree) -> Vec<Finding> {
    match tree.get("CHANGELOG.md") {
        Some(file) => of_file(file),
        None => vec![Finding { path: "CHANGELOG.md".into(), line: 0, sentence: "there is no changelog".into() }],
    }
}

fn of_file(file: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut at = 0;
    let (mut version, mut heading) = (false, "");
    for line in file.text.split_inclusive('\n') {
        let text = line.trim_end();
        if let Some(name) = text.strip_prefix("## ") {
            (version, heading) = (true, "");
            findings.extend(wrong_version(name).map(|s| file.finding(at, s)));
        } else if let Some(name) = text.strip_prefix("### ") {
            heading = name;
            findings.extend(wrong_heading(name, version).map(|s| file.finding(at, s)));
        } else if text.starts_with("- ") {
            let entry = entry(&file.text[at..]);
            findings.extend(wrong_entry(&entry, heading).map(|s| file.finding(at, s)));
        }
        at += line.len();
    }
    if !file.text.starts_with("# Changelog\n") {
        findings.push(file.finding(0, "the first line is not `# Changelog`".into()));
    }
    findings
}

/// A list entry with its continuation lines.
fn entry(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let rest = lines.take_while(|l| l.starts_with("  "));
    std::iter::once(first).chain(rest).map(str::trim).collect::<Vec<_>>().join(" ")
}

fn wrong_version(name: &str) -> Option<String> {
    let number = name.split([' ', '—', '-']).next().unwrap_or_default();
    let is_number = number.split('.').count() == 3 && number.split('.').all(|part| part.parse::<u32>().is_ok());
    let fine = name == "Unreleased" || is_number;
    (!fine).then(|| format!("\"{name}\" is neither Unreleased nor a version such as 0.1.0"))
}

fn wrong_heading(name: &str, below_a_version: bool) -> Option<String> {
    if !below_a_version {
        return Some(format!("\"{name}\" stands before any version"));
    }
    (!HEADINGS.contains(&name)).then(|| format!("\"{name}\" is not a heading; use {}", HEADINGS.join(", ")))
}

fn wrong_entry(entry: &str, heading: &str) -> Option<String> {
    if heading.is_empty() {
        return Some("an entry stands below no heading".into());
    }
    if !entry.ends_with('.') {
        return Some("an entry is a sentence and ends with a full stop".into());
    }
    let measured = heading != "Measured" || entry.bytes().any(|b| b.is_ascii_digit());
    (!measured).then(|| "an entry under Measured has a number".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "# Changelog\n\n## Unreleased\n\n### New\n- One thing that\n  takes two lines.\n\n## 0.1.0 — \
        2026-01-01\n### Measured\n- 3 ns.\n";

    fn found(text: &str) -> Vec<String> {
        super::super::found(&RULE, "CHANGELOG.md", text)
    }

    #[test]
    fn the_form_described_passes() {
        assert_eq!(found(GOOD), [""; 0]);
    }

    #[test]
    fn every_departure_from_the_form_is_found() {
        let breaks = [
            ("# Changelog", "# Changes", "first line"),
            ("## Unreleased", "## Next", "neither Unreleased"),
            ("### New", "### Added", "not a heading"),
            ("### New\n", "", "below no heading"),
            ("two lines.", "two lines", "full stop"),
            ("3 ns.", "Faster.", "has a number"),
            ("## Unreleased\n\n", "", "before any version"),
        ];
        for (from, to, part) in breaks {
            let found = found(&GOOD.replacen(from, to, 1));
            assert!(found.iter().any(|f| f.contains(part)), "{part}: {found:?}");
        }
    }

    #[test]
    fn a_missing_changelog_is_found() {
        assert_eq!(check(&Tree::default()).len(), 1);
    }
}
