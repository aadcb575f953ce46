//! Recordings of one set-up have no difference, and of two set-ups they have one.

use goodness::{OpenOptions, Refusal, Report, Runs, diff, open, recordings, unwatched};
use goodness_report::diff::Verdict;
use goodness_report::every_run::{PolicyRuns, RunValues};
use goodness_report::model::{MetricSummary, PolicyReport};
use std::path::{Path, PathBuf};

/// Loads that a run of the tests opens. All: `GOODNESS_ALL_PAIRS=1 cargo test -p goodness --test diff`.
const LOADS: [&str; 2] = ["redis-benchmark-4", "mixed-1cpu"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings/repeats")
}

/// Every load of the folder, or those of a short run.
fn loads() -> Vec<String> {
    let entries = std::fs::read_dir(folder()).expect("recordings").map(|it| it.expect("an entry").file_name());
    let first = |name: String| name.strip_suffix(".1.ftrace.zst").map(String::from);
    let mut all: Vec<String> = entries.filter_map(|it| first(it.into_string().ok()?)).collect();
    all.sort();
    let is_short = std::env::var_os("GOODNESS_ALL_PAIRS").is_none();
    all.retain(|it| !is_short || LOADS.contains(&it.as_str()));
    all
}

/// The recordings of a load, each as an arm.
fn recorded(names: &[String]) -> Runs {
    let path = |name: &String| folder().join(name).display().to_string();
    let inputs: Vec<String> = names.iter().map(path).collect();
    let open = |named: &str| -> Result<_, Refusal> { open(named, &OpenOptions::default(), &unwatched) };
    recordings::as_arms(&inputs, open).expect("recordings").0
}

fn repeats(load: &str) -> Vec<String> {
    (1..=5).map(|number| format!("{load}.{number}.ftrace.zst")).collect()
}

/// Compares recordings `a` and `b`; restores their order.
fn verdict(runs: &mut Runs, a: usize, b: usize) -> (Verdict, Vec<String>) {
    let b = if b < a { b + 1 } else { b };
    for (from, to) in [(a, 0), (b, 1)] {
        let arm = runs.arms.remove(from);
        runs.arms.insert(to, arm);
    }
    let found = diff::recordings(runs, ["a", "b"]);
    for (from, to) in [(1, b), (0, a)] {
        let arm = runs.arms.remove(from);
        runs.arms.insert(to, arm);
    }
    let differ = found.metrics.iter().filter(|it| it.finding.is_different());
    (found.verdict, differ.map(|it| it.name.clone()).collect())
}

/// At least 95 % of pairs, in both orders, have no difference.
#[test]
fn two_recordings_of_one_set_up_have_no_difference() {
    let (mut pairs, mut different) = (0, Vec::new());
    for load in loads() {
        let mut runs = recorded(&repeats(&load));
        for (a, b) in (0..5).flat_map(|a| (0..5).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            pairs += 1;
            let (verdict, differ) = verdict(&mut runs, a, b);
            if verdict == Verdict::Different {
                different.push(format!("{load} {} and {}: {}", a + 1, b + 1, differ.join(", ")));
            }
        }
    }
    println!("{} of {pairs} pairs differ:\n{}", different.len(), different.join("\n"));
    assert!(different.len() * 20 <= pairs, "{} of {pairs}: {different:?}", different.len());
}

#[test]
fn recordings_of_two_set_ups_differ() {
    let loads = loads();
    let firsts: Vec<String> = loads.iter().map(|load| format!("{load}.1.ftrace.zst")).collect();
    let mut runs = recorded(&firsts);
    let (mut pairs, mut alike) = (0, Vec::new());
    for (a, b) in (0..loads.len()).flat_map(|a| (a + 1..loads.len()).map(move |b| (a, b))) {
        pairs += 1;
        if verdict(&mut runs, a, b).0 == Verdict::None {
            alike.push(format!("{} and {}", loads[a], loads[b]));
        }
    }
    println!("{} of {pairs} pairs do not differ:\n{}", alike.len(), alike.join("\n"));
    assert!(alike.len() * 2 <= pairs, "{alike:?}");
}

/// A saved result with these values of two metrics.
fn result(values: [&[f64]; 2]) -> Report {
    let names = ["context_switches", "migrations"].map(String::from);
    let values = names.clone().into_iter().zip(values);
    let values = values.map(|(name, of)| RunValues { name, values: of.iter().copied().map(Some).collect() }).collect();
    let metrics = names.map(|name| MetricSummary { name, ..MetricSummary::default() }).to_vec();
    let runs = vec![PolicyRuns { policy: "rr".into(), values, ..PolicyRuns::default() }];
    let policies = vec![PolicyReport { name: "rr".into(), metrics, ..PolicyReport::default() }];
    Report { policies, runs, ..Report::default() }
}

/// Found by the fuzz target `pages`: it panicked.
#[test]
fn a_result_that_lacks_runs_of_one_metric_is_refused() {
    let (whole, cut) = (result([&[1.0, 2.0], &[3.0, 4.0]]), result([&[1.0, 2.0], &[3.0]]));
    assert!(diff::results(("a", &whole), ("b", &whole), None).is_ok());
    for (a, b) in [(&whole, &cut), (&cut, &whole)] {
        let refusal = diff::results(("a", a), ("b", b), None).expect_err("it lacks a run");
        assert!(refusal.to_string().contains("as many runs of migrations as of other metrics"), "{refusal}");
    }
}

/// Found by the fuzz target `pages`: an interval ran from NaN to NaN.
#[test]
fn a_result_with_values_that_nothing_measures_is_refused() {
    let sound = result([&[1.0, 0.0], &[3.0, 4e18]]);
    assert!(diff::results(("a", &sound), ("b", &sound), None).is_ok());
    for value in [1e308, -1e308, 5e-324] {
        let wrong = result([&[1.0, 2.0], &[3.0, value]]);
        let refusal = diff::results(("a", &sound), ("b", &wrong), None).expect_err("it overflows");
        assert!(refusal.to_string().contains("b says"), "{refusal}");
    }
}
