//! Policies and simulator are pure: time, randomness and history come in through their arguments.

use super::Rule;
use crate::code;
use crate::tree::{Finding, Source, Tree};

pub(super) const RULE: Rule = Rule {
    name: "banned_calls",
    summary: "The pure crates use no clock, thread, lock, hash map, float or input and output.",
    check,
};

const PURE_CRATES: [&str; 7] = ["core", "queues", "policies", "elevators", "referee", "block", "sim"];

/// Banned calls, and what to use instead.
const BANNED: &[(&str, &str)] = &[
    ("Instant", "the time given by the host (`cx.now`)"),
    ("SystemTime", "the time given by the host (`cx.now`)"),
    ("thread", "nothing: a run is one thread, and `goodness` runs many side by side"),
    ("Mutex", "`&mut self`: a policy is called by one host at a time"),
    ("RwLock", "`&mut self`: a policy is called by one host at a time"),
    ("HashMap", "`PerTask`, or a `BTreeMap` off the hot path: its order is the same in every run"),
    ("HashSet", "`CpuSet`, a bitmap, or a `BTreeSet` off the hot path: its order is the same in every run"),
    ("f32", "integers, or fixed point with the number of fractional bits justified"),
    ("f64", "integers, or fixed point with the number of fractional bits justified"),
    ("print!", "an event for the observer"),
    ("println!", "an event for the observer"),
    ("eprint!", "an event for the observer"),
    ("eprintln!", "an event for the observer"),
    ("std::fs", "nothing: files are read by `trace`, `work`, `goodness`, `race`, `sweep` and `cli`"),
    ("std::io", "nothing: files are read by `trace`, `work`, `goodness`, `race`, `sweep` and `cli`"),
    ("std::env", "a tunable"),
    ("std::net", "nothing: it does not belong here"),
    ("std::process", "an error as a sentence"),
];

fn check(tree: &Tree) -> Vec<Finding> {
    tree.rust().filter(|f| is_pure(f)).flat_map(impurities).collect()
}

fn is_pure(file: &Source) -> bool {
    PURE_CRATES.iter().any(|name| file.path.starts_with(&format!("crates/{name}/src/"))) && file.stem() != "tests"
}

fn impurities(file: &Source) -> Vec<Finding> {
    let code = code::without_tests(&file.code);
    let mut findings = Vec::new();
    for (word, instead) in BANNED {
        for at in code::places(&code, word) {
            findings.push(file.finding(at, format!("{word} has no place in a pure crate; use {instead}")));
        }
    }
    for at in float_literals(&code) {
        findings.push(file.finding(at, "a float has no place in a pure crate; use integers".into()));
    }
    findings
}

/// Places of literals such as `1.5`; not of `pair.0.1` and `0..5`.
fn float_literals(code: &str) -> Vec<usize> {
    let bytes = code.as_bytes();
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is_float = |at: &usize| {
        let dot = *at;
        let start = bytes[..dot].iter().rposition(|b| !(b.is_ascii_digit() || *b == b'_')).map_or(0, |n| n + 1);
        let before = start.checked_sub(1).map_or(b' ', |n| bytes[n]);
        digit(start)
            && start < dot
            && digit(dot + 1)
            && !(before.is_ascii_alphanumeric() || matches!(before, b'.' | b'_'))
    };
    code.match_indices('.').map(|(at, _)| at).filter(is_float).collect()
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    #[test]
    fn each_banned_word_is_found_with_its_replacement() {
        for (word, instead) in BANNED {
            let found = found(&RULE, "crates/policies/src/a.rs", &format!("fn a() {{\n {word}(b) }}"));
            assert_eq!(found, [format!("2: {word} has no place in a pure crate; use {instead}")]);
        }
    }

    #[test]
    fn float_literals_are_found_and_fields_and_ranges_are_not() {
        let text = "let a = 1.5 + pair.0.1; for b in 0..5 { x1.max(2) } let c = (1_000.0);";
        assert_eq!(found(&RULE, "crates/sim/src/a.rs", text).len(), 2);
    }

    #[test]
    fn tests_and_other_crates_may_do_as_they_like() {
        assert_eq!(found(&RULE, "crates/report/src/a.rs", "f64").len(), 0);
        assert_eq!(found(&RULE, "crates/policies/src/a.rs", "#[cfg(test)] mod tests { fn a() -> f64 {} }").len(), 0);
        assert_eq!(found(&RULE, "crates/policies/src/a.rs", "/// No f64 here.\nstruct A;").len(), 0);
    }
}
