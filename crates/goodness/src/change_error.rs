//! The measured error of predicted changes, by kind of change and figure: `fidelity/changes.toml`.
//!
//! The error of a replay under the recorded scheduler says little about what a change does. This one was measured on
//! real pairs, a load recorded with and without the change, of which the replay saw the first (`docs/fidelity.md`).

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
    /// Those of them whose direction was foretold wrongly.
    pub wrong_signs: usize,
    /// Root mean square error as a natural logarithm.
    pub log_error: f64,
    /// The 95 % interval of a prediction, as a factor in either direction.
    pub factor: f64,
}

/// All measured errors.
///
/// # Panics
/// Never: a test reads the file that the library was built with.
pub static CHANGE_ERRORS: LazyLock<Vec<ChangeError>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct File {
        error: Vec<ChangeError>,
    }
    let text = include_str!("../../../fidelity/changes.toml");
    toml::from_str::<File>(text).expect("fidelity/changes.toml is read by a test").error
});

/// By how much a prediction of `metric` under `arm` may be off, as a factor less 1: the largest error of the kinds of
/// change between `reference` and `arm`, on a machine of `cpus` CPUs. `None` if no such change was measured.
pub(crate) fn error_of(reference: &Contender, arm: &Contender, cpus: u32, metric: &str) -> Option<f64> {
    let errors = kinds(reference, arm).into_iter().filter_map(|kind| {
        let several = cpus > 1 || kind == "cpus";
        let is_it = |it: &&ChangeError| it.change == kind && it.several_cpus == several && it.figure == metric;
        CHANGE_ERRORS.iter().find(is_it).map(|error| error.factor - 1.0)
    });
    errors.max_by(f64::total_cmp)
}

/// The kinds of change between two contenders.
fn kinds(reference: &Contender, arm: &Contender) -> Vec<&'static str> {
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
    fn every_change_has_the_error_of_its_kinds() {
        let standard = PolicySpec::parse("eevdf:kernel=6.18").unwrap();
        let base = Contender::policy(standard.clone());
        let of = |text: &str| kinds(&base, &Contender::arm(text, &standard).unwrap());
        assert_eq!(of("base"), [""; 0]);
        assert_eq!(of("a.nice=3 cpus=2"), ["nice", "cpus"]);
        assert_eq!(of("cfs"), ["kernel"]);
        assert_eq!(of("eevdf:base_slice=3ms"), ["base_slice"]);
        assert_eq!(of("staircase"), [""; 0], "no change to another scheduler than Linux's was measured");
        let switches = |text: &str| error_of(&base, &Contender::arm(text, &standard).unwrap(), 1, "context_switches");
        assert!(switches("a.nice=3").is_some_and(|error| error > 0.0));
        assert!(switches("a.nice=3 cpus=2") >= switches("a.nice=3"), "the worst kind decides");
        assert_eq!(switches("staircase"), None);
    }
}
