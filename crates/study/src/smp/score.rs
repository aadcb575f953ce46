//! Compares simulated cells with played ones, within bounds that were set before anything was measured.

use super::guest::Guest;
use super::suite::Cell;
use crate::changes::figures::class_of;
use crate::changes::score::half_width;
use goodness::LATENCY_RESOLUTION_NS;
use std::collections::{BTreeMap, BTreeSet};

/// The classes of figures, in the order of tables.
pub const CLASSES: [&str; 9] = [
    "share",
    "spread",
    "migrations",
    "switches",
    "wakeup_latency_p50",
    "wakeup_latency_p99",
    "idle_while_waiting",
    "shared_cores",
    "lopsided",
];

/// Factor of migrations that no cell should exceed.
pub const FAR: f64 = 2.5;

/// Largest difference of a figure that is within bounds: relative or absolute, whichever is larger.
struct Bound {
    factor: f64,
    difference: f64,
}

/// The bound of a class of figures (`fidelity/smp/README.md`).
fn bound(class: &str) -> Bound {
    let (factor, difference) = match class {
        "share" => (1.0, 2.0),
        "spread" | "idle_while_waiting" | "shared_cores" => (1.5, 2.0),
        "lopsided" => (1.5, 10.0),
        "migrations" => (1.5, 1.0),
        "switches" => (1.1, 10.0),
        _ => (1.15, 4e6),
    };
    Bound { factor, difference }
}

/// Smallest value of a class that is told apart from 0: the bound's. Of latencies it is what lies within the kernel's
/// own path, times the CPUs: the clock of a guest counts the instructions of all of them (`docs/guest.md`).
fn resolution(class: &str, cpus: u32) -> f64 {
    if class.starts_with("wakeup_latency") { LATENCY_RESOLUTION_NS * f64::from(cpus) } else { bound(class).difference }
}

/// A figure of a cell: played and simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Name of the load.
    pub load: String,
    /// Kernel and CPUs.
    pub guest: Guest,
    /// True if the load belongs to the unseen half.
    pub is_unseen: bool,
    /// The figure.
    pub figure: String,
    /// Mean over the plays.
    pub played: f64,
    /// Smallest and largest play.
    pub range: [f64; 2],
    /// Mean over the simulated runs.
    pub simulated: f64,
}

impl Case {
    /// The class of its figure.
    #[must_use]
    pub fn class(&self) -> &str {
        class_of(&self.figure)
    }

    /// By how much the simulation is off, as a natural logarithm. Values below the resolution are equal to it.
    #[must_use]
    pub fn error(&self) -> f64 {
        let least = resolution(self.class(), self.guest.cpus);
        (self.simulated.max(least) / self.played.max(least)).ln()
    }

    /// True if the means are within the bound.
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.is_within_factor(bound(self.class()).factor)
    }

    /// True if the means are within `factor` or the bound's difference.
    fn is_within_factor(&self, factor: f64) -> bool {
        let difference = bound(self.class()).difference;
        let (low, high) = (self.played.min(self.simulated), self.played.max(self.simulated));
        high - low <= difference || high <= low * factor
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The figures of a cell that plays and simulated runs have.
#[must_use]
pub fn cases(cell: &Cell, simulated: &BTreeMap<String, Vec<f64>>) -> Vec<Case> {
    let case = |(figure, plays): (&String, &Vec<f64>)| {
        let ends = |values: &[f64]| values.iter().fold([f64::MAX, f64::MIN], |[a, b], &it| [a.min(it), b.max(it)]);
        Some(Case {
            load: cell.load.clone(),
            guest: cell.guest,
            is_unseen: cell.is_unseen,
            figure: figure.clone(),
            played: mean(plays),
            range: ends(plays),
            simulated: mean(simulated.get(figure)?),
        })
    };
    cell.plays.iter().filter_map(case).collect()
}

/// Cells of a class within bounds, and all of them. A cell is within bounds if all its figures of the class are.
#[must_use]
pub fn within(cases: &[Case], class: &str) -> (usize, usize) {
    let of_class = || cases.iter().filter(|case| case.class() == class);
    let cell = |case: &Case| (case.load.clone(), case.guest);
    let all: BTreeSet<_> = of_class().map(cell).collect();
    let outside: BTreeSet<_> = of_class().filter(|case| !case.is_within()).map(cell).collect();
    (all.len() - outside.len(), all.len())
}

/// Cells whose migrations are off by more than a factor of [`FAR`] and 1/s.
#[must_use]
pub fn far(cases: &[Case]) -> usize {
    let is_far = |case: &&Case| case.class() == "migrations" && !case.is_within_factor(FAR);
    cases.iter().filter(is_far).count()
}

/// The error of one scheduler in one class of figures.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelError {
    /// Name of the policy.
    pub policy: &'static str,
    /// Class of figures.
    pub class: &'static str,
    /// Values that were compared.
    pub cases: usize,
    /// Root mean square of the errors, as a logarithm.
    pub log_error: f64,
    /// Half width of the 95 % interval of a simulated value, as a logarithm.
    pub half_width: f64,
}

/// The errors of all schedulers and classes.
#[must_use]
pub fn errors(cases: &[Case]) -> Vec<ModelError> {
    let families: BTreeSet<&'static str> = cases.iter().map(|case| case.guest.family()).collect();
    let each = families.into_iter().flat_map(|policy| CLASSES.map(|class| (policy, class)));
    let one = |(policy, class): (&'static str, &'static str)| {
        let is_it = |case: &&Case| case.guest.family() == policy && case.class() == class;
        let errors: Vec<f64> = cases.iter().filter(is_it).map(|case| case.error().abs()).collect();
        (!errors.is_empty()).then(|| ModelError {
            policy,
            class,
            cases: errors.len(),
            log_error: (errors.iter().map(|it| it * it).sum::<f64>() / errors.len() as f64).sqrt(),
            half_width: half_width(errors),
        })
    };
    each.filter_map(one).collect()
}

/// The text of `fidelity/smp.toml`, which verdicts read: errors, and the guests that were `compared`.
#[must_use]
pub fn file(errors: &[ModelError], compared: &BTreeSet<Guest>) -> String {
    let mut text = String::from(
        "# The measured error of simulated schedulers on several CPUs, from the loads of fidelity/smp, and the\n\
         # kernels that they were compared with, on so many CPUs. Written by\n\
         # cargo run --release -p goodness-study --example smp -- errors\n",
    );
    for it in errors {
        text += &format!(
            "\n[[error]]\npolicy = \"{}\"\nfigure = \"{}\"\ncases = {}\nlog_error = {:.4}\nfactor = {:.3}\n",
            it.policy,
            it.class,
            it.cases,
            it.log_error,
            it.half_width.exp()
        );
    }
    let mut kernels = BTreeMap::<_, BTreeSet<u32>>::new();
    for guest in compared {
        kernels.entry((guest.family(), guest.profile())).or_default().insert(guest.cpus);
    }
    for ((policy, kernel), cpus) in kernels {
        let cpus: Vec<u32> = cpus.into_iter().collect();
        text += &format!("\n[[compared]]\npolicy = \"{policy}\"\nkernel = \"{kernel}\"\ncpus = {cpus:?}\n");
    }
    text
}

/// Number of `cases` whose error is at most the one stated for their policy and class, and of all that have one.
#[must_use]
pub fn coverage(cases: &[Case], stated: &[ModelError]) -> (usize, usize) {
    let half_width = |case: &Case| {
        let is_it = |it: &&ModelError| it.policy == case.guest.family() && it.class == case.class();
        Some((case.error().abs(), stated.iter().find(is_it)?.half_width))
    };
    let all: Vec<(f64, f64)> = cases.iter().filter_map(half_width).collect();
    // The largest error states itself.
    (all.iter().filter(|(error, half)| *error <= half + 1e-9).count(), all.len())
}

#[cfg(test)]
mod tests {
    use super::super::guest::GUESTS;
    use super::*;

    fn case(figure: &str, played: f64, simulated: f64) -> Case {
        let figure = figure.to_string();
        Case { load: "a".into(), guest: GUESTS[0], is_unseen: false, figure, played, range: [played; 2], simulated }
    }

    #[test]
    fn bounds_are_relative_or_absolute() {
        let is_within = |figure: &str, played: f64, simulated: f64| case(figure, played, simulated).is_within();
        assert!(is_within("share a", 50.0, 51.9) && !is_within("share a", 50.0, 52.1));
        assert!(is_within("migrations", 0.0, 1.0) && !is_within("migrations", 10.0, 15.1));
        assert!(is_within("migrations", 15.0, 10.0) && !is_within("switches", 1000.0, 1101.0));
        assert!(is_within("wakeup_latency_p99", 0.0, 4e6) && !is_within("wakeup_latency_p99", 30e6, 35e6));
    }

    #[test]
    fn a_cell_is_within_bounds_if_all_its_shares_are() {
        let cases = [case("share a", 50.0, 50.0), case("share b", 50.0, 60.0), case("switches", 100.0, 100.0)];
        assert_eq!([within(&cases, "share"), within(&cases, "switches")], [(0, 1), (1, 1)]);
    }

    #[test]
    fn errors_are_logarithms_above_the_resolution() {
        assert_eq!(case("wakeup_latency_p50", 15e3, 0.0).error(), 0.0);
        assert!((case("wakeup_latency_p99", 1e6, 0.0).error() - (40e3f64 / 1e6).ln()).abs() < 1e-12, "on two CPUs");
        let all = errors(&[case("switches", 1000.0, 2000.0), case("switches", 1000.0, 1000.0)]);
        assert_eq!((all.len(), all[0].policy, all[0].class, all[0].cases), (1, "cfs", "switches", 2));
        assert!(all[0].half_width > 2f64.ln(), "two cases do not show the largest error");
        let wrong = [case("switches", 1000.0, 20_000.0)];
        assert_eq!(coverage(&wrong, &all), (0, 1));
    }
}
