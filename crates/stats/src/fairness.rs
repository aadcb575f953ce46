//! Fairness: equality of shares.
//!
//! Jain, Chiu and Hawe, "A quantitative measure of fairness and discrimination for resource
//! allocation in shared computer systems", DEC TR-301, 1984.

use super::require_finite;

/// Jain's index of shares: `(Σx)² / (n · Σx²)`. 1 when all are equal, `1/n` when one has all.
///
/// If the parties are entitled to different amounts, divide each share by its weight first. `None` if there are no
/// shares, or all are 0.
///
/// # Panics
/// If a share is negative or not finite.
pub fn jain_index(shares: &[f64]) -> Option<f64> {
    require_finite(shares);
    if let Some(at) = shares.iter().position(|&share| share < 0.0) {
        panic!("share {at} is {}, and a share cannot be negative", shares[at]);
    }
    let largest = shares.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return None;
    }
    // Relative to the largest, so that squares of nanoseconds cannot overflow or vanish.
    let sum: f64 = shares.iter().map(|share| share / largest).sum();
    let squares: f64 = shares.iter().map(|share| (share / largest).powi(2)).sum();
    Some((sum * sum / (shares.len() as f64 * squares)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_score_one_and_a_monopoly_one_in_n() {
        assert_eq!(jain_index(&[5.0; 4]), Some(1.0));
        assert_eq!(jain_index(&[0.0, 8.0, 0.0, 0.0]), Some(0.25));
    }

    #[test]
    fn two_of_three_served_equally_score_two_thirds() {
        let index = jain_index(&[1.0, 1.0, 0.0]).unwrap();
        assert!((index - 2.0 / 3.0).abs() < 1e-15);
    }

    #[test]
    fn nothing_shared_out_has_no_fairness() {
        assert_eq!(jain_index(&[]), None);
        assert_eq!(jain_index(&[0.0, 0.0]), None);
    }

    #[test]
    fn shares_near_the_largest_number_do_not_overflow() {
        assert_eq!(jain_index(&[1e300, 1e300]), Some(1.0));
    }
}
