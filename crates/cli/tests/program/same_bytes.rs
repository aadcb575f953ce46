//! The same call gives the same bytes, and more runs need hardly more memory.

use crate::common::{folder, goodness, text};
use serde_json::Value;
use std::process::Command;

/// Output of a comparison: JSON and HTML page.
fn compared(words: &[&str]) -> [Vec<u8>; 2] {
    let here = folder();
    let fixed = [
        "compare",
        "mixed:duration=1s",
        "-p",
        "eevdf",
        "-p",
        "rr",
        "--runs",
        "3",
        "--json",
        "a.json",
        "--html",
        "a.html",
    ];
    let output = goodness(here.path(), &[&fixed, words].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    ["a.json", "a.html"].map(|name| std::fs::read(here.path().join(name)).unwrap())
}

#[test]
fn nothing_in_json_or_page_hangs_on_the_clock() {
    let [json, page] = compared(&[]);
    let [again, page_again] = compared(&[]);
    assert!(json == again, "two calls gave different JSON");
    assert!(page == page_again, "two calls gave different pages");
    let report: Value = serde_json::from_slice(&json).unwrap();
    assert!(report["policies"][0]["simulation_wall_ns"].is_null(), "nobody asked for it");
    let [timed, _] = compared(&["--timing"]);
    let report: Value = serde_json::from_slice(&timed).unwrap();
    assert!(report["policies"][0]["simulation_wall_ns"].as_u64().is_some_and(|ns| ns > 0), "it was asked for");
}

#[test]
fn ten_thousand_runs_stay_within_a_few_hundred_megabytes() {
    let here = folder();
    // A run whose histograms were kept would need 320 KiB: 6.5 GB together.
    let call = "ulimit -v 600000; \
        exec \"$0\" compare hogs:tasks=2,duration=40ms -p rr -p fifo --runs 10000 --no-html --json -";
    let output = Command::new("sh")
        .args(["-c", call, env!("CARGO_BIN_EXE_goodness")])
        .current_dir(here.path())
        .env("RAYON_NUM_THREADS", "2")
        .output()
        .expect("a shell");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["runs_per_policy"], 10_000);
}
