//! The mean of a set of runs with a confidence interval.
//!
//! The interval is Student's: mean ± t · sd / √n (Student, "The probable error of a mean", Biometrika 6, 1908). It
//! assumes independent runs with a roughly normal mean. That holds for replications with their own seeds, but not for
//! successive samples of one run; for those use one value of each run, such as its mean.

use super::distribution::student_critical;
use super::{Confidence, Interval, require_finite, sorted};

/// Summary of a set of values. All but `count` in the unit of the values.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// Number of values; at least 1.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Sample standard deviation (divisor `count - 1`); `None` for a single value.
    pub sd: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Confidence interval of the mean; `None` for a single value.
    pub interval: Option<Interval>,
}

/// Summarises values; `None` when there are none.
///
/// # Panics
/// If a value is not finite.
pub fn summarise(values: &[f64], confidence: Confidence) -> Option<Summary> {
    let mean = mean(values)?;
    let sd = standard_deviation(values);
    let count = values.len();
    let interval = sd.map(|sd| {
        let half = half_width(sd, count, confidence);
        Interval::new(mean - half, mean + half)
    });
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Summary { count, mean, sd, min, max, interval })
}

/// Half the width of the t interval of a mean of `count` values with deviation `sd`.
fn half_width(sd: f64, count: usize, confidence: Confidence) -> f64 {
    if sd == 0.0 {
        return 0.0;
    }
    student_critical(confidence.alpha(), (count - 1) as f64) * sd / (count as f64).sqrt()
}

/// Arithmetic mean; `None` if there are no values.
///
/// The mean of equal values is exact: the sum is over differences from the first value, so that rounding does not give
/// a deterministic result a spread.
///
/// # Panics
/// If a value is not finite.
pub fn mean(values: &[f64]) -> Option<f64> {
    require_finite(values);
    let first = *values.first()?;
    let shifted: f64 = values.iter().map(|value| value - first).sum();
    Some(first + shifted / values.len() as f64)
}

/// Sample standard deviation with divisor `n - 1`; `None` of fewer than two values.
///
/// # Panics
/// If a value is not finite.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The median: the middle value, or the mean of the two middle values; `None` if there are no values.
///
/// # Panics
/// If a value is not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    let sorted = sorted(values);
    let upper = *sorted.get(sorted.len() / 2)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    let lower = sorted[sorted.len() / 2 - 1];
    Some(lower + (upper - lower) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_values_have_no_summary_and_one_value_has_no_interval() {
        assert_eq!(summarise(&[], Confidence::P95), None);
        let one = summarise(&[7.0], Confidence::P95).unwrap();
        assert_eq!((one.mean, one.sd, one.interval), (7.0, None, None));
    }

    #[test]
    fn equal_values_are_known_exactly() {
        let same = summarise(&[0.1; 7], Confidence::P95).unwrap();
        assert_eq!(same.sd, Some(0.0));
        assert_eq!(same.interval, Some(Interval::exact(0.1)));
    }

    #[test]
    fn the_median_of_an_even_count_lies_between_the_middle_two() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[]), None);
    }
}
