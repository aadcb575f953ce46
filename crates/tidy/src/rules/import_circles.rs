//! Imports form no cycle, except between a parent module and its children.

use super::Rule;
use crate::modules::{Crate, crates};
use crate::tree::{Finding, Tree};
use std::collections::{BTreeSet, VecDeque};

pub(super) const RULE: Rule = Rule {
    name: "import_circles",
    summary: "Files of a crate import each other in no circle; a child may use its parents.",
    check,
};

fn check(tree: &Tree) -> Vec<Finding> {
    crates(tree).iter().flat_map(circles).map(|files| finding(&files)).collect()
}

fn finding(files: &[&str]) -> Finding {
    let names: Vec<&str> =
        files.iter().map(|path| path.split_once("/src/").map_or(*path, |(_, inside)| inside)).collect();
    let sentence = format!(
        "imports go in a circle: {} → {}; move what both ends need into a file of its own",
        names.join(" → "),
        names[0]
    );
    Finding { path: files[0].into(), line: 0, sentence }
}

/// The shortest circle through each file of a circle, each set of files once.
fn circles<'a>(all: &Crate<'a>) -> Vec<Vec<&'a str>> {
    let used: Vec<BTreeSet<usize>> = (0..all.modules.len()).map(|at| all.used_by(at)).collect();
    let mut seen = BTreeSet::new();
    let mut circles = Vec::new();
    for from in 0..used.len() {
        let Some(circle) = shortest_circle(&used, from) else { continue };
        if seen.insert(circle.iter().copied().collect::<BTreeSet<_>>()) {
            circles.push(circle.iter().map(|at| all.modules[*at].source.path.as_str()).collect());
        }
    }
    circles
}

/// The files of the shortest way from `from` back to itself.
fn shortest_circle(used: &[BTreeSet<usize>], from: usize) -> Option<Vec<usize>> {
    let mut came_from = vec![None; used.len()];
    let mut queue = VecDeque::from([from]);
    while let Some(at) = queue.pop_front() {
        for &next in &used[at] {
            if next == from {
                let mut way = vec![at];
                while let Some(before) = came_from[*way.last().unwrap_or(&from)] {
                    way.push(before);
                }
                way.reverse();
                return Some(way);
            }
            if came_from[next].is_none() {
                came_from[next] = Some(at);
                queue.push_back(next);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(files: &[(&str, &str)]) -> Vec<String> {
        check(&Tree::of(files)).into_iter().map(|finding| finding.sentence).collect()
    }

    #[test]
    fn a_circle_is_told_by_its_files_once() {
        let files = [
            ("crates/x/src/a.rs", "use crate::b::B;"),
            ("crates/x/src/b.rs", "use crate::c::C;"),
            ("crates/x/src/c.rs", "fn f() { super::a::g() }"),
            ("crates/x/src/d.rs", "use crate::a::A;"),
        ];
        let said = sentences(&files);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].starts_with("imports go in a circle: a.rs → b.rs → c.rs → a.rs;"), "{said:?}");
    }

    #[test]
    fn a_parent_and_its_child_may_use_each_other_and_others_may_not_through_them() {
        let (lib, child) = ("crates/x/src/lib.rs", "crates/x/src/a/child.rs");
        let parent = ("crates/x/src/a/mod.rs", "mod child; use child::C; pub struct P;");
        assert!(sentences(&[(lib, "mod a; use a::P;"), parent, (child, "use super::P; use crate::a::P;")]).is_empty());
        let other = ("crates/x/src/b.rs", "use crate::a::P; pub struct Q;");
        assert_eq!(sentences(&[parent, other, (child, "use crate::b::Q;")]).len(), 1);
    }
}
