//! Compares the statistics with SciPy: `vectors.json`, written by `make_vectors.py`.

use std::sync::LazyLock;

use goodness_stats::distribution::{normal_cdf, student_critical, student_two_sided};
use goodness_stats::holm::holm;
use goodness_stats::rank::cliffs_delta;
use goodness_stats::ratio::{Pairing, Ratio, RatioMethod};
use goodness_stats::summary::summarise;
use goodness_stats::{Confidence, Interval};
use serde_json::Value;

static VECTORS: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("vectors.json")).expect("vectors.json is JSON"));

/// The cases under a name; an empty list would test nothing and fails.
fn cases(path: &str) -> &'static [Value] {
    let found = VECTORS.pointer(path).and_then(Value::as_array).expect("the cases are a list");
    assert!(!found.is_empty(), "{path} holds no case");
    found
}

fn number(case: &Value, key: &str) -> f64 {
    case[key].as_f64().unwrap_or_else(|| panic!("{key} is a number in {case}"))
}

fn numbers(case: &Value, key: &str) -> Vec<f64> {
    let list = case[key].as_array().unwrap_or_else(|| panic!("{key} is a list in {case}"));
    list.iter().map(|value| value.as_f64().expect("a number")).collect()
}

fn level(case: &Value) -> Confidence {
    Confidence::new(number(case, "level")).expect("a level is between 0 and 1")
}

#[track_caller]
fn near(ours: f64, theirs: f64, relative: f64) {
    let gap = (ours - theirs).abs();
    assert!(gap <= relative * theirs.abs() || gap < 1e-300, "{ours} here, {theirs} in SciPy");
}

#[track_caller]
fn near_ends(ours: Interval, case: &Value, relative: f64) {
    near(ours.low, number(case, "low"), relative);
    near(ours.high, number(case, "high"), relative);
}

#[test]
fn students_t_agrees() {
    for case in cases("/distributions/student") {
        near(student_critical(number(case, "alpha"), number(case, "freedom")), number(case, "critical"), 1e-9);
    }
    for case in cases("/distributions/student_tails") {
        near(student_two_sided(number(case, "t"), number(case, "freedom")), number(case, "p"), 1e-10);
    }
}

#[test]
fn the_normal_distribution_agrees() {
    for case in cases("/distributions/normal") {
        near(normal_cdf(number(case, "z")), number(case, "p"), 1e-10);
    }
}

#[test]
fn means_and_their_intervals_agree() {
    for case in cases("/summary") {
        let ours = summarise(&numbers(case, "values"), level(case)).unwrap();
        near(ours.mean, number(case, "mean"), 1e-13);
        near(ours.sd.unwrap(), number(case, "sd"), 1e-12);
        near_ends(ours.interval.unwrap(), case, 1e-10);
    }
}

#[test]
fn cliffs_delta_agrees_with_counting_pairs() {
    for case in cases("/effects") {
        let (a, b) = (numbers(case, "a"), numbers(case, "b"));
        near(cliffs_delta(&a, &b).unwrap(), number(case, "cliffs_delta"), 1e-13);
    }
}

#[test]
fn intervals_of_ratios_agree_paired_and_independent() {
    for case in cases("/log_ratio") {
        let (reference, candidate) = (numbers(case, "reference"), numbers(case, "candidate"));
        for (pairing, key) in [(Pairing::Paired, "paired"), (Pairing::Independent, "independent")] {
            let ours = Ratio::of_samples(&reference, &candidate, pairing).unwrap();
            assert_eq!(ours.method, RatioMethod::LogStudent);
            near(ours.p_value(), number(&case[key], "p"), 1e-9);
            near_ends(ours.interval(level(case)).unwrap(), &case[key], 1e-10);
        }
    }
}

#[test]
fn fiellers_interval_is_where_scipys_t_test_stops_objecting() {
    for case in cases("/fieller") {
        let ours =
            Ratio::of_samples(&numbers(case, "reference"), &numbers(case, "candidate"), Pairing::Paired).unwrap();
        assert_eq!(ours.method, RatioMethod::Fieller);
        near(ours.p_value(), number(case, "p"), 1e-9);
        near_ends(ours.interval(level(case)).unwrap(), case, 1e-9);
    }
}

#[test]
fn holms_p_values_agree_with_the_definition() {
    for case in cases("/holm") {
        let p: Vec<Option<f64>> = numbers(case, "p").into_iter().map(Some).collect();
        for (ours, theirs) in holm(&p, Confidence::P95).iter().zip(numbers(case, "adjusted")) {
            near(ours.unwrap().p_value, theirs, 1e-12);
        }
    }
}
