//! The list of metrics.

use serde::{Deserialize, Serialize};

/// Direction of improvement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// Larger is better.
    Higher,
    /// Smaller is better.
    #[default]
    Lower,
    /// Neither: it describes the run.
    Neither,
}

/// Description of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// Name, without unit.
    pub name: &'static str,
    /// Unit; `1` for ratios and counts.
    pub unit: &'static str,
    /// Direction of improvement.
    pub better: Better,
    /// Summary in one sentence.
    pub summary: &'static str,
}

impl About {
    /// Fewest observations that give a percentile: one of them lies beyond it, as a mean. 1 for other metrics.
    #[must_use]
    pub fn fewest(&self) -> u64 {
        let percentiles = [("_p50", 2), ("_p95", 20), ("_p99", 100), ("_p999", 1_000)];
        percentiles.iter().find(|(end, _)| self.name.ends_with(end)).map_or(1, |(_, fewest)| *fewest)
    }
}

/// Expands declarations to the list. `distribution` gives mean, p50, p95, p99, p999 and max of one quantity.
macro_rules! metrics {
    (@ [$($done:expr,)*]) => { &[$($done),*] };
    (@ [$($done:expr,)*] distribution $name:literal, $unit:literal, $better:ident, $what:literal; $($rest:tt)*) => {
        metrics!(@ [$($done,)*
            metrics!(# concat!($name, "_mean"), $unit, $better, concat!("Mean ", $what, ".")),
            metrics!(# concat!($name, "_p50"), $unit, $better, concat!("Median ", $what, ".")),
            metrics!(# concat!($name, "_p95"), $unit, $better, concat!("p95 ", $what, ".")),
            metrics!(# concat!($name, "_p99"), $unit, $better, concat!("p99 ", $what, ".")),
            metrics!(# concat!($name, "_p999"), $unit, $better, concat!("p99.9 ", $what, ".")),
            metrics!(# concat!($name, "_max"), $unit, $better, concat!("Largest ", $what, ".")),
        ] $($rest)*)
    };
    (@ [$($done:expr,)*] parts of $whole:literal { $($part:literal, $what:literal;)+ } $($rest:tt)*) => {
        metrics!(@ [$($done,)*
            $(metrics!(# concat!($whole, "_", $part), "1", Lower, concat!("CPU time spent ", $what, ", over busy CPU \
                time.")),)+
        ] $($rest)*)
    };
    (@ [$($done:expr,)*] $name:literal, $unit:literal, $better:ident, $what:literal; $($rest:tt)*) => {
        metrics!(@ [$($done,)* metrics!(# $name, $unit, $better, $what),] $($rest)*)
    };
    (# $name:expr, $unit:expr, $better:ident, $what:expr) => {
        About { name: $name, unit: $unit, better: Better::$better, summary: $what }
    };
}

/// Every metric of a CPU run, in the order of reports.
pub const METRICS: &[About] = metrics!(@ []
    distribution "wakeup_latency", "ns", Lower, "wake-up latency: from runnable to running";
    distribution "request_latency", "ns", Lower, "request latency: from arrival to completion";
    "throughput", "1/s", Higher, "Requests served, or cycles of programmes completed, per second.";
    "completion_time", "ns", Lower, "Time from the start of measuring until the last judged task ended, if all did.";
    "turnaround", "ns", Lower, "Mean time from a judged task's first wake-up to its end, for tasks that ended.";
    "waiting_time", "ns", Lower, "Mean time that a judged task spent in run queues from its first wake-up to its end, \
        for tasks that ended.";
    "response_time", "ns", Lower, "Mean time from a judged task's first wake-up to the first time it ran.";
    distribution "slice_length", "ns", Neither, "slice length: from switch-in to switch-out";
    "context_switches", "1", Neither, "Switches from a task to another task or to idle.";
    "involuntary_switches", "1", Neither, "Switches away from a task that was still runnable: preempted or yielding.";
    "migrations", "1", Neither, "Moves of tasks to another CPU than the one they ran on last.";
    "cpu_share", "1", Neither, "CPU time of the judged tasks as a share of all CPU time.";
    "share_error", "1", Lower, "Sum of the judged tasks' deviations from their weighted fair share, over the sum of \
        the shares; not with task groups.";
    "jain_index", "1", Higher, "Jain's fairness index of the judged tasks' CPU time over their weighted fair share; \
        not with task groups.";
    "scheduler_share", "1", Lower, "CPU time spent deciding, switching, waking, ticking and refilling caches, over \
        busy CPU time.";
    parts of "scheduler_share" {
        "search", "looking at candidates";
        "recalculate", "recalculating counters";
        "insert", "on ordered insertion and removal";
        "balance", "on placement and balancing";
        "switch", "switching";
        "wakeup", "waking";
        "tick", "in timer interrupts";
        "refill", "refilling caches";
        "lock", "waiting for the lock of a runqueue";
    }
    "spin_share", "1", Lower, "CPU time that tasks spent spinning for locks, over busy CPU time.";
    "idle_while_queued", "ns", Lower, "Time in which a CPU idled while a task that may run there waited.";
    "runqueue_length_mean", "1", Neither, "Mean number of runnable tasks of a CPU, the running one included, over time \
        and CPUs.";
    "runqueue_length_p99", "1", Neither, "p99 number of runnable tasks of a CPU, the running one included, over time \
        and CPUs.";
    "runqueue_length_max", "1", Neither, "Largest number of runnable tasks of a CPU, the running one included.";
    distribution "io_latency", "ns", Lower, "I/O latency: from reaching the block layer to completion";
    distribution "io_read_latency", "ns", Lower, "I/O latency of reads";
    distribution "io_write_latency", "ns", Lower, "I/O latency of writes and discards";
    "iops", "1/s", Higher, "Pieces of I/O done per second, as the disks see them: a mirror does each write twice.";
    "bandwidth", "bytes/s", Higher, "Bytes read and written per second, as the disks see them.";
    "seek_distance", "sectors", Lower, "Mean distance from the end of one dispatched request to the start of the next \
        on a disk.";
    "merges", "1", Neither, "Pieces of I/O that joined a waiting request.";
    "starved", "1", Lower, "Requests that waited longer than a second to be dispatched, or were not dispatched at all, \
        their wait for a slot included.";
    "disk_held", "1", Neither, "Share of the disks' time in which requests waited and the disk had none: plugged, \
        anticipated, idled for.";
    "disk_busy", "1", Neither, "Share of the disks' time in which the disk had a request to serve.";
    "queue_depth", "1", Neither, "Mean number of requests that a disk has or that wait for it, over time and disks.";
    "io_cpu_time", "ns", Lower, "CPU time of an I/O: submitting and completing it, the elevator, and waiting for the \
        elevator's lock. Not measured on machines without costs of I/O.";
    "io_lock_wait", "ns", Lower, "Time per I/O that CPUs spun for an elevator's lock.";
    "cpu_busy", "1", Neither, "Share of the CPU time in which a task ran or a CPU without a task worked for the \
        scheduler or the block layer: utilisation, plus interrupts on idle CPUs.";
    "utilisation", "1", Neither, "Share of the CPU time in which a task ran. The work of interrupts on idle CPUs is in \
        cpu_busy only; without such costs both are the same.";
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_its_own_name_without_unit_and_a_sentence() {
        let mut names = std::collections::BTreeSet::new();
        for about in METRICS {
            assert!(names.insert(about.name), "{} is listed twice", about.name);
            assert!(about.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
            assert!(!about.name.ends_with("_ns"), "{}", about.name);
            assert!(about.summary.ends_with('.') && !about.unit.is_empty(), "{}", about.name);
        }
        assert!(names.contains("wakeup_latency_p999") && names.contains("jain_index"));
    }
}
