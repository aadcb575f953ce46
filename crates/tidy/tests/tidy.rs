//! Holds the repository against the house rules.

use goodness_core::registry::Typed;
use goodness_core::{Tunable, TunableError, Tunables};
use goodness_tidy::{RULES, Tree, incomplete_elevators, incomplete_policies};
use std::collections::BTreeSet;
use std::path::Path;

fn repository() -> Tree {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let tree = Tree::read(&root).expect("the repository can be read");
    assert!(tree.get("crates/core/src/lib.rs").is_some(), "the repository was found");
    tree
}

#[test]
fn the_repository_keeps_the_house_rules() {
    let tree = repository();
    let mut said = Vec::new();
    for rule in RULES {
        for finding in (rule.check)(&tree) {
            said.push(format!("{}: {finding}", rule.name));
        }
    }
    assert!(said.is_empty(), "{} findings\n{}", said.len(), said.join("\n"));
}

#[test]
fn every_policy_is_listed_and_has_its_page_and_its_golden_schedule() {
    let registered: Vec<&str> = goodness_policies::ALL.iter().map(|about| about.name).collect();
    let said: Vec<String> = incomplete_policies(&repository(), &registered).iter().map(ToString::to_string).collect();
    assert!(said.is_empty(), "{} findings\n{}", said.len(), said.join("\n"));
}

#[test]
fn every_elevator_is_listed_and_has_its_page() {
    let registered: Vec<&str> = goodness_elevators::ALL.iter().map(|about| about.name).collect();
    let said: Vec<String> = incomplete_elevators(&repository(), &registered).iter().map(ToString::to_string).collect();
    assert!(said.is_empty(), "{} findings\n{}", said.len(), said.join("\n"));
}

#[test]
fn rules_have_their_own_names_and_a_sentence() {
    let names: BTreeSet<_> = RULES.iter().map(|r| r.name).collect();
    assert_eq!(names.len(), RULES.len());
    assert!(RULES.iter().all(|r| is_one_sentence(r.summary)));
}

/// Suffixes of names that are units, which belong in the unit field instead.
const UNITS: [&str; 12] = ["ns", "us", "ms", "s", "sec", "secs", "seconds", "hz", "pct", "percent", "kb", "mb"];

fn is_one_sentence(text: &str) -> bool {
    let text = text.trim();
    let begins = text.chars().next().is_some_and(|c| c.is_uppercase() || c.is_numeric() || !c.is_alphabetic());
    let inner = text.trim_end_matches('.');
    let ends_inside = inner.match_indices(". ").any(|(at, _)| {
        // A full stop before a capital ends a sentence, unless it belongs to an abbreviation such as "i.e.".
        let abbreviated = inner[..at].rsplit(' ').next().is_some_and(|w| w.contains('.') || w == "cf" || w == "vs");
        inner[at + 2..].starts_with(char::is_uppercase) && !abbreviated
    });
    begins && text.ends_with('.') && !ends_inside
}

/// Faults of a list of tunables, besides their defaults.
fn wrong_with(spec: &[Tunable]) -> Vec<String> {
    let mut names = BTreeSet::new();
    let mut wrong = Vec::new();
    for tunable in spec {
        let name = tunable.name;
        if !names.insert(name) {
            wrong.push(format!("{name} is declared twice"));
        }
        if !is_one_sentence(tunable.doc) {
            wrong.push(format!("{name}: \"{}\" is not one sentence with a full stop", tunable.doc));
        }
        if name.rsplit('_').next().is_some_and(|last| name != last && UNITS.contains(&last)) {
            wrong.push(format!("{name} carries its unit in its name"));
        }
        if tunable.kind == "span" && tunable.range == "any" {
            wrong.push(format!("{name} has no range"));
        }
    }
    wrong
}

/// Parses typed settings.
type Values = fn(&Typed) -> Result<goodness_core::tunable::Values, TunableError>;

/// Tunables whose displayed default is not accepted as input.
fn refused_defaults(spec: &[Tunable], values: Values) -> Vec<String> {
    let refused = |t: &Tunable| {
        let answer = values(&[(t.name.to_string(), t.default.clone())]).err();
        answer.map(|e| format!("the default of {} is refused: {e}", t.name))
    };
    spec.iter().filter_map(refused).collect()
}

/// Faults of an entry of a registry, and of its tunables.
fn wrong_with_entry(summary: &str, source: &str, spec: &[Tunable], values: Values) -> Vec<String> {
    let mut wrong = wrong_with(spec);
    wrong.extend(refused_defaults(spec, values));
    if !is_one_sentence(summary) {
        wrong.push(format!("\"{summary}\" is not one sentence with a full stop"));
    }
    if source.trim().is_empty() {
        wrong.push("it names no source".into());
    }
    wrong
}

#[test]
fn every_policy_every_elevator_and_every_tunable_is_described() {
    let policies = goodness_policies::ALL.iter().map(|about| {
        let entry = goodness_policies::entry(about.name).expect("what is listed is found");
        (about.name, wrong_with_entry(about.summary, about.source, (entry.tunables)(), entry.values))
    });
    let elevators = goodness_elevators::ALL.iter().map(|about| {
        let entry = goodness_elevators::entry(about.name).expect("what is listed is found");
        (about.name, wrong_with_entry(about.summary, about.source, (entry.tunables)(), entry.values))
    });
    let said: Vec<String> = policies
        .chain(elevators)
        .flat_map(|(name, wrong)| wrong.into_iter().map(move |w| format!("{name}: {w}")))
        .collect();
    assert!(said.is_empty(), "{}", said.join("\n"));
}

mod badly_described {
    goodness_core::tunables! {
        /// Tunables that break every rule.
        pub struct Settings {
            /// no sentence
            slice: u64 = 5, in 1 => 10;
            /// One sentence. And another one.
            wait_ms: u64 = 5, in 1 => 10;
            /// A default outside its range.
            depth: u64 = 50, in 1 => 10;
            /// A length without bounds.
            period: goodness_core::Span = goodness_core::Span(5);
        }
    }
}

#[test]
fn badly_described_tunables_are_found() {
    let wrong = wrong_with(badly_described::Settings::spec());
    let parts = ["slice: \"no sentence\"", "wait_ms: \"One sentence. And", "wait_ms carries", "period has no range"];
    assert_eq!(wrong.len(), parts.len(), "{wrong:?}");
    for (said, part) in wrong.iter().zip(parts) {
        assert!(said.contains(part), "{said}, not {part}");
    }
    let twice = [badly_described::Settings::spec()[2].clone(), badly_described::Settings::spec()[2].clone()];
    assert_eq!(wrong_with(&twice), ["depth is declared twice"]);
    let refused = refused_defaults(badly_described::Settings::spec(), |typed| {
        badly_described::Settings::made(typed).map(|settings| settings.values())
    });
    assert_eq!(refused.len(), 1);
    assert!(refused[0].contains("depth"), "{refused:?}");
}
