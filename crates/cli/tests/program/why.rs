//! `goodness why`: the answer first, files that agree with it, and mistakes in the call.

use crate::common::{folder, goodness, refused, text};
use serde_json::Value;
use std::fs;

const LOCKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/09-priority-inversion.toml");

fn said(words: &[&str]) -> String {
    let output = goodness(folder().path(), words);
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn who_preempts_the_holder_of_a_lock_is_named_in_the_first_line_and_checked() {
    let answer = said(&["why", LOCKED]);
    let words = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words.starts_with("The slowest requests spent 81.5 % of their time waiting for a CPU behind worker"),
        "{answer}"
    );
    assert!(
        words.contains(
            "logger 3, holding lock log, waited for CPU 0 behind worker 2: class fifo is served before normal"
        ),
        "{answer}"
    );
    assert!(words.contains("holds worker.affinity=own: 2.70 ms to 500 µs"), "{answer}");
    assert!(words.contains("96.3 % counted above, too: asleep for lock log, held by logger"), "{answer}");
    let unchecked = said(&["why", LOCKED, "--no-check", "--profile"]);
    assert!(!unchecked.contains("holds"), "{unchecked}");
    assert!(["the CPU time of worker", "the time lock log is held"].iter().all(|it| unchecked.contains(it)));
}

#[test]
fn a_limit_on_the_io_of_a_group_is_named_where_there_is_one() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/12-io-limits.toml");
    let answer = said(&["why", example, "--judge", "backup-*", "--of", "io"]);
    let words = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("held back, because group backup was at its I/O limit"), "{answer}");
    assert!(words.contains("backup.io_max=max:"), "a check without the limit: {answer}");
    // The control: the server, which has no limit, waits for the disk alone.
    let server = said(&["why", example, "--judge", "server-*", "--of", "io"]);
    assert!(!server.contains("I/O limit"), "{server}");
}

#[test]
fn the_task_whose_write_back_the_disk_serves_first_is_named() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/14-write-back.toml");
    let answer = said(&["why", example, "--judge", "reader*", "--of", "io", "--no-check"]);
    let words = answer.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("served others first, most of them of writer."), "{answer}");
}

#[test]
fn the_turn_of_another_group_is_named_where_groups_have_weights() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/13-io-weights.toml");
    let here = folder();
    let flat = here.path().join("flat.toml");
    let text = std::fs::read_to_string(example).expect("the example is there").replace("io_weight", "cpu_weight");
    std::fs::write(&flat, text).expect("a folder of its own");
    let flat = flat.to_str().expect("a path in UTF-8");
    for (file, names_groups) in [(example, true), (flat, false)] {
        let answer = said(&["why", file, "--judge", "small-*", "--of", "io", "--no-check"]);
        let words = answer.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(words.contains("the turn of another group"), names_groups, "{answer}");
    }
}

#[test]
fn a_recording_is_explained_as_it_is_within_a_terminal() {
    let answer = said(&["why", "apache-ab-c24-1cpu"]);
    assert!(answer.lines().all(|line| line.chars().count() <= 80), "{answer}");
    assert!(answer.starts_with("The slowest 1 % of requests spent"), "{answer}");
    assert!(answer.contains("7346 requests of ab to apache2"), "{answer}");
}

#[test]
fn json_and_csv_have_the_same_chains_and_a_second_call_the_same_bytes() {
    let here = folder();
    let words = ["why", "redis-benchmark-8", "--worst", "3", "--json", "a.json", "--csv", "a.csv"];
    let output = goodness(here.path(), &words);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json = fs::read_to_string(here.path().join("a.json")).unwrap();
    let why: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(why["schema"], "goodness.why/1");
    let worst = why["worst"].as_array().unwrap();
    assert_eq!(worst.len(), 3);
    let links: usize = worst.iter().map(|it| it["chain"].as_array().unwrap().len()).sum();
    let csv = fs::read_to_string(here.path().join("a.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + links, "{csv}");
    let again = goodness(here.path(), &["why", "redis-benchmark-8", "--worst", "3", "--json"]);
    assert_eq!(text(&again.stdout), json);
}

#[test]
fn the_page_draws_each_chain_and_loads_nothing() {
    let here = folder();
    let output = goodness(here.path(), &["why", "redis-benchmark-8", "--worst", "3", "--html", "why.html"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stdout).trim_end().ends_with("wrote why.html"), "{}", text(&output.stdout));
    let page = fs::read_to_string(here.path().join("why.html")).unwrap();
    assert_eq!(page.matches("role=\"img\"").count(), 1 + 3, "the sum, and each latency");
    assert!(page.contains("goodness why redis-benchmark-8") && !page.contains("<script"));
}

#[test]
fn requests_of_work_that_has_none_are_refused_with_the_kinds_that_it_has() {
    let here = folder();
    let others = "ask for waits, wakeups or all";
    for input in ["mixed", "mixed-cpu"] {
        let words = ["why", input, "--of", "requests"];
        refused(here.path(), &words, &["the judged tasks have no requests", others]);
    }
    refused(here.path(), &["why", "mixed", "--of", "io"], &["mixed: the judged tasks have no I/Os", others]);
}

#[test]
fn only_what_was_under_way_at_a_time_is_explained() {
    let asked = |more: &[&str]| -> Value {
        let words = [&["why", "redis-benchmark-8", "--no-check", "--json"], more].concat();
        serde_json::from_str(&said(&words)).expect("JSON")
    };
    let number = |of: &Value, key: &str| of[key].as_u64().expect("a number");
    let all = asked(&[]);
    let slowest = &all["worst"][0];
    let middle = number(slowest, "at_ns") + number(slowest, "length_ns") / 2;
    let then = asked(&["--at", &format!("{middle}ns")]);
    assert_eq!(&then["worst"][0], slowest);
    assert!(number(&then, "count") < number(&all, "count"), "the control: without a time it is about all");
    let is_under_way = |it: &Value| {
        let begin = number(it, "at_ns");
        (begin..=begin + number(it, "length_ns")).contains(&middle)
    };
    assert!(then["worst"].as_array().unwrap().iter().all(is_under_way), "{then}");
    assert!(!all["worst"].as_array().unwrap().iter().all(is_under_way));
}

#[test]
fn whom_it_is_about_and_when_are_asked_of_recordings_and_of_runs() {
    let judged = said(&["why", "mixed:duration=1s", "--judge", "sleeper-1", "--no-check", "--json"]);
    let judged: Value = serde_json::from_str(&judged).unwrap();
    let tasks: Vec<&str> =
        judged["worst"].as_array().unwrap().iter().filter_map(|it| it["task"]["name"].as_str()).collect();
    assert!(!tasks.is_empty() && tasks.iter().all(|name| *name == "sleeper-1"), "{tasks:?}");
    let here = folder();
    refused(
        here.path(),
        &["why", "mixed", "--judge", "sleper-1"],
        &["--judge \"sleper-1\"", "nearest is \"sleeper-1\""],
    );
    refused(here.path(), &["why", "mixed", "--at", "5"], &["--at", "unit"]);
    refused(here.path(), &["why", "redis-benchmark-8", "--at", "1s"], &["nothing was late", "its own clock"]);
    refused(here.path(), &["why", "mixed", "--of", "naps"], &["naps"]);
}
