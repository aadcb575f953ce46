//! Packages that others wrote: their licences, their sources, and the list of those in the program.

use serde_json::{Value, json};
use spdx::{Expression, ParseMode};
use std::collections::{BTreeMap, BTreeSet};

/// Licences that a package may have: each allows what ours, `MIT OR Apache-2.0`, allows.
pub const LICENCES: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];
/// The only place that packages come from, as a lock file writes it.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Packages of `metadata`, as of `cargo metadata`, whose licence is not among [`LICENCES`], as sentences.
#[must_use]
pub fn refused_licences(metadata: &Value) -> Vec<String> {
    let all = metadata["packages"].as_array().into_iter().flatten();
    let refused = all.filter_map(|package| {
        let (name, licence) = (package["name"].as_str()?, package["license"].as_str().unwrap_or_default());
        (!is_allowed(licence)).then(|| format!("{name}: the licence \"{licence}\" is not on the list"))
    });
    refused.collect()
}

/// True if `licence`, an SPDX expression, can be met with licences of the list alone.
fn is_allowed(licence: &str) -> bool {
    let is_listed = |name: Option<&str>| name.is_some_and(|name| LICENCES.contains(&name));
    Expression::parse_mode(licence, ParseMode::LAX)
        .is_ok_and(|expression| expression.evaluate(|wanted| is_listed(wanted.license.id().map(|id| id.name))))
}

/// Packages of the lock file `text` that are neither of this repository nor from the registry with a checksum, as
/// sentences.
#[must_use]
pub fn foreign_sources(text: &str) -> Vec<String> {
    let packages = text.split("[[package]]").skip(1);
    let foreign = packages.filter_map(|package| {
        let of = |key: &str| package.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "));
        let name = of("name").unwrap_or("a package without a name");
        match (of("source").map(|source| source.trim_matches('"')), of("checksum")) {
            (None, None) | (Some(REGISTRY), Some(_)) => None,
            (Some(REGISTRY), None) => Some(format!("{name} has no checksum")),
            (source, _) => Some(format!("{name} comes from {}", source.unwrap_or("nowhere"))),
        }
    });
    foreign.collect()
}

/// The software bill of materials of the program that package `root` builds, as CycloneDX 1.5. `metadata` is of `cargo
/// metadata`, `lock` the text of the lock file. The same input gives the same bytes: nothing in it tells the time.
///
/// # Panics
/// `metadata` has no package `root`.
#[must_use]
pub fn bill_of_materials(metadata: &Value, lock: &str, root: &str) -> Value {
    let packages: BTreeMap<&str, &Value> =
        metadata["packages"].as_array().into_iter().flatten().filter_map(|it| Some((it["id"].as_str()?, it))).collect();
    // Procedural macros run in the compiler: neither their code nor that of what they need is in the program.
    let is_linked = |id: &&str| packages.get(id).is_none_or(|it| !is_macro(it));
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let needs: BTreeMap<&str, Vec<&str>> =
        nodes.filter_map(|node| Some((node["id"].as_str()?, in_the_program(node, is_linked)))).collect();
    let found = packages.iter().find(|(_, it)| it["name"] == root).map(|(id, _)| *id);
    let root = found.unwrap_or_else(|| panic!("the metadata have no package {root}"));
    let (mut reached, mut open) = (BTreeSet::from([root]), vec![root]);
    while let Some(id) = open.pop() {
        open.extend(needs.get(id).into_iter().flatten().filter(|needed| reached.insert(needed)));
    }
    let name_of = |id: &&str| packages.get(id).map(|it| purl(it)).unwrap_or_default();
    let mut components: Vec<Value> =
        reached.iter().filter(|id| **id != root).filter_map(|id| Some(component(packages.get(id)?, lock))).collect();
    components.sort_by_key(|it| it["purl"].to_string());
    let mut dependencies: Vec<(String, Vec<String>)> =
        reached.iter().map(|id| (name_of(id), needs.get(id).into_iter().flatten().map(name_of).collect())).collect();
    dependencies.iter_mut().for_each(|(_, on)| on.sort());
    dependencies.sort();
    let dependencies: Vec<Value> =
        dependencies.into_iter().map(|(of, on)| json!({ "ref": of, "dependsOn": on })).collect();
    let mut program = packages.get(root).map(|it| component(it, lock)).unwrap_or_default();
    program["type"] = "application".into();
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": program },
        "components": components,
        "dependencies": dependencies,
    })
}

/// The packages whose code `node` takes into the program: neither for its tests nor for its build alone.
fn in_the_program(node: &Value, is_code: impl Fn(&&str) -> bool) -> Vec<&str> {
    let is_linked =
        |it: &&Value| it["dep_kinds"].as_array().is_some_and(|all| all.iter().any(|it| it["kind"].is_null()));
    node["deps"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(is_linked)
        .filter_map(|it| it["pkg"].as_str())
        .filter(is_code)
        .collect()
}

/// True for a package of procedural macros.
fn is_macro(package: &Value) -> bool {
    let mut targets = package["targets"].as_array().into_iter().flatten();
    targets.any(|target| target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|it| it == "proc-macro")))
}

/// Its name in lists of packages of all languages.
fn purl(package: &Value) -> String {
    format!("pkg:cargo/{}@{}", text(package, "name"), text(package, "version"))
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

fn component(package: &Value, lock: &str) -> Value {
    let (name, version) = (text(package, "name"), text(package, "version"));
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": name,
        "version": version,
        "purl": purl(package),
        "licenses": [{ "expression": text(package, "license").replace('/', " OR ") }],
    });
    let entry = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    let checksum =
        lock.split("[[package]]").find(|it| it.contains(&entry)).and_then(|it| it.split_once("checksum = \""));
    if let Some(checksum) = checksum.and_then(|(_, rest)| rest.split('"').next()) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, licence: &str) -> Value {
        json!({ "id": format!("id {name}"), "name": name, "version": "1.0.0", "license": licence })
    }

    #[test]
    fn a_licence_is_met_by_the_list_or_refused() {
        for allowed in
            ["MIT", "MIT/Apache-2.0", "(MIT OR GPL-3.0) AND Unicode-3.0", "Apache-2.0 WITH LLVM-exception OR MIT"]
        {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in ["", "GPL-2.0-only", "MIT AND AGPL-3.0-only", "NOASSERTION", "no licence"] {
            assert!(!is_allowed(refused), "{refused}");
        }
        let metadata = json!({ "packages": [package("a", "MIT"), package("b", "GPL-2.0-only")] });
        assert_eq!(refused_licences(&metadata), ["b: the licence \"GPL-2.0-only\" is not on the list"]);
    }

    #[test]
    fn a_source_is_the_registry_or_this_repository() {
        let lock = |more: &str| format!("version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n{more}");
        let registry = format!("source = \"{REGISTRY}\"\n");
        assert!(foreign_sources(&lock("")).is_empty());
        assert!(foreign_sources(&lock(&format!("{registry}checksum = \"00\"\n"))).is_empty());
        assert_eq!(foreign_sources(&lock(&registry)), ["\"a\" has no checksum"]);
        let git = "source = \"git+https://example.org/a#0\"\n";
        assert_eq!(foreign_sources(&lock(git)), ["\"a\" comes from git+https://example.org/a#0"]);
    }

    #[test]
    fn the_bill_lists_what_is_linked_and_nothing_of_tests() {
        let dep = |name: &str, kind: Value| json!({ "pkg": format!("id {name}"), "dep_kinds": [{ "kind": kind }] });
        let node = |name: &str, deps: Vec<Value>| json!({ "id": format!("id {name}"), "deps": deps });
        let root =
            node("root", vec![dep("used", Value::Null), dep("tested", "dev".into()), dep("built", "build".into())]);
        let mut packages =
            ["root", "used", "deep", "tested", "built", "macros", "syntax"].map(|name| package(name, "MIT/Apache-2.0"));
        packages[5]["targets"] = json!([{ "kind": ["proc-macro"] }]);
        let used = node("used", vec![dep("deep", Value::Null), dep("macros", Value::Null)]);
        let macros = node("macros", vec![dep("syntax", Value::Null)]);
        let metadata = json!({ "packages": packages, "resolve": { "nodes": [root, used, macros] } });
        let lock = "[[package]]\nname = \"deep\"\nversion = \"1.0.0\"\nchecksum = \"c0ffee\"\n";
        let bill = bill_of_materials(&metadata, lock, "root");
        let names: Vec<&str> = bill["components"].as_array().unwrap().iter().map(|it| text(it, "name")).collect();
        assert_eq!(names, ["deep", "used"]);
        assert_eq!(bill["components"][0]["hashes"][0]["content"], "c0ffee");
        assert_eq!(bill["components"][1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["dependencies"][1]["dependsOn"], json!(["pkg:cargo/used@1.0.0"]));
        assert_eq!(bill["metadata"]["component"]["type"], "application");
    }

    #[test]
    #[should_panic(expected = "no package root")]
    fn a_bill_without_its_program_is_none() {
        let _ = bill_of_materials(&json!({ "packages": [package("a", "MIT")] }), "", "root");
    }
}
