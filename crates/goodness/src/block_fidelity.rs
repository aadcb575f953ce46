//! Fidelity of the replay of a trace of block I/O.

use crate::fidelity::{PER_SUBMITTER, entry};
use crate::recorded::Recorded;
use crate::report::unit_of;
use crate::run::RunResult;
use goodness_observe::{METRICS, Measured};
use goodness_report::model::{Fidelity, FidelityMetric};

/// Metrics of block I/O by which a replay is compared with its recording, with the largest error promised, if one is
/// (`docs/block-replay.md`).
const COMPARED: &[(&str, Option<f64>)] = &[
    ("iops", Some(0.10)),
    ("bandwidth", Some(0.15)),
    ("io_read_latency_mean", None),
    ("io_read_latency_p50", Some(0.30)),
    ("io_read_latency_p99", Some(0.60)),
    ("io_write_latency_mean", None),
    ("io_write_latency_p50", Some(0.30)),
    ("io_write_latency_p99", Some(0.60)),
];

/// Largest error promised of it.
const PER_SUBMITTER_BOUND: f64 = 0.20;
/// Mean number of I/Os in flight.
const IN_FLIGHT: &str = "io_in_flight";
/// Largest error promised of it.
const IN_FLIGHT_BOUND: f64 = 0.30;

/// Submitters with at least this share of the I/Os are compared one by one, if these are not few.
const LARGE: f64 = 0.05;
/// Fewest recorded I/Os for which a bound is promised: below, chance decides. A choice.
const FEWEST: &[(&str, u64)] =
    &[("_p50", 50), ("_p99", 500), ("iops", 50), ("bandwidth", 50), (PER_SUBMITTER, 500), (IN_FLIGHT, 50)];

/// Holds a replay under `policy`, the recorded elevator in it, against the recording of block I/O.
pub(crate) fn fidelity(recorded: &Recorded, policy: &str, replayed: &RunResult) -> Fidelity {
    Fidelity { policy: policy.into(), metrics: metrics(recorded, &replayed.measured), lacks: recorded.lacks.clone() }
}

fn metrics(recorded: &Recorded, replayed: &Measured) -> Vec<FidelityMetric> {
    let own = &recorded.measured;
    let mut metrics: Vec<FidelityMetric> = COMPARED
        .iter()
        .map(|(name, bound)| {
            let about = METRICS.iter().find(|m| m.name == *name);
            let value = |m: &Measured| m.get(name).value;
            let metric = entry(name, value(own), value(replayed), about.map_or("", unit_of));
            bounded(metric, *bound, own.get(name).samples)
        })
        .filter(|metric| metric.recorded.is_some() || metric.replayed.is_some())
        .collect();
    let done = own.get("iops").samples;
    let in_flight = entry(IN_FLIGHT, in_flight(own), in_flight(replayed), "count");
    metrics.push(bounded(in_flight, Some(IN_FLIGHT_BOUND), done));
    metrics.extend(per_submitter(own, replayed));
    metrics
}

/// The bound of a metric, unless few observations are behind it.
fn bounded(metric: FidelityMetric, bound: Option<f64>, samples: u64) -> FidelityMetric {
    let few = FEWEST.iter().any(|(end, few)| metric.name.ends_with(end) && samples < *few);
    FidelityMetric { tolerance: bound.filter(|_| !few), ..metric }
}

/// Mean number of I/Os in flight, by Little's law.
fn in_flight(measured: &Measured) -> Option<f64> {
    Some(measured.get("iops").value? * measured.get("io_latency_mean").value? / 1e9)
}

/// The I/Os of the submitter whose replay is farthest from its recording.
fn per_submitter(own: &Measured, replayed: &Measured) -> Option<FidelityMetric> {
    let all: u64 = own.io.iter().map(|(_, io)| io.done).sum();
    let large = own.io.iter().filter(|(_, io)| io.done as f64 >= LARGE * all as f64);
    let compared = large.map(|(task, io)| {
        let again = replayed.io.iter().find(|(it, _)| it == task).map_or(0, |(_, io)| io.done);
        let metric = entry(PER_SUBMITTER, Some(io.done as f64), Some(again as f64), "count");
        bounded(metric, Some(PER_SUBMITTER_BOUND), io.done)
    });
    compared.max_by(|a, b| a.error.unwrap_or(0.0).total_cmp(&b.error.unwrap_or(0.0)))
}
