//! The program builds with Rust alone: no dependency compiles C, except behind features.

use super::Rule;
use crate::tree::{Finding, Tree};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub(super) const RULE: Rule = Rule {
    name: "c_builds",
    summary: "No dependency of an ordinary build compiles C or looks for C libraries.",
    check,
};

/// Packages with which build scripts compile C, or find libraries of it.
const TOOLS: [&str; 5] = ["autotools", "bindgen", "cc", "cmake", "pkg-config"];
/// Dependencies allowed behind features only; they must be `optional` everywhere.
const BEHIND_FEATURES: [&str; 1] = ["libbpf-rs"];
/// Packages that only builds for another system take.
const ELSEWHERE: [&str; 1] = ["iana-time-zone-haiku"];

fn check(tree: &Tree) -> Vec<Finding> {
    let mut found: Vec<Finding> = tree.files.iter().flat_map(|file| unconditional(&file.path, &file.text)).collect();
    if let Some(lock) = tree.get("Cargo.lock") {
        found.extend(ways_to_tools(&lock.text).into_iter().map(|way| {
            let sentence = format!("{way} compiles C; take a crate in Rust, or put it behind a feature");
            Finding { path: lock.path.clone(), line: 0, sentence }
        }));
    }
    found
}

/// Lines of a crate's manifest that want a crate behind features in every build.
fn unconditional(path: &str, text: &str) -> Vec<Finding> {
    let is_manifest = path.starts_with("crates/") && path.ends_with("/Cargo.toml");
    let wanted = |line: &str| BEHIND_FEATURES.iter().any(|name| line.starts_with(name) && !line.contains("optional"));
    let lines = text.lines().enumerate().filter(|(_, line)| is_manifest && wanted(line));
    let sentence = || "this dependency compiles C; make it optional, for a feature that says so".to_string();
    lines.map(|(at, _)| Finding { path: path.into(), line: at + 1, sentence: sentence() }).collect()
}

/// For each package of this repository, the shortest path to each tool that compiles C: `ours → theirs → cc`.
fn ways_to_tools(lock: &str) -> Vec<String> {
    let packages = packages(lock);
    let own = packages.iter().filter(|(_, package)| package.is_own).map(|(name, _)| *name);
    let mut queue: VecDeque<Vec<&str>> = own.map(|name| vec![name]).collect();
    let mut seen = BTreeSet::new();
    let mut ways = Vec::new();
    while let Some(way) = queue.pop_front() {
        let last = way.last().copied().unwrap_or_default();
        if TOOLS.contains(&last) {
            ways.push(way.join(" → "));
        } else if seen.insert(last) && !BEHIND_FEATURES.contains(&last) && !ELSEWHERE.contains(&last) {
            let next = packages.get(last).map(|package| package.dependencies.as_slice()).unwrap_or_default();
            queue.extend(next.iter().map(|name| [&way[..], &[*name]].concat()));
        }
    }
    ways
}

#[derive(Default)]
struct Package<'a> {
    is_own: bool,
    dependencies: Vec<&'a str>,
}

/// The packages of a lock file by name, with the dependencies of all their versions.
fn packages(lock: &str) -> BTreeMap<&str, Package<'_>> {
    let mut packages: BTreeMap<&str, Package<'_>> = BTreeMap::new();
    for part in lock.split("[[package]]").skip(1) {
        let name = part.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'));
        let package = packages.entry(name.unwrap_or_default()).or_default();
        package.is_own |= !part.lines().any(|line| line.starts_with("source = "));
        let wanted = part.lines().filter_map(|line| line.strip_prefix(" \"")?.strip_suffix("\","));
        package.dependencies.extend(wanted.map(|line| line.split(' ').next().unwrap_or(line)));
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::super::found;
    use super::*;

    const LOCK: &str = "[[package]]\nname = \"ours\"\ndependencies = [\n \"theirs\",\n \"libbpf-rs\",\n]\n\n\
        [[package]]\nname = \"theirs\"\nsource = \"a registry\"\ndependencies = [\n \"cc 1.2.3\",\n]\n\n\
        [[package]]\nname = \"libbpf-rs\"\nsource = \"a registry\"\ndependencies = [\n \"cc 1.2.3\",\n]\n\n\
        [[package]]\nname = \"cc\"\nsource = \"a registry\"\n";

    #[test]
    fn a_dependency_that_compiles_c_is_found_with_the_way_to_it() {
        let said = found(&RULE, "Cargo.lock", LOCK);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("ours → theirs → cc compiles C"), "{said:?}");
        assert!(found(&RULE, "Cargo.lock", &LOCK.replace(" \"theirs\",\n", "")).is_empty());
    }

    #[test]
    fn a_feature_keeps_what_compiles_c_out_of_ordinary_builds() {
        let manifest =
            "[dependencies]\nlibbpf-rs = { workspace = true, optional = true }\nlibbpf-rs.workspace = true\n";
        assert_eq!(found(&RULE, "crates/x/Cargo.toml", manifest).len(), 1);
        assert!(found(&RULE, "crates/x/Cargo.toml", manifest)[0].starts_with("3: "));
    }
}
