//! Fixed drawn simulations under each policy, and with a disk under each elevator beside round robin: decisions in all
//! and a hash of every metric.

use super::draw::Drawn;
use super::outcome::{Outcome, contender, values};
use super::{EMPTY, folded, hold};

/// Progress messages, of at most 1024 events each, after which a simulation is left.
const PATIENCE: u64 = 4_000;

/// Drawn simulations a line; of the fair classes of Linux, which have most rules, ten times as many.
const DRAWS: u64 = 40;
const FAIR: [&str; 2] = ["cfs", "eevdf"];

/// `eevdf   12345 decisions   0123456789abcdef`: the sum of decisions, and a hash of all metrics of all draws.
fn line(name: &str, draw: fn(&str, u64) -> Drawn) -> String {
    let (mut decisions, mut hash) = (0, EMPTY);
    let mut add = |words: &[u64]| hash = folded(hash, words.iter().flat_map(|it| it.to_le_bytes()));
    for number in 0..if FAIR.contains(&name) { 10 * DRAWS } else { DRAWS } {
        let drawn = draw(name, number);
        let found = contender(&drawn).map_err(|it| Outcome::Refused(it.to_string()));
        match found.and_then(|contender| values(&drawn, &contender, PATIENCE)) {
            Ok((made, metrics)) => {
                decisions += made;
                add(&Vec::from_iter(metrics.iter().map(|it| it.unwrap_or(u64::MAX))));
            }
            Err(Outcome::Broken(why)) => panic!("draw {number} of {name}: {why}"),
            Err(_) => add(&[number]),
        }
    }
    format!("{name:<16}{decisions:>9} decisions  {hash:016x}")
}

#[test]
fn drawn_simulations_come_to_what_the_ledger_says() {
    let policies = goodness_policies::ALL.iter().map(|it| line(it.name, Drawn::under_policy));
    let elevators = goodness_elevators::ALL.iter().map(|it| line(it.name, Drawn::under_elevator));
    hold("drawn", &Vec::from_iter(policies.chain(elevators)));
}
