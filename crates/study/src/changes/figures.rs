//! The figures of a recording or a run that a change may move.

use goodness::{LATENCY_RESOLUTION_NS, Recorded, RunResult};
use goodness_observe::{Measured, TaskMeasured};
use std::collections::BTreeMap;

/// Figures by name: `share hog`, `context_switches`, `wakeup_latency_p99`.
pub type Figures = BTreeMap<String, f64>;

/// Tasks of a name with less than this share of a CPU have no figures of their own. A choice.
const SMALL: f64 = 0.01;
/// Fewest wake-ups for a mean, and for a 99th percentile. A choice.
const SAMPLES: [(&str, u64); 3] =
    [("wakeup_latency_mean", 100), ("wakeup_latency_p50", 100), ("wakeup_latency_p99", 500)];
/// Fewest wake-ups of the tasks of one name for a figure of their waiting.
const WAKEUPS: u32 = 100;

/// The class of a figure, which shares an error: `share`, `waiting`, or its own name.
#[must_use]
pub fn class_of(figure: &str) -> &str {
    figure.split_once(' ').map_or(figure, |(class, _)| class)
}

/// Natural logarithm of the ratio of two values of `figure`; 0 for latencies that are not told apart.
#[must_use]
pub fn log_ratio(figure: &str, changed: f64, base: f64) -> f64 {
    let is_latency = class_of(figure) == "waiting" || figure.starts_with("wakeup_latency");
    if !is_latency {
        return (changed / base).ln();
    }
    if (changed - base).abs() < LATENCY_RESOLUTION_NS {
        return 0.0;
    }
    (changed.max(LATENCY_RESOLUTION_NS) / base.max(LATENCY_RESOLUTION_NS)).ln()
}

/// Tasks `hog-0` and `hog-1` together are `hog`.
fn group_of(name: &str) -> &str {
    match name.rsplit_once('-') {
        Some((group, number)) if number.bytes().all(|b| b.is_ascii_digit()) => group,
        _ => name,
    }
}

/// The figures of a recording.
#[must_use]
pub fn of_recording(recorded: &Recorded) -> Figures {
    figures(&recorded.measured, recorded.tasks())
}

/// The figures of a run.
#[must_use]
pub fn of_run(run: &RunResult) -> Figures {
    let tasks = run.tasks.iter().zip(&run.measured.tasks);
    figures(&run.measured, tasks.map(|(named, measured)| (named.name.as_str(), measured)))
}

/// The figures of a recording all of whose times are `stretch` times as long.
#[must_use]
pub fn unstretched(figures: Figures, stretch: f64) -> Figures {
    let one = |(name, value): (String, f64)| {
        let value = match class_of(&name) {
            "share" => value,
            "context_switches" => value * stretch,
            _ => value / stretch,
        };
        (name, value)
    };
    figures.into_iter().map(one).collect()
}

/// Measurements of the judged tasks of one name.
#[derive(Default)]
struct Got {
    cpu_time: f64,
    wait: f64,
    wakeups: u32,
}

fn figures<'a>(measured: &Measured, tasks: impl Iterator<Item = (&'a str, &'a TaskMeasured)>) -> Figures {
    let window = measured.window.length();
    let mut names = BTreeMap::<&str, Got>::new();
    for (name, task) in tasks.filter(|(_, task)| task.judged) {
        let got = names.entry(group_of(name)).or_default();
        got.cpu_time += task.cpu_time.0 as f64;
        got.wait += task.wait.0 as f64;
        got.wakeups += task.wakeups;
    }
    let mut figures = Figures::new();
    for (name, got) in names.into_iter().filter(|(_, got)| got.cpu_time >= SMALL * window) {
        figures.insert(format!("share {name}"), got.cpu_time / window);
        if got.wakeups >= WAKEUPS {
            figures.insert(format!("waiting {name}"), got.wait / f64::from(got.wakeups));
        }
    }
    figures.insert("context_switches".into(), measured.get("context_switches").value.unwrap_or_default() / window);
    for (name, fewest) in SAMPLES {
        let value = measured.get(name);
        if let Some(one) = value.value.filter(|_| value.samples >= fewest) {
            figures.insert(name.into(), one);
        }
    }
    figures
}
