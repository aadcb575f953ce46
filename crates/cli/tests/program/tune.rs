//! Tunings from the command line: the answer first, its files, and what is refused.

use crate::common::{folder, goodness, refused, text};
use serde_json::Value;
use std::process::Command;

const SLICE: [&str; 5] = ["tune", "mixed:duration=1s", "-p", "eevdf:base_slice=3ms", "--over=base_slice=0.7ms..12ms"];

#[test]
fn the_answer_comes_first_fits_a_terminal_and_has_its_files() {
    let here = folder();
    let files = ["--json", "t.json", "--html", "t.html", "--csv", "t.csv", "--race", "r.toml"];
    let output = goodness(here.path(), &[&SLICE[..], &files].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let said = text(&output.stdout);
    let first = said.lines().next().unwrap_or_default();
    assert!(first.starts_with("eevdf:base_slice=") && first.contains("us cuts p99 wake-up latency from"), "{said}");
    assert!(said.lines().count() <= 22 && said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let read = |name: &str| std::fs::read_to_string(here.path().join(name)).expect(name);
    let result: Value = serde_json::from_str(&read("t.json")).expect("JSON");
    assert_eq!((&result["schema"], &result["answer"]), (&"goodness.tune/1".into(), &"found".into()));
    let runs = |name: &str| result["runs"][name].as_u64().expect(name);
    assert!(runs("search") > 0 && runs("held_out") == 4 * 20, "{}", result["runs"]);
    let rows = read("t.csv");
    assert!(rows.starts_with("stage,arm,round,") && rows.contains("\nheld-out,eevdf:base_slice="), "{rows}");
    assert!(read("t.html").contains("<svg") && !read("t.html").contains("<script"));
    assert!(said.contains("Confirm: sudo goodness race r.toml") && read("r.toml").contains("use = \"schbench\""));
}

#[test]
fn a_race_that_is_not_written_is_told() {
    let here = folder();
    let small = ["--candidates", "3", "--rounds", "1", "--search-runs", "4", "--runs", "4", "--race", "r.toml"];
    let words = ["tune", "mixed:duration=300ms", "--over", "run_to_parity"];
    let said = text(&goodness(here.path(), &[&words[..], &small].concat()).stdout);
    assert!(said.ends_with("No race written: nothing to confirm.\n"), "{said}");
    assert!(!here.path().join("r.toml").exists());
}

/// The file that confirms is one that `goodness race` reads.
#[cfg(feature = "live")]
#[test]
fn the_race_that_confirms_can_be_run() {
    let here = folder();
    let small = ["--candidates", "3", "--rounds", "1", "--search-runs", "4", "--runs", "8", "--race", "r.toml"];
    let output = goodness(here.path(), &[&SLICE[..], &small].concat());
    assert!(text(&output.stdout).contains("goodness race r.toml"), "{}", text(&output.stdout));
    let planned = goodness(here.path(), &["race", "r.toml", "--dry-run"]);
    let said = text(&planned.stdout);
    assert!(said.contains("eevdf:base_slice=") && said.contains("base_slice_ns"), "{said}{}", text(&planned.stderr));
}

#[test]
fn one_thread_and_two_give_the_same_bytes() {
    let here = folder();
    let run = |threads: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_goodness"));
        let words = ["--rounds", "1", "--candidates", "4", "--runs", "5", "--json", "-"];
        let output = command.args(SLICE).args(words).env("RAYON_NUM_THREADS", threads).current_dir(here.path());
        output.output().expect("the program starts").stdout
    };
    let one = run("1");
    assert!(!one.is_empty() && one == run("2"));
}

/// The examples of the help that need no file of the user's.
#[test]
fn the_examples_of_the_help_run() {
    let help = text(&goodness(folder().path(), &["tune", "--help"]).stdout);
    let (_, examples) = help.split_once("\nExamples:\n").expect("examples");
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");
    let examples = examples.replace("\\\n    ", "").replace("examples/", shipped);
    let calls = examples.lines().take_while(|line| !line.is_empty());
    let calls = calls.filter(|line| line.contains("tune mixed ") || line.contains(shipped));
    let here = folder();
    let mut count = 0;
    for call in calls {
        let call = call.trim().split("   ").next().unwrap_or_default();
        // Every other part is in quotes.
        let parts = call.split('\'').enumerate();
        let mut words: Vec<&str> = parts
            .flat_map(|(at, part)| if at % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
            .skip(1)
            .collect();
        words.extend(["--rounds", "1", "--candidates", "3", "--search-runs", "3", "--runs", "3"]);
        let output = goodness(here.path(), &words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        count += 1;
    }
    assert!(count >= 4, "{help}");
}

#[test]
fn a_decision_that_was_asked_for_and_is_none_has_its_exit_code() {
    let words = ["tune", "mixed:duration=300ms", "--over=base_slice=500us..700us", "--decide", "--runs", "2"];
    let output = goodness(folder().path(), &[&words[..], &["--search-runs", "2", "--rounds", "1"]].concat());
    let said = text(&output.stdout);
    assert!(said.starts_with("Undecided: no setting is shown to "), "{said}");
    assert_eq!(output.status.code(), Some(3), "{said}");
}

#[test]
fn mistakes_are_refused_with_a_remedy() {
    let here = folder();
    let tune = |words: &[&str], parts: &[&str]| refused(here.path(), &[&["tune"][..], words].concat(), parts);
    tune(&["mixed", "--over", "base_slise=1ms..2ms"], &["eevdf has no tunable", "base_slice", "list policies eevdf"]);
    tune(&["mixed", "--over", "base_slice=1ms..2s"], &["outside 100us ..= 100ms"]);
    tune(&["mixed", "--over", "hgo.nice=0..5"], &["no task is called \"hgo\"", "hog"]);
    tune(&["mixed", "--over", "base_slice", "--minimise", "throughput"], &["maximise it"]);
    tune(&["mixed", "--over", "base_slice", "--keep", "throughput > 1"], &["no >= or <="]);
    tune(&["mixed", "mixed", "--over", "base_slice"], &["not a recording"]);
    tune(&["mixed"], &["--over"]);
    tune(&["--over", "base_slice"], &["INPUT"]);
    tune(&["mixed", "--over", "base_slice", "--json", "x", "--html", "x"], &["x"]);
}
