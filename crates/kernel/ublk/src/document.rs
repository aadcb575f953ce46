//! Statistics of an elevated device as JSON, and its values as a table.

use super::report::{Latency, Report};
use goodness_table::Table;
use goodness_table::long::{self, OneRun};
use serde::Serialize;

/// Statistics of a device: schema `goodness.elevate/1`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// Always `goodness.elevate/1`.
    schema: &'static str,
    /// The statistics.
    #[serde(flatten)]
    report: &'a Report,
}

impl Report {
    /// As JSON.
    #[must_use]
    pub fn document(&self) -> Document<'_> {
        Document { schema: "goodness.elevate/1", report: self }
    }

    /// Every value, as a table whose input is the backing: schema `goodness.runs/1`. Metrics have the names of a
    /// simulation's.
    #[must_use]
    pub fn values(&self) -> Table {
        let (name, settings) = self.elevator.split_once(':').unwrap_or((&self.elevator, ""));
        let run = OneRun {
            input: Some(&self.backing),
            arm: Some(name),
            settings: Some(settings),
            run: Some(0),
            ..OneRun::default()
        };
        let mut table = long::runs();
        let count = |value: u64| (Some(value as f64), "count");
        let ns = |value: Option<f64>| (value, "ns");
        let probe = |of: fn(&super::Probe) -> u64| ns(self.probe.as_ref().map(|it| of(it) as f64));
        let values = [
            ("measured_time", ns(Some(self.measured_ns as f64))),
            ("answered", count(self.answered)),
            ("requests", count(self.requests)),
            ("merges", count(self.merges)),
            ("flushes", count(self.flushes)),
            ("durable_writes", count(self.durable_writes)),
            ("sectors_travelled", (Some(self.sectors_travelled as f64), "sectors")),
            ("seek_distance", (self.seek_distance, "sectors")),
            ("elevator_time", ns(self.adapter_ns)),
            ("server_cpu_time", ns(self.server_cpu_ns)),
            ("single_read_direct", probe(|it| it.direct_ns)),
            ("single_read_through", probe(|it| it.through_ns)),
        ];
        values.into_iter().for_each(|(metric, (value, unit))| run.push(&mut table, metric, unit, value));
        let latencies = [
            ("io_latency", self.latency),
            ("io_read_latency", self.read_latency),
            ("io_write_latency", self.write_latency),
        ];
        for (family, Latency { p50_ns, p99_ns, max_ns }) in latencies {
            for (part, value) in [("p50", p50_ns), ("p99", p99_ns), ("max", max_ns)] {
                run.push(&mut table, &format!("{family}_{part}"), "ns", value);
            }
        }
        table
    }
}
