//! Latency measures, named as in the simulator, and those of the article of 2005.

use crate::measure::{Better, Measure};
use goodness_observe::Histogram;

/// Mean, percentiles and extremes of `name`. With `smallest`, also *max − min* and *major − min*, where *major* is the
/// 95th percentile (M. Santosa, 2005).
pub(crate) fn latencies(name: &str, seen: &Histogram, smallest: Option<u64>) -> Vec<Measure> {
    let Some(mean) = seen.mean() else { return Vec::new() };
    let measure = |part: &str, value: f64| Measure::new(&format!("{name}_{part}"), "ns", Better::Lower, value);
    let mut all = vec![measure("mean", mean)];
    for (part, per_10k) in [("p50", 5000), ("p95", 9500), ("p99", 9900), ("p999", 9990)] {
        all.extend(seen.quantile(per_10k).map(|value| measure(part, value as f64)));
    }
    let largest = seen.max().unwrap_or(0) as f64;
    all.push(measure("max", largest));
    if let Some(smallest) = smallest {
        let major = seen.quantile(9500).unwrap_or(0) as f64;
        all.extend(extremes(name, smallest as f64, major, largest));
    }
    all
}

/// The smallest, and how far the 95th percentile and the largest are from it.
pub(crate) fn extremes(name: &str, smallest: f64, major: f64, largest: f64) -> [Measure; 3] {
    let measure = |part: &str, value: f64| Measure::new(&format!("{name}_{part}"), "ns", Better::Lower, value);
    [
        measure("min", smallest),
        // A percentile of a histogram may lie half a bucket below the smallest value.
        measure("max_minus_min", (largest - smallest).max(0.0)),
        measure("major_minus_min", (major - smallest).max(0.0)),
    ]
}
