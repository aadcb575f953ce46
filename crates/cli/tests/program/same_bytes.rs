//! The same call gives the same bytes, whatever the time zone, the language and the number of threads; and more runs
//! need hardly more memory.

use crate::common::{command, folder, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Two surroundings that no output may depend on.
const HERE: [(&str, &str); 3] = [("TZ", "UTC"), ("LC_ALL", "C"), ("RAYON_NUM_THREADS", "2")];
const ELSEWHERE: [(&str, &str); 3] =
    [("TZ", "Pacific/Kiritimati"), ("LC_ALL", "de_DE.UTF-8"), ("RAYON_NUM_THREADS", "1")];

/// Output of a call in a folder of its own, and the files `a.*` that it writes, by name; a folder's files, too.
fn outputs(words: &[&str], surroundings: [(&str, &str); 3]) -> BTreeMap<String, Vec<u8>> {
    let here = folder();
    std::fs::write(here.path().join("s.toml"), SWEEP).expect("a file");
    std::fs::write(here.path().join("w.toml"), WORK).expect("a file");
    let mut command = command(here.path(), words);
    let output = command.envs(surroundings).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
    let named = words.iter().filter(|word| word.starts_with("a."));
    let mut all = BTreeMap::from([("standard output".to_string(), output.stdout)]);
    named.for_each(|name| read(here.path(), name, &mut all));
    all
}

/// Reads the file `name`, or the files of that folder.
fn read(here: &Path, name: &str, into: &mut BTreeMap<String, Vec<u8>>) {
    let path = here.join(name);
    if !path.is_dir() {
        into.insert(name.into(), std::fs::read(path).expect("it was written"));
        return;
    }
    for file in std::fs::read_dir(path).expect("a folder") {
        let file = file.expect("a file").file_name().into_string().expect("text");
        read(here, &format!("{name}/{file}"), into);
    }
}

const WORK: &str = "duration = \"100ms\"\n[machine]\ncpus = 1\n\
    [[task]]\nname = \"a\"\ncount = 3\nprogram = [{ compute = \"20ms\" }, { sleep = \"1ms\" }]\n";

const SWEEP: &str = "metric = \"wakeup_latency_p99\"\nruns = 1\ninputs = [\"mixed:duration=20ms,hogs={hogs}\"]\n\
    arms = [\"rr\", \"cfs\"]\n[space]\nhogs = [1, 2]\n";

const COMPARE: [&str; 14] = [
    "compare",
    "mixed:duration=300ms",
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
    "--csv",
    "a.csv",
];

/// Cheap calls of every command that simulates, except compare.
const SIMULATING: &[&[&str]] = &[
    &["run", "mixed:duration=300ms", "-p", "rr", "--json", "a.json", "--html", "a.html", "--perfetto", "a.perfetto"],
    &["run", "mixed:duration=300ms", "-p", "rr", "--timehist", "9", "--csv", "a.csv"],
    &["verify", "apache-ab-c4-1cpu", "--json", "--csv", "a.csv"],
    &["study", "travis-1998", "--quick", "--runs", "2", "--json", "a.json", "--html", "a.html", "--csv", "a.csv"],
    #[cfg(feature = "tables")]
    &["sweep", "s.toml", "--json", "-", "--html", "a.html", "--csv", "a.csv", "--arrow", "a.arrow"],
    #[cfg(feature = "tables")]
    &["compare", "mixed:duration=100ms", "-p", "rr", "--runs", "2", "--no-html", "--parquet", "a.parquet"],
    &["compare", "mixed:duration=100ms", "-p", "rr", "--runs", "2", "--no-html", "--cite", "--figures", "a.figures"],
    &["shrink", "w.toml", "-p", "rr", "--wait", "10ms", "-o", "a.toml"],
    &["summarise", "apache-ab-c4-1cpu", "--json"],
    &["why", "mixed:duration=300ms", "-p", "eevdf", "--json", "a.json", "--csv", "a.csv", "--html", "a.html"],
    &["diff", "mixed:duration=300ms", "-p", "eevdf", "-p", "rr", "--runs", "2", "--json", "a.json", "--html", "a.html"],
    &["teach", "A:0:8 B:1:4", "--json", "a.json", "--html", "a.html"],
    &[
        TUNE[0],
        TUNE[1],
        TUNE[2],
        "--rounds",
        "1",
        "--candidates",
        "3",
        "--runs",
        "2",
        "--json",
        "a.json",
        "--html",
        "a.html",
    ],
];

const TUNE: [&str; 3] = ["tune", "mixed:duration=300ms", "--over=base_slice=0.7ms..12ms"];

/// The first output that differs between two calls with these words.
fn differing(words: &[&str]) -> Option<String> {
    let (once, again) = (outputs(words, HERE), outputs(words, ELSEWHERE));
    once.into_iter().find(|(name, bytes)| again[name] != *bytes).map(|(name, _)| name)
}

#[test]
fn no_output_of_a_command_that_simulates_depends_on_clock_time_zone_language_or_threads() {
    for words in SIMULATING.iter().copied().chain([&COMPARE[..]]) {
        assert_eq!(differing(words), None, "two calls of {words:?}");
    }
}

#[test]
fn the_run_time_is_reported_if_it_is_asked_for_and_only_then() {
    let wall = |words: &[&str]| {
        let report: Value = serde_json::from_slice(&outputs(words, HERE)["a.json"]).expect("JSON");
        report["policies"][0]["simulation_wall_ns"].as_u64()
    };
    for words in [&COMPARE[..], SIMULATING[0]] {
        let timed = [words, &["--timing"]].concat();
        assert_eq!(wall(words), None, "nobody asked for it");
        assert!(wall(&timed).is_some_and(|ns| ns > 0), "{timed:?}");
        // A clock in nanoseconds: if it could not be told from one that is left out, the test above would be blind.
        assert!((0..3).any(|_| differing(&timed).is_some()), "{timed:?}");
    }
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
