//! What others wrote: every package comes from the registry with a checksum, under a licence of the list.

use goodness_tidy::dependencies::{bill_of_materials, foreign_sources, refused_licences};
use std::path::Path;
use std::process::Command;

/// Everything that can be built: the features of a package, of the wheel, of the kernel's policies, of the schemas.
const ALL: &str = "goodness-cli/live,goodness-cli/tables,goodness-cli/sched_ext,goodness-cli/schema,\
                   goodness-cli/manual,goodness-python/wheel";
/// What `scripts/package` builds.
const PACKAGE: &str = "goodness-cli/live,goodness-cli/tables";

/// `cargo metadata` with these features in `folder` of the repository, offline. `None`, loudly, if this machine has not
/// downloaded all these packages.
fn metadata(folder: &str, features: &str) -> Option<serde_json::Value> {
    let version = Command::new(env!("CARGO")).arg("-vV").output().expect("cargo runs");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo tells its host");
    let found = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--features", features])
        .args(["--filter-platform", host])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder))
        .output()
        .expect("cargo runs");
    let why = String::from_utf8_lossy(&found.stderr);
    if !found.status.success() && why.contains("--offline") {
        let remedy = "a package is not here; run cargo fetch there";
        eprintln!("SKIPPED: licences with {features} in ./{folder}: {remedy}\n{why}");
        return None;
    }
    assert!(found.status.success(), "{why}");
    Some(serde_json::from_slice(&found.stdout).expect("it is JSON"))
}

#[test]
fn every_package_comes_from_the_registry_and_has_its_checksum() {
    for lock in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(lock);
        let text = std::fs::read_to_string(path).expect("there is a lock file");
        assert!(text.matches("checksum = ").count() > 50, "{lock} locks hardly any package");
        assert_eq!(foreign_sources(&text), [""; 0], "{lock}");
    }
}

#[test]
fn every_package_has_a_licence_of_the_list_and_the_bill_names_those_in_the_program() {
    if let Some(metadata) = metadata("", ALL) {
        assert_eq!(refused_licences(&metadata), [""; 0], "see LICENCES in crates/tidy/src/dependencies.rs");
    }
    if let Some(metadata) = metadata("fuzz", "") {
        // The runtime of LLVM's fuzzer is in no program of ours.
        let runtime = "libfuzzer-sys: the licence \"(MIT OR Apache-2.0) AND NCSA\" is not on the list";
        assert_eq!(refused_licences(&metadata), [runtime]);
    }
    let Some(metadata) = metadata("", PACKAGE) else { return };
    assert_eq!(refused_licences(&metadata), [""; 0], "see LICENCES in crates/tidy/src/dependencies.rs");
    let bill = bill_of_materials(&metadata, "", "goodness-cli");
    let has = |name: &str| bill["components"].as_array().is_some_and(|all| all.iter().any(|it| it["name"] == name));
    assert!(has("clap") && has("goodness-core") && !has("proptest") && !has("goodness-cli"), "{bill:#}");
    assert!(!has("clap_derive") && !has("serde_derive") && !has("syn"), "macros: {bill:#}");
}
