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
    refused(
        folder().path(),
        &["calibrate", "-o", "here.txt"],
        &["here.txt: machine and device files are TOML", "here.txt.toml"],
    );
    refused(folder().path(), &["calibrate", "-o", "missing/here.toml"], &["missing/here.toml cannot be written"]);
}

#[test]
fn a_disk_that_cannot_be_measured_is_refused_and_a_device_file_is_a_device() {
    let here = folder();
    refused(here.path(), &["calibrate", "--device", "gone"], &["gone cannot be opened for direct I/O"]);
    refused(here.path(), &["calibrate", "--device", "."], &[". is neither a disk nor a file; name a disk"]);
    refused(here.path(), &["calibrate", "--allow-writes"], &["--device"]);
    std::fs::write(here.path().join("jobs.fio"), "[a]\nrw=randread\ndirect=1\nsize=1m\n").unwrap();
    refused(here.path(), &["run", "jobs.fio", "-p", "rr", "--device", "gone.toml"], &["gone.toml cannot be read"]);
    let device = "sectors = 2097152\ndepth = 4\nsectors_max = 2560\nrotational = false\nvolatile_cache = false\n\
                flush_ns = 0\n[read.random]\nsizes = [4096]\ndepths = [1]\nmean_ns = [[1000000]]\n\
                spread = [[[1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000]]]\n";
    std::fs::write(here.path().join("none.toml"), "cpus = 4\n").unwrap();
    let none =
        ["none.toml is no device file: unknown field `cpus`", "; `goodness calibrate --device PATH -o none.toml`"];
    refused(here.path(), &["run", "jobs.fio", "-p", "rr", "--device", "none.toml"], &none);
    std::fs::write(here.path().join("disk.toml"), device).unwrap();
    let run = goodness(here.path(), &["run", "jobs.fio", "-p", "rr", "--device", "disk.toml", "--json"]);
    let report: serde_json::Value =
        serde_json::from_slice(&run.stdout).unwrap_or_else(|_| panic!("{}", text(&run.stderr)));
    let latency = &report["policies"][0]["metrics"]["io_latency_p50"]["value"];
    assert!(latency.as_f64().is_some_and(|ns| (990_000.0..1_010_000.0).contains(&ns)), "{latency}");
    of_a_device_that_was_tried(here.path(), device);
}

/// Results on a fitted device carry the error that its file states, and are untrusted if it is larger than accepted.
fn of_a_device_that_was_tried(here: &std::path::Path, device: &str) {
    let compared = |tried: &str| -> serde_json::Value {
        std::fs::write(here.join("tried.toml"), format!("{device}{tried}")).unwrap();
        let words = ["compare", "jobs.fio", "-p", "rr", "--elevator", "none", "--elevator", "bfq", "--runs", "3"];
        let output = goodness(here, &[&words[..], &["--device", "tried.toml", "--no-html", "--json"]].concat());
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
    };
    let facts = |it: &serde_json::Value| {
        let metrics = &it["policies"][1]["metrics"];
        let factors = ["iops", "io_latency_p99", "context_switches"].map(|name| metrics[name]["error_factor"].as_f64());
        let is_said = it["details"]["warnings"].to_string().contains("loads that it was not fitted to");
        (factors, is_said, it["trust"]["verdict"] == "untrusted")
    };
    let near = compared("[tried]\nloads = 3\niops_per_mille = -90\np99_per_mille = 120\n");
    assert_eq!(facts(&near), ([Some(1.0 / 0.91), Some(1.12), None], true, false), "{}", near["details"]);
    let far = compared("[tried]\nloads = 3\niops_per_mille = 20\np99_per_mille = 400\n");
    assert_eq!(facts(&far), ([Some(1.02), Some(1.4), None], false, true), "{}", far["trust"]);
    let unknown = compared("");
    assert_eq!(facts(&unknown), ([None; 3], false, false));
    let warnings = unknown["details"]["warnings"].to_string();
    assert!(warnings.contains("does not state how near it is"), "{warnings}");
}
