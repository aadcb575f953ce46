//! A policy or elevator is one file and one line: nothing outside its crate refers to its module.

use super::Rule;
use crate::code;
use crate::tree::{Finding, Source, Tree};

pub(super) const RULE: Rule = Rule {
    name: "one_line",
    summary: "No other crate reaches into the module of a policy or an elevator: who needs one finds it in the \
        registry by its name.",
    check,
};

/// The crates with a registry, by folder and by name.
const REGISTRIES: [(&str, &str); 2] =
    [("crates/policies/", "goodness_policies"), ("crates/elevators/", "goodness_elevators")];

fn check(tree: &Tree) -> Vec<Finding> {
    let reaching = |(folder, name): (&str, &str)| {
        let outside = move |file: &&Source| file.path.contains("/src/") && !file.path.starts_with(folder);
        tree.rust().filter(outside).flat_map(|file| reaching(file, name)).collect::<Vec<_>>()
    };
    REGISTRIES.into_iter().flat_map(reaching).collect()
}

/// Places of paths that go through a module of the crate called `registry`, tests aside.
fn reaching(file: &Source, registry: &str) -> Vec<Finding> {
    let own = code::without_tests(&file.code);
    let into = |at: &usize| {
        let rest = own[at + registry.len()..].strip_prefix("::").unwrap_or_default();
        let name: usize =
            rest.chars().take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '_').count();
        name > 0 && rest[name..].starts_with("::")
    };
    let sentence = "this names the module of a policy or an elevator; find it by its name, so that adding one touches \
        its file and the registry";
    code::places(&own, registry).filter(into).map(|at| file.finding(at, sentence.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::RULE;

    #[test]
    fn a_path_into_a_policy_is_found_and_the_registry_is_not() {
        let text = "//! Runs.\nfn f() { goodness_policies::rr::RoundRobin::new(); }\nfn g() { \
            goodness_policies::entry(\"rr\"); goodness_policies::ALL.len(); }";
        assert_eq!(found(&RULE, "crates/cli/src/run.rs", text).len(), 1);
        assert!(found(&RULE, "crates/cli/src/run.rs", text)[0].starts_with("2: "));
        assert!(found(&RULE, "crates/policies/src/bfs.rs", text).is_empty());
        assert!(found(&RULE, "crates/bench/tests/size.rs", text).is_empty());
        let elevator = "//! Runs.\nfn f() { goodness_elevators::noop::Noop::new(); \
            goodness_elevators::entry(\"noop\"); }";
        assert_eq!(found(&RULE, "crates/block/src/layer.rs", elevator).len(), 1);
        assert!(found(&RULE, "crates/elevators/src/parts/sector_order.rs", elevator).is_empty());
    }
}
