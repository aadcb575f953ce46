//! Tests are named facts, and all of them run.

use super::Rule;
use crate::code;
use crate::tree::{Finding, Source, Tree};

pub(super) const RULE: Rule =
    Rule { name: "test_names", summary: "A test is named as a fact, and none is ignored.", check };

fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().flat_map(of_file).collect()
}

fn of_file(file: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for at in code::places(&file.code, "#[test]") {
        let Some((_, name)) = code::names(&file.code[at..], "fn").next() else { continue };
        if name.starts_with("test_") || name.split('_').count() < 3 {
            let sentence =
                format!("the test {name} is not named as a fact, such as a_yielding_task_goes_behind_its_equals");
            findings.push(file.finding(at, sentence));
        }
    }
    for at in code::places(&file.code, "#[ignore") {
        let sentence = "an ignored test tests nothing; let it skip loudly where it cannot run, or take it out";
        findings.push(file.finding(at, sentence.into()));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn tests_without_a_fact_and_ignored_ones_are_found() {
        let text = "#[test]\nfn test_rr2() {}\n#[test] fn works() {}\n#[test] #[ignore] fn a_task_runs_once() {}";
        assert_eq!(found(&RULE, "crates/x/src/a.rs", text).len(), 3);
        assert_eq!(found(&RULE, "crates/x/src/a.rs", "#[test] fn a_task_runs_once() {}").len(), 0);
    }
}
