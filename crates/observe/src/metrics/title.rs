//! Names of metrics for people: `request_latency_p99` is the "p99 request latency".

/// Ends of names that say which statistic of a distribution a metric is.
const STATISTICS: [(&str, &str); 6] =
    [("_mean", "mean"), ("_p50", "median"), ("_p95", "p95"), ("_p99", "p99"), ("_p999", "p99.9"), ("_max", "largest")];

/// Quantities whose name is not that of people, with underscores.
const QUANTITIES: [(&str, &str); 19] = [
    ("wakeup_latency", "wake-up latency"),
    ("io_latency", "I/O latency"),
    ("io_read_latency", "read latency"),
    ("io_write_latency", "write latency"),
    ("runqueue_length", "run-queue length"),
    ("iops", "I/Os per second"),
    ("cpu_share", "share of the CPU time"),
    ("share_error", "deviation from fair shares"),
    ("jain_index", "fairness (Jain's index)"),
    ("scheduler_share", "time spent scheduling"),
    ("spin_share", "time spent spinning"),
    ("idle_while_queued", "idle time while tasks waited"),
    ("starved", "starved requests"),
    ("disk_held", "time the disk was held back"),
    ("disk_busy", "time the disk was busy"),
    ("queue_depth", "requests outstanding at a disk"),
    ("cpu_busy", "time the CPUs were busy"),
    ("io_cpu_time", "CPU time of an I/O"),
    ("io_lock_wait", "time spent waiting for the elevator's lock"),
];

/// The name of a metric for people, in lower case. Works for metrics that are not registered, too.
///
/// ```
/// assert_eq!(goodness_observe::title("request_latency_p999"), "p99.9 request latency");
/// assert_eq!(goodness_observe::title("context_switches"), "context switches");
/// assert_eq!(goodness_observe::title("cpu_time"), "CPU time");
/// ```
#[must_use]
pub fn title(metric: &str) -> String {
    let words = |quantity: &str| match QUANTITIES.iter().find(|(name, _)| *name == quantity) {
        Some((_, words)) => (*words).to_string(),
        None => match quantity.strip_prefix("cpu_") {
            Some(rest) => format!("CPU {}", rest.replace('_', " ")),
            None => quantity.replace('_', " "),
        },
    };
    let of_statistic =
        |(end, statistic): &(&str, &str)| Some(format!("{statistic} {}", words(metric.strip_suffix(end)?)));
    match metric.strip_prefix("scheduler_share_") {
        Some(part) => format!("time spent scheduling: {part}"),
        None => STATISTICS.iter().find_map(of_statistic).unwrap_or_else(|| words(metric)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::METRICS;

    #[test]
    fn every_metric_has_a_name_of_its_own_without_underscores() {
        let mut titles: Vec<String> = METRICS.iter().map(|it| title(it.name)).collect();
        assert!(titles.iter().all(|it| !it.contains('_')), "{titles:?}");
        titles.sort();
        titles.dedup();
        assert_eq!(titles.len(), METRICS.len());
        for (quantity, _) in QUANTITIES {
            assert!(METRICS.iter().any(|it| it.name.starts_with(quantity)), "{quantity} names nothing");
        }
    }
}
