//! The bootstrap: an interval for a statistic that has no formula.
//!
//! The values are resampled with replacement many times. The spread of the statistic over the resamples estimates its
//! spread over repeated experiments. Percentile intervals use the quantiles of the resamples directly; BCa corrects
//! them for bias and skew (Efron, "Better bootstrap confidence intervals", JASA 82, 1987; Efron and Tibshirani, *An
//! Introduction to the Bootstrap*, 1993, ch. 14).
//!
//! With few runs both are too narrow, because a resample cannot leave the range of the values. Below about twenty runs,
//! use a t interval (Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69(4),
//! 2015).

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::distribution::{normal_cdf, normal_quantile};
use super::{Confidence, Interval, require_finite};

/// Number of resamples, and their seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resampling {
    /// Number of resamples, at least 1. The k-th smallest of B resampled values must still be far
    /// from the edge: with 10 000 a tail of 0.1 % rests on ten of them.
    pub resamples: usize,
    /// Seed of the generator (Xoshiro256++ seeded through SplitMix64): same seed, same interval.
    pub seed: u64,
}

impl Default for Resampling {
    fn default() -> Self {
        Self { resamples: 10_000, seed: 1 }
    }
}

/// Method for the interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BootstrapMethod {
    /// Plain quantiles of the resampled statistic.
    Percentile,
    /// Bias-corrected and accelerated.
    Bca,
}

/// The resampled statistic, from which intervals of any level can be read.
#[derive(Clone, Debug, PartialEq)]
pub struct Bootstrap {
    /// The statistic of the values themselves.
    pub estimate: f64,
    resampled: Vec<f64>,
    /// `None` when BCa is undefined because every resample lies on one side of the estimate.
    correction: Option<Correction>,
}

/// BCa's two constants.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Correction {
    /// Median bias of the resampled statistic, in standard normal units.
    bias: f64,
    /// Rate at which the statistic's spread changes with its value; one sixth of the skew.
    acceleration: f64,
}

/// An interval and the method that made it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootstrapInterval {
    /// In the unit of the statistic.
    pub interval: Interval,
    /// The method used: [`BootstrapMethod::Percentile`] also if BCa is undefined.
    pub method: BootstrapMethod,
}

impl Bootstrap {
    /// Resamples single values. `None` for fewer than two values, which have only one resample.
    ///
    /// # Panics
    /// If a value is not finite, `resamples` is 0, or the statistic yields NaN.
    pub fn of(values: &[f64], statistic: impl Fn(&[f64]) -> f64, resampling: &Resampling) -> Option<Self> {
        require_finite(values);
        let mut drawn = Vec::with_capacity(values.len());
        Self::of_indices(values.len(), resampling, |chosen| {
            drawn.clear();
            drawn.extend(chosen.iter().map(|&index| values[index]));
            statistic(&drawn)
        })
    }

    /// Resamples pairs: run `i` of one side stays with run `i` of the other.
    ///
    /// # Panics
    /// If the sides differ in length, and as [`Bootstrap::of`].
    pub fn of_pairs(
        a: &[f64],
        b: &[f64],
        statistic: impl Fn(&[f64], &[f64]) -> f64,
        resampling: &Resampling,
    ) -> Option<Self> {
        assert_eq!(a.len(), b.len(), "paired runs must be as many on both sides");
        require_finite(a);
        require_finite(b);
        let (mut drawn_a, mut drawn_b) = (Vec::new(), Vec::new());
        Self::of_indices(a.len(), resampling, |chosen| {
            drawn_a.clear();
            drawn_b.clear();
            drawn_a.extend(chosen.iter().map(|&index| a[index]));
            drawn_b.extend(chosen.iter().map(|&index| b[index]));
            statistic(&drawn_a, &drawn_b)
        })
    }

    fn of_indices(n: usize, resampling: &Resampling, statistic: impl FnMut(&[usize]) -> f64) -> Option<Self> {
        assert!(resampling.resamples > 0, "a bootstrap needs at least one resample");
        if n < 2 {
            return None;
        }
        let mut statistic = numeric(statistic);
        let all: Vec<usize> = (0..n).collect();
        let estimate = statistic(&all);
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(resampling.seed);
        let mut chosen = all.clone();
        let mut resampled: Vec<f64> = (0..resampling.resamples)
            .map(|_| {
                chosen.iter_mut().for_each(|index| *index = below(&mut rng, n));
                statistic(&chosen)
            })
            .collect();
        resampled.sort_unstable_by(f64::total_cmp);
        let without_one: Vec<f64> = (0..n)
            .map(|left_out| {
                let rest: Vec<usize> = (0..n).filter(|&index| index != left_out).collect();
                statistic(&rest)
            })
            .collect();
        let correction = Correction::of(estimate, &resampled, &without_one);
        Some(Self { estimate, resampled, correction })
    }

    /// The interval of the statistic at a level.
    pub fn interval(&self, confidence: Confidence, method: BootstrapMethod) -> BootstrapInterval {
        let tail = confidence.alpha() / 2.0;
        let (low, high, method) = match (method, self.correction) {
            (BootstrapMethod::Bca, Some(correction)) => {
                (correction.adjust(tail), correction.adjust(1.0 - tail), BootstrapMethod::Bca)
            }
            _ => (tail, 1.0 - tail, BootstrapMethod::Percentile),
        };
        let (low, high) = (self.resampled_at(low), self.resampled_at(high));
        BootstrapInterval { interval: Interval::new(low.min(high), high.max(low)), method }
    }

    /// Two-sided p-value of the hypothesis that the true statistic is `hypothesis`: 1 minus the largest confidence
    /// level whose interval excludes it. At least `2 / (resamples + 1)`, unless the statistic does not vary at all;
    /// then it is 0 or 1.
    pub fn p_value(&self, hypothesis: f64, method: BootstrapMethod) -> f64 {
        let count = self.resampled.len() as f64;
        if self.resampled.iter().all(|&value| value == self.estimate) {
            return if self.estimate == hypothesis { 1.0 } else { 0.0 };
        }
        let floor = 1.0 / (count + 1.0);
        let below = share_below(&self.resampled, hypothesis).clamp(floor, 1.0 - floor);
        let tail = match (method, self.correction) {
            (BootstrapMethod::Bca, Some(correction)) => correction.undo(below),
            _ => below,
        };
        (2.0 * tail.min(1.0 - tail)).clamp(2.0 * floor, 1.0)
    }

    /// The resampled value at a fraction, interpolated linearly between neighbours.
    fn resampled_at(&self, fraction: f64) -> f64 {
        let position = fraction.clamp(0.0, 1.0) * (self.resampled.len() - 1) as f64;
        let (lower, upper) = (self.resampled[position.floor() as usize], self.resampled[position.ceil() as usize]);
        if lower == upper { lower } else { lower + (upper - lower) * position.fract() }
    }
}

impl Correction {
    fn of(estimate: f64, resampled: &[f64], without_one: &[f64]) -> Option<Self> {
        let bias = normal_quantile(share_below(resampled, estimate));
        let mean = without_one.iter().sum::<f64>() / without_one.len() as f64;
        let squares: f64 = without_one.iter().map(|value| (mean - value).powi(2)).sum();
        let cubes: f64 = without_one.iter().map(|value| (mean - value).powi(3)).sum();
        let acceleration = if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 };
        (bias.is_finite() && acceleration.is_finite()).then_some(Self { bias, acceleration })
    }

    /// The fraction of resamples to read in place of `fraction`.
    fn adjust(&self, fraction: f64) -> f64 {
        let shifted = self.bias + normal_quantile(fraction);
        let stretch = 1.0 - self.acceleration * shifted;
        // Beyond the pole of the correction the whole tail belongs to the interval.
        if stretch <= 0.0 {
            return if shifted > 0.0 { 1.0 } else { 0.0 };
        }
        normal_cdf(self.bias + shifted / stretch)
    }

    /// Inverse of [`Correction::adjust`].
    fn undo(&self, adjusted: f64) -> f64 {
        let shifted = normal_quantile(adjusted) - self.bias;
        let stretch = 1.0 + self.acceleration * shifted;
        if stretch <= 0.0 {
            return if shifted > 0.0 { 1.0 } else { 0.0 };
        }
        normal_cdf(shifted / stretch - self.bias)
    }
}

/// Share of ascending values below `limit`, those equal to it counted half.
fn share_below(ascending: &[f64], limit: f64) -> f64 {
    let below = ascending.partition_point(|&value| value < limit);
    let up_to = ascending.partition_point(|&value| value <= limit);
    (below + up_to) as f64 / (2 * ascending.len()) as f64
}

/// The statistic, refusing NaN where it arises instead of deep inside a sort.
fn numeric(mut statistic: impl FnMut(&[usize]) -> f64) -> impl FnMut(&[usize]) -> f64 {
    move |chosen| {
        let value = statistic(chosen);
        assert!(
            !value.is_nan(),
            "the statistic is undefined on a resample; choose one defined on every subset of the values"
        );
        value
    }
}

/// A uniform index below `n`, without modulo bias (Lemire, "Fast random integer generation in an
/// interval", ACM TOMACS 29(1), 2019).
fn below(rng: &mut Xoshiro256PlusPlus, n: usize) -> usize {
    let n = n as u64;
    let rejected = n.wrapping_neg() % n;
    loop {
        let product = u128::from(rng.next_u64()) * u128::from(n);
        if product as u64 >= rejected {
            return (product >> 64) as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::summary::mean;
    use super::*;

    const VALUES: [f64; 8] = [1.0, 2.0, 2.5, 3.0, 4.5, 7.0, 11.0, 30.0];

    fn mean_of(values: &[f64]) -> f64 {
        mean(values).unwrap()
    }

    #[test]
    fn the_same_seed_gives_the_same_interval_and_another_seed_another() {
        let draw = |seed| Bootstrap::of(&VALUES, mean_of, &Resampling { resamples: 500, seed }).unwrap();
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
    }

    #[test]
    fn values_that_do_not_vary_are_known_exactly() {
        for method in [BootstrapMethod::Percentile, BootstrapMethod::Bca] {
            let same = Bootstrap::of(&[0.1; 5], mean_of, &Resampling::default()).unwrap();
            assert_eq!(same.interval(Confidence::P95, method).interval, Interval::exact(0.1));
            assert_eq!((same.p_value(0.1, method), same.p_value(0.2, method)), (1.0, 0.0));
        }
    }

    #[test]
    fn fewer_than_two_values_cannot_be_resampled() {
        assert_eq!(Bootstrap::of(&[1.0], mean_of, &Resampling::default()), None);
        assert_eq!(Bootstrap::of(&[], mean_of, &Resampling::default()), None);
    }

    #[test]
    fn bca_reaches_further_into_the_long_tail_than_percentiles() {
        let boot = Bootstrap::of(&VALUES, mean_of, &Resampling::default()).unwrap();
        let plain = boot.interval(Confidence::P95, BootstrapMethod::Percentile).interval;
        let bca = boot.interval(Confidence::P95, BootstrapMethod::Bca).interval;
        assert!(bca.low > plain.low && bca.high > plain.high, "{bca:?} against {plain:?}");
    }

    #[test]
    fn the_p_value_is_the_level_at_which_the_interval_ends() {
        let boot = Bootstrap::of(&VALUES, mean_of, &Resampling::default()).unwrap();
        for method in [BootstrapMethod::Percentile, BootstrapMethod::Bca] {
            let ends = boot.interval(Confidence::new(0.9).unwrap(), method).interval;
            for end in [ends.low, ends.high] {
                assert!((boot.p_value(end, method) - 0.1).abs() < 0.005, "{method:?} {end}");
            }
        }
    }

    #[test]
    fn a_statistic_at_the_edge_of_its_resamples_falls_back_to_percentiles_and_says_so() {
        let largest = |values: &[f64]| values.iter().copied().fold(f64::MIN, f64::max);
        let never_above = |values: &[f64]| {
            if values == VALUES { 100.0 } else { largest(values) }
        };
        let boot = Bootstrap::of(&VALUES, never_above, &Resampling::default()).unwrap();
        assert_eq!(boot.interval(Confidence::P95, BootstrapMethod::Bca).method, BootstrapMethod::Percentile);
    }

    #[test]
    fn every_index_is_drawn_equally_often() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(9);
        let mut counts = [0_u32; 7];
        (0..70_000).for_each(|_| counts[below(&mut rng, 7)] += 1);
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
    }
}
