//! Verdict on a simulated number: reproduced or not.

use crate::published::{Number, Says};
use goodness_report::figure;
use goodness_stats::Confidence;
use goodness_stats::summary::summarise;
use serde::Serialize;

/// A quantity estimated from the runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Estimate {
    /// Mean over replications.
    pub value: f64,
    /// 95 % confidence interval of the mean; `None` if the value is exact.
    pub ci95: Option<[f64; 2]>,
}

impl Estimate {
    /// The mean of replications and its interval; `None` without values.
    ///
    /// # Panics
    /// A value is not finite.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let summary = summarise(values, Confidence::P95)?;
        let ci95 = summary.interval.map(|it| [it.low, it.high]);
        Some(Estimate { value: summary.mean, ci95 })
    }

    /// A deterministic value.
    #[must_use]
    pub fn exact(value: f64) -> Estimate {
        Estimate { value, ci95: None }
    }
}

/// Agreement of a simulated number with a published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Within the tolerance. For a direction: the whole interval agrees.
    Reproduced,
    /// The direction agrees, but not the size. For a direction: the interval extends to the other side.
    Direction,
    /// Neither.
    NotReproduced,
    /// Not published, or lost.
    Unpublished,
}

impl Verdict {
    /// For people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::Direction => "direction",
            Verdict::NotReproduced => "not reproduced",
            Verdict::Unpublished => "unpublished",
        }
    }
}

/// One row of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Row {
    /// Quantity.
    pub quantity: String,
    /// Its unit; empty for plain numbers.
    pub unit: String,
    /// Published value, if it is a number.
    pub published: Option<f64>,
    /// Published direction instead of a number: `above 1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub says: Option<String>,
    /// Simulated value; `None` if it could not be measured.
    pub simulated: Option<f64>,
    /// 95 % confidence interval of `simulated`.
    pub ci95: Option<[f64; 2]>,
    /// Tolerance, as text.
    pub tolerance: Option<String>,
    /// Verdict.
    pub verdict: Verdict,
    /// Explanation in one sentence.
    pub note: String,
}

impl Row {
    /// Compares `estimate` with the published value.
    #[must_use]
    pub fn new(number: &Number, estimate: Option<&Estimate>, note: &str) -> Row {
        let says = number.says.zip(number.against).map(|(says, against)| {
            let word = if says == Says::Above { "above" } else { "below" };
            format!("{word} {}", figure::show(Some(against.value), &number.unit))
        });
        Row {
            quantity: number.quantity.clone(),
            unit: number.unit.clone(),
            published: number.value,
            says,
            simulated: estimate.map(|e| e.value),
            ci95: estimate.and_then(|e| e.ci95),
            tolerance: number.tolerance.map(|t| t.show(number.value, &number.unit)),
            verdict: estimate.map_or(Verdict::Unpublished, |e| judge(number, e)),
            note: note.into(),
        }
    }

    /// A row without a published number.
    #[must_use]
    pub fn unpublished(quantity: &str, unit: &str, estimate: Option<&Estimate>, note: &str) -> Row {
        Row {
            quantity: quantity.into(),
            unit: unit.into(),
            published: None,
            says: None,
            simulated: estimate.map(|e| e.value),
            ci95: estimate.and_then(|e| e.ci95),
            tolerance: None,
            verdict: Verdict::Unpublished,
            note: note.into(),
        }
    }
}

fn judge(number: &Number, estimate: &Estimate) -> Verdict {
    match (number.value, number.says) {
        (Some(value), _) => judge_value(number, value, estimate),
        (None, Some(says)) => judge_statement(number, says, estimate),
        (None, None) => Verdict::Unpublished,
    }
}

fn judge_value(number: &Number, value: f64, estimate: &Estimate) -> Verdict {
    let margin = number.tolerance.map_or(0.0, |t| t.around(value));
    if (estimate.value - value).abs() <= margin {
        return Verdict::Reproduced;
    }
    let same_side = |against: f64| (value - against) * (estimate.value - against) > 0.0;
    if number.against.is_some_and(|it| same_side(it.value)) { Verdict::Direction } else { Verdict::NotReproduced }
}

fn judge_statement(number: &Number, says: Says, estimate: &Estimate) -> Verdict {
    let Some(against) = number.against.map(|it| it.value) else { return Verdict::Unpublished };
    let holds = |value: f64| if says == Says::Above { value > against } else { value < against };
    let [low, high] = estimate.ci95.unwrap_or([estimate.value; 2]);
    match (holds(low) && holds(high), holds(estimate.value)) {
        (true, _) => Verdict::Reproduced,
        (false, true) => Verdict::Direction,
        (false, false) => Verdict::NotReproduced,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::{Against, Tolerance};

    fn number(value: Option<f64>, says: Option<Says>) -> Number {
        Number {
            key: "k".into(),
            quantity: "q".into(),
            unit: String::new(),
            value,
            says,
            place: "p".into(),
            tolerance: Some(Tolerance::Relative(0.1)),
            against: Some(Against { value: 1.0 }),
            measure: None,
        }
    }

    #[test]
    fn a_number_is_reproduced_within_its_tolerance_and_else_only_its_direction() {
        let verdict = |simulated: f64| judge(&number(Some(2.0), None), &Estimate::exact(simulated));
        assert_eq!(verdict(2.19), Verdict::Reproduced);
        assert_eq!(verdict(2.21), Verdict::Direction);
        assert_eq!(verdict(0.9), Verdict::NotReproduced);
    }

    #[test]
    fn a_statement_holds_with_the_whole_interval_or_only_with_the_mean() {
        let verdict = |ci: [f64; 2]| {
            let estimate = Estimate { value: f64::midpoint(ci[0], ci[1]), ci95: Some(ci) };
            judge(&number(None, Some(Says::Below)), &estimate)
        };
        assert_eq!(verdict([0.7, 0.9]), Verdict::Reproduced);
        assert_eq!(verdict([0.7, 1.1]), Verdict::Direction);
        assert_eq!(verdict([0.9, 1.3]), Verdict::NotReproduced);
    }

    #[test]
    fn what_was_not_published_or_not_measured_has_no_verdict() {
        let lost = Number { tolerance: None, against: None, ..number(None, None) };
        assert_eq!(judge(&lost, &Estimate::exact(1.0)), Verdict::Unpublished);
        assert_eq!(Row::new(&number(Some(2.0), None), None, "").verdict, Verdict::Unpublished);
    }
}
