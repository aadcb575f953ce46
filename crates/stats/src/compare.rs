//! The verdict on two sets of runs, and the cases in which there is none.
//!
//! The verdict follows from one interval: that of the ratio candidate / reference, at the level
//! Holm's correction leaves this comparison, widened on both sides by the replay's own error.
//! Beyond 1 it is better or worse; inside the margin of equivalence it is the same; anything else is
//! inconclusive. `docs/statistics.md` explains it step by step.
//!
//! ```
//! use goodness_stats::compare::{Direction, Settings, Verdict, compare};
//!
//! let latency_us = [100.0, 140.0, 95.0, 180.0, 120.0].map(Some);
//! let candidate = [82.0, 113.0, 75.0, 148.0, 94.0].map(Some);
//! let found = compare(&latency_us, &candidate, &Settings::new(Direction::LowerIsBetter));
//! assert_eq!(found.verdict, Verdict::Better);
//! assert!(found.interval.unwrap().high < 0.85);
//! ```

use super::holm::holm;
use super::rank::cliffs_delta;
use super::ratio::{Between, Pairing, Ratio, RatioMethod};
use super::summary::{mean, standard_deviation};
use super::{Confidence, Interval, measured, measured_pairs};
use serde::{Deserialize, Serialize};

/// The direction that is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// For metrics such as latency.
    LowerIsBetter,
    /// For metrics such as throughput.
    HigherIsBetter,
}

/// Randomness of repeated runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// Runs with their own seeds or on a real machine: samples of what could have happened.
    Sampled,
    /// Nothing is random, so one run determines the result.
    Deterministic,
}

/// The rules of a comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The direction that is better.
    pub direction: Direction,
    /// Relation between the runs of both sides.
    pub pairing: Pairing,
    /// Randomness of the runs.
    pub runs: Runs,
    /// Confidence of the whole family of comparisons together.
    pub confidence: Confidence,
    /// Differences up to this fraction do not matter in practice: 0.01 is 1 %.
    pub margin: f64,
    /// The replay's own relative error for this metric: 0.07 is 7 %. `None` when nothing was
    /// replayed, as with a modelled workload or real runs.
    pub fidelity_error: Option<f64>,
    /// Variation between inputs, if all runs are of one input: the verdict then is about inputs like it. One run of
    /// each side is then enough.
    pub between: Option<Between>,
}

impl Settings {
    /// Paired sampled runs, 95 %, a margin of 1 %, no replay.
    pub fn new(direction: Direction) -> Self {
        Self {
            direction,
            pairing: Pairing::Paired,
            runs: Runs::Sampled,
            confidence: Confidence::P95,
            margin: 0.01,
            fidelity_error: None,
            between: None,
        }
    }

    fn check(&self) {
        assert!(self.margin >= 0.0 && self.margin.is_finite(), "margin = {} is not a fraction from 0", self.margin);
        let error = self.fidelity_error.unwrap_or(0.0);
        assert!(error >= 0.0 && error.is_finite(), "fidelity_error = {error} is not a fraction from 0");
    }
}

/// Comparison of the candidate with the reference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Better by more than chance and the replay's error explain.
    Better,
    /// Worse, likewise.
    Worse,
    /// Equal for all practical purposes: any difference is smaller than the margin.
    Same,
    /// The runs do not decide.
    #[default]
    Inconclusive,
}

impl Verdict {
    /// The word used in JSON and in text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Same => "same",
            Verdict::Inconclusive => "inconclusive",
        }
    }
}

/// Reason for a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// The interval, widened by the replay's error, lies wholly on one side of 1.
    IntervalExcludesEquality,
    /// The interval, widened by the replay's error, lies wholly inside the margin.
    IntervalWithinMargin,
    /// Every run gave the same value on both sides: there is no difference to judge.
    IdenticalRuns,
    /// The interval contains both equality and relevant differences; more runs may decide.
    IntervalTooWide,
    /// The runs show a difference or equality, but the replay's own error is as large.
    WithinReplayError,
    /// Fewer than two runs of something that varies.
    TooFewRuns,
    /// No run measured the metric on both sides.
    NotMeasured,
    /// The values are predictions, and the error of such predictions is not known.
    ErrorUnknown,
}

/// Size of a difference, whether or not it is significant. Positive: the candidate's values are larger, whichever
/// direction is better.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// Difference of means over standard deviation, no unit: of the paired differences when paired,
    /// pooled when independent. `None` when nothing varies.
    pub standardized: Option<f64>,
    /// Cliff's delta, -1 to 1: the fraction of pairs in which the candidate is larger, minus the fraction in which it
    /// is smaller.
    pub cliffs_delta: f64,
}

/// One candidate against the reference in one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Runs of the reference and of the candidate that were used.
    pub runs_used: (usize, usize),
    /// candidate / reference, no unit: the geometric mean of the runs' ratios, or the ratio of means if a value is not
    /// positive. `None` if not measured, or if the reference is 0.
    pub ratio: Option<f64>,
    /// Ratio of the arithmetic means, for tables that show those means.
    pub ratio_of_means: Option<f64>,
    /// Interval of `ratio` at the family's level, for showing.
    pub interval: Option<Interval>,
    /// `interval`, widened by the error of the prediction in either direction: where the real ratio is expected.
    pub stated: Option<Interval>,
    /// Interval of `ratio` at the level Holm's correction left it, which decided.
    pub deciding_interval: Option<Interval>,
    /// The level of `deciding_interval`.
    pub deciding_confidence: Option<Confidence>,
    /// Method of the intervals.
    pub method: Option<RatioMethod>,
    /// p-value of equality before correction, by the same method as the interval.
    pub p_value: Option<f64>,
    /// p-value after Holm's correction.
    pub corrected_p_value: Option<f64>,
    /// Size of the difference.
    pub effect: Option<Effect>,
    /// The verdict.
    pub verdict: Verdict,
    /// Its reason.
    pub because: Because,
}

impl Comparison {
    /// Treats runs that are equal on both sides as others: the prediction behind both has an error. The same is what
    /// the stated interval leaves within the margin.
    pub fn doubt_equality(&mut self, settings: &Settings) {
        let margin = 1.0 + settings.margin;
        let is_within = |it: &Interval| it.low >= 1.0 / margin && it.high <= margin;
        if !self.stated.as_ref().is_some_and(is_within) {
            (self.verdict, self.because) = (Verdict::Inconclusive, Because::WithinReplayError);
        }
    }

    /// Takes verdict and stated interval back: the error of what was compared is not known.
    pub fn withhold(&mut self) {
        self.stated = None;
        (self.verdict, self.because) = (Verdict::Inconclusive, Because::ErrorUnknown);
    }
}

/// Compares one candidate with the reference; see [`compare_family`].
pub fn compare(reference: &[Option<f64>], candidate: &[Option<f64>], settings: &Settings) -> Comparison {
    compare_family(reference, &[candidate], settings).remove(0)
}

/// Compares every candidate with the reference in one metric, corrected for the number of candidates.
///
/// Element `i` of a slice is run `i`. A `None` was not measured; if paired, its partner is left out, too. The results
/// have the order of the candidates.
///
/// # Panics
/// If a value is not finite, paired sides differ in length, or the margin or the replay's error is negative.
pub fn compare_family(
    reference: &[Option<f64>],
    candidates: &[&[Option<f64>]],
    settings: &Settings,
) -> Vec<Comparison> {
    let doubt = Doubt { error: settings.fidelity_error, between: settings.between };
    compare_each(reference, candidates, &vec![doubt; candidates.len()], settings)
}

/// Doubt about one candidate, beyond what its runs show.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Doubt {
    /// As [`Settings::fidelity_error`].
    pub error: Option<f64>,
    /// As [`Settings::between`].
    pub between: Option<Between>,
}

/// As [`compare_family`], each candidate with its own in `doubts` instead of the settings'.
///
/// # Panics
/// As [`compare_family`].
pub fn compare_each(
    reference: &[Option<f64>],
    candidates: &[&[Option<f64>]],
    doubts: &[Doubt],
    settings: &Settings,
) -> Vec<Comparison> {
    let sides: Vec<Sides> = candidates.iter().map(|candidate| Sides::of(reference, candidate, settings)).collect();
    let own = |doubt: &Doubt| Settings { fidelity_error: doubt.error, between: doubt.between, ..*settings };
    let ratios: Vec<Option<Ratio>> = sides.iter().zip(doubts).map(|(sides, it)| sides.ratio(&own(it))).collect();
    let p_values: Vec<Option<f64>> = ratios.iter().map(|ratio| ratio.as_ref().map(Ratio::p_value)).collect();
    let corrected = holm(&p_values, settings.confidence);
    let decided = sides.iter().zip(&ratios).zip(corrected).zip(doubts);
    decided
        .map(|(((sides, ratio), corrected), doubt)| {
            let settings = &own(doubt);
            settings.check();
            let mut comparison = sides.described(settings);
            if let Some((ratio, corrected)) = ratio.as_ref().zip(corrected) {
                comparison.ratio = ratio.estimate;
                comparison.method = Some(ratio.method);
                comparison.interval = ratio.interval(settings.confidence);
                comparison.stated = comparison.interval.map(|interval| widened(&interval, settings));
                comparison.deciding_interval = ratio.interval(corrected.confidence);
                comparison.deciding_confidence = Some(corrected.confidence);
                comparison.p_value = Some(ratio.p_value());
                comparison.corrected_p_value = Some(corrected.p_value);
            }
            (comparison.verdict, comparison.because) = decide(sides, &comparison, settings);
            comparison
        })
        .collect()
}

/// Values measured on both sides; of equal length when paired.
struct Sides {
    reference: Vec<f64>,
    candidate: Vec<f64>,
}

impl Sides {
    fn of(reference: &[Option<f64>], candidate: &[Option<f64>], settings: &Settings) -> Self {
        let (reference, candidate) = match settings.pairing {
            Pairing::Paired => measured_pairs(reference, candidate),
            Pairing::Independent => (measured(reference), measured(candidate)),
        };
        Self { reference, candidate }
    }

    fn ratio(&self, settings: &Settings) -> Option<Ratio> {
        let (reference, candidate) = (&self.reference, &self.candidate);
        let ratio = match settings.runs {
            Runs::Deterministic => Ratio::of_exact(reference, candidate),
            Runs::Sampled => Ratio::of_samples(reference, candidate, settings.pairing),
        };
        let Some(between) = settings.between else { return ratio };
        ratio.or_else(|| Ratio::of_exact(reference, candidate)).map(|ratio| ratio.with_between(between))
    }

    fn differences(&self) -> Vec<f64> {
        self.candidate.iter().zip(&self.reference).map(|(c, r)| c - r).collect()
    }

    /// All that does not depend on the other comparisons of the family.
    fn described(&self, settings: &Settings) -> Comparison {
        let of_means = Ratio::of_exact(&self.reference, &self.candidate).and_then(|ratio| ratio.estimate);
        Comparison {
            runs_used: (self.reference.len(), self.candidate.len()),
            // One run is enough to show a ratio, though not to judge it.
            ratio: of_means,
            ratio_of_means: of_means,
            interval: None,
            stated: None,
            deciding_interval: None,
            deciding_confidence: None,
            method: None,
            p_value: None,
            corrected_p_value: None,
            effect: self.effect(settings.pairing),
            verdict: Verdict::Inconclusive,
            because: Because::NotMeasured,
        }
    }

    fn effect(&self, pairing: Pairing) -> Option<Effect> {
        let cliffs_delta = cliffs_delta(&self.reference, &self.candidate)?;
        Some(Effect { standardized: self.standardized(pairing), cliffs_delta })
    }

    fn standardized(&self, pairing: Pairing) -> Option<f64> {
        let difference = mean(&self.candidate)? - mean(&self.reference)?;
        let sd = match pairing {
            Pairing::Paired => standard_deviation(&self.differences())?,
            Pairing::Independent => {
                let freedom = |values: &[f64]| values.len() as f64 - 1.0;
                let squares = |values: &[f64]| Some(standard_deviation(values)?.powi(2) * freedom(values));
                let pooled = squares(&self.reference)? + squares(&self.candidate)?;
                (pooled / (freedom(&self.reference) + freedom(&self.candidate))).sqrt()
            }
        };
        (sd > 0.0).then(|| difference / sd)
    }

    /// True if every run equals its partner, or, if unpaired, all runs are equal.
    fn identical(&self, pairing: Pairing) -> bool {
        match pairing {
            Pairing::Paired => self.reference == self.candidate,
            Pairing::Independent => {
                self.reference.iter().chain(&self.candidate).all(|&value| value == self.reference[0])
            }
        }
    }
}

/// The verdict and its reason.
fn decide(sides: &Sides, comparison: &Comparison, settings: &Settings) -> (Verdict, Because) {
    if sides.reference.is_empty() || sides.candidate.is_empty() {
        return (Verdict::Inconclusive, Because::NotMeasured);
    }
    let Some(confidence) = comparison.deciding_confidence else {
        return (Verdict::Inconclusive, Because::TooFewRuns);
    };
    if sides.identical(settings.pairing) {
        return (Verdict::Same, Because::IdenticalRuns);
    }
    let Some(interval) = comparison.deciding_interval else {
        let certain = comparison.p_value.is_some_and(|p| p <= confidence.alpha());
        return if certain {
            without_interval(sides, settings)
        } else {
            (Verdict::Inconclusive, Because::IntervalTooWide)
        };
    };
    if reading(&interval, settings, 0.0).is_none() {
        return (Verdict::Inconclusive, Because::IntervalTooWide);
    }
    let error = settings.fidelity_error.unwrap_or(0.0);
    reading(&interval, settings, error).unwrap_or((Verdict::Inconclusive, Because::WithinReplayError))
}

/// The verdict from a ratio's interval, with a replay error of `error` in either direction; `None` if there is none.
/// Ends are treated as factors, so that swapping the sides reverses the verdict.
fn reading(interval: &Interval, settings: &Settings, error: f64) -> Option<(Verdict, Because)> {
    let Interval { low, high } = widened(interval, &Settings { fidelity_error: Some(error), ..*settings });
    let margin = 1.0 + settings.margin;
    if low >= 1.0 / margin && high <= margin {
        return Some((Verdict::Same, Because::IntervalWithinMargin));
    }
    let larger = low > 1.0;
    let smaller = high < 1.0;
    (larger || smaller).then(|| (one_sided(larger, settings.direction), Because::IntervalExcludesEquality))
}

/// The interval of a ratio, each end moved out by the error of the prediction as a factor.
fn widened(interval: &Interval, settings: &Settings) -> Interval {
    interval.scaled_out(1.0 + settings.fidelity_error.unwrap_or(0.0))
}

/// The verdict when the means differ significantly, but the reference's is so near 0 that no ratio has an interval. The
/// replay's relative error is then compared with the difference of the means.
fn without_interval(sides: &Sides, settings: &Settings) -> (Verdict, Because) {
    let centre = |values: &[f64]| mean(values).expect("a comparison with a p-value has runs");
    let (reference, candidate) = (centre(&sides.reference), centre(&sides.candidate));
    let difference = candidate - reference;
    let error = settings.fidelity_error.unwrap_or(0.0);
    if difference.abs() <= error * reference.abs() {
        return (Verdict::Inconclusive, Because::WithinReplayError);
    }
    (one_sided(difference > 0.0, settings.direction), Because::IntervalExcludesEquality)
}

fn one_sided(larger: bool, direction: Direction) -> Verdict {
    if larger == (direction == Direction::HigherIsBetter) { Verdict::Better } else { Verdict::Worse }
}
