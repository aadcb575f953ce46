//! The requests of each run as a table.

use super::{ARM, column};
use crate::model::Report;
use goodness_table::Kind::{Float, Text, Whole};
use goodness_table::{Cell, Column, Table};

/// Columns of [`requests`]: schema `goodness.requests/1`.
pub const REQUESTS: &[Column] = &[
    column("input", Text, "Name of the recording, file or workload."),
    ARM,
    column("run", Whole, "Number of the replication, from 0."),
    column("requests", Whole, "Requests answered in the measured part of the run."),
    column("throughput", Float, "Requests answered per second."),
    column("latency_mean", Float, "Mean latency of these requests, in ns; missing, like the others, for too few."),
    column("latency_p50", Float, "Median latency, in ns."),
    column("latency_p95", Float, "95th percentile of the latencies, in ns."),
    column("latency_p99", Float, "99th percentile of the latencies, in ns."),
    column("latency_p999", Float, "99.9th percentile of the latencies, in ns."),
    column("latency_max", Float, "Longest latency, in ns."),
];

/// The requests of each run; empty for work without requests.
#[must_use]
pub fn requests(report: &Report) -> Table {
    let mut table = Table::new("goodness.requests/1", REQUESTS);
    for runs in &report.runs {
        let of_metric = |name: &str, run: usize| {
            let all = runs.values.iter().find(|it| it.name == name)?;
            all.values.get(run).copied().flatten()
        };
        for (place, count) in runs.requests.iter().enumerate() {
            let latency = |part: &str| Cell::from(of_metric(&format!("request_latency_{part}"), place));
            table.push(&[
                Cell::Text(&runs.input),
                Cell::Text(&runs.policy),
                Cell::Whole(u64::from(runs.first) + place as u64),
                Cell::Whole(*count),
                of_metric("throughput", place).into(),
                latency("mean"),
                latency("p50"),
                latency("p95"),
                latency("p99"),
                latency("p999"),
                latency("max"),
            ]);
        }
    }
    table
}
