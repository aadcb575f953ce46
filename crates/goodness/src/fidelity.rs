//! Measures how closely a replay reproduces its recording.

use crate::recorded::{Recorded, RecordedTask};
use crate::report::unit_of;
use crate::run::RunResult;
use goodness_observe::{ByFifth, Fifths, InFifth, METRICS, Measured, TaskMeasured};
use goodness_report::model::{Fidelity, FidelityMetric};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Largest error this project promises on one CPU, by metric (`docs/fidelity.md`). On several it is twice as large.
const TOLERANCES: &[(&str, f64)] = &[
    (WORK, 0.02),
    (WORK_PER_TASK, 0.02),
    (WORK_PER_FIFTH, 0.05),
    ("context_switches", 0.05),
    ("wakeup_latency_p50", 0.15),
    ("wakeup_latency_p99", 0.15),
    (REQUESTS, 0.02),
    ("request_latency_p50", 0.10),
    ("request_latency_p99", 0.10),
];

/// CPU time of all judged tasks in the window: an outcome, since the ends of a replay are open.
const WORK: &str = "cpu_time";
/// CPU time of the judged task, or of the judged tasks of one name, with the largest relative error.
const WORK_PER_TASK: &str = "cpu_time_per_task";

/// The same in the fifth of the window with the largest error.
const WORK_PER_FIFTH: &str = "cpu_time_per_fifth";

/// I/Os done for the submitter with the largest relative error.
pub(crate) const PER_SUBMITTER: &str = "io_per_submitter";

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
    "throughput",
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

/// Fewest times that a task stops in a fifth for its CPU time there to be compared: the fifth's ends cut two of its
/// slices. A choice.
const FEWEST_STOPS: u32 = 50;

/// Tasks with at least this share of a CPU are compared with the recording one by one.
const LARGE: f64 = 0.05;

/// Compares a replay under `policy` (normally the recording kernel's own) with the recording.
pub(crate) fn fidelity(recorded: &Recorded, policy: &str, run: &RunResult) -> Fidelity {
    let replayed = &run.measured;
    let mut metrics = vec![work(recorded, replayed), work_per_task(recorded, replayed)];
    metrics.extend(run.fifths.as_ref().map(|fifths| work_per_fifth(recorded, fifths)));
    let requests = requests(recorded, replayed);
    let of_requests = if requests.is_some() { OF_REQUESTS } else { &[] };
    metrics.extend(requests);
    for name in of_requests.iter().chain(COMPARED) {
        let about = METRICS.iter().find(|m| m.name == *name);
        let value = |m: &Measured| m.get(name).value;
        let mut metric = entry(name, value(&recorded.measured), value(replayed), about.map_or("", unit_of));
        let samples = recorded.measured.get(name).samples;
        metric.tolerance =
            metric.tolerance.filter(|_| !FEWEST.iter().any(|(of, few)| of == name && (1..*few).contains(&samples)));
        metrics.push(metric);
    }
    if recorded.cpus > 1 {
        metrics.iter_mut().for_each(|it| it.tolerance = it.tolerance.map(|one| 2.0 * one));
    }
    Fidelity { policy: policy.into(), metrics, lacks: recorded.lacks.clone() }
}

/// Replays that are compared with a recording, an odd number: a single one, in which small differences grow,
/// misses by chance what most keep.
pub(crate) const VERIFYING: u32 = 5;

/// The comparison of the middle replay, by metric: of the middle error where the metric is the worst of several, else
/// of the middle value.
pub(crate) fn middle(mut each: Vec<Fidelity>) -> Option<Fidelity> {
    let mut found = each.pop()?;
    for (index, metric) in found.metrics.iter_mut().enumerate() {
        let mut all: Vec<FidelityMetric> = each.iter().filter_map(|it| it.metrics.get(index).cloned()).collect();
        all.push(metric.clone());
        let is_worst = [WORK_PER_TASK, WORK_PER_FIFTH, PER_SUBMITTER].contains(&metric.name.as_str());
        let place = |it: &FidelityMetric| if is_worst { it.error } else { it.replayed };
        all.sort_by(|a, b| place(a).unwrap_or(f64::NAN).total_cmp(&place(b).unwrap_or(f64::NAN)));
        let half = all.len() / 2;
        *metric = all.swap_remove(half);
    }
    Some(found)
}

/// Recorded and replayed CPU time of a judged task, or of several, in ns.
#[derive(Clone, Copy, Default)]
struct Work {
    recorded: f64,
    replayed: f64,
    /// Recorded number of times that it stopped.
    stops: u32,
}

/// The work of each judged task that was replayed; `of` gives CPU time and stops for the task's number in the recording
/// and in the replay.
fn works<'a>(
    recorded: &'a Recorded,
    of: impl Fn(usize, usize) -> [InFifth; 2] + 'a,
) -> impl Iterator<Item = (&'a RecordedTask, Work)> {
    recorded.tasks.iter().enumerate().filter_map(move |(index, who)| {
        recorded.measured.tasks.get(who.recorded).filter(|task| task.judged)?;
        let [own, again] = of(who.recorded, index);
        let [recorded, replayed] = [own, again].map(|it| it.cpu_time.0 as f64);
        Some((who, Work { recorded, replayed, stops: own.stops }))
    })
}

/// As [`works`], in the whole window.
fn works_in_all<'a>(recorded: &'a Recorded, replayed: &'a Measured) -> impl Iterator<Item = (&'a RecordedTask, Work)> {
    let in_all =
        |it: &TaskMeasured| InFifth { cpu_time: it.cpu_time, stops: it.voluntary_switches + it.involuntary_switches };
    let of = move |measured: &Measured, task: usize| measured.tasks.get(task).map(in_all).unwrap_or_default();
    works(recorded, move |own, again| [of(&recorded.measured, own), of(replayed, again)])
}

fn work(recorded: &Recorded, replayed: &Measured) -> FidelityMetric {
    let sum = |of: fn(&Work) -> f64| works_in_all(recorded, replayed).map(|(_, work)| of(&work)).sum();
    entry(WORK, Some(sum(|work| work.recorded)), Some(sum(|work| work.replayed)), "ns")
}

fn work_per_task(recorded: &Recorded, replayed: &Measured) -> FidelityMetric {
    let telling = TELLING * recorded.measured.window.length();
    worst(recorded, works_in_all(recorded, replayed), WORK_PER_TASK, |work| work.recorded >= telling)
        .unwrap_or_else(|| entry(WORK_PER_TASK, None, None, "ns"))
}

/// As [`work_per_task`], of the fifth with the largest error.
fn work_per_fifth(recorded: &Recorded, replayed: &[ByFifth]) -> FidelityMetric {
    let telling = TELLING * recorded.measured.window.length() / Fifths::COUNT as f64;
    let is_telling = |work: &Work| work.recorded >= telling && work.stops >= FEWEST_STOPS;
    let of_fifth = |fifth: usize| {
        let of = move |all: &[ByFifth], task: usize| all.get(task).map_or(InFifth::default(), |it| it[fifth]);
        let works = works(recorded, move |own, again| [of(&recorded.fifths, own), of(replayed, again)]);
        worst(recorded, works, WORK_PER_FIFTH, is_telling)
    };
    let fifths = (0..Fifths::COUNT).filter_map(of_fifth);
    fifths.max_by(by_error).unwrap_or_else(|| entry(WORK_PER_FIFTH, None, None, "ns"))
}

/// The largest relative error among telling works, shown on the task that has it. Tasks with little CPU time count
/// together by name: chance decides which thread of a server takes a request, and a short task may fall beyond the end.
fn worst<'a>(
    recorded: &Recorded,
    works: impl Iterator<Item = (&'a RecordedTask, Work)>,
    name: &str,
    is_telling: impl Fn(&Work) -> bool,
) -> Option<FidelityMetric> {
    let large = LARGE * recorded.measured.window.length();
    let mut small: BTreeMap<&str, Work> = BTreeMap::new();
    let mut units: Vec<Work> = Vec::new();
    for (who, work) in works {
        if recorded.measured.tasks[who.recorded].cpu_time.0 as f64 >= large {
            units.push(work);
        } else {
            let together = small.entry(&who.named.name).or_default();
            together.recorded += work.recorded;
            together.replayed += work.replayed;
            together.stops += work.stops;
        }
    }
    units.extend(small.into_values());
    let telling = units.into_iter().filter(is_telling);
    telling.map(|work| entry(name, Some(work.recorded), Some(work.replayed), "ns")).max_by(by_error)
}

fn by_error(a: &FidelityMetric, b: &FidelityMetric) -> Ordering {
    a.error.unwrap_or(0.0).total_cmp(&b.error.unwrap_or(0.0))
}

/// Requests in the window; `None` if the recording has none.
fn requests(recorded: &Recorded, replayed: &Measured) -> Option<FidelityMetric> {
    let count = |m: &Measured| m.distributions.request_latency.count();
    let own = Some(count(&recorded.measured)).filter(|count| *count > 0)?;
    Some(entry(REQUESTS, Some(own as f64), Some(count(replayed) as f64), "count"))
}

/// Compares one metric. If both values are 0, there is not an error.
pub(crate) fn entry(name: &str, recorded: Option<f64>, replayed: Option<f64>, unit: &str) -> FidelityMetric {
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

    /// Of values the middle one counts, of largest errors the middle error.
    #[test]
    fn one_replay_of_several_decides_nothing() {
        let of = |[p99, per_task]: [f64; 2]| Fidelity {
            policy: "eevdf".into(),
            metrics: vec![
                entry("request_latency_p99", Some(100.0), Some(p99), "ns"),
                entry(WORK_PER_TASK, Some(100.0), Some(per_task), "ns"),
            ],
            lacks: Vec::new(),
        };
        let all = [[125.0, 90.0], [104.0, 105.0], [80.0, 101.0]].map(of).to_vec();
        let found = middle(all).expect("a comparison");
        let replayed: Vec<_> = found.metrics.iter().map(|it| it.replayed).collect();
        assert_eq!(replayed, [Some(104.0), Some(105.0)]);
        assert_eq!(middle(Vec::new()), None);
    }

    #[test]
    fn errors_are_relative_and_nothing_is_no_zero() {
        assert_eq!(entry("context_switches", Some(100.0), Some(90.0), "count").error, Some(0.1));
        assert_eq!(entry("migrations", Some(0.0), Some(0.0), "count").error, Some(0.0));
        assert_eq!(entry("migrations", Some(0.0), Some(5.0), "count").error, None);
        assert_eq!(entry("migrations", None, Some(5.0), "count").error, None);
    }
}
