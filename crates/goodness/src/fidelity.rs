//! Measures how closely a replay reproduces its recording.

use crate::recorded::Recorded;
use crate::report::unit;
use goodness_observe::{METRICS, Measured};
use goodness_report::model::{Fidelity, FidelityMetric};
use std::collections::BTreeMap;

/// Largest error this project promises, by metric (`docs/fidelity.md`). That of work is for one CPU; on more it is
/// twice as large.
const TOLERANCES: &[(&str, f64)] = &[
    (WORK, 0.02),
    (WORK_PER_TASK, 0.02),
    ("context_switches", 0.10),
    ("wakeup_latency_p50", 0.25),
    ("wakeup_latency_p99", 0.25),
    (REQUESTS, 0.02),
    ("request_latency_p50", 0.10),
    ("request_latency_p99", 0.10),
];

/// CPU time of all judged tasks in the window: an outcome, since the ends of a replay are open.
const WORK: &str = "cpu_time";
/// CPU time of the judged task, or of the judged tasks of one name, with the largest relative error.
const WORK_PER_TASK: &str = "cpu_time_per_task";

/// Requests answered in the window.
const REQUESTS: &str = "requests";

/// Metrics by which the replay of a recording with requests is compared, too.
const OF_REQUESTS: &[&str] = &[
    "request_latency_mean",
    "request_latency_p50",
    "request_latency_p95",
    "request_latency_p99",
    "request_latency_p999",
    "request_latency_max",
];

/// Metrics by which a replay is compared with its recording: those that a recording shows by itself.
const COMPARED: &[&str] = &[
    "wakeup_latency_mean",
    "wakeup_latency_p50",
    "wakeup_latency_p95",
    "wakeup_latency_p99",
    "wakeup_latency_p999",
    "wakeup_latency_max",
    "slice_length_mean",
    "slice_length_p50",
    "slice_length_p99",
    "context_switches",
    "involuntary_switches",
    "migrations",
    "runqueue_length_mean",
    "runqueue_length_p99",
    "utilisation",
    "cpu_share",
];

/// Tasks with a smaller share of a CPU are left out of relative errors.
const TELLING: f64 = 0.01;

/// Fewest recorded observations for which a percentile's bound is promised: below, chance decides. A choice.
const FEWEST: &[(&str, u64)] = &[("wakeup_latency_p50", 50), ("wakeup_latency_p99", 500)];

/// Tasks with at least this share of a CPU are compared with the recording one by one.
const LARGE: f64 = 0.05;

/// Holds a replay under `policy`, the recording kernel's own as a rule, against the recording.
pub(crate) fn fidelity(recorded: &Recorded, policy: &str, replayed: &Measured) -> Fidelity {
    let mut metrics = vec![work(recorded, replayed), work_per_task(recorded, replayed)];
    if recorded.cpus > 1 {
        metrics.iter_mut().for_each(|it| it.tolerance = it.tolerance.map(|one| 2.0 * one));
    }
    let requests = requests(recorded, replayed);
    let of_requests = if requests.is_some() { OF_REQUESTS } else { &[] };
    metrics.extend(requests);
    for name in of_requests.iter().chain(COMPARED) {
        let about = METRICS.iter().find(|m| m.name == *name);
        let value = |m: &Measured| m.get(name).value;
        let mut metric = entry(name, value(&recorded.measured), value(replayed), about.map_or("", unit));
        let samples = recorded.measured.get(name).samples;
        metric.tolerance =
            metric.tolerance.filter(|_| !FEWEST.iter().any(|(of, few)| of == name && (1..*few).contains(&samples)));
        metrics.push(metric);
    }
    Fidelity { policy: policy.into(), metrics, lacks: recorded.lacks.clone() }
}

/// Recorded and replayed CPU time of a judged task, in ns.
struct Work<'a> {
    name: &'a str,
    recorded: f64,
    replayed: f64,
}

/// The work of each judged task that was replayed.
fn works<'a>(recorded: &'a Recorded, replayed: &'a Measured) -> impl Iterator<Item = Work<'a>> {
    recorded.tasks.iter().zip(&replayed.tasks).filter_map(|(who, replayed)| {
        let own = recorded.measured.tasks.get(who.recorded).filter(|task| task.judged)?;
        Some(Work { name: &who.name, recorded: own.cpu_time.0 as f64, replayed: replayed.cpu_time.0 as f64 })
    })
}

fn work(recorded: &Recorded, replayed: &Measured) -> FidelityMetric {
    let sum = |of: fn(&Work) -> f64| works(recorded, replayed).map(|work| of(&work)).sum();
    entry(WORK, Some(sum(|work| work.recorded)), Some(sum(|work| work.replayed)), "ns")
}

/// The largest relative error of a judged task's CPU time, shown on the task that has it. Tasks with little CPU time
/// count together by name: chance decides which thread of a server takes a request, and a short task may fall beyond
/// the end.
fn work_per_task(recorded: &Recorded, replayed: &Measured) -> FidelityMetric {
    let large = recorded.measured.window.length() * LARGE;
    let mut small: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let mut works: Vec<(f64, f64)> = works(recorded, replayed)
        .filter_map(|work| {
            if work.recorded >= large {
                return Some((work.recorded, work.replayed));
            }
            let together = small.entry(work.name).or_default();
            *together = (together.0 + work.recorded, together.1 + work.replayed);
            None
        })
        .collect();
    works.extend(small.into_values());
    let telling = works.into_iter().filter(|(own, _)| *own >= TELLING * recorded.measured.window.length());
    telling
        .map(|(own, again)| entry(WORK_PER_TASK, Some(own), Some(again), "ns"))
        .max_by(|a, b| a.error.unwrap_or(0.0).total_cmp(&b.error.unwrap_or(0.0)))
        .unwrap_or_else(|| entry(WORK_PER_TASK, None, None, "ns"))
}

/// Requests in the window; `None` if the recording has none.
fn requests(recorded: &Recorded, replayed: &Measured) -> Option<FidelityMetric> {
    let count = |m: &Measured| m.distributions.request_latency.count();
    let own = Some(count(&recorded.measured)).filter(|count| *count > 0)?;
    Some(entry(REQUESTS, Some(own as f64), Some(count(replayed) as f64), "count"))
}

/// Compares one metric. If both values are 0, there is not an error.
fn entry(name: &str, recorded: Option<f64>, replayed: Option<f64>, unit: &str) -> FidelityMetric {
    let error = match (recorded, replayed) {
        (Some(a), Some(b)) if a == b => Some(0.0),
        (Some(a), Some(b)) if a != 0.0 => Some(((b - a) / a).abs()),
        _ => None,
    };
    let tolerance = TOLERANCES.iter().find(|(metric, _)| *metric == name).map(|(_, tolerance)| *tolerance);
    FidelityMetric { name: name.into(), recorded, replayed, error, unit: unit.into(), tolerance }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_relative_and_nothing_is_no_zero() {
        assert_eq!(entry("context_switches", Some(100.0), Some(90.0), "count").error, Some(0.1));
        assert_eq!(entry("migrations", Some(0.0), Some(0.0), "count").error, Some(0.0));
        assert_eq!(entry("migrations", Some(0.0), Some(5.0), "count").error, None);
        assert_eq!(entry("migrations", None, Some(5.0), "count").error, None);
    }
}
