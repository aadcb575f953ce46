//! Ctrl-C: what is known is told, and nothing is written.

use crate::common::{command, folder, goodness, text};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Starts the program, sends the signal after a second, and waits for its end, and for how long that took.
fn stopped(here: &Path, words: &[&str], signal: &str) -> (Output, Duration) {
    let mut command = command(here, words);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    std::thread::sleep(Duration::from_secs(1));
    send(&child, signal);
    let begun = Instant::now();
    (child.wait_with_output().expect("it ends"), begun.elapsed())
}

fn send(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success(), "it ended before the signal");
}

/// Exit code, standard output, standard error, of a command that must have ended soon.
fn answer((output, took): (Output, Duration)) -> (Option<i32>, String, String) {
    assert!(took < Duration::from_secs(10), "it took {took:?}");
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_comparison_ranks_the_runs_that_every_arm_has_made() {
    let here = folder();
    for signal in ["-INT", "-TERM"] {
        let words = ["compare", "mixed:duration=50ms", "-p", "eevdf", "-p", "cfs", "--runs", "10000"];
        let words = [&words[..], &["--json", "a.json", "--html", "a.html"]].concat();
        let (code, out, err) = answer(stopped(here.path(), &words, signal));
        assert_eq!(code, Some(1), "{err}");
        assert!(out.contains("Ranking by") && out.contains("eevdf") && out.contains("cfs"), "{out}");
        assert!(err.contains("error: stopped after ") && err.contains(" of 10000 runs of each arm"), "{err}");
        assert!(err.contains("no file was written"), "{err}");
        assert_eq!(std::fs::read_dir(here.path()).expect("a folder").count(), 0, "nothing is written");
    }
}

#[test]
fn a_run_tells_what_was_measured_so_far() {
    let here = folder();
    let words = ["run", "mixed:duration=3600s,hogs=40", "-p", "o1"];
    let (code, out, err) = answer(stopped(here.path(), &words, "-INT"));
    assert_eq!(code, Some(1), "{err}");
    assert!(out.contains("p99 wake-up latency"), "{out}");
    assert!(err.contains("error: stopped after ") && err.contains(" of simulated time"), "{err}");
}

#[test]
fn a_study_says_that_it_was_stopped() {
    let here = folder();
    let words = ["study", "panasyuk-2009", "--runs", "400"];
    let (code, _, err) = answer(stopped(here.path(), &words, "-INT"));
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("stopped before panasyuk-2009 had ended"), "{err}");
}

/// The control: what is not stopped says nothing of it.
#[test]
fn a_comparison_that_is_not_stopped_does_not_say_so() {
    let here = folder();
    let output = goodness(here.path(), &["compare", "mixed:duration=50ms", "-p", "rr", "--runs", "2", "--no-html"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(!(text(&output.stdout) + &text(&output.stderr)).contains("stopped"));
}
