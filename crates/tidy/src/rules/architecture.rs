//! The crate table in ARCHITECTURE.md matches the tree, and each crate depends only on crates above it in the table.

use super::Rule;
use crate::tree::{Finding, Source, Tree};

pub(super) const RULE: Rule = Rule {
    name: "architecture",
    summary: "Each crate has one row in ARCHITECTURE.md and depends only on crates in rows above its own.",
    check,
};

const PAGE: &str = "ARCHITECTURE.md";

fn check(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.get(PAGE) else {
        return vec![Finding { path: PAGE.into(), line: 0, sentence: "there is no table of crates".into() }];
    };
    let rows = rows(page);
    let crates: Vec<Manifest> = tree.files.iter().filter_map(Manifest::of).collect();
    let mut findings = Vec::new();
    for (index, (at, folder)) in rows.iter().enumerate() {
        if !crates.iter().any(|krate| krate.folder == *folder) {
            findings.push(page.finding(*at, format!("there is no crate {folder}; delete its row")));
        }
        if rows[..index].iter().any(|(_, other)| other == folder) {
            findings.push(page.finding(*at, format!("{folder} has a second row; delete one")));
        }
    }
    crates.iter().for_each(|krate| findings.extend(krate.misplaced(page, &rows, &crates)));
    findings
}

/// Folders in the table's first column, in order, with their positions.
fn rows(page: &Source) -> Vec<(usize, &str)> {
    let mut at = 0;
    let mut rows = Vec::new();
    for line in page.text.split_inclusive('\n') {
        if let Some((folder, _)) = line.strip_prefix("| `crates/").and_then(|rest| rest.split_once('`')) {
            rows.push((at, &line["| `".len().."| `crates/".len() + folder.len()]));
        }
        at += line.len();
    }
    rows
}

/// A crate's manifest, as far as the table needs it.
struct Manifest<'a> {
    folder: &'a str,
    name: &'a str,
    /// Names of the crates that it is compiled with; those of its tests aside.
    dependencies: Vec<&'a str>,
}

impl<'a> Manifest<'a> {
    fn of(file: &'a Source) -> Option<Manifest<'a>> {
        let folder = file.path.strip_suffix("/Cargo.toml").filter(|folder| folder.starts_with("crates/"))?;
        let (mut name, mut section, mut dependencies) = ("", "", Vec::new());
        for line in file.text.lines() {
            if line.starts_with('[') {
                section = line.trim();
            } else if section == "[package]" && name.is_empty() && line.starts_with("name") {
                name = line.split('"').nth(1).unwrap_or_default();
            } else if section.ends_with("dependencies]") && !section.contains("dev-") {
                dependencies.extend(line.split(['.', ' ', '=']).next().filter(|word| word.starts_with("goodness")));
            }
        }
        Some(Manifest { folder, name, dependencies })
    }

    /// The row is missing, or stands above a dependency's.
    fn misplaced(&self, page: &Source, rows: &[(usize, &str)], crates: &[Manifest]) -> Vec<Finding> {
        let place = |folder: &str| rows.iter().position(|(_, other)| *other == folder);
        let Some(own) = place(self.folder) else {
            return vec![page.finding(0, format!("{} has no row in the table of crates", self.folder))];
        };
        let below = self.dependencies.iter().filter_map(|name| crates.iter().find(|krate| krate.name == *name));
        let below = below.filter(|krate| place(krate.folder).is_some_and(|row| row >= own));
        let sentence =
            |krate: &Manifest| format!("{} depends on {}, whose row is not above", self.folder, krate.folder);
        below.map(|krate| page.finding(rows[own].0, sentence(krate))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CORE: (&str, &str) = ("crates/core/Cargo.toml", "[package]\nname = \"goodness-core\"\n");
    const SIM: (&str, &str) = (
        "crates/sim/Cargo.toml",
        "[package]\nname = \"goodness-sim\"\n[dependencies]\ngoodness-core.workspace = \
            true\n[dev-dependencies]\ngoodness-x = {}\n",
    );

    fn found(page: &str) -> Vec<String> {
        check(&Tree::of(&[(PAGE, page), CORE, SIM])).iter().map(|f| f.sentence.clone()).collect()
    }

    #[test]
    fn a_table_in_the_order_of_dependencies_passes() {
        assert_eq!(found("| crate |\n| `crates/core` | a |\n| `crates/sim` | b |\n"), [""; 0]);
    }

    #[test]
    fn every_departure_of_the_table_from_the_tree_is_found() {
        let departures = [
            ("| `crates/core` |\n", "crates/sim has no row"),
            ("| `crates/core` |\n| `crates/sim` |\n| `crates/gone` |\n", "there is no crate crates/gone"),
            ("| `crates/core` |\n| `crates/sim` |\n| `crates/core` |\n", "crates/core has a second row"),
            ("| `crates/sim` |\n| `crates/core` |\n", "crates/sim depends on crates/core, whose row is not above"),
        ];
        for (page, sentence) in departures {
            let found = found(page);
            assert!(found.len() == 1 && found[0].contains(sentence), "{sentence}: {found:?}");
        }
        assert_eq!(check(&Tree::of(&[CORE])).len(), 1, "no page");
    }
}
