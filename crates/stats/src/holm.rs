//! Correction for multiple comparisons.
//!
//! Thirty comparisons of equal schedulers at 95 % yield one or two false "winners". Holm's step-down procedure limits
//! the probability of even one false finding in the whole family to 5 %, and is never weaker than dividing by the
//! number of comparisons (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
//! Statistics 6(2), 1979).

use super::Confidence;

/// Holm's decision on one comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Corrected {
    /// Corrected p-value, to compare with the family's alpha. At least the raw one, at most 1.
    pub p_value: f64,
    /// Confidence level of this comparison's interval. The i-th smallest of m p-values is tested at `alpha / (m - i +
    /// 1)`, equal ones like the first of them; from the first failure on, all use its level.
    pub confidence: Confidence,
}

/// Corrects a family of p-values, in the given order.
///
/// `None` is a comparison that could not be tested; it stays `None` and does not count.
///
/// # Panics
/// If a p-value is not a probability.
pub fn holm(p_values: &[Option<f64>], family: Confidence) -> Vec<Option<Corrected>> {
    let mut order: Vec<(usize, f64)> =
        p_values.iter().enumerate().filter_map(|(index, p)| p.map(|p| (index, p))).collect();
    for (index, p) in &order {
        assert!((0.0..=1.0).contains(p), "p-value {index} is {p}, outside 0 ..= 1");
    }
    order.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut corrected = vec![None; p_values.len()];
    let (mut largest, mut stopped_at) = (0.0_f64, None);
    for &(index, p) in &order {
        // Equal p-values have one level, that of the first: what is the same on both sides has the same verdict.
        let remaining = order.len() - order.partition_point(|(_, other)| *other < p);
        largest = largest.max((p * remaining as f64).min(1.0));
        if stopped_at.is_none() && p * remaining as f64 > family.alpha() {
            stopped_at = Some(remaining);
        }
        let confidence = family.shared_among(stopped_at.unwrap_or(remaining));
        corrected[index] = Some(Corrected { p_value: largest, confidence });
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(p_values: &[Option<f64>]) -> Vec<Option<f64>> {
        let share = |corrected: Corrected| (0.05 / corrected.confidence.alpha()).round();
        holm(p_values, Confidence::P95).into_iter().map(|corrected| corrected.map(share)).collect()
    }

    #[test]
    fn each_finding_makes_the_next_easier_until_one_fails() {
        assert_eq!(
            levels(&[Some(0.2), Some(0.001), Some(0.01), Some(0.04)]),
            [Some(2.0), Some(4.0), Some(3.0), Some(2.0)]
        );
    }

    #[test]
    fn equal_p_values_have_one_level() {
        assert_eq!(levels(&[Some(0.01), Some(0.01), Some(0.04)]), [Some(3.0), Some(3.0), Some(1.0)]);
    }

    #[test]
    fn a_comparison_that_could_not_be_tested_costs_the_others_nothing() {
        assert_eq!(levels(&[None, Some(0.04), None]), [None, Some(1.0), None]);
    }

    #[test]
    fn corrected_values_never_fall_below_an_earlier_one() {
        let corrected = holm(&[Some(0.01), Some(0.011), Some(0.9)], Confidence::P95);
        let p: Vec<f64> = corrected.into_iter().map(|corrected| corrected.unwrap().p_value).collect();
        assert_eq!(p, [0.03, 0.03, 0.9]);
    }
}
