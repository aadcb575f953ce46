//! `goodness teach` as a black box: the charts, the times, and what is refused.

use crate::common::{folder, goodness, text};
use serde_json::Value;

fn teach(arguments: &[&str]) -> (i32, String) {
    let output = goodness(folder().path(), &[&["teach"], arguments].concat());
    (output.status.code().expect("it ended"), text(&output.stdout) + &text(&output.stderr))
}

#[test]
fn a_lesson_fits_a_terminal_and_has_a_chart_and_the_times_of_each_policy() {
    let policies = ["-p", "fifo", "-p", "srtf", "-p", "rr:timeslice=4ms", "-p", "eevdf"];
    let (code, said) = teach(&[&["A:0:8 B:1:4 C:2:9"], &policies[..]].concat());
    assert_eq!(code, 0, "{said}");
    assert!(said.lines().count() <= 24 && said.lines().all(|line| line.chars().count() <= 80), "{said}");
    let lines: Vec<&str> = said.lines().collect();
    let fifo = lines.iter().position(|line| line.starts_with("fifo: mean waiting time 5.67 ms")).expect(&said);
    assert_eq!(lines[fifo + 1].trim(), "A".repeat(24) + &"B".repeat(12) + &"C".repeat(27));
    let srtf = lines.iter().position(|line| line.starts_with("srtf: mean waiting time 4.67 ms")).expect(&said);
    assert_eq!(lines[srtf + 2].split_whitespace().collect::<Vec<_>>(), ["0", "1", "5", "12", "21"]);
}

#[test]
fn every_decision_is_told_in_words() {
    let (code, said) = teach(&["A:0:8 B:1:4", "-p", "srtf", "-v"]);
    assert_eq!(code, 0, "{said}");
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let first = "1 ms: A was stopped with 7 ms left; B runs (4 ms left, waited 0), because it needs 4 ms, less than \
                 A's 7 ms; waiting: A (7 ms left, waited 0)";
    assert!(words.contains(first), "{said}");
    assert!(words.contains("5 ms: B ended; A runs (7 ms left, waited 4); nobody else waits"), "{said}");
    let (_, said) = teach(&["A:0:8 B:1:4 C:2:9", "-p", "eevdf", "-v"]);
    let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let done = "A was stopped with 0 ms left; C runs (3 ms left, waited 10); nobody else waits";
    assert!(words.contains(done), "who needs no time is no reason: {said}");
}

#[test]
fn the_schedules_are_written_as_json() {
    let (code, said) = teach(&["P1:0:24 P2:0:3 P3:0:3", "-p", "rr:timeslice=4ms", "--json", "-"]);
    assert_eq!(code, 0, "{said}");
    let json: Value = serde_json::from_str(&said).expect("JSON");
    assert_eq!(json["schema"], "goodness.teach/1");
    let mean = json["policies"][0]["mean"]["waiting_ns"].as_f64().expect("a number");
    assert!((mean - 17e6 / 3.0).abs() < 1.0, "the published 17/3 ms: {mean}");
}

#[test]
fn jobs_that_are_none_are_refused_with_their_form() {
    for jobs in ["A:0", "A:0:8 A:1:2", "A:0:0"] {
        let (code, said) = teach(&[jobs]);
        assert!(code == 2 && said.starts_with("error: "), "{said}");
    }
}
