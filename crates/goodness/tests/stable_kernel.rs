//! A stable kernel with what it got later, beside the simulator: `docs/fidelity/stable-kernel.md`.

use goodness::{Contender, OpenOptions, Plan, open, unwatched};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Allowed distance from the kernel: a part of its switches.
const BOUND: f64 = 0.015;

/// Loads in which the rules that came later change the number of switches by more than the bound.
const TELLING: [&str; 5] = ["eight", "sixteen", "hog", "twelve", "line"];

fn suite() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fidelity/stable")
}

/// Mean of the switches that the kernel made, for each load.
fn measured() -> BTreeMap<String, f64> {
    let text = std::fs::read_to_string(suite().join("measured.toml")).expect("the measured switches");
    let plays: BTreeMap<String, Vec<f64>> = toml::from_str(&text).expect("TOML");
    plays.into_iter().map(|(load, all)| (load, all.iter().sum::<f64>() / all.len() as f64)).collect()
}

/// Switches of all tasks after the warm-up, simulated with seed 1.
fn simulated(load: &str, policy: &str) -> f64 {
    let path = suite().join(format!("{load}.toml"));
    let work =
        open(path.to_str().expect("a path"), &OpenOptions::default(), &unwatched).unwrap_or_else(|why| panic!("{why}"));
    let contender = Contender::parse(policy).expect("a policy");
    let runs =
        Plan { runs: 1, ..Plan::of(&work, vec![contender]) }.run(&unwatched).unwrap_or_else(|why| panic!("{why}"));
    let tasks = &runs.arms[0].first.measured.tasks;
    tasks.iter().map(|task| f64::from(task.voluntary_switches + task.involuntary_switches)).sum()
}

fn distance(load: &str, kernel: f64, policy: &str) -> f64 {
    (simulated(load, policy) / kernel - 1.0).abs()
}

/// The control: the model of the kernel as it was released.
#[test]
fn the_stable_kernel_switches_as_its_model_and_not_as_the_kernel_that_was_released() {
    let measured = measured();
    assert_eq!(measured.len(), 6);
    for (load, kernel) in measured {
        let [own, released] =
            ["eevdf:kernel=6.18.33", "eevdf:kernel=6.18"].map(|policy| distance(&load, kernel, policy));
        assert!(own < BOUND, "{load}: {own}");
        assert_eq!(released > BOUND, TELLING.contains(&load.as_str()), "{load}: {released}");
    }
}

/// Who wakes a task and sleeps in the same instant is exactly at the average, and is not kept in the queue as one that
/// is ahead of it. Without a cost of waking, the model misses.
#[test]
fn a_wake_up_must_cost_time_for_the_waker_to_sleep_as_in_the_kernel() {
    let text = std::fs::read_to_string(suite().join("line.toml")).expect("the load");
    let file = tempfile::NamedTempFile::with_suffix(".toml").expect("a file");
    std::fs::write(file.path(), text.replace("wakeup = \"1us\"\n", "")).expect("written");
    let load = file.path().with_extension("");
    assert!(distance(load.to_str().expect("a path"), measured()["line"], "eevdf:kernel=6.18.33") > BOUND);
}
