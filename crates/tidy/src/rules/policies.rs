//! A policy is a file, a line in the registry, a page and a golden schedule; an elevator is a file, a line and a page.

use crate::code;
use crate::tree::{Finding, Source, Tree};

/// A kind of registered thing, and the files that belong to it.
struct Kind {
    what: &'static str,
    /// Folder of the files that declare it.
    folder: &'static str,
    /// Type of the constant that declares it.
    declaration: &'static str,
    /// Folder and ending of each file that belongs to it, and what that holds.
    companions: &'static [(&'static str, &'static str, &'static str)],
}

const POLICY: Kind = Kind {
    what: "policy",
    folder: "crates/policies/src/",
    declaration: "About",
    companions: &[
        ("docs/policies/", ".md", "page (idea, source, what is inferred, weakness)"),
        ("crates/policies/tests/golden/", ".txt", "golden schedule, read by a person"),
    ],
};

const ELEVATOR: Kind = Kind {
    what: "elevator",
    folder: "crates/elevators/src/",
    declaration: "ElevatorAbout",
    companions: &[("docs/elevators/", ".md", "page (idea, source, what is inferred, weakness)")],
};

/// Policies declared in a file but missing in the registry, several in one file, and registered ones without page or
/// golden schedule. `registered` are the names in the registry.
#[must_use]
pub fn incomplete_policies(tree: &Tree, registered: &[&str]) -> Vec<Finding> {
    POLICY.incomplete(tree, registered)
}

/// Elevators declared in a file but missing in the registry, several in one file, and registered ones without page.
/// `registered` are the names in the registry.
#[must_use]
pub fn incomplete_elevators(tree: &Tree, registered: &[&str]) -> Vec<Finding> {
    ELEVATOR.incomplete(tree, registered)
}

impl Kind {
    fn incomplete(&self, tree: &Tree, registered: &[&str]) -> Vec<Finding> {
        let Kind { what, folder, .. } = self;
        let mut findings = Vec::new();
        let mut declared = Vec::new();
        for file in tree.rust().filter(|f| f.path.starts_with(folder)) {
            for (at, name) in self.declared_names(file) {
                if !registered.contains(&name) {
                    let sentence = format!("the {what} {name} is not in the registry; add it to {folder}lib.rs");
                    findings.push(file.finding(at, sentence));
                }
                declared.push(name);
            }
            findings.extend(self.declared_together(file));
        }
        for name in registered {
            if !declared.contains(name) {
                let sentence = format!("the registered {what} {name} is declared in no file below {folder}");
                findings.push(Finding { path: format!("{folder}lib.rs"), line: 0, sentence });
            }
            findings.extend(self.missing_companions(tree, name));
        }
        findings
    }

    /// The names declared by `About { name: "…", … }` outside a file's tests, with their positions.
    fn declared_names<'a>(&self, file: &'a Source) -> Vec<(usize, &'a str)> {
        let code = code::without_tests(&file.code);
        let length = self.declaration.len();
        let declarations = code::places(&code, self.declaration).filter(|at| code[at + length..].starts_with(" {"));
        let named = declarations.filter_map(|at| {
            let text = &file.text[code::body(&code, at)?];
            let (_, rest) = text.split_once("name: \"")?;
            Some((at, rest.split_once('"')?.0))
        });
        named.collect()
    }

    /// Policies or elevators that a file declares after its first.
    fn declared_together(&self, file: &Source) -> Vec<Finding> {
        let Kind { what, .. } = self;
        let others = self.declared_names(file).into_iter().skip(1);
        others
            .map(|(at, name)| file.finding(at, format!("{name} shares a file; give the {what} one of its own")))
            .collect()
    }

    fn missing_companions(&self, tree: &Tree, name: &str) -> Vec<Finding> {
        let path = |(folder, ending, holds): &(&str, &str, &'static str)| (format!("{folder}{name}{ending}"), *holds);
        let missing = self.companions.iter().map(path).filter(|(path, _)| tree.get(path).is_none());
        missing
            .map(|(path, holds)| Finding {
                path,
                line: 0,
                sentence: format!("the {} {name} has no {holds}; write this file", self.what),
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RR: (&str, &str) = (
        "crates/policies/src/rr.rs",
        "impl Registered for RoundRobin { const ABOUT: About = About { name: \"rr\", summary: \"s\" }; }",
    );
    const PAGE: (&str, &str) = ("docs/policies/rr.md", "# rr");
    const GOLDEN: (&str, &str) = ("crates/policies/tests/golden/rr.txt", "a 0..5");

    fn found(files: &[(&str, &str)], registered: &[&str]) -> Vec<String> {
        incomplete_policies(&Tree::of(files), registered).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_listed_policy_with_page_and_golden_passes() {
        assert_eq!(found(&[RR, PAGE, GOLDEN], &["rr"]), [""; 0]);
    }

    #[test]
    fn a_second_policy_in_a_file_is_found() {
        let both = "const ABOUT: About = About { name: \"rr\" };\nconst B: About = About { name: \"fifo\" };";
        let pages = [("docs/policies/fifo.md", "# fifo"), ("crates/policies/tests/golden/fifo.txt", "a 0..5")];
        let files = [("crates/policies/src/rr.rs", both), PAGE, GOLDEN, pages[0], pages[1]];
        let found = found(&files, &["rr", "fifo"]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("fifo shares a file; give the policy one of its own"), "{found:?}");
    }

    #[test]
    fn a_declared_policy_that_is_not_listed_is_found() {
        let mine = ("crates/policies/src/mine.rs", "//! Mine.\nconst ABOUT: About = About { name: \"mine\" };");
        let found = found(&[RR, PAGE, GOLDEN, mine], &["rr"]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("crates/policies/src/mine.rs:2: the policy mine is not in the registry"),
            "{found:?}"
        );
    }

    #[test]
    fn several_policies_of_one_file_are_found_apart() {
        let two = (RR.0, "const A: About = About { name: \"rr\" }; const B: About = About { name: \"rr-2\" };");
        assert!(found(&[two, PAGE, GOLDEN], &["rr"])[0].contains("rr-2 is not in the registry"));
    }

    #[test]
    fn a_missing_page_and_a_missing_golden_are_found() {
        assert!(found(&[RR, GOLDEN], &["rr"])[0].starts_with("docs/policies/rr.md"));
        assert!(found(&[RR, PAGE], &["rr"])[0].starts_with("crates/policies/tests/golden/rr.txt"));
    }

    #[test]
    fn a_registered_policy_that_no_file_declares_is_found() {
        assert!(found(&[PAGE, GOLDEN], &["rr"])[0].contains("declared in no file"));
    }

    #[test]
    fn an_elevator_needs_its_line_and_its_page() {
        let noop = ("crates/elevators/src/noop.rs", "const A: ElevatorAbout = ElevatorAbout { name: \"noop\" };");
        let page = ("docs/elevators/noop.md", "# noop");
        let found = |files: &[(&str, &str)], registered: &[&str]| -> Vec<String> {
            incomplete_elevators(&Tree::of(files), registered).iter().map(ToString::to_string).collect()
        };
        assert_eq!(found(&[noop, page], &["noop"]), [""; 0]);
        assert!(found(&[noop], &["noop"])[0].starts_with("docs/elevators/noop.md"));
        assert!(found(&[noop, page], &[])[0].contains("the elevator noop is not in the registry"));
    }
}
