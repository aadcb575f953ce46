//! The statistics behind every interval and verdict: pure functions of slices of numbers.
//!
//! One topic per file; `docs/statistics.md` explains how they combine.
//!
//! | file | computes |
//! |---|---|
//! | [`summary`] | the mean and its confidence interval |
//! | [`compare`] | the verdict: is one set of runs better than another |
//! | [`ratio`] | the ratio of two sets of runs, with an interval |
//! | [`rank`] | Cliff's delta, which uses only the order of the values |
//! | [`holm`] | the correction for several comparisons at once |
//! | [`sequential`] | the correction for looks at a running race |
//! | [`factorial`] | main effects and interaction of two factors |
//! | [`distribution`] | the normal distribution and Student's |
//!
//! Three rules hold everywhere. A value that was not measured is `None`, never 0. Inputs are finite: NaN or infinity is
//! a bug of the caller and panics with its position. No value is removed as an outlier: a stalled run is a finding.
//!
//! Nothing is random: the same input gives the same answer.

pub mod compare;
pub mod distribution;
pub mod factorial;
pub mod holm;
pub mod rank;
pub mod ratio;
pub mod sequential;
pub mod summary;

/// A closed interval `low ..= high`, in the unit of the value it bounds.
///
/// Never contains NaN; `low <= high`. Zero width means the value is known exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// The interval between two ends.
    ///
    /// # Panics
    /// If an end is NaN or the ends are in the wrong order.
    pub fn new(low: f64, high: f64) -> Self {
        assert!(low <= high, "an interval cannot run from {low} to {high}");
        Self { low, high }
    }

    /// The interval that holds one value only.
    pub fn exact(value: f64) -> Self {
        Self::new(value, value)
    }

    /// True if `value` lies inside or on an end.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// The interval with each end moved out by `factor`, at least 1: of a positive value, by as much in logarithms.
    #[must_use]
    pub fn scaled_out(&self, factor: f64) -> Self {
        let low = if self.low < 0.0 { self.low * factor } else { self.low / factor };
        Self::new(low, self.high * factor)
    }

    /// Distance between the ends.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }
}

/// Confidence level, strictly between 0 and 1: the fraction of such intervals that contain the true value.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// 95 %, the default of all report intervals.
    pub const P95: Self = Self(0.95);

    /// A level from a fraction; `None` unless `0 < level < 1`.
    pub fn new(level: f64) -> Option<Self> {
        (level > 0.0 && level < 1.0).then_some(Self(level))
    }

    /// The level as a fraction, such as 0.95.
    pub fn level(self) -> f64 {
        self.0
    }

    /// `1 - level`: probability that the interval misses the true value.
    pub fn alpha(self) -> f64 {
        1.0 - self.0
    }

    /// The level at which `tests` simultaneous intervals together miss as often as one at this level.
    ///
    /// # Panics
    /// If `tests` is 0.
    pub fn shared_among(self, tests: usize) -> Self {
        assert!(tests > 0, "a confidence level cannot be shared among no tests");
        Self(1.0 - self.alpha() / tests as f64)
    }
}

impl Default for Confidence {
    fn default() -> Self {
        Self::P95
    }
}

/// The measured values, in order. Values not measured are left out, not counted as 0.
pub fn measured(values: &[Option<f64>]) -> Vec<f64> {
    values.iter().flatten().copied().collect()
}

/// The pairs of which both halves were measured.
///
/// # Panics
/// If the two slices differ in length: run `i` of one belongs to run `i` of the other.
pub fn measured_pairs(a: &[Option<f64>], b: &[Option<f64>]) -> (Vec<f64>, Vec<f64>) {
    assert_eq!(a.len(), b.len(), "paired runs must be as many on both sides");
    a.iter().zip(b).filter_map(|(a, b)| a.zip(*b)).unzip()
}

/// Stops at the first value that is not a finite number, naming its position.
fn require_finite(values: &[f64]) {
    if let Some(at) = values.iter().position(|value| !value.is_finite()) {
        panic!(
            "value {at} is {}, which no measurement can be; pass `None` upstream if it was not measured",
            values[at]
        );
    }
}

/// A sorted copy.
fn sorted(values: &[f64]) -> Vec<f64> {
    require_finite(values);
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_was_not_measured_takes_its_pair_with_it() {
        let (a, b) = measured_pairs(&[Some(1.0), None, Some(3.0)], &[Some(4.0), Some(5.0), None]);
        assert_eq!((a, b), (vec![1.0], vec![4.0]));
        assert_eq!(measured(&[None, Some(0.0)]), [0.0]);
    }

    #[test]
    #[should_panic(expected = "value 1 is NaN")]
    fn a_nan_is_refused_with_its_position() {
        require_finite(&[1.0, f64::NAN]);
    }

    #[test]
    fn a_confidence_outside_zero_to_one_does_not_exist() {
        assert_eq!(Confidence::new(0.0), None);
        assert_eq!(Confidence::new(1.0), None);
        assert_eq!(Confidence::new(f64::NAN), None);
        assert_eq!(Confidence::new(0.95), Some(Confidence::P95));
    }
}
