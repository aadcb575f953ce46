//! The measured difference between recordings of one load, by metric: `fidelity/recordings.toml`.
//!
//! Replays of one recording differ by chance in the replay alone. Another recording of the same load differs by more:
//! the server's caches, the client's order and the state of the machine are other ones. How much was measured on
//! several recordings of each of several loads (`docs/statistics.md`).

use goodness_observe::Fifths;
use goodness_stats::ratio::Between;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// The difference between recordings of one load in one metric.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Metric.
    pub metric: String,
    /// True if the load had several CPUs.
    pub several_cpus: bool,
    /// Loads that were recorded.
    pub loads: usize,
    /// Recordings of all of them.
    pub recordings: usize,
    /// Standard deviation of the natural logarithm of the recorded value, within a load.
    pub level: f64,
    /// The same of simulated ratios of another policy to the recorded one.
    pub policies: Ratios,
    /// The same of the recorded policy with a change of settings, tasks or machine to that without.
    pub changes: Ratios,
}

/// Standard deviations of the natural logarithm of a ratio, within a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ratios {
    /// Of ratios near 1.
    pub near: f64,
    /// Of others, for each unit of their logarithm, beyond that.
    pub far: f64,
}

/// All measured differences.
///
/// # Panics
/// Never: a test reads the file that the library was built with.
pub static SPREADS: LazyLock<Vec<Spread>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        spread: Vec<Spread>,
    }
    let text = include_str!("../../../fidelity/recordings.toml");
    toml::from_str::<File>(text).expect("fidelity/recordings.toml is read by a test").spread
});

impl Spread {
    /// The difference in `metric` on a machine of `cpus` CPUs, if it was measured.
    pub(crate) fn of(metric: &str, cpus: u32) -> Option<&'static Spread> {
        SPREADS.iter().find(|it| it.metric == metric && it.several_cpus == (cpus > 1))
    }

    /// Variation of the ratio of two policies from recording to recording.
    pub(crate) fn between_policies(&self) -> Between {
        self.between(self.policies)
    }

    /// Variation of the ratio of a change from recording to recording.
    pub(crate) fn between_changes(&self) -> Between {
        self.between(self.changes)
    }

    fn between(&self, ratios: Ratios) -> Between {
        Between { deviation: ratios.near, relative: ratios.far, freedom: self.freedom() }
    }

    /// Variation of the value itself from recording to recording: that of other loads, or `batch_error`, by which this
    /// recording shows that it varies by more.
    pub(crate) fn between_levels(&self, batch_error: Option<f64>) -> Between {
        match batch_error.filter(|error| *error > self.level) {
            Some(deviation) => Between { deviation, relative: 0.0, freedom: (Fifths::COUNT - 1) as f64 },
            None => Between { deviation: self.level, relative: 0.0, freedom: self.freedom() },
        }
    }

    /// Variation of the ratio of two recordings of one load around 1.
    pub(crate) fn between_recordings(&self, batch_errors: [Option<f64>; 2]) -> Between {
        let [one, other] = batch_errors.map(|error| self.between_levels(error));
        let freedom = one.freedom.min(other.freedom);
        Between { deviation: one.deviation.hypot(other.deviation), relative: 0.0, freedom }
    }

    /// Degrees of freedom: the number of loads. Recordings within a load show only how variable that one is.
    fn freedom(&self) -> f64 {
        self.loads.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_of_one_load_differ_in_the_metrics_that_rank() {
        for several_cpus in [false, true] {
            for metric in ["wakeup_latency_p99", "throughput"] {
                let spread = Spread::of(metric, if several_cpus { 2 } else { 1 }).expect(metric);
                assert!(
                    spread.level > 0.0 && spread.changes.near >= 0.0 && spread.recordings > spread.loads,
                    "{spread:?}"
                );
            }
        }
        assert_eq!(Spread::of("no_such_metric", 1), None);
    }

    #[test]
    fn a_recording_whose_fifths_differ_varies_by_more_than_other_loads_do() {
        let spread = Spread::of("wakeup_latency_p50", 1).expect("measured");
        let [steady, restless] = [None, Some(1.5)].map(|error| spread.between_recordings([Some(1e-6), error]));
        assert!((steady.deviation - spread.level * std::f64::consts::SQRT_2).abs() < 1e-12);
        assert_eq!(restless.deviation, spread.level.hypot(1.5));
        assert_eq!(spread.between_levels(Some(spread.level / 2.0)), spread.between_levels(None));
    }
}
