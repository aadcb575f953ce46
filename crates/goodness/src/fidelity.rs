//! Measures how closely a replay reproduces its recording.

use crate::recorded::Recorded;
use crate::report::unit;
use goodness_core::Span;
use goodness_observe::{METRICS, Measured};
use goodness_report::model::{Fidelity, FidelityMetric};

/// Largest error this project promises, by metric (`docs/fidelity.md`).
const TOLERANCES: &[(&str, f64)] = &[
    ("cpu_time_per_task", 0.01),
    ("context_switches", 0.10),
    ("wakeup_latency_p50", 0.25),
    ("wakeup_latency_p99", 0.25),
];

/// Metrics that can be compared: those a recording contains.
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

/// Tasks with less CPU time than this are left out of relative errors.
const TELLING: Span = Span::from_ms(10);

/// Compares a replay under `policy`, usually the recording kernel's own, with the recording.
pub(crate) fn fidelity(recorded: &Recorded, policy: &str, replayed: &Measured) -> Fidelity {
    let mut metrics = vec![cpu_time_per_task(recorded, replayed)];
    for name in COMPARED {
        let about = METRICS.iter().find(|m| m.name == *name);
        let value = |m: &Measured| m.get(name).value;
        metrics.push(entry(name, value(&recorded.measured), value(replayed), about.map_or("", unit)));
    }
    Fidelity { policy: policy.into(), metrics }
}

/// The largest relative error of a judged task's CPU time, shown on the task that has it.
fn cpu_time_per_task(recorded: &Recorded, replayed: &Measured) -> FidelityMetric {
    let mut worst = entry("cpu_time_per_task", None, None, "ns");
    for (index, who) in recorded.tasks.iter().enumerate() {
        let Some(own) = recorded.measured.tasks.get(*who).filter(|t| t.judged) else { continue };
        let Some(replayed) = replayed.tasks.get(index) else { continue };
        if own.cpu_time < TELLING {
            continue;
        }
        let this = entry("cpu_time_per_task", Some(own.cpu_time.0 as f64), Some(replayed.cpu_time.0 as f64), "ns");
        if this.error > worst.error {
            worst = this;
        }
    }
    worst
}

/// Compares one metric. If both values are 0, there is no error.
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
