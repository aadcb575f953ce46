//! Invariants: results do not change with units, order or sides.

use goodness_stats::Confidence;
use goodness_stats::compare::{Direction, Settings, Verdict, compare};
use goodness_stats::holm::holm;
use goodness_stats::rank::cliffs_delta;
use goodness_stats::ratio::{Pairing, Ratio};
use goodness_stats::summary::summarise;
use proptest::prelude::*;

/// Factor of the change of unit. Scaling by a power of two is exact, so results must agree to the bit.
const UNIT: f64 = 1024.0;

fn values(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<f64>> {
    // Whole numbers among the rest, so that ties and zeros occur.
    prop::collection::vec(prop_oneof![0.001..1e6_f64, (0_u32..20).prop_map(f64::from)], count)
}

fn pairs() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    (2_usize..30).prop_flat_map(|n| (values(n..n + 1), values(n..n + 1)))
}

fn times(values: &[f64], factor: f64) -> Vec<f64> {
    values.iter().map(|value| value * factor).collect()
}

fn reversed(values: &[f64]) -> Vec<f64> {
    values.iter().rev().copied().collect()
}

fn judged(reference: &[f64], candidate: &[f64], settings: &Settings) -> Verdict {
    let runs = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
    compare(&runs(reference), &runs(candidate), settings).verdict
}

proptest! {
    #[test]
    fn a_mean_lies_in_its_interval_and_among_its_values(values in values(2..40)) {
        let summary = summarise(&values, Confidence::P95).unwrap();
        prop_assert!(summary.interval.unwrap().contains(summary.mean));
        prop_assert!(summary.min <= summary.mean && summary.mean <= summary.max * (1.0 + 1e-12));
    }

    #[test]
    fn the_unit_changes_a_summary_by_its_factor_only(values in values(2..40)) {
        let summary = |values: &[f64]| summarise(values, Confidence::P95).unwrap();
        let (small, large) = (summary(&values), summary(&times(&values, UNIT)));
        prop_assert_eq!(large.mean, small.mean * UNIT);
        prop_assert_eq!(large.interval.unwrap().low, small.interval.unwrap().low * UNIT);
    }

    #[test]
    fn more_confidence_never_narrows_an_interval((reference, candidate) in pairs()) {
        let [low, high] = [0.9, 0.99].map(|level| Confidence::new(level).unwrap());
        let ratio = Ratio::of_samples(&reference, &candidate, Pairing::Paired).unwrap();
        if let Some(wide) = ratio.interval(high) {
            let narrow = ratio.interval(low).unwrap();
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
        }
    }

    #[test]
    fn swapping_the_sides_reverses_cliffs_delta((a, b) in pairs()) {
        prop_assert_eq!(cliffs_delta(&a, &b).unwrap(), -cliffs_delta(&b, &a).unwrap());
    }

    #[test]
    fn order_changes_no_verdict((a, b) in pairs()) {
        let settings = Settings::new(Direction::LowerIsBetter);
        prop_assert_eq!(judged(&a, &b, &settings), judged(&reversed(&a), &reversed(&b), &settings));
    }

    #[test]
    fn the_unit_changes_no_verdict((a, b) in pairs(), error in prop::option::of(0.0..0.5_f64)) {
        let settings = Settings { fidelity_error: error, ..Settings::new(Direction::LowerIsBetter) };
        prop_assert_eq!(judged(&a, &b, &settings), judged(&times(&a, UNIT), &times(&b, UNIT), &settings));
    }

    #[test]
    fn swapping_positive_sides_swaps_the_verdict((a, b) in pairs(), error in prop::option::of(0.0..0.5_f64)) {
        let settings = Settings { fidelity_error: error, ..Settings::new(Direction::LowerIsBetter) };
        let lift = |values: &[f64]| values.iter().map(|value| value + 1.0).collect::<Vec<_>>();
        let swapped = match judged(&lift(&b), &lift(&a), &settings) {
            Verdict::Better => Verdict::Worse,
            Verdict::Worse => Verdict::Better,
            verdict => verdict,
        };
        prop_assert_eq!(judged(&lift(&a), &lift(&b), &settings), swapped);
    }

    #[test]
    fn a_less_faithful_replay_never_makes_a_verdict((a, b) in pairs(), error in 0.0..0.5_f64) {
        let plain = Settings::new(Direction::LowerIsBetter);
        let verdict = judged(&a, &b, &Settings { fidelity_error: Some(error), ..plain });
        prop_assert!(verdict == Verdict::Inconclusive || verdict == judged(&a, &b, &plain));
    }

    #[test]
    fn holm_is_strict_but_never_stricter_than_dividing_by_the_number(p in prop::collection::vec(0.0..=1.0_f64, 1..20)) {
        let some: Vec<Option<f64>> = p.iter().copied().map(Some).collect();
        for (corrected, p_value) in holm(&some, Confidence::P95).iter().zip(&p) {
            let corrected = corrected.unwrap();
            prop_assert!(corrected.p_value >= *p_value);
            prop_assert!(corrected.p_value <= (p_value * p.len() as f64).min(1.0) + 1e-15);
            let rejected = *p_value <= corrected.confidence.alpha() * (1.0 + 1e-12);
            prop_assert_eq!(rejected, corrected.p_value <= 0.05 * (1.0 + 1e-12));
        }
    }
}
