//! How often predictions came true, by kind of change and class of figure.

use super::figures::{Figures, class_of};
use super::pairs::{Kind, Pair};
use super::{Effect, Effects};
use std::collections::BTreeMap;

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

    /// Whether the figure changed by more than 10 %.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.measured.abs() > CHANGE
    }

    /// Whether the predicted direction is the measured one.
    #[must_use]
    pub fn has_right_sign(&self) -> bool {
        self.predicted.log_ratio * self.measured > 0.0
    }
}

/// The cases of one change: of the figures that base and changed recording have, and that were predicted.
#[must_use]
pub fn cases(pair: &Pair, base: &Figures, changed: &Figures, predicted: &Effects) -> Vec<Case> {
    let case = |(figure, effect): (&String, &Effect)| {
        let measured = (changed.get(figure)? / base.get(figure)?).ln();
        measured.is_finite().then(|| Case { pair: pair.clone(), figure: figure.clone(), predicted: *effect, measured })
    };
    predicted.iter().filter_map(case).collect()
}

/// What the cases of one kind and class tell.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    /// Kind of change.
    pub kind: Kind,
    /// Class of figure.
    pub class: String,
    /// Cases.
    pub count: usize,
    /// Those that changed by more than 10 %.
    pub changes: usize,
    /// Those of them whose direction was foretold wrongly.
    pub wrong_signs: usize,
    /// Root mean square of the errors, as a logarithm.
    pub error: f64,
    /// Mean of the errors, as a logarithm: what is always predicted too high.
    pub bias: f64,
}

/// Scores by kind and class.
#[must_use]
pub fn score(cases: &[Case]) -> Vec<Score> {
    let mut by = BTreeMap::<(Kind, String), Vec<&Case>>::new();
    for case in cases {
        by.entry((Kind::of(&case.pair.arm), class_of(&case.figure).to_string())).or_default().push(case);
    }
    let one = |((kind, class), cases): ((Kind, String), Vec<&Case>)| {
        let count = cases.len();
        let changes = cases.iter().filter(|case| case.is_change());
        let mean = |of: &dyn Fn(&Case) -> f64| cases.iter().map(|case| of(case)).sum::<f64>() / count as f64;
        Score {
            kind,
            class,
            count,
            changes: changes.clone().count(),
            wrong_signs: changes.filter(|case| !case.has_right_sign()).count(),
            error: mean(&|case| case.error().powi(2)).sqrt(),
            bias: mean(&Case::error),
        }
    };
    by.into_iter().map(one).collect()
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

/// The scores as a table for terminals.
#[must_use]
pub fn table(scores: &[Score]) -> String {
    let mut text = format!("{:<11} {:<20} cases changes wrong signs  error   bias\n", "change", "figure");
    for it in scores {
        text += &format!(
            "{:<11} {:<20} {:>5} {:>7} {:>11} {:>6.3} {:>+6.3}\n",
            it.kind.name(),
            it.class,
            it.count,
            it.changes,
            it.wrong_signs,
            it.error,
            it.bias
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(arm: &str, figure: &str, predicted: f64, measured: f64) -> Case {
        let pair = Pair { base: "b".into(), arm: arm.into(), number: 1 };
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
        assert_eq!(scores.len(), 2);
        let share = &scores[0];
        assert_eq!((share.kind, share.count, share.changes, share.wrong_signs), (Kind::Nice, 3, 2, 1));
        assert!((share.bias - (-0.2 + 0.8 + 0.02) / 3.0).abs() < 1e-12);
    }
}
