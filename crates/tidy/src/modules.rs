//! The modules of each crate, one per file, and their dependencies from `use` and paths in the code.

use crate::code;
use crate::tree::{Source, Tree};
use std::collections::{BTreeMap, BTreeSet};

/// A file of a crate.
pub struct Module<'a> {
    /// The file.
    pub source: &'a Source,
    /// Names from the root of the crate; the root has none.
    pub path: Vec<String>,
    /// Paths that the file imports or names.
    paths: Vec<Path>,
}

/// A path as it is written, and the name it has in the file that imports it.
struct Path {
    segments: Vec<String>,
    name: Option<String>,
}

/// Rust code of a crate as a graph of its files.
pub struct Crate<'a> {
    /// The files.
    pub modules: Vec<Module<'a>>,
    by_path: BTreeMap<Vec<String>, usize>,
}

/// Most imports a name is followed through.
const MOST_IMPORTS: u32 = 8;

/// All crates of the tree. Modules of tests are left out: nothing imports them.
#[must_use]
pub fn crates(tree: &Tree) -> Vec<Crate<'_>> {
    let mut folders: BTreeMap<&str, Vec<Module<'_>>> = BTreeMap::new();
    for source in tree.rust() {
        let Some((folder, inside)) = source.path.split_once("/src/") else { continue };
        if let Some(path) = module_path(inside) {
            let own = code::without_tests(&source.code);
            let paths = imports(&own).into_iter().chain(named(&own)).collect();
            folders.entry(folder).or_default().push(Module { source, path, paths });
        }
    }
    folders.into_values().map(Crate::new).collect()
}

/// Module path of a file: `a/b.rs` and `a/b/mod.rs` are `a::b`. Binaries and tests are no modules.
fn module_path(inside: &str) -> Option<Vec<String>> {
    let mut path: Vec<String> = inside.strip_suffix(".rs")?.split('/').map(Into::into).collect();
    let is_root = path.len() == 1 && matches!(path[0].as_str(), "lib" | "main");
    if is_root || path.last().is_some_and(|last| last == "mod") {
        path.pop();
    }
    (!path.iter().any(|name| name == "tests" || name == "bin")).then_some(path)
}

impl<'a> Crate<'a> {
    fn new(modules: Vec<Module<'a>>) -> Self {
        let by_path = modules.iter().enumerate().map(|(at, module)| (module.path.clone(), at)).collect();
        Self { modules, by_path }
    }

    /// The modules used by `module`, without its ancestors.
    #[must_use]
    pub fn used_by(&self, module: usize) -> BTreeSet<usize> {
        let own = &self.modules[module].path;
        let targets = self.modules[module].paths.iter().filter_map(|path| self.resolve(own, &path.segments, 0));
        targets.filter(|target| !own.starts_with(&self.modules[*target].path)).collect()
    }

    /// The file in which what `segments` name within `from` is declared, followed through imports.
    fn resolve(&self, from: &[String], segments: &[String], imports: u32) -> Option<usize> {
        let mut at = match segments.first()?.as_str() {
            "crate" => Vec::new(),
            "self" => from.to_vec(),
            "super" => from[..from.len().checked_sub(1)?].to_vec(),
            _ => return self.step(from, segments, imports),
        };
        let mut rest = &segments[1..];
        while rest.first().is_some_and(|first| first == "super") {
            at.pop()?;
            rest = &rest[1..];
        }
        if rest.is_empty() {
            return None;
        }
        self.step(&at, rest, imports).or_else(|| self.by_path.get(&at).copied())
    }

    /// Like [`Crate::resolve`], for segments that start with a name within `at`; `None` if the name is unknown there.
    fn step(&self, at: &[String], segments: &[String], imports: u32) -> Option<usize> {
        let first = segments.first()?;
        let child = [at, std::slice::from_ref(first)].concat();
        if let Some(module) = self.by_path.get(&child) {
            return self.step(&child, &segments[1..], imports).or(Some(*module));
        }
        let paths = &self.modules[*self.by_path.get(at)?].paths;
        let import = paths.iter().find(|path| path.name.as_ref() == Some(first))?;
        (imports < MOST_IMPORTS).then(|| self.resolve(at, &import.segments, imports + 1))?
    }
}

/// Paths in the code that begin with `crate`, `self` or `super`.
fn named(code: &str) -> Vec<Path> {
    let begins = ["crate", "self", "super"].into_iter().flat_map(|word| code::places(code, word));
    let free = begins.filter(|at| !code[..*at].ends_with("::") && !code[..*at].ends_with('$'));
    free.map(|at| Path { segments: segments(&code[at..]), name: None }).filter(|path| path.segments.len() > 1).collect()
}

/// The names at the start of `code` joined by `::`.
fn segments(code: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = code;
    loop {
        let len = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        if len == 0 {
            return names;
        }
        names.push(rest[..len].to_string());
        match rest[len..].strip_prefix("::") {
            Some(after) => rest = after,
            None => return names,
        }
    }
}

/// The imports of a file's `use` declarations.
fn imports(code: &str) -> Vec<Path> {
    let mut paths = Vec::new();
    for at in code::places(code, "use") {
        let rest = &code[at + "use".len()..];
        let tree: String = rest.split(';').next().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        add_tree(&[], &tree, &mut paths);
    }
    paths
}

/// Adds the leaves of an import tree below `prefix`: `a::{b, c as d, e::*}` has three.
fn add_tree(prefix: &[String], tree: &str, paths: &mut Vec<Path>) {
    let tree = tree.trim();
    let (head, rest) = tree.split_at(tree.find('{').unwrap_or(tree.len()));
    let (head, name) = head.split_once(" as ").map_or((head, None), |(head, name)| (head, Some(name.trim().into())));
    let own = segments(head.trim());
    let segments = [prefix, &own].concat();
    if let Some(inner) = rest.strip_prefix('{').and_then(|rest| rest.trim_end().strip_suffix('}')) {
        for part in parts(inner) {
            add_tree(&segments, part, paths);
        }
    } else if !own.is_empty() {
        let is_prefix = own == ["self"] && !prefix.is_empty();
        let segments = if is_prefix { prefix.to_vec() } else { segments };
        let name = if head.trim_end().ends_with('*') { None } else { name.or_else(|| segments.last().cloned()) };
        paths.push(Path { segments, name });
    }
}

/// Splits `inner` at commas outside braces.
fn parts(inner: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut begin) = (Vec::new(), 0, 0);
    for (at, byte) in inner.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            b',' if depth == 0 => {
                parts.push(&inner[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[begin..]);
    parts.retain(|part| !part.trim().is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `user: used …` of each file of a crate of these files.
    fn uses(files: &[(&str, &str)]) -> Vec<String> {
        let named: Vec<(String, &str)> =
            files.iter().map(|(name, text)| (format!("crates/x/src/{name}"), *text)).collect();
        let tree = Tree::of(&named.iter().map(|(name, text)| (name.as_str(), *text)).collect::<Vec<_>>());
        let all = crates(&tree);
        let name = |at: usize| all[0].modules[at].path.join("::");
        let users = (0..all[0].modules.len()).map(|at| (at, all[0].used_by(at)));
        let told = users.filter(|(_, used)| !used.is_empty());
        told.map(|(at, used)| format!("{}: {}", name(at), used.into_iter().map(name).collect::<Vec<_>>().join(" ")))
            .collect()
    }

    #[test]
    fn imports_and_paths_lead_to_files() {
        let a = "use crate::{b::X, c::{self, Y as Z}}; use super::d; use std::io; fn f() { crate::e::deep::g(); }";
        let rest = [("b.rs", ""), ("c.rs", ""), ("d.rs", ""), ("e/mod.rs", ""), ("e/deep.rs", "")];
        assert_eq!(uses(&[&[("a.rs", a)], &rest[..]].concat()), ["a: b c d e::deep"]);
    }

    #[test]
    fn what_a_parent_imports_is_followed_and_what_it_declares_is_its_own() {
        let lib = ("lib.rs", "mod a; mod b; pub use b::{Inner as Outer, Plain}; pub struct Own;");
        assert_eq!(uses(&[lib, ("a.rs", "use crate::{Outer, Own};"), ("b.rs", "pub struct Inner;")]), [": b", "a: b"]);
        let through = ("b/mod.rs", "mod c; pub use c::Plain;");
        let files = [lib, through, ("a.rs", "use super::Plain;"), ("b/c.rs", "use super::Thing;")];
        assert_eq!(uses(&files), [": b b::c", "b: b::c", "a: b::c"]);
    }

    #[test]
    fn tests_macros_and_other_crates_are_no_uses() {
        let a =
            "#[cfg(test)]\nmod tests { use crate::b::X; }\nmacro_rules! m { () => { $crate::b::X } }\nuse other::b::X;";
        assert!(uses(&[("a.rs", a), ("b.rs", ""), ("b/tests.rs", "use crate::a::Y;")]).is_empty());
    }
}
