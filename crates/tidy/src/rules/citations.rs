//! Citations exist: `specs section 2.4` is a heading of a fact sheet, and `T-DL-1` a number stated in one.

use super::Rule;
use crate::tree::{Finding, Source, Tree};

pub(super) const RULE: Rule =
    Rule { name: "citations", summary: "Every section and every label of a fact sheet that is cited exists.", check };

/// The sheet on schedulers of the CPU.
const CPU: &str = "docs/specs/cpu-schedulers.md";
/// The sheet on block I/O.
const BLOCK: &str = "docs/specs/io-schedulers.md";
/// The sheets on Linux on several CPUs, and on groups and locks; their sections are cited with their names.
const SEVERAL: &str = "docs/specs/smp.md";
const GROUPS: &str = "docs/specs/groups-locks.md";
const SHEETS: [&str; 4] = [CPU, BLOCK, SEVERAL, GROUPS];

/// Folders in which a section without the name of a sheet is one of block I/O's; elsewhere it is one of the CPU's.
const ABOUT_BLOCK: [&str; 7] = [
    "crates/elevators/",
    "crates/block/",
    "crates/device/",
    "crates/memory/",
    "docs/elevators/",
    "docs/devices.md",
    "docs/block-layer.md",
];

/// Words before a section number, without the sheet's name.
const CITES: [&str; 2] = ["specs section ", "specs sections "];
/// Words before a section number, after the sheet's name.
const WITH_NAME: [&str; 3] = ["section ", "sections ", ""];

/// Words between the numbers of one citation.
const JOINS: [&str; 4] = [" and ", " to ", ", ", "-"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for sheet in SHEETS {
        let text = tree.get(sheet).map_or("", |sheet| &sheet.text);
        let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("##")).filter_map(number_of).collect();
        for file in tree.files.iter().filter(|f| !Tree::is_own(f)) {
            for (at, section) in cited(file, sheet) {
                if !headings.contains(&section) {
                    findings.push(file.finding(at, format!("{sheet} has no section {section}; name one that it has")));
                }
            }
        }
    }
    findings.extend(unknown_labels(tree));
    findings
}

/// The sections of `sheet` that a file cites, and where.
fn cited<'a>(file: &'a Source, sheet: &str) -> Vec<(usize, &'a str)> {
    let is_about_block = ABOUT_BLOCK.iter().any(|folder| file.path.starts_with(folder));
    let is_meant = sheet == if is_about_block { BLOCK } else { CPU };
    let bare = CITES.iter().filter(|_| is_meant).flat_map(|cites| file.text.match_indices(cites));
    let named = sheet.trim_start_matches("docs/");
    let named = file.text.match_indices(named).filter_map(|(at, name)| {
        let rest = file.text[at + name.len()..].trim_start_matches('`').strip_prefix(' ')?;
        WITH_NAME.iter().find_map(|cites| rest.strip_prefix(cites)).map(|rest| (at, rest))
    });
    let bare = bare.map(|(at, cites)| (at, &file.text[at + cites.len()..]));
    bare.chain(named).flat_map(|(at, rest)| sections(rest).into_iter().map(move |section| (at, section))).collect()
}

/// Labels of checkable numbers that no sheet states.
fn unknown_labels(tree: &Tree) -> Vec<Finding> {
    let sheets = SHEETS.iter().filter_map(|sheet| tree.get(sheet));
    let stated: Vec<&str> = sheets.flat_map(|sheet| labels(&sheet.text)).map(|(_, label)| label).collect();
    let files = tree.files.iter().filter(|f| !Tree::is_own(f) && !SHEETS.contains(&f.path.as_str()));
    let cited = files.flat_map(|file| labels(&file.text).into_iter().map(move |(at, label)| (file, at, label)));
    cited
        .filter(|(_, _, label)| !stated.contains(label))
        .map(|(file, at, label)| file.finding(at, format!("no sheet in docs/specs has {label}; name a label of one")))
        .collect()
}

/// The labels in `text`, such as `T-DL-1`, with their positions.
fn labels(text: &str) -> Vec<(usize, &str)> {
    let begins = |at: usize| at == 0 || !text.as_bytes()[at - 1].is_ascii_alphanumeric();
    text.match_indices("T-")
        .filter(|(at, _)| begins(*at))
        .filter_map(|(at, _)| Some((at, label(&text[at..])?)))
        .collect()
}

/// The label at the start of `text`, after `T-`: a subject in capitals, and a number.
fn label(text: &str) -> Option<&str> {
    let subject = 2 + text[2..].find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit())?;
    let number = text[subject..].strip_prefix('-')?;
    let digits = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
    (subject > 2 && digits > 0).then(|| &text[..subject + 1 + digits])
}

/// The number of a heading such as `### 2.4 Formulas` or `## 2. Linux`.
fn number_of(heading: &str) -> Option<&str> {
    number(heading.trim_start_matches('#').trim_start()).map(|(section, _)| section)
}

/// The section numbers at the start of `text`, joined as in `5.1, 5.2 and 7`.
fn sections(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = number(text);
    while let Some((section, after)) = rest {
        found.push(section);
        rest = JOINS.iter().find_map(|join| after.strip_prefix(join)).and_then(number);
    }
    found
}

/// A section number and the text after it. A full stop at the end belongs to the sentence, not to the number.
fn number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let section = text[..end].trim_end_matches('.');
    (!section.is_empty()).then(|| (section, &text[section.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHEETS: [(&str, &str); 2] =
        [(CPU, "# Facts\n## 2. Linux\n### 2.4 Sleep\n## 5. CFS\n"), (BLOCK, "## 1. Layer\n`T-DL-1` `T-CFQ2-10` a\n")];

    /// Findings in a file, up to the remedy.
    fn found(path: &str, text: &str) -> Vec<String> {
        let said = (RULE.check)(&Tree::of(&[SHEETS[0], SHEETS[1], (path, text)]));
        said.iter().map(|f| f.sentence.split_once(';').unwrap().0.to_string()).collect()
    }

    #[test]
    fn a_section_that_the_sheet_lacks_is_found() {
        let all_there = "specs section 2. So.\nspecs sections 2.4, 2 and 5; /// specs/cpu-schedulers.md 2.4 (1)";
        assert_eq!(found("docs/a.md", all_there), [""; 0]);
        for text in ["specs section 3", "specs section 2-3.", "specs sections 2.4 to 3", "specs/cpu-schedulers.md 3"] {
            assert_eq!(found("docs/a.md", text), ["docs/specs/cpu-schedulers.md has no section 3"], "{text}");
        }
    }

    #[test]
    fn where_block_io_is_treated_a_bare_section_is_one_of_its_sheet() {
        assert_eq!(found("crates/elevators/src/a.rs", "specs section 1; `specs/io-schedulers.md` section 1"), [""; 0]);
        assert_eq!(found("docs/elevators/a.md", "specs section 5"), ["docs/specs/io-schedulers.md has no section 5"]);
        assert_eq!(found("docs/a.md", "specs section 1"), ["docs/specs/cpu-schedulers.md has no section 1"]);
        for named in ["specs/io-schedulers.md section 7", "`specs/io-schedulers.md` sections 1 and 7"] {
            assert_eq!(found("docs/a.md", named), ["docs/specs/io-schedulers.md has no section 7"], "{named}");
        }
    }

    #[test]
    fn a_label_that_the_sheet_lacks_is_found() {
        assert_eq!(found("crates/elevators/src/a.rs", "// T-DL-1, T-CFQ2-10: UTF-8, NT-AS-4, T-shirt, T-X"), [""; 0]);
        assert_eq!(found("crates/elevators/src/a.rs", "// T-DL-12"), ["no sheet in docs/specs has T-DL-12"]);
        assert_eq!(found("docs/a.md", "(T-CFQ2-1)"), ["no sheet in docs/specs has T-CFQ2-1"]);
    }
}
