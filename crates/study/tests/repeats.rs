//! Recordings of one load (`recordings/repeats`): intervals stated from one hold the others, two of them are not called
//! different, and narrower intervals fail.

use goodness_report::model::Verdict;
use goodness_study::repeats::{self, Load, Observed, SEEN, UNSEEN};
use std::path::PathBuf;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn observe(half: &[Load]) -> Vec<Observed> {
    half.iter().map(|load| repeats::observe(&root().join("recordings/repeats"), *load).unwrap()).collect()
}

#[test]
fn the_stated_spread_is_that_of_the_seen_half() {
    let stated = std::fs::read_to_string(root().join("fidelity/recordings.toml")).unwrap();
    assert_eq!(repeats::file(&repeats::spreads(&observe(&SEEN))), stated, "run the example `repeats` with `spread`");
}

#[test]
fn intervals_from_one_recording_hold_others_of_its_load_and_two_are_not_called_different() {
    let unseen = observe(&UNSEEN);
    let covered = repeats::total(&repeats::coverage(&unseen, 1.0));
    assert!(covered.of >= 5_000 && (0.80..=0.99).contains(&covered.share()), "{covered:?}");
    let narrow = repeats::total(&repeats::coverage(&unseen, 0.2));
    assert!(narrow.share() < 0.80, "intervals a fifth as wide must fail: {narrow:?}");
    let different = repeats::total(&repeats::called_different(&unseen));
    assert!(different.of >= 200 && different.share() <= 0.05, "{different:?}");
}

/// Negative control: intervals so wide that nothing is ever different would pass the test above.
#[test]
fn recordings_of_four_and_of_sixteen_clients_are_called_different() {
    let [four, sixteen] = ["redis-benchmark-4", "redis-benchmark-16"].map(Load);
    for number in 1..=4 {
        let report = repeats::as_arms(&root().join("recordings/repeats"), [(four, number), (sixteen, number)]).unwrap();
        for metric in ["request_latency_mean", "request_latency_p50", "wakeup_latency_mean"] {
            let found = report.policies[1].metric(metric).and_then(|it| it.vs_reference).unwrap();
            assert_eq!(found.verdict, Verdict::Worse, "{metric} of recordings {number}: {found:?}");
        }
    }
}
