//! Quantiles as order statistics, with a distribution-free interval.
//!
//! The q-quantile of n values is the smallest value that is at least as large as a fraction q of them: always an
//! observed value, never an interpolation (definition 1 of Hyndman and Fan, "Sample quantiles in statistical packages",
//! The American Statistician 50(4), 1996).
//!
//! The number of n independent values below the true quantile is binomial for any distribution, so two order statistics
//! bracket it with a known probability (Conover, *Practical Nonparametric Statistics*, 3rd ed., §3.2). Samples within
//! one run are rarely independent, which makes the interval too narrow; then report an interval over the runs'
//! quantiles instead.

use super::distribution::{binomial_cdf, binomial_quantile};
use super::{Confidence, Interval, sorted};

/// Values in ascending order, sorted once for any number of questions.
#[derive(Clone, Debug, PartialEq)]
pub struct Sorted(Vec<f64>);

/// An interval between two observed values that covers a true quantile.
#[derive(Clone, Debug, PartialEq)]
pub struct QuantileInterval {
    /// The two observed values, in their own unit.
    pub interval: Interval,
    /// Probability that the interval contains the quantile of a continuous distribution; at least the requested
    /// confidence.
    pub coverage: f64,
}

impl Sorted {
    /// Sorts a copy of the values.
    ///
    /// # Panics
    /// If a value is not finite.
    pub fn new(values: &[f64]) -> Self {
        Self(sorted(values))
    }

    /// The values, ascending.
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// The observed value at fraction `q`; `None` of no values.
    ///
    /// # Panics
    /// If `q` is outside `0 ..= 1`.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        if self.0.is_empty() {
            return None;
        }
        Some(self.0[rank_of(q, self.0.len()) - 1])
    }

    /// The narrowest bracket of equal tails around the true q-quantile.
    ///
    /// `None` when there are too few values: the 99th percentile needs 368 values before even the
    /// largest of them exceeds it with 97.5 % certainty.
    ///
    /// # Panics
    /// If `q` is outside `0 ..= 1`.
    pub fn quantile_interval(&self, q: f64, confidence: Confidence) -> Option<QuantileInterval> {
        assert!((0.0..=1.0).contains(&q), "quantile {q} is outside 0 ..= 1");
        let n = self.0.len() as u64;
        let tail = confidence.alpha() / 2.0;
        let low = binomial_quantile(tail, n, q).checked_sub(1)?;
        let high = binomial_quantile(1.0 - tail, n, q);
        if high >= n {
            return None;
        }
        // The number of values below the quantile must exceed `low` and not exceed `high`.
        let coverage = binomial_cdf(high, n, q) - binomial_cdf(low, n, q);
        let interval = Interval::new(self.0[low as usize], self.0[high as usize]);
        Some(QuantileInterval { interval, coverage })
    }
}

/// Smallest rank `k`, counted from 1, with `k / n >= q`.
fn rank_of(q: f64, n: usize) -> usize {
    assert!((0.0..=1.0).contains(&q), "quantile {q} is outside 0 ..= 1");
    let rank = ((q * n as f64).ceil() as usize).clamp(1, n);
    // 0.1 * 30 rounds to a little over 3; the third value is still the right one.
    if rank > 1 && (rank - 1) as f64 / n as f64 >= q { rank - 1 } else { rank }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_to(n: usize) -> Sorted {
        Sorted::new(&(1..=n).map(|i| i as f64).collect::<Vec<_>>())
    }

    #[test]
    fn a_quantile_is_a_value_that_was_observed() {
        assert_eq!(count_to(30).quantile(0.1), Some(3.0));
        assert_eq!(count_to(100).quantile(0.99), Some(99.0));
        assert_eq!(count_to(4).quantile(0.5), Some(2.0));
        assert_eq!(count_to(4).quantile(0.0), Some(1.0));
        assert_eq!(count_to(4).quantile(1.0), Some(4.0));
        assert_eq!(Sorted::new(&[]).quantile(0.5), None);
    }

    #[test]
    fn the_99th_percentile_needs_368_values_for_an_interval() {
        assert_eq!(count_to(367).quantile_interval(0.99, Confidence::P95), None);
        assert!(count_to(368).quantile_interval(0.99, Confidence::P95).is_some());
    }

    #[test]
    fn coverage_is_at_least_what_was_asked_for() {
        for n in [10, 50, 400, 5_000] {
            let bracket = count_to(n).quantile_interval(0.5, Confidence::P95).unwrap();
            assert!((0.95..0.985).contains(&bracket.coverage), "{n}: {}", bracket.coverage);
        }
    }

    #[test]
    fn a_million_values_are_bracketed_closely() {
        let bracket = count_to(1_000_000).quantile_interval(0.999, Confidence::P95).unwrap();
        assert!(bracket.interval.contains(999_000.0));
        assert!((120.0..128.0).contains(&bracket.interval.width()), "{:?}", bracket.interval);
    }

    #[test]
    fn the_extremes_have_no_interval() {
        assert_eq!(count_to(50).quantile_interval(0.0, Confidence::P95), None);
        assert_eq!(count_to(50).quantile_interval(1.0, Confidence::P95), None);
    }
}
