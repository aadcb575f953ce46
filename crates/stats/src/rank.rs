//! Cliff's delta, which uses only the order of the values, so that one stalled run counts as one (Cliff, Psychological
//! Bulletin 114(3), 1993).

use super::{require_finite, sorted};

/// Cliff's delta from `a` to `b`: the fraction of pairs in which `b` is larger, minus the fraction in which it is
/// smaller. -1 to 1, no unit; 0 if neither side tends to be larger. `None` if a side is empty.
///
/// # Panics
/// If a value is not finite.
pub fn cliffs_delta(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    require_finite(b);
    let a = sorted(a);
    let balance = |&b: &f64| {
        let smaller = a.partition_point(|&a| a < b);
        let larger = a.len() - a.partition_point(|&a| a <= b);
        smaller as f64 - larger as f64
    };
    Some(b.iter().map(balance).sum::<f64>() / (a.len() as f64 * b.len() as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_delta_zero() {
        assert_eq!(cliffs_delta(&[2.0; 4], &[2.0; 5]), Some(0.0));
    }

    #[test]
    fn complete_dominance_has_delta_one() {
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
        assert_eq!(cliffs_delta(&[3.0, 4.0], &[1.0, 2.0]), Some(-1.0));
        assert_eq!(cliffs_delta(&[], &[1.0]), None);
    }
}
