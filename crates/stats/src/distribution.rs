//! Distribution functions: normal and Student's t.
//!
//! A wrapper of `statrs`, so that only this file depends on it and the tests against SciPy cover one place. Student's
//! quantile is solved for here: the inverse in `statrs`, even after three Newton steps, missed a tail of 1e-9 by half,
//! and corrected comparisons need such tails.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::beta_reg;

/// Most steps Student's quantile may take: bisection alone is exact to the last bit in fewer.
const STEPS: usize = 120;

/// Probability that a standard normal variable is at most `z`.
pub fn normal_cdf(z: f64) -> f64 {
    Normal::standard().cdf(z)
}

/// Density of a standard normal variable at `z`.
pub fn normal_density(z: f64) -> f64 {
    Normal::standard().pdf(z)
}

/// Probability that |T| is at least `t`, for Student's t with `freedom` degrees of freedom.
///
/// # Panics
/// If `freedom` is not positive or `t` is NaN.
pub fn student_two_sided(t: f64, freedom: f64) -> f64 {
    assert!(freedom > 0.0 && !t.is_nan(), "Student's t needs positive degrees of freedom and a number");
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    beta_reg(freedom / 2.0, 0.5, freedom / (freedom + square))
}

/// Two-sided critical value of Student's t with `freedom` degrees of freedom: |T| exceeds it with probability `alpha`.
/// The factor of a confidence interval.
///
/// # Panics
/// If `freedom` is not positive or `alpha` not strictly between 0 and 1.
pub fn student_critical(alpha: f64, freedom: f64) -> f64 {
    assert!(alpha > 0.0 && alpha < 1.0, "alpha = {alpha} is outside 0 .. 1");
    let student = StudentsT::new(0.0, 1.0, freedom).expect("degrees of freedom are positive");
    let mut high = 1.0;
    while student_two_sided(high, freedom) > alpha {
        high *= 2.0;
    }
    let (mut low, mut t) = (0.0, high);
    for _ in 0..STEPS {
        let error = student_two_sided(t, freedom) - alpha;
        if error > 0.0 {
            low = t
        } else {
            high = t
        }
        let newton = t + error / (2.0 * student.pdf(t));
        let next = if low < newton && newton < high { newton } else { low + (high - low) / 2.0 };
        if (next - t).abs() <= f64::EPSILON * t {
            break;
        }
        t = next;
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_critical_value_undoes_the_tail() {
        for p in [1e-9, 0.001, 0.025, 0.5, 0.9] {
            for freedom in [1.0, 2.0, 4.5, 9.0, 100.0, 1e5] {
                let back = student_two_sided(student_critical(p, freedom), freedom);
                assert!((back / p - 1.0).abs() < 1e-9, "alpha {p}, {freedom} degrees: {back}");
            }
        }
    }

    #[test]
    fn nothing_lies_beyond_infinity() {
        assert_eq!(student_two_sided(f64::INFINITY, 3.0), 0.0);
    }
}
