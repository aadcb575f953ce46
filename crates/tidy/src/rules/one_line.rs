//! A policy is one file and one line: nothing outside its crate knows it by its module.

use super::Rule;
use crate::code;
use crate::tree::{Finding, Source, Tree};

pub(super) const RULE: Rule = Rule {
    name: "one_line",
    summary: "No crate but cpu reaches into a policy's module: whoever needs a policy finds it in the registry by its name.",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    let outside = |file: &&Source| file.path.contains("/src/") && !file.path.starts_with("crates/cpu/");
    tree.rust().filter(outside).flat_map(reaching).collect()
}

/// Places of paths that go through a module of the crate, tests aside.
fn reaching(file: &Source) -> Vec<Finding> {
    let own = code::without_tests(&file.code);
    let into = |at: &usize| {
        let rest = own[at + "goodness_cpu".len()..].strip_prefix("::").unwrap_or_default();
        let name: usize =
            rest.chars().take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '_').count();
        name > 0 && rest[name..].starts_with("::")
    };
    let sentence = "this names a policy's module; find the policy by its name, so that adding one touches its file and the registry";
    code::places(&own, "goodness_cpu").filter(into).map(|at| file.finding(at, sentence.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::RULE;

    #[test]
    fn a_path_into_a_policy_is_found_and_the_registry_is_not() {
        let text = "//! Runs.\nfn f() { goodness_cpu::rr::RoundRobin::new(); }\nfn g() { goodness_cpu::with_policy(\"rr\", V); goodness_cpu::ALL.len(); }";
        assert_eq!(found(&RULE, "crates/cli/src/run.rs", text).len(), 1);
        assert!(found(&RULE, "crates/cli/src/run.rs", text)[0].starts_with("2: "));
        assert!(found(&RULE, "crates/cpu/src/bfs.rs", text).is_empty());
        assert!(found(&RULE, "crates/bench/tests/size.rs", text).is_empty());
    }
}
