//! The examples that people copy from.

use crate::common::{folder, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let entries = std::fs::read_dir(folder).expect("the examples are there");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
    files.sort();
    files
}

/// The report of an example under two unlike policies, without what depends on the clock on the wall.
fn report(example: &Path, threads: &str) -> Value {
    let here = folder();
    let output = Command::new(env!("CARGO_BIN_EXE_goodness"))
        .arg("compare")
        .arg(example)
        .args(["-p", "eevdf", "-p", "haiku-2013", "--runs", "2", "--json", "-", "--html", "r.html"])
        .current_dir(here.path())
        .env("RAYON_NUM_THREADS", threads)
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}: {}", example.display(), text(&output.stderr));
    let mut report: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for policy in report["policies"].as_array_mut().expect("policies") {
        policy["simulation_wall_ns"] = Value::Null;
        assert_eq!(policy["violations"].as_array().map(Vec::len), Some(0), "{}", example.display());
    }
    report
}

#[test]
fn every_example_runs_clean_and_gives_the_same_on_one_thread_and_on_two() {
    let examples = examples();
    assert!(examples.len() >= 4, "{examples:?}");
    for example in examples {
        assert_eq!(report(&example, "1"), report(&example, "2"), "{}", example.display());
    }
}
