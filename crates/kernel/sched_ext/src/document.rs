//! The status of a live run as JSON, and its values as a table.

use super::outcome::Status;
use goodness_table::Table;
use goodness_table::long::{self, OneRun};
use serde::Serialize;

/// Status of a live run: schema `goodness.live/1`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// Always `goodness.live/1`.
    schema: &'static str,
    /// The status.
    #[serde(flatten)]
    status: &'a Status,
}

impl Status {
    /// As JSON.
    #[must_use]
    pub fn document(&self) -> Document<'_> {
        Document { schema: "goodness.live/1", status: self }
    }

    /// Every value, of the whole run and of each task: schema `goodness.task-runs/1`.
    #[must_use]
    pub fn values(&self, seed: u64) -> Table {
        let settings: Vec<String> = self.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let settings = settings.join(",");
        let kernel = super::kernel::release();
        let run = OneRun {
            arm: Some(&self.policy),
            settings: Some(&settings),
            machine: Some(&kernel),
            seed: Some(seed),
            run: Some(0),
            ..OneRun::default()
        };
        let mut table = long::task_runs();
        let latency = |of: fn(&super::Latency) -> u64| self.decision_latency.as_ref().map(|it| of(it) as f64);
        let whole = [
            ("measured_time", "ns", Some(self.elapsed_ns as f64)),
            ("decisions", "count", Some(self.decisions as f64)),
            ("events", "count", Some(self.events as f64)),
            ("outdated_commands", "count", Some(self.outdated as f64)),
            ("stray_events", "count", Some(self.strays as f64)),
            ("decision_latency_p50", "ns", latency(|it| it.p50_ns)),
            ("decision_latency_p99", "ns", latency(|it| it.p99_ns)),
            ("decision_latency_max", "ns", latency(|it| it.max_ns)),
        ];
        whole.into_iter().for_each(|(metric, unit, value)| run.push_of(&mut table, None, (metric, unit), value));
        for task in &self.tasks {
            let values = [
                ("cpu_time", "ns", task.cpu_time_ns as f64),
                ("cpu_share", "share", super::share(task, &self.tasks) / 100.0),
                ("turns", "count", task.turns as f64),
                ("wakeups", "count", task.wakeups as f64),
            ];
            for (metric, unit, value) in values {
                run.push_of(&mut table, Some((&task.name, task.pid.into())), (metric, unit), Some(value));
            }
        }
        table
    }
}
