//! The measured error of predicted changes, by kind of change and figure: `fidelity/changes.toml`.
//!
//! The error of a replay under the recorded scheduler says little about the effect of a change. This error was measured
//! on real pairs of recordings, without and with the change; the replay saw only the first (`docs/fidelity.md`).

use crate::contender::Contender;
use crate::edit::Edit;
use serde::Deserialize;
use std::sync::LazyLock;

/// The error of one kind of change in one figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeError {
    /// Kind of change.
    pub change: String,
    /// True if the machine has several CPUs, before or after.
    pub several_cpus: bool,
    /// Figure, named as the metric that it stands for.
    pub figure: String,
    /// Predictions that were compared with a recording.
    pub cases: usize,
    /// Those in which the figure changed by more than 10 %.
    pub changes: usize,
    /// Those with a wrongly predicted direction.
    pub wrong_signs: usize,
    /// Root mean square error as a natural logarithm.
    pub log_error: f64,
    /// The 95 % interval of a prediction that nothing changes, as a factor in either direction. That of others is wider
    /// by [`error_scale`].
    pub factor: f64,
}

/// All measured errors.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangeErrors {
    /// Growth of errors with the predicted change.
    pub growth: f64,
    /// By kind of change and figure.
    pub error: Vec<ChangeError>,
}

/// All measured errors.
///
/// # Panics
/// Never: a test reads the file that the library was built with.
pub static CHANGE_ERRORS: LazyLock<ChangeErrors> = LazyLock::new(|| {
    let text = include_str!("../../../fidelity/changes.toml");
    toml::from_str(text).expect("fidelity/changes.toml is read by a test")
});

/// Factor by which the error of a predicted log ratio is larger than that of a prediction that nothing changes: one
/// part of the error is the same for all changes, the other is `growth` times as large as the change.
#[must_use]
pub fn error_scale(log_ratio: f64, growth: f64) -> f64 {
    (growth * log_ratio).hypot(1.0)
}

/// Latencies that differ by less are not told apart: such a difference lies within the kernel's own path, which replays
/// do not model, and deterministic guests, where changes were measured, let a CPU stand still for as long
/// (`docs/guest.md`).
pub const LATENCY_RESOLUTION_NS: f64 = 20_000.0;

/// True if `metric` is a latency, and its two values are not told apart.
pub(crate) fn is_unresolved(metric: &str, values: [Option<f64>; 2]) -> bool {
    let [Some(a), Some(b)] = values else { return false };
    metric.starts_with("wakeup_latency") && (a - b).abs() < LATENCY_RESOLUTION_NS
}

/// Error of predicted I/O rates under another elevator, as a factor: the 95 % interval of the 24 predictions in
/// `fidelity/block-elevators.csv`. Most of it is the elevators' own CPU time, which is not simulated.
const OF_ELEVATORS: f64 = 1.35;
/// The metrics that it holds for.
const RATES: [&str; 2] = ["iops", "bandwidth"];

/// Error of the prediction that `metric` is `ratio` times as large under `arm`, as a factor less 1: the largest error
/// of the kinds of change between `reference` and `arm`, on a machine of `cpus` CPUs. `None` if no such change was
/// measured.
pub(crate) fn error_of(
    reference: &Contender,
    arm: &Contender,
    cpus: u32,
    metric: &str,
    ratio: Option<f64>,
) -> Option<f64> {
    // Of a ratio without a logarithm, 0, every multiple is the same.
    let log_ratio = ratio.map(f64::ln).filter(|log| log.is_finite()).unwrap_or(0.0);
    let scale = error_scale(log_ratio, CHANGE_ERRORS.growth);
    let errors = change_kinds(reference, arm).into_iter().filter_map(|kind| {
        let several = cpus > 1 || kind == "cpus";
        let is_it = |it: &&ChangeError| it.change == kind && it.several_cpus == several && it.figure == metric;
        CHANGE_ERRORS.error.iter().find(is_it).map(|error| error.factor.powf(scale) - 1.0)
    });
    let elevators = is_of_elevators(reference, arm, metric).then_some(OF_ELEVATORS - 1.0);
    errors.chain(elevators).max_by(f64::total_cmp)
}

/// True if `metric` depends on the own time of elevators, in which `reference` and `arm` differ.
pub(crate) fn is_of_elevators(reference: &Contender, arm: &Contender, metric: &str) -> bool {
    reference.elevator != arm.elevator && RATES.contains(&metric)
}

/// The kinds of change between two contenders; each has an error of its own.
#[must_use]
pub fn change_kinds(reference: &Contender, arm: &Contender) -> Vec<&'static str> {
    let mut kinds: Vec<&'static str> = arm.edits.iter().map(Edit::kind).collect();
    let (own, other) = (&reference.policy, &arm.policy);
    let kernel = |it: &crate::PolicySpec| it.settings.iter().find(|(name, _)| name == "kernel").cloned();
    let is_of_linux = |name: &str| matches!(name, "eevdf" | "cfs");
    if own.name != other.name || kernel(own) != kernel(other) {
        if is_of_linux(own.name) && is_of_linux(other.name) {
            kinds.push("kernel");
        }
    } else if own.settings != other.settings {
        kinds.push("base_slice");
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::PolicySpec;

    #[test]
    fn the_error_of_elevators_is_that_of_their_measured_predictions() {
        let table = include_str!("../../../fidelity/block-elevators.csv");
        let rows = table.lines().filter(|line| !line.starts_with('#')).skip(1);
        let errors: Vec<f64> = rows
            .map(|row| {
                let number =
                    |at: usize| row.split(',').nth(at).and_then(|it| it.parse::<f64>().ok()).expect("a number");
                (number(4) / number(5)).ln()
            })
            .collect();
        let mean = errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64;
        assert!(errors.len() == 24 && ((1.96 * mean.sqrt()).exp() - OF_ELEVATORS).abs() < 0.01, "{mean}");
        let [none, bfq] = ["eevdf+none", "eevdf+bfq"].map(|text| Contender::parse(text).unwrap());
        assert!(error_of(&none, &bfq, 1, "iops", Some(2.0)).is_some_and(|error| (error - 0.35).abs() < 1e-9));
        assert_eq!(error_of(&none, &none, 1, "iops", Some(1.0)), None);
    }

    #[test]
    fn latencies_that_differ_by_little_are_not_told_apart() {
        let is_it = |a: f64, b: f64| is_unresolved("wakeup_latency_p50", [Some(a), Some(b)]);
        assert_eq!([is_it(3e3, 19e3), is_it(3e3, 24e3), is_it(30e3, 40e3)], [true, false, true]);
        assert!(!is_unresolved("context_switches", [Some(1.0), Some(2.0)]));
    }

    #[test]
    fn every_change_has_the_error_of_its_kinds() {
        let standard = PolicySpec::parse("eevdf:kernel=6.18").unwrap();
        let base = Contender::policy(standard.clone());
        let of = |text: &str| change_kinds(&base, &Contender::arm(text, &standard).unwrap());
        assert_eq!(of("base"), [""; 0]);
        assert_eq!(of("a.nice=3 cpus=2"), ["nice", "cpus"]);
        assert_eq!(of("cfs"), ["kernel"]);
        assert_eq!(of("eevdf:base_slice=3ms"), ["base_slice"]);
        assert_eq!(of("staircase"), [""; 0], "no change to another scheduler than Linux's was measured");
        let of_ratio = |text: &str, ratio: f64| {
            error_of(&base, &Contender::arm(text, &standard).unwrap(), 1, "context_switches", Some(ratio))
        };
        let switches = |text: &str| of_ratio(text, 1.0);
        assert!(switches("a.nice=3").is_some_and(|error| error > 0.0));
        assert!(switches("a.nice=3 cpus=2") >= switches("a.nice=3"), "the worst kind decides");
        assert_eq!(switches("staircase"), None);
        assert!(of_ratio("a.nice=3", 0.1) > switches("a.nice=3"), "a large change has a larger error");
        let [tenth, tenfold] = [0.1, 10.0].map(|ratio| of_ratio("a.nice=3", ratio).expect("an error"));
        assert!((tenth / tenfold - 1.0).abs() < 1e-9, "as has its inverse: {tenth} and {tenfold}");
        assert_eq!(of_ratio("a.nice=3", 0.0), switches("a.nice=3"));
    }
}
