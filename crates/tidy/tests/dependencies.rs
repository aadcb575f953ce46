//! What others wrote: every package comes from the registry with a checksum, under a licence of the list.

use goodness_tidy::dependencies::{bill_of_materials, foreign_sources, refused_licences};
use std::path::Path;
use std::process::Command;

/// `cargo metadata` of the packages that this machine has, offline.
fn metadata() -> serde_json::Value {
    let version = Command::new(env!("CARGO")).arg("-vV").output().expect("cargo runs");
    let version = String::from_utf8_lossy(&version.stdout).into_owned();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo tells its host");
    let features = "goodness-cli/live,goodness-cli/tables";
    let found = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--features", features])
        .args(["--filter-platform", host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    serde_json::from_slice(&found.stdout).expect("it is JSON")
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
    let metadata = metadata();
    assert_eq!(refused_licences(&metadata), [""; 0], "see LICENCES in crates/tidy/src/dependencies.rs");
    let bill = bill_of_materials(&metadata, "", "goodness-cli");
    let has = |name: &str| bill["components"].as_array().is_some_and(|all| all.iter().any(|it| it["name"] == name));
    assert!(has("clap") && has("goodness-core") && !has("proptest") && !has("goodness-cli"), "{bill:#}");
}
