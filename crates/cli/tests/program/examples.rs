//! The examples that people copy from.

use crate::common::{folder, goodness, text};
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

/// specs/cpu-schedulers.md 12: the watchdog of sched_ext allows a wait of 30 s; 1501 other tasks with slices of 20 ms
/// take longer.
#[test]
fn a_policy_that_the_kernel_would_have_unloaded_is_named_with_the_task_and_the_time() {
    let here = folder();
    let work = "duration = \"31s\"\nmachine = \"ideal\"\n[[task]]\nname = \"hog\"\ncount = 1502\nprogram = [ { compute \
        = \"forever\" } ]\n";
    std::fs::write(here.path().join("crowd.toml"), work).expect("a file");
    let said = |policy: &str| {
        let output = goodness(here.path(), &["run", "crowd.toml", "-p", policy, "-v"]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let unloaded = "would have unloaded this policy at 30s (run 1): task \"hog";
    let ext = said("scx-simple:fifo=on");
    assert!(ext.contains("warning: scx-simple:fifo=on: sched_ext's watchdog") && ext.contains(unloaded), "{ext}");
    assert!(!said("rr:timeslice=20ms").contains("watchdog"));
}

/// The report of an example under two different policies, without wall-clock times.
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
