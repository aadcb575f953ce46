//! `goodness diff` as a black box: answers, conditions, histories, exit codes.

use crate::common::{command, folder, goodness, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const WORK: &str = "mixed:duration=1s";

/// Exit code and standard output of `goodness diff`.
fn diff(here: &Path, arguments: &[&str]) -> (i32, String) {
    let output = goodness(here, &[&["diff"], arguments].concat());
    (output.status.code().expect("it ended"), text(&output.stdout) + &text(&output.stderr))
}

fn recording(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings/repeats").join(name);
    path.display().to_string()
}

#[test]
fn two_schedulers_part_at_a_decision_which_is_named_with_the_queue() {
    let here = folder();
    let (code, said) = diff(here.path(), &[WORK, "-p", "eevdf", "-p", "cfs", "--runs", "4"]);
    assert_eq!(code, 0, "{said}");
    assert!(
        said.starts_with("Different: decisions part at ") && said.contains("First decision that differs: "),
        "{said}"
    );
    assert!(said.contains("better") && said.contains("Metrics: "), "{said}");
    assert!(said.lines().count() <= 24 && said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let (_, json) = diff(here.path(), &[WORK, "-p", "eevdf", "-p", "cfs", "--runs", "4", "--json", "-"]);
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["schema"], &json["verdict"]), (&"goodness.diff/1".into(), &"different".into()));
    let first = &json["first_difference"];
    assert!(first["at_ns"].is_u64() && first["a"]["queue"].is_array(), "{first}");
    assert_ne!(first["a"]["did"], first["b"]["did"], "{first}");
    assert!(json["tasks"].as_array().is_some_and(|tasks| !tasks.is_empty()));
}

#[test]
fn a_difference_in_short_is_its_headline_and_its_conditions() {
    let here = folder();
    let words = [WORK, "-p", "eevdf", "-p", "cfs", "--runs", "4", "--fail-if", "difference", "--html", "d.html", "-q"];
    let (code, said) = diff(here.path(), &words);
    assert_eq!(code, 1, "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let [headline, sides, gate] = lines[..] else { panic!("{said}") };
    assert!(headline.starts_with("Different: ") && sides.contains("A = eevdf, B = cfs"), "{said}");
    assert!(gate.starts_with("fails") && here.path().join("d.html").exists(), "{said}");
}

#[test]
fn a_task_that_is_forked_later_is_no_rule_yet() {
    let here = folder();
    let window = ["--runs", "2", "--without-others", "--window", "0s..20ms"];
    let (code, said) = diff(here.path(), &[&["mixed-cpu", "-p", "eevdf", "-p", "cfs"], &window[..]].concat());
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("First decision that differs: "), "{said}");
}

#[test]
fn equal_runs_have_no_difference_and_hold_every_condition() {
    let here = folder();
    let conditions = ["--fail-if", "difference", "--fail-if", "wakeup_latency_p99 > +0%"];
    let (code, said) =
        diff(here.path(), &[&[WORK, "-p", "eevdf", "-p", "eevdf", "--runs", "3"], &conditions[..]].concat());
    assert_eq!(code, 0, "{said}");
    assert!(said.starts_with("No difference: all runs are equal."), "{said}");
}

#[test]
fn a_condition_fails_is_undecided_or_is_refused() {
    let here = folder();
    let arms = |condition, runs| [WORK, "-p", "eevdf", "-p", "cfs", "--runs", runs, "--fail-if", condition];
    let (code, said) = diff(here.path(), &[&arms("wakeup_latency_p99 < -5%", "4")[..], &["--junit", "j.xml"]].concat());
    assert_eq!(code, 1, "{said}");
    let junit = std::fs::read_to_string(here.path().join("j.xml")).expect("it was written");
    assert!(junit.contains("failures=\"1\" errors=\"0\""), "{junit}");
    assert_eq!(diff(here.path(), &arms("wakeup_latency_p99 < -5%", "1")).0, 3, "one run does not decide");
    let (code, said) = diff(here.path(), &arms("wakeup_p99 > +5%", "1"));
    assert!(code == 2 && said.contains("there is no metric \"wakeup_p99\""), "{said}");
    let (code, said) = diff(here.path(), &[WORK, "-p", "eevdf"]);
    assert!(code == 2 && said.contains("one arm has nothing to differ from"), "{said}");
}

#[test]
fn a_reader_that_goes_away_changes_neither_the_exit_code_nor_the_files() {
    let here = folder();
    let words =
        ["diff", WORK, "-p", "eevdf", "-p", "cfs", "--runs", "2", "--fail-if", "difference", "--html", "d.html"];
    let mut child = command(here.path(), &words).stdout(Stdio::piped()).spawn().expect("the program starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(1));
    assert!(here.path().join("d.html").exists());
}

#[test]
fn a_replay_that_misses_its_bounds_is_said_first_and_decides_no_metric() {
    let here = folder();
    let trace = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings/block/mixed-mq-deadline.ftrace.zst");
    let sides = ["--elevator", "mq-deadline", "--elevator", "bfq", "--runs", "4"];
    let gate = ["--fail-if", "io_write_latency_p99 > +1%"];
    let (code, said) = diff(here.path(), &[&[&*trace.display().to_string()], &sides[..], &gate].concat());
    assert!(code == 3 && said.starts_with("Untrusted: ") && said.contains("simulation alone says"), "{code} {said}");
}

#[test]
fn a_history_keeps_results_and_a_failing_one_is_not_added() {
    let here = folder();
    let short = [WORK, "--runs", "4"];
    let run = |more: &[&str]| diff(here.path(), &[&short[..], more].concat());
    let (code, said) = run(&["-p", "eevdf", "--against", "main"]);
    assert!(code == 2 && said.contains("no result of mixed:duration=1s is saved"), "{said}");
    assert_eq!(run(&["-p", "eevdf", "--save", "main"]).0, 0);
    let (code, said) = run(&["-p", "eevdf", "--against", "main", "--save", "main", "--fail-if", "difference"]);
    assert!(code == 0 && said.contains("No difference: all runs are equal."), "{said}");
    let (code, said) = run(&["-p", "cfs", "--against", "main", "--save", "main", "--fail-if", "difference"]);
    assert_eq!(code, 1, "{said}");
    let kept = std::fs::read_dir(here.path().join("goodness-results/main")).expect("a folder").count();
    assert_eq!(kept, 2, "the failing result was not kept");
}

#[test]
fn two_saved_results_are_paired_by_seed() {
    let here = folder();
    let compare = |policies: &[&str], file: &str| {
        let arguments = [&["compare", WORK, "--runs", "4", "--no-html", "--json", file], policies].concat();
        assert_eq!(goodness(here.path(), &arguments).status.code(), Some(0));
    };
    compare(&["-p", "eevdf", "-p", "rr"], "a.json");
    compare(&["-p", "eevdf", "-p", "rr"], "b.json");
    let (code, said) = diff(here.path(), &["a.json", "b.json", "-p", "rr"]);
    assert!(code == 0 && said.starts_with("No difference: all runs are equal."), "{said}");
    assert!(said.contains("paired by seed"), "{said}");
    let (code, said) = diff(here.path(), &["a.json", "b.json"]);
    assert!(code == 2 && said.contains("several policies: eevdf, rr"), "{said}");
    compare(&["-p", "cfs"], "c.json");
    compare(&["-p", "eevdf"], "d.json");
    let (code, said) = diff(here.path(), &["d.json", "c.json", "--fail-if", "wakeup_latency_p99 < -5%"]);
    assert!(code == 1 && said.contains("better"), "{said}");
}

#[test]
fn two_recordings_of_one_set_up_have_no_difference_and_of_two_have_one() {
    let here = folder();
    let of = |a: &str, b: &str| diff(here.path(), &[&recording(a), &recording(b)]);
    let (code, said) = of("redis-benchmark-4.1.ftrace.zst", "redis-benchmark-4.2.ftrace.zst");
    assert!(code == 0 && said.starts_with("No difference: no metric differs"), "{said}");
    let (code, said) = of("redis-benchmark-4.1.ftrace.zst", "mixed-1cpu.1.ftrace.zst");
    assert!(code == 0 && said.contains("metrics differ."), "{said}");
}
