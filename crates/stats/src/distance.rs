//! Distances between two distributions, such as recorded and replayed latencies.
//!
//! - Kolmogorov–Smirnov: the largest difference of the cumulative curves (no unit).
//! - Wasserstein: the mean shift that turns one into the other (the values' unit).
//! - Demerit (Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994): the root mean
//!   square horizontal distance of the cumulative curves, which gives large shifts more weight (the values' unit).

use super::quantile::Sorted;
use super::summary::mean;

/// Distances between two sets of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distance {
    /// Largest vertical distance between the cumulative curves, 0 to 1, no unit.
    pub kolmogorov_smirnov: f64,
    /// Mean horizontal distance between the curves, in the values' unit.
    pub wasserstein: f64,
    /// Root mean square horizontal distance between the curves, in the values' unit.
    pub demerit: f64,
    /// `demerit` as a fraction of the reference's mean; `None` when that mean is not positive.
    pub relative_demerit: Option<f64>,
}

/// The distance of `other` from `reference`; `None` if either is empty.
///
/// # Panics
/// If a value is not finite.
pub fn distance(reference: &[f64], other: &[f64]) -> Option<Distance> {
    let mean = mean(reference)?;
    other.first()?;
    let (reference, other) = (Sorted::new(reference), Sorted::new(other));
    let (wasserstein, demerit) = horizontal(reference.values(), other.values());
    Some(Distance {
        kolmogorov_smirnov: vertical(reference.values(), other.values()),
        wasserstein,
        demerit,
        relative_demerit: (mean > 0.0).then(|| demerit / mean),
    })
}

/// Largest difference of the two step curves, looked at after every distinct value.
fn vertical(a: &[f64], b: &[f64]) -> f64 {
    let (mut i, mut j, mut largest) = (0, 0, 0.0_f64);
    while i < a.len() && j < b.len() {
        let at = a[i].min(b[j]);
        while i < a.len() && a[i] <= at {
            i += 1;
        }
        while j < b.len() && b[j] <= at {
            j += 1;
        }
        let gap = i as f64 / a.len() as f64 - j as f64 / b.len() as f64;
        largest = largest.max(gap.abs());
    }
    largest
}

/// Mean and root mean square of the difference of the two quantile functions.
///
/// Both are steps, of height `1/n` and `1/m`. Counted in units of `1/(n·m)` the steps end at
/// integers, so the walk over their common refinement is exact.
fn horizontal(a: &[f64], b: &[f64]) -> (f64, f64) {
    let (n, m) = (a.len() as u128, b.len() as u128);
    let (mut i, mut j, mut reached) = (0, 0, 0_u128);
    let (mut sum, mut squares) = (0.0, 0.0);
    while i < a.len() && j < b.len() {
        let (end_a, end_b) = ((i as u128 + 1) * m, (j as u128 + 1) * n);
        let end = end_a.min(end_b);
        let share = (end - reached) as f64 / (n * m) as f64;
        let gap = (a[i] - b[j]).abs();
        sum += share * gap;
        squares += share * gap * gap;
        reached = end;
        i += usize::from(end == end_a);
        j += usize::from(end == end_b);
    }
    (sum, squares.sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_values_in_another_order_are_no_distance_apart() {
        let apart = distance(&[1.0, 2.0, 4.0], &[4.0, 1.0, 2.0]).unwrap();
        assert_eq!((apart.kolmogorov_smirnov, apart.wasserstein, apart.demerit), (0.0, 0.0, 0.0));
    }

    #[test]
    fn a_shift_is_its_own_distance() {
        let apart = distance(&[1.0, 2.0, 3.0], &[11.0, 12.0, 13.0]).unwrap();
        assert_eq!((apart.kolmogorov_smirnov, apart.wasserstein, apart.demerit), (1.0, 10.0, 10.0));
        assert_eq!(apart.relative_demerit, Some(5.0));
    }

    #[test]
    fn the_demerit_weighs_one_large_error_above_many_small_ones() {
        let spread = distance(&[10.0; 4], &[11.0; 4]).unwrap();
        let lump = distance(&[10.0; 4], &[10.0, 10.0, 10.0, 14.0]).unwrap();
        assert_eq!((spread.wasserstein, lump.wasserstein), (1.0, 1.0));
        assert_eq!((spread.demerit, lump.demerit), (1.0, 2.0));
    }

    #[test]
    fn sets_of_unequal_size_are_compared_by_share() {
        let apart = distance(&[0.0, 2.0], &[0.0, 0.0, 2.0, 2.0, 2.0, 2.0]).unwrap();
        assert!((apart.wasserstein - 2.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn nothing_has_no_distance() {
        assert_eq!(distance(&[], &[1.0]), None);
        assert_eq!(distance(&[1.0], &[]), None);
        assert_eq!(distance(&[0.0], &[0.0]).unwrap().relative_demerit, None);
    }
}
