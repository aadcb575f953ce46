//! Verdicts for typical sets of runs, including inconclusive ones.

use goodness_stats::compare::{Because, Comparison, Direction, Runs, Settings, Verdict, compare, compare_family};
use goodness_stats::ratio::{Pairing, RatioMethod};
use goodness_stats::{Interval, measured};

/// Ten latencies that vary more by seed than by scheduler.
const REFERENCE: [f64; 10] = [100.0, 140.0, 95.0, 180.0, 120.0, 110.0, 160.0, 130.0, 105.0, 150.0];
/// Factors that average to 1, for runs that differ by chance only.
const CHANCE: [f64; 10] = [1.02, 0.98, 1.01, 0.99, 1.03, 0.97, 1.0, 1.02, 0.98, 1.0];

fn latency() -> Settings {
    Settings::new(Direction::LowerIsBetter)
}

fn runs(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().copied().map(Some).collect()
}

/// The reference's runs, each times `factor` and a small random factor.
fn scaled(factor: f64, chance: f64) -> Vec<f64> {
    REFERENCE.iter().zip(CHANCE).map(|(run, luck)| run * factor * (1.0 + chance * (luck - 1.0))).collect()
}

fn judge(reference: &[f64], candidate: &[f64], settings: &Settings) -> Comparison {
    compare(&runs(reference), &runs(candidate), settings)
}

fn verdict(candidate: &[f64], settings: &Settings) -> (Verdict, Because) {
    let found = judge(&REFERENCE, candidate, settings);
    (found.verdict, found.because)
}

#[test]
fn a_fifth_less_latency_is_better_and_a_fifth_less_throughput_worse() {
    let reason = Because::IntervalExcludesEquality;
    assert_eq!(verdict(&scaled(0.8, 1.0), &latency()), (Verdict::Better, reason));
    assert_eq!(verdict(&scaled(1.2, 1.0), &latency()), (Verdict::Worse, reason));
    let throughput = Settings::new(Direction::HigherIsBetter);
    assert_eq!(verdict(&scaled(0.8, 1.0), &throughput), (Verdict::Worse, reason));
    assert_eq!(verdict(&scaled(1.2, 1.0), &throughput), (Verdict::Better, reason));
}

#[test]
fn a_difference_inside_the_margin_is_the_same_even_when_it_is_certain() {
    let found = judge(&REFERENCE, &scaled(1.005, 0.05), &latency());
    assert!(found.p_value.unwrap() < 0.001);
    assert_eq!((found.verdict, found.because), (Verdict::Same, Because::IntervalWithinMargin));
    let strict = Settings { margin: 0.0, ..latency() };
    assert_eq!(verdict(&scaled(1.005, 0.05), &strict).0, Verdict::Worse);
}

#[test]
fn an_interval_that_holds_both_equality_and_a_difference_is_inconclusive() {
    assert_eq!(verdict(&scaled(1.0, 3.0), &latency()), (Verdict::Inconclusive, Because::IntervalTooWide));
}

#[test]
fn a_difference_smaller_than_the_replays_error_is_inconclusive() {
    let replay = |error| Settings { fidelity_error: Some(error), ..latency() };
    assert_eq!(verdict(&scaled(0.9, 0.2), &replay(0.05)).0, Verdict::Better);
    assert_eq!(verdict(&scaled(0.9, 0.2), &replay(0.15)), (Verdict::Inconclusive, Because::WithinReplayError));
    // Nor can such a replay show that two policies are the same to one percent.
    assert_eq!(verdict(&scaled(1.0, 0.05), &latency()).0, Verdict::Same);
    assert_eq!(verdict(&scaled(1.0, 0.05), &replay(0.15)), (Verdict::Inconclusive, Because::WithinReplayError));
}

#[test]
fn identical_runs_are_the_same_whatever_the_replays_error() {
    let replay = Settings { fidelity_error: Some(0.2), ..latency() };
    let found = judge(&REFERENCE, &REFERENCE, &replay);
    assert_eq!((found.verdict, found.because), (Verdict::Same, Because::IdenticalRuns));
    assert_eq!(found.interval, Some(Interval::exact(1.0)));
    assert_eq!(found.effect.unwrap().standardized, None);
}

#[test]
fn runs_without_variance_have_exact_intervals() {
    let found = judge(&[4.0; 5], &[3.0; 5], &latency());
    assert_eq!(
        (found.ratio, found.interval, found.method),
        (Some(0.75), Some(Interval::exact(0.75)), Some(RatioMethod::Exact))
    );
    assert_eq!((found.verdict, found.p_value), (Verdict::Better, Some(0.0)));
}

#[test]
fn one_run_is_inconclusive_unless_nothing_in_it_was_drawn() {
    let sampled = judge(&[4.0], &[3.0], &latency());
    assert_eq!((sampled.verdict, sampled.because), (Verdict::Inconclusive, Because::TooFewRuns));
    assert_eq!((sampled.ratio, sampled.interval, sampled.p_value), (Some(0.75), None, None));
    let exact = judge(&[4.0], &[3.0], &Settings { runs: Runs::Deterministic, ..latency() });
    assert_eq!((exact.verdict, exact.interval), (Verdict::Better, Some(Interval::exact(0.75))));
}

#[test]
fn what_was_not_measured_is_neither_zero_nor_a_verdict() {
    let found = compare(&[None, None], &runs(&[1.0, 2.0]), &latency());
    assert_eq!((found.verdict, found.because), (Verdict::Inconclusive, Because::NotMeasured));
    assert_eq!((found.ratio, found.effect, found.runs_used), (None, None, (0, 0)));
    let (none, some) = ([None, None], runs(&[1.0, 2.0]));
    let unpaired = Settings { pairing: Pairing::Independent, ..latency() };
    for (reference, candidate) in [(&none[..], &some[..]), (&some, &none)] {
        assert_eq!(compare(reference, candidate, &unpaired).because, Because::NotMeasured);
    }
}

#[test]
fn a_pair_with_a_missing_half_is_left_out_whole() {
    let mut candidate = runs(&scaled(0.8, 1.0));
    candidate[3] = None;
    let with_gap = compare(&runs(&REFERENCE), &candidate, &latency());
    let without: Vec<f64> = REFERENCE.iter().enumerate().filter(|(i, _)| *i != 3).map(|(_, run)| *run).collect();
    assert_eq!(with_gap, judge(&without, &measured(&candidate), &latency()));
    assert_eq!(with_gap.runs_used, (9, 9));
}

#[test]
fn never_happening_on_both_sides_is_the_same_and_starting_to_happen_is_worse() {
    assert_eq!(judge(&[0.0; 5], &[0.0; 5], &latency()).verdict, Verdict::Same);
    let started = judge(&[0.0; 5], &[10.0, 12.0, 9.0, 11.0, 10.0], &latency());
    assert_eq!((started.verdict, started.ratio, started.interval), (Verdict::Worse, None, None));
    let stopped = judge(&[10.0, 12.0, 9.0, 11.0, 10.0], &[0.0; 5], &latency());
    assert_eq!((stopped.verdict, stopped.ratio), (Verdict::Better, Some(0.0)));
    let hardly = judge(&[0.0; 5], &[0.0, 0.0, 1.0, 0.0, 0.0], &latency());
    assert_eq!((hardly.verdict, hardly.because), (Verdict::Inconclusive, Because::IntervalTooWide));
}

#[test]
fn without_a_factor_the_difference_itself_must_exceed_the_replays_error() {
    let (rare, often) = ([0.0, 0.0, 0.0, 5.0, 0.0], [4.0, 4.0, 4.0, 9.0, 4.0]);
    let replay = |error| Settings { fidelity_error: Some(error), ..latency() };
    let found = judge(&rare, &often, &replay(3.0));
    assert_eq!((found.verdict, found.interval, found.ratio), (Verdict::Worse, None, Some(5.0)));
    let found = judge(&rare, &often, &replay(5.0));
    assert_eq!((found.verdict, found.because), (Verdict::Inconclusive, Because::WithinReplayError));
}

#[test]
fn a_negative_reference_has_no_factor_but_its_difference_is_judged() {
    let found = judge(&[-5.0, -6.0, -5.5, -5.2], &[-10.0, -11.0, -10.4, -10.3], &latency());
    assert_eq!((found.verdict, found.ratio, found.interval), (Verdict::Better, None, None));
}

#[test]
fn two_runs_that_disagree_wildly_have_no_interval_rather_than_an_infinite_one() {
    let found = judge(&[1.0, 1e150], &[1e150, 1.0], &latency());
    assert_eq!((found.verdict, found.interval), (Verdict::Inconclusive, None));
}

#[test]
fn a_lucky_difference_among_many_candidates_is_not_a_finding() {
    let lucky = runs(&scaled(0.982, 1.0));
    let others: Vec<Vec<Option<f64>>> = (0..29).map(|i| runs(&scaled(1.0 + f64::from(i) * 1e-4, 1.0))).collect();
    assert_eq!(compare(&runs(&REFERENCE), &lucky, &latency()).verdict, Verdict::Better);
    let mut family: Vec<&[Option<f64>]> = others.iter().map(Vec::as_slice).collect();
    family.push(&lucky);
    let found = compare_family(&runs(&REFERENCE), &family, &latency());
    let lucky = found.last().unwrap();
    assert_eq!(lucky.verdict, Verdict::Inconclusive);
    assert!(lucky.deciding_interval.unwrap().width() > lucky.interval.unwrap().width());
    assert!(lucky.corrected_p_value.unwrap() > 0.05 && lucky.p_value.unwrap() < 0.05);
}

#[test]
fn independent_runs_are_not_paired_by_their_position() {
    let independent = Settings { pairing: Pairing::Independent, ..latency() };
    let candidate = scaled(0.9, 1.0);
    assert_eq!(verdict(&candidate, &latency()).0, Verdict::Better);
    assert_eq!(verdict(&candidate, &independent).0, Verdict::Inconclusive);
    assert_eq!(verdict(&REFERENCE, &independent), (Verdict::Inconclusive, Because::IntervalTooWide));
    assert_eq!(judge(&REFERENCE[..4], &scaled(0.3, 1.0), &independent).verdict, Verdict::Better);
}

#[test]
#[should_panic(expected = "margin = -0.1")]
fn a_negative_margin_is_refused() {
    judge(&REFERENCE, &REFERENCE, &Settings { margin: -0.1, ..latency() });
}

/// Independent sides of 3 and 5 runs, squares about their means 2 and 30: pooled, 32 / 6; the means differ by 4.
#[test]
fn the_standardized_effect_divides_by_the_pooled_deviation() {
    let settings = Settings { pairing: Pairing::Independent, ..latency() };
    let judged = judge(&[9.0, 10.0, 11.0], &[11.0, 12.0, 14.0, 15.0, 18.0], &settings);
    let found = judged.effect.unwrap().standardized.unwrap();
    assert!((found - 4.0 / (32.0_f64 / 6.0).sqrt()).abs() < 1e-12, "{found}");
}

#[test]
fn a_comparison_whose_error_is_unknown_states_nothing() {
    let mut found = judge(&REFERENCE, &scaled(0.5, 0.2), &latency());
    assert_eq!((found.verdict, found.stated.is_some()), (Verdict::Better, true), "the control");
    found.withhold();
    assert_eq!((found.verdict, found.because, found.stated), (Verdict::Inconclusive, Because::ErrorUnknown, None));
}
