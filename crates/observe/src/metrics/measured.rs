//! The results of a run's metrics.

use super::Window;
use super::about::{About, METRICS};
use crate::histogram::Histogram;
use goodness_core::{Overhead, Span, TaskId, Time};

/// Result of one metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Value {
    /// The metric.
    pub about: &'static About,
    /// In the metric's unit; `None` when it could not be measured.
    pub value: Option<f64>,
    /// Number of observations: values of a distribution, tasks of a share, events of a count.
    pub samples: u64,
}

/// Results of one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskMeasured {
    /// The task.
    pub task: TaskId,
    /// True if it is part of the judged workload.
    pub judged: bool,
    /// CPU time from switch-in to switch-out, including overhead charged to the task.
    pub cpu_time: Span,
    /// Time runnable but not running.
    pub wait: Span,
    /// The remaining time since its first wake-up.
    pub sleep: Span,
    /// Switch-outs because it slept, waited or ended.
    pub voluntary_switches: u32,
    /// Switch-outs while still runnable.
    pub involuntary_switches: u32,
    /// Slices on another CPU than the previous one.
    pub migrations: u32,
    /// Times it became runnable.
    pub wakeups: u32,
    /// Median wake-up latency; `None` without any, or for tasks without a histogram.
    pub wakeup_latency_p50: Option<Span>,
    /// 99th percentile of its wake-up latencies, likewise.
    pub wakeup_latency_p99: Option<Span>,
    /// Longest wake-up latency, exact; `None` without any.
    pub wakeup_latency_max: Option<Span>,
    /// Time of its first wake-up; `None` if never woken.
    pub arrived: Option<Time>,
    /// Time it ended; `None` if it did not.
    pub ended: Option<Time>,
}

/// I/O of one task. Latencies are in nanoseconds, from arrival at the block layer to completion.
#[derive(Clone, Debug, Default)]
pub struct TaskIo {
    /// I/Os completed.
    pub done: u64,
    /// Bytes of these I/Os.
    pub bytes: u64,
    /// Latencies of its reads.
    pub reads: Histogram,
    /// Latencies of its other I/Os.
    pub writes: Histogram,
}

/// The distributions behind the percentiles.
#[derive(Clone, Debug)]
pub struct Distributions {
    /// Wake-up latencies of judged tasks, nanoseconds.
    pub wakeup_latency: Histogram,
    /// Request latencies of judged tasks, nanoseconds.
    pub request_latency: Histogram,
    /// Slice lengths of judged tasks, nanoseconds.
    pub slice_length: Histogram,
    /// Latencies of block I/O, nanoseconds.
    pub io_latency: Histogram,
    /// Runnable tasks of a CPU, each length weighted with the nanoseconds it lasted.
    pub runqueue_length: Histogram,
}

/// Measurements of a run.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Measured part of the run.
    pub window: Window,
    /// Values of [`METRICS`], in that order.
    pub values: Vec<Value>,
    /// All tasks seen, by number.
    pub tasks: Vec<TaskMeasured>,
    /// The tasks that did I/O, by number.
    pub io: Vec<(TaskId, TaskIo)>,
    /// The distributions behind the percentiles.
    pub distributions: Distributions,
    /// Waits of judged tasks after a wake-up that the end of the run cut off. No latency contains them.
    pub unfinished_waits: u64,
    /// CPU time of the host itself by kind, in the order of `Overhead::ALL`.
    pub overhead: [Span; Overhead::ALL.len()],
}

impl Measured {
    /// The result of metric `name`.
    ///
    /// # Panics
    /// No metric has this name; names from users are checked against [`METRICS`] first.
    #[must_use]
    pub fn get(&self, name: &str) -> Value {
        let found = self.values.iter().find(|v| v.about.name == name);
        *found.unwrap_or_else(|| panic!("\"{name}\" is not in METRICS"))
    }
}

/// Collects results by name; each metric exactly once.
#[derive(Debug, Default)]
pub struct Values(Vec<Value>);

impl Values {
    /// Enters the result of the metric `name`.
    pub(super) fn set(&mut self, name: &str, value: Option<f64>, samples: u64) {
        let about = METRICS.iter().find(|m| m.name == name);
        let about = about.unwrap_or_else(|| panic!("\"{name}\" is measured but not in METRICS"));
        self.0.push(Value { about, value, samples });
    }

    /// Enters mean, percentiles and maximum of the quantity `name`.
    pub(super) fn set_distribution(&mut self, name: &str, from: &Histogram) {
        let samples = from.count();
        let quantile = |per_10k| from.quantile(per_10k).map(|v| v as f64);
        self.set(&format!("{name}_mean"), from.mean(), samples);
        for (suffix, per_10k) in [("p50", 5_000), ("p95", 9_500), ("p99", 9_900), ("p999", 9_990)] {
            self.set(&format!("{name}_{suffix}"), quantile(per_10k), samples);
        }
        self.set(&format!("{name}_max"), from.max().map(|v| v as f64), samples);
    }

    /// Entries so far.
    #[cfg(test)]
    pub(super) fn entered(&self) -> &[Value] {
        &self.0
    }

    /// The results in the order of [`METRICS`].
    pub(super) fn into_list(self) -> Vec<Value> {
        let entered = |about: &About| {
            let mut of_it = self.0.iter().filter(|v| v.about.name == about.name);
            match (of_it.next(), of_it.next()) {
                (Some(value), None) => *value,
                (None, _) => panic!("\"{}\" is in METRICS but nobody measures it", about.name),
                (Some(_), Some(_)) => panic!("\"{}\" is measured twice", about.name),
            }
        };
        METRICS.iter().map(entered).collect()
    }
}
