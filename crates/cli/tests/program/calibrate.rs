//! Measures this machine, and uses the result as the machine of a run.

use crate::common::{folder, goodness, refused, text};

#[test]
fn a_calibrated_machine_runs_a_workload() {
    let here = folder();
    let measured = goodness(here.path(), &["calibrate", "-o", "here.toml"]);
    assert_eq!(measured.status.code(), Some(0), "{}", text(&measured.stderr));
    assert!(text(&measured.stdout).contains("--machine here.toml"));
    let file = std::fs::read_to_string(here.path().join("here.toml")).unwrap();
    for figure in ["switch", "wakeup", "idle_exit", "tick", "timer", "sleep", "preempt", "search", "insert"] {
        // On a busy machine a figure may be lost in what is measured with it; then the file says so.
        let is_told = |line: &str| {
            line.starts_with(&format!("{figure} = \"")) || line.starts_with(&format!("# {figure} is left out: "))
        };
        assert!(file.lines().any(is_told), "{figure}: {file}");
    }
    assert!(!file.contains("= \"0ns\"") && !file.contains("= \"0s\""), "nothing is 0: {file}");
    let run = goodness(here.path(), &["run", "mixed:duration=100ms", "-p", "rr", "--machine", "here.toml"]);
    assert_eq!(run.status.code(), Some(0), "{}", text(&run.stderr));
}

#[test]
fn a_machine_file_that_would_not_be_known_as_one_is_refused() {
    refused(folder().path(), &["calibrate", "-o", "here.txt"], &["here.txt: machine files are TOML", "here.txt.toml"]);
    refused(folder().path(), &["calibrate", "-o", "missing/here.toml"], &["missing/here.toml cannot be written"]);
}
