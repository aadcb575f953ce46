//! A policy is a file, a line in the registry, a page and a golden schedule.

use crate::code;
use crate::tree::{Finding, Source, Tree};

/// Folder of the policies.
const POLICIES: &str = "crates/cpu/src/";

/// Policies that a file declares but the registry does not list, and registered ones without a page or a golden
/// schedule. `registered` are the names in the registry.
#[must_use]
pub fn incomplete_policies(tree: &Tree, registered: &[&str]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut declared = Vec::new();
    for file in tree.rust().filter(|f| f.path.starts_with(POLICIES)) {
        for (at, name) in declared_names(file) {
            if !registered.contains(&name) {
                let sentence = format!("the policy {name} is not in the registry; add it to {POLICIES}lib.rs");
                findings.push(file.finding(at, sentence));
            }
            declared.push(name);
        }
    }
    for name in registered {
        if !declared.contains(name) {
            let sentence = format!("the registered policy {name} is declared in no file below {POLICIES}");
            findings.push(Finding { path: format!("{POLICIES}lib.rs"), line: 0, sentence });
        }
        findings.extend(missing_companions(tree, name));
    }
    findings
}

/// The names that a file's `About { name: "…", … }` give, tests aside, with their places.
fn declared_names(file: &Source) -> Vec<(usize, &str)> {
    let code = code::without_tests(&file.code);
    let declarations = code::places(&code, "About").filter(|at| code[at + "About".len()..].starts_with(" {"));
    let named = declarations.filter_map(|at| {
        let text = &file.text[code::body(&code, at)?];
        let (_, rest) = text.split_once("name: \"")?;
        Some((at, rest.split_once('"')?.0))
    });
    named.collect()
}

fn missing_companions(tree: &Tree, name: &str) -> Vec<Finding> {
    let companions = [
        (format!("docs/policies/{name}.md"), "page (idea, source, what is inferred, weakness)"),
        (format!("crates/cpu/tests/golden/{name}.txt"), "golden schedule, read by a person"),
    ];
    let missing = companions.into_iter().filter(|(path, _)| tree.get(path).is_none());
    missing
        .map(|(path, what)| Finding {
            path,
            line: 0,
            sentence: format!("the policy {name} has no {what}; write this file"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RR: (&str, &str) = (
        "crates/cpu/src/rr.rs",
        "impl Registered for RoundRobin { const ABOUT: About = About { name: \"rr\", summary: \"s\" }; }",
    );
    const PAGE: (&str, &str) = ("docs/policies/rr.md", "# rr");
    const GOLDEN: (&str, &str) = ("crates/cpu/tests/golden/rr.txt", "a 0..5");

    fn found(files: &[(&str, &str)], registered: &[&str]) -> Vec<String> {
        incomplete_policies(&Tree::of(files), registered).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_listed_policy_with_page_and_golden_passes() {
        assert_eq!(found(&[RR, PAGE, GOLDEN], &["rr"]), [""; 0]);
    }

    #[test]
    fn a_declared_policy_that_is_not_listed_is_found() {
        let mine = ("crates/cpu/src/mine.rs", "//! Mine.\nconst ABOUT: About = About { name: \"mine\" };");
        let found = found(&[RR, PAGE, GOLDEN, mine], &["rr"]);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("crates/cpu/src/mine.rs:2: the policy mine is not in the registry"), "{found:?}");
    }

    #[test]
    fn several_policies_of_one_file_are_found_apart() {
        let two = (RR.0, "const A: About = About { name: \"rr\" }; const B: About = About { name: \"rr-2\" };");
        assert!(found(&[two, PAGE, GOLDEN], &["rr"])[0].contains("rr-2 is not in the registry"));
    }

    #[test]
    fn a_missing_page_and_a_missing_golden_are_found() {
        assert!(found(&[RR, GOLDEN], &["rr"])[0].starts_with("docs/policies/rr.md"));
        assert!(found(&[RR, PAGE], &["rr"])[0].starts_with("crates/cpu/tests/golden/rr.txt"));
    }

    #[test]
    fn a_registered_policy_that_no_file_declares_is_found() {
        assert!(found(&[PAGE, GOLDEN], &["rr"])[0].contains("declared in no file"));
    }
}
