//! Random spread of flash times: factors with mean 1, drawn from a precomputed table.
//!
//! The table uses only additions, multiplications and divisions, which give the same bits on every machine; mathematics
//! libraries do not.

use super::settings::{Settings, Shape};
use goodness_core::{Rng, Seed, Span};

/// Factors of the table. A power of two, so that a draw is a mask.
const FACTORS: usize = 1024;
/// The factor one.
const ONE: u64 = 1 << 16;

/// A table of factors and its random generator.
#[derive(Debug)]
pub(crate) struct Jitter {
    /// Empty without jitter.
    factors: Vec<u32>,
    rng: Rng,
}

impl Jitter {
    /// Builds the table from the settings.
    pub fn new(settings: &Settings, seed: Seed) -> Jitter {
        let spread = settings.jitter as f64 / 100.0;
        let factors = match settings.jitter_shape {
            _ if settings.jitter == 0 => Vec::new(),
            Shape::LogNormal => scaled(&quantiles().map(|z| exponential(spread * z)).collect::<Vec<f64>>()),
            Shape::Even => scaled(&(0..FACTORS).map(|i| 1.0 - spread + 2.0 * spread * middle(i)).collect::<Vec<f64>>()),
        };
        Jitter { factors, rng: seed.stream("flash", 0).rng() }
    }

    /// `span` times a random factor.
    pub fn apply(&mut self, span: Span) -> Span {
        if self.factors.is_empty() {
            return span;
        }
        let factor = self.factors[self.rng.bits() as usize % FACTORS];
        Span(((u128::from(span.0) * u128::from(factor)) >> ONE.trailing_zeros()) as u64)
    }
}

/// The middle of the `index`-th of equal parts of 0..1.
fn middle(index: usize) -> f64 {
    (index as f64 + 0.5) / FACTORS as f64
}

/// Factors with mean one in parts of [`ONE`].
fn scaled(factors: &[f64]) -> Vec<u32> {
    let mean = factors.iter().sum::<f64>() / factors.len() as f64;
    factors.iter().map(|f| (f / mean * ONE as f64) as u32).collect()
}

/// e to the power of `x`, for small `x`: the series of x / 64, squared six times.
fn exponential(x: f64) -> f64 {
    let small = x / 64.0;
    let (mut sum, mut term) = (1.0, 1.0);
    for n in 1..16 {
        term *= small / f64::from(n);
        sum += term;
    }
    (0..6).fold(sum, |power, _| power * power)
}

/// Quantiles of the standard normal distribution, one from the middle of each of [`FACTORS`] equally likely parts, by
/// summing the density in small steps.
fn quantiles() -> impl Iterator<Item = f64> {
    const STEP: f64 = 1.0 / 4096.0;
    let density = |z: f64| exponential(-z * z / 2.0);
    let steps = (-5 * 4096..5 * 4096).map(move |i| (f64::from(i) + 0.5) * STEP);
    let total: f64 = steps.clone().map(density).sum();
    let mut below = 0.0;
    let mut next = 0;
    steps.filter(move |z| {
        below += density(*z) / total;
        let is_reached = next < FACTORS && below >= middle(next);
        next += usize::from(is_reached);
        is_reached
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(shape: Shape, jitter: u64) -> Vec<u64> {
        let mut jitter = Jitter::new(&Settings { jitter, jitter_shape: shape, ..Settings::ssd() }, Seed(1));
        let mut drawn: Vec<u64> = (0..100_000).map(|_| jitter.apply(Span(1_000_000)).0).collect();
        drawn.sort_unstable();
        drawn
    }

    #[test]
    fn a_log_normal_spread_has_mean_one_and_its_quantiles() {
        assert_eq!(Jitter::new(&Settings { jitter: 20, ..Settings::ssd() }, Seed(1)).factors.len(), FACTORS);
        let drawn = drawn(Shape::LogNormal, 20);
        let mean = drawn.iter().sum::<u64>() / 100_000;
        assert!((995_000..1_005_000).contains(&mean), "{mean}");
        // The median lies at e^(-0.02), the 97.725th percentile at two deviations above: e^(0.4 - 0.02).
        assert!((973_000..988_000).contains(&drawn[50_000]), "{}", drawn[50_000]);
        assert!((1_440_000..1_485_000).contains(&drawn[97_725]), "{}", drawn[97_725]);
    }

    #[test]
    fn an_even_spread_stays_within_its_bounds_and_reaches_them() {
        let drawn = drawn(Shape::Even, 10);
        assert!((899_000..901_000).contains(&drawn[0]) && (1_099_000..1_101_000).contains(&drawn[99_999]));
    }

    #[test]
    fn without_jitter_times_are_exact() {
        assert!(drawn(Shape::LogNormal, 0).iter().all(|d| *d == 1_000_000));
    }
}
