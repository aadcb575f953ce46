//! Groups of random readers that share a rotating disk with a queue of its own under bfq.

#[path = "common/jobs.rs"]
mod jobs;

use goodness_core::Time;
use jobs::{Load, Setup, expect_shares, reads};

/// Reads of two groups of these weights with four readers each in a minute, the first one declared first.
fn two(weights: [u64; 2], settings: &str) -> Vec<f64> {
    let setup = Setup {
        device: "sata-7200-4tb",
        elevator: &format!("bfq:low_latency=off{settings}"),
        requests: None,
        groups: &weights.map(|weight| (weight, 0)),
        window: (Time::ZERO, Time(60_000_000_000)),
    };
    let jobs: Vec<_> = (0..8).map(|job| reads(1 + job / 4, 1)).collect();
    Load::new(&setup, &jobs).by_group()
}

/// While the disk idles for one group, requests of others are served: not always those of the group declared first.
#[test]
fn groups_of_equal_weight_get_equal_parts_whichever_was_declared_first() {
    expect_shares(&two([500, 500], ""), &[1.0, 1.0], 5.0);
    expect_shares(&two([500, 500], ",strict_guarantees=on"), &[1.0, 1.0], 5.0);
    for weights in [[300, 100], [100, 300]] {
        let parts = two(weights, "");
        let [small, large] = if weights[0] == 100 { [parts[0], parts[1]] } else { [parts[1], parts[0]] };
        assert!(large > 2.0 * small, "{weights:?}: {parts:?}");
    }
}
