//! Scores of predictions, by kind of change and class of figure.

use super::figures::{Figures, class_of, log_ratio};
use super::pairs::Pair;
use super::{Effect, Effects};
use goodness::error_scale;
use goodness_stats::distribution::student_critical;
use goodness_stats::summary::median;
use std::collections::{BTreeMap, BTreeSet};

/// Natural logarithm of the smallest ratio that counts as a change: 10 %.
pub const CHANGE: f64 = 0.095_310_179_804_324_87;

/// One prediction beside what was measured, both as natural logarithms of the ratio, changed over base.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The change.
    pub pair: Pair,
    /// The figure.
    pub figure: String,
    /// Predicted.
    pub predicted: Effect,
    /// Measured.
    pub measured: f64,
}

impl Case {
    /// By how much the prediction is off, as a logarithm.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.predicted.log_ratio - self.measured
    }

    /// The error for one of scale 1, if errors grow with the predicted change by `growth`.
    fn scaled_error(&self, growth: f64) -> f64 {
        self.error().abs() / error_scale(self.predicted.log_ratio, growth)
    }

    /// True if the figure changed by more than 10 %.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.measured.abs() > CHANGE
    }

    /// True if the predicted direction is the measured one.
    #[must_use]
    pub fn has_right_sign(&self) -> bool {
        self.predicted.log_ratio * self.measured > 0.0
    }
}

/// The cases of one change: of the figures that base and changed recording have, and that were predicted.
#[must_use]
pub fn cases(pair: &Pair, base: &Figures, changed: &Figures, predicted: &Effects) -> Vec<Case> {
    let case = |(figure, effect): (&String, &Effect)| {
        let measured = log_ratio(figure, *changed.get(figure)?, *base.get(figure)?);
        measured.is_finite().then(|| Case { pair: pair.clone(), figure: figure.clone(), predicted: *effect, measured })
    };
    predicted.iter().filter_map(case).collect()
}

/// Scores of all kinds and classes.
#[derive(Clone, Debug, PartialEq)]
pub struct Scores {
    /// Growth of errors with the predicted change; see [`error_scale`].
    pub growth: f64,
    /// The scores.
    pub all: Vec<Score>,
}

/// Score of the cases of one kind and class.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Kind of change.
    pub kind: &'static str,
    /// Class of figure.
    pub class: String,
    /// True for several CPUs.
    pub on_several_cpus: bool,
    /// Cases.
    pub count: usize,
    /// Those that changed by more than 10 %.
    pub changes: usize,
    /// Those with a wrongly predicted direction.
    pub wrong_signs: usize,
    /// Root mean square of the errors, as a logarithm.
    pub error: f64,
    /// Half width of the 95 % interval of a prediction that nothing changes, as a logarithm. That of others is
    /// [`error_scale`] times as large.
    pub half_width: f64,
}

/// Key of cases that share an error.
type Key = (&'static str, bool, String);

fn key(case: &Case) -> Key {
    (case.pair.kind, case.pair.on_several_cpus, class_of(&case.figure).to_string())
}

fn by_key(cases: &[Case]) -> BTreeMap<Key, Vec<&Case>> {
    let mut by = BTreeMap::<Key, Vec<&Case>>::new();
    for case in cases {
        by.entry(key(case)).or_default().push(case);
    }
    by
}

/// The cases of one half.
#[must_use]
pub fn half(cases: &[Case], is_unseen: bool) -> Vec<Case> {
    cases.iter().filter(|case| case.pair.is_unseen() == is_unseen).cloned().collect()
}

/// Scores by kind, number of CPUs and class.
#[must_use]
pub fn score(cases: &[Case]) -> Scores {
    let by = by_key(cases);
    let growth = growth(&by);
    let one = |((kind, on_several_cpus, class), cases): (Key, Vec<&Case>)| {
        let changes = cases.iter().filter(|case| case.is_change());
        Score {
            kind,
            class,
            on_several_cpus,
            count: cases.len(),
            changes: changes.clone().count(),
            wrong_signs: changes.filter(|case| !case.has_right_sign()).count(),
            error: rms(&cases.iter().map(|case| case.error()).collect::<Vec<_>>()),
            half_width: half_width(cases.iter().map(|case| case.scaled_error(growth)).collect()),
        }
    };
    Scores { growth, all: by.into_iter().map(one).collect() }
}

/// Growths that are tried.
const GROWTHS: [f64; 9] = [0.0, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0];
/// Least standard deviation of the errors of one kind, so that few errors that are 0 do not decide. A choice: 1 %.
const LEAST_DEVIATION: f64 = 0.01;

/// The growth under which the errors are likeliest, if those of each kind are normal with a deviation of its own.
fn growth(by: &BTreeMap<Key, Vec<&Case>>) -> f64 {
    let likelihood = |growth: f64| -> f64 {
        let of_kind = |cases: &Vec<&Case>| {
            let scaled: Vec<f64> = cases.iter().map(|case| case.scaled_error(growth)).collect();
            let scales = cases.iter().map(|case| error_scale(case.predicted.log_ratio, growth).ln()).sum::<f64>();
            -scales - cases.len() as f64 * rms(&scaled).max(LEAST_DEVIATION).ln()
        };
        by.values().map(of_kind).sum()
    };
    let tried = GROWTHS.map(|growth| (growth, likelihood(growth)));
    tried.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("some are tried").0
}

fn rms(errors: &[f64]) -> f64 {
    (errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64).sqrt()
}

/// The half width that holds the next error of this kind in 95 of 100 cases: the error of rank ⌈0.95 (n + 1)⌉ (split
/// conformal prediction), or, of fewer cases, Student's for errors around 0.
pub(crate) fn half_width(mut errors: Vec<f64>) -> f64 {
    let rank = (0.95 * (errors.len() + 1) as f64).ceil() as usize;
    if rank > errors.len() {
        return student_critical(0.05, errors.len() as f64) * rms(&errors);
    }
    errors.sort_by(f64::total_cmp);
    errors[rank - 1]
}

/// Number of `cases` that lie in the interval that `scores` give their prediction, and the median width of these
/// intervals, upper end over lower. Cases of a kind without a score have no interval.
#[must_use]
pub fn coverage(cases: &[Case], scores: &Scores) -> Option<Coverage> {
    let half = |case: &Case| {
        let key = key(case);
        let is_it = |it: &&Score| (it.kind, it.on_several_cpus, it.class.as_str()) == (key.0, key.1, &key.2);
        let score = scores.all.iter().find(is_it)?;
        Some(score.half_width * error_scale(case.predicted.log_ratio, scores.growth))
    };
    let stated: Vec<(f64, f64)> = cases.iter().filter_map(|case| Some((case.error().abs(), half(case)?))).collect();
    let inside = stated.iter().filter(|(error, half)| error <= half).count();
    let widths: Vec<f64> = stated.iter().map(|(_, half)| (2.0 * half).exp()).collect();
    Some(Coverage { count: stated.len(), inside, median_width: median(&widths)? })
}

/// Number of correctly predicted directions, and of changes beyond 10 %, among the cases of `classes`.
#[must_use]
pub fn signs(cases: &[Case], classes: &[&str]) -> (usize, usize) {
    let changes = cases.iter().filter(|it| it.is_change() && classes.contains(&class_of(&it.figure)));
    (changes.clone().filter(|it| it.has_right_sign()).count(), changes.count())
}

/// Scores of all cases together, by class: directions, and intervals as `stated` has them.
#[must_use]
pub fn summary(cases: &[Case], stated: &Scores) -> String {
    let classes: BTreeSet<&str> = cases.iter().map(|case| class_of(&case.figure)).collect();
    let mut text = format!("{:<20} directions right  inside 95 % interval  median width\n", "figure");
    let rows = classes.iter().map(|class| (*class, vec![*class]));
    for (name, of) in rows.chain([("all", classes.iter().copied().collect())]) {
        let (right, changes) = signs(cases, &of);
        let some: Vec<Case> = cases.iter().filter(|case| of.contains(&class_of(&case.figure))).cloned().collect();
        let Some(it) = coverage(&some, stated) else { continue };
        let inside = format!("{} of {}", it.inside, it.count);
        text += &format!("{name:<20} {right:>6} of {changes:<6} {inside:>21} {:>13.2}\n", it.median_width);
    }
    text
}

/// Coverage of the intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coverage {
    /// Predictions with an interval.
    pub count: usize,
    /// Those whose interval contains the measured value.
    pub inside: usize,
    /// Median width, upper end over lower.
    pub median_width: f64,
}

impl Coverage {
    /// The part inside.
    #[must_use]
    pub fn part(&self) -> f64 {
        self.inside as f64 / self.count as f64
    }
}

/// The scores in the form of `fidelity/changes.toml`, which verdicts read.
#[must_use]
pub fn file(scores: &Scores) -> String {
    let mut text = format!(
        "# The measured error of predicted changes, from the seen half of the pairs. Written by\n\
         # cargo run --release -p goodness-study --example changes -- errors\n\
         growth = {}\n",
        scores.growth
    );
    for it in &scores.all {
        text += &format!(
            "\n[[error]]\nchange = \"{}\"\nseveral_cpus = {}\nfigure = \"{}\"\ncases = {}\nchanges = {}\n\
             wrong_signs = {}\nlog_error = {:.4}\nfactor = {:.3}\n",
            it.kind,
            it.on_several_cpus,
            it.class,
            it.count,
            it.changes,
            it.wrong_signs,
            it.error,
            it.half_width.exp()
        );
    }
    text
}

/// A case as a line: change, figure, predicted and measured ratio.
#[must_use]
pub fn line(case: &Case) -> String {
    let sign = if case.is_change() && !case.has_right_sign() { "  WRONG SIGN" } else { "" };
    let (pair, log) = (&case.pair, case.predicted.log_ratio);
    format!(
        "{:<14} {:<40} {:<22} {:>7.3} {:>7.3} {:>+6.2}{sign}",
        pair.base,
        pair.arm,
        case.figure,
        log.exp(),
        case.measured.exp(),
        case.error()
    )
}

/// The scores as a table for terminals; an error is a factor in either direction, in the last column that of a
/// prediction that nothing changes.
#[must_use]
pub fn table(scores: &Scores) -> String {
    let mut text = format!("{:<11} {:<8} {:<20} cases changes wrong signs  error  95 %\n", "change", "CPUs", "figure");
    for it in &scores.all {
        text += &format!(
            "{:<11} {:<8} {:<20} {:>5} {:>7} {:>11} {:>6.2} {:>5.2}\n",
            it.kind,
            if it.on_several_cpus { "several" } else { "one" },
            it.class,
            it.count,
            it.changes,
            it.wrong_signs,
            it.error.exp(),
            it.half_width.exp()
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(arm: &str, figure: &str, predicted: f64, measured: f64) -> Case {
        let kind = if arm.starts_with("cpus=") { "cpus" } else { "nice" };
        let pair = Pair { base: "b".into(), arm: arm.into(), number: 1, kind, on_several_cpus: false };
        Case { pair, figure: figure.into(), predicted: Effect { log_ratio: predicted, sd: 0.0 }, measured }
    }

    #[test]
    fn a_wrong_direction_counts_only_where_something_changed() {
        let cases = [
            case("a.nice=5", "share a", 0.3, 0.5),
            case("a.nice=5", "share b", 0.3, -0.5),
            case("a.nice=5", "share c", 0.01, -0.01),
            case("cpus=2", "context_switches", 0.1, 0.2),
        ];
        let scores = score(&cases);
        assert_eq!(scores.all.len(), 2);
        let share = &scores.all[1];
        assert_eq!((share.kind, share.count, share.changes, share.wrong_signs), ("nice", 3, 2, 1));
        assert!((share.error - ((0.2f64.powi(2) + 0.8f64.powi(2) + 0.02f64.powi(2)) / 3.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn errors_that_grow_with_the_change_give_small_changes_narrow_intervals() {
        let growing = |number: u32| {
            let change = f64::from(number % 10) / 5.0;
            let error = 0.02 * error_scale(change, 4.0) * if number.is_multiple_of(2) { 1.0 } else { -1.0 };
            case("a.nice=5", "share a", change, change + error)
        };
        let scores = score(&(0..100).map(growing).collect::<Vec<_>>());
        assert_eq!(scores.growth, 4.0);
        assert!((scores.all[0].half_width - 0.02).abs() < 1e-9);
        let even = |number: u32| {
            let change = f64::from(number % 10) / 5.0;
            case("a.nice=5", "share a", change, change + if number.is_multiple_of(2) { 0.1 } else { -0.1 })
        };
        assert_eq!(score(&(0..100).map(even).collect::<Vec<_>>()).growth, 0.0);
    }

    #[test]
    fn an_interval_is_that_of_its_rank_or_of_few_errors_wider() {
        let many: Vec<f64> = (1..=99).map(f64::from).collect();
        assert_eq!(half_width(many), 95.0);
        assert!(half_width(vec![0.1, 0.1, 0.1]) > 0.3, "three cases do not show the largest error");
        let cases = [case("a.nice=5", "share a", 0.3, 0.5), case("a.nice=5", "share b", 0.3, 0.31)];
        let found = coverage(&cases, &score(&cases[1..])).unwrap();
        assert_eq!((found.count, found.inside), (2, 1));
    }
}
