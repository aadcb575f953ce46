//! Paths that the pages name exist.

use super::Rule;
use crate::tree::{Finding, Source, Tree};

pub(super) const RULE: Rule = Rule {
    name: "paths",
    summary: "Every path of the repository in backticks on a page exists; the changelog, which is history, is exempt.",
    check,
};

const HISTORY: &str = "CHANGELOG.md";
/// Endings of files that only this repository has, wherever a path begins.
const OURS: [&str; 2] = [".rs", ".md"];
/// Names of a reader's own policy or elevator in instructions.
const EXAMPLES: [&str; 2] = ["mine", "my_own"];

fn check(tree: &Tree) -> Vec<Finding> {
    let pages = tree.files.iter().filter(|file| file.path.ends_with(".md") && file.path != HISTORY);
    pages.flat_map(|page| missing(tree, page)).collect()
}

fn missing(tree: &Tree, page: &Source) -> Vec<Finding> {
    let words =
        spans(&page.text).into_iter().flat_map(|(at, span)| span.split_whitespace().map(move |word| (at, word)));
    let paths = words.filter(|(_, word)| is_path(tree, word) && !is_placeholder(word));
    let missing = paths.filter(|(_, path)| !exists(tree, page, path));
    missing.map(|(at, path)| page.finding(at, format!("there is no {path}; name a path that exists"))).collect()
}

/// The text between single backticks, with its position. Fenced blocks hold output and commands of other folders.
fn spans(text: &str) -> Vec<(usize, &str)> {
    let (mut found, mut at, mut is_fenced) = (Vec::new(), 0, false);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            is_fenced = !is_fenced;
        } else if !is_fenced {
            let mut from = at;
            for (index, piece) in line.split('`').enumerate() {
                if index % 2 == 1 {
                    found.push((from, piece));
                }
                from += piece.len() + 1;
            }
        }
        at += line.len();
    }
    found
}

/// True if a word begins with a top folder of the repository, or is a file of a kind that only this repository has.
fn is_path(tree: &Tree, word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-*".contains(c);
    let top = word.split_once('/').map(|(top, _)| top);
    let begins = top.is_some_and(|top| tree.paths.iter().any(|path| under(path, top)));
    let ends = OURS.iter().any(|ending| word.len() > ending.len() && word.ends_with(ending));
    word.chars().all(is_plain) && !word.starts_with(['/', '.', '*']) && (begins || ends)
}

/// True for paths with a part that the reader replaces, such as `docs/policies/NAME.md`.
fn is_placeholder(path: &str) -> bool {
    let stem = |part: &str| part.split('.').next().unwrap_or_default().to_string();
    let is_replaced =
        |stem: &str| EXAMPLES.contains(&stem) || stem.len() > 1 && stem.chars().all(|c| c.is_ascii_uppercase());
    let is_file = |path: &str| ["README", "CONTRIBUTING", "ARCHITECTURE", "CHANGELOG"].contains(&stem(path).as_str());
    path.split('/').any(|part| is_replaced(&stem(part)) && !is_file(part))
}

/// True if the path is a file or a folder, from the root, from the page's folder, or the end of a file's path. A `*`
/// matches any characters.
fn exists(tree: &Tree, page: &Source, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let beside = format!("{folder}/{path}");
    tree.paths.iter().any(|file| {
        let is_end = OURS.iter().any(|ending| path.ends_with(ending)) && file.ends_with(&format!("/{path}"));
        is_end || [path, &beside].iter().any(|path| under(file, path) || matches(file, path))
    })
}

/// True if `file` is `path`, or lies in that folder.
fn under(file: &str, path: &str) -> bool {
    file.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// True if `pattern` has a `*` and describes `file` or one of its folders.
fn matches(file: &str, pattern: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return false };
    file.strip_prefix(before).is_some_and(|rest| rest.match_indices(after).any(|(at, _)| at > 0 || after.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Paths that a page names and that do not exist.
    fn missed(path: &str, text: &str) -> Vec<String> {
        let files =
            [("crates/core/src/rr.rs", ""), ("scripts/guest", ""), ("docs/fidelity/replay.md", ""), (path, text)];
        let said = (RULE.check)(&Tree::of(&files));
        said.iter().map(|f| f.sentence.split_once(';').unwrap().0.replace("there is no ", "")).collect()
    }

    #[test]
    fn a_path_that_does_not_exist_is_found() {
        let text = "`crates/core/src/cfs.rs`, `scripts/guests --cpus 2`, `cfs.rs`\n`docs/fidelity/*.rst` and `a/b.md`";
        let expected = ["crates/core/src/cfs.rs", "scripts/guests", "cfs.rs", "docs/fidelity/*.rst", "a/b.md"];
        assert_eq!(missed("docs/a.md", text), expected);
        assert_eq!(missed("README.md", "`scripts/guests`"), ["scripts/guests"]);
    }

    #[test]
    fn files_folders_patterns_and_words_that_are_no_paths_pass() {
        for text in [
            "`crates/core/src/rr.rs` `crates/core/` `rr.rs` `src/rr.rs` `scripts/guest --cpus 2` `docs/*/replay.md`",
            "`docs/policies/NAME.md` `crates/policies/src/mine.rs` `a.md`",
            "scripts/none `block/cfq-iosched.c` `/sys/x.rs` `policy/elevator` `docs/x?y`",
            "```\n`scripts/none`\n```\n",
        ] {
            assert_eq!(missed("docs/a.md", text), [""; 0], "{text}");
        }
        assert_eq!(missed("docs/fidelity/a.md", "`replay.md`"), [""; 0]);
        assert_eq!(missed("CHANGELOG.md", "`crates/live/src/lib.rs`"), [""; 0]);
    }
}
