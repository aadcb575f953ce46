//! Seed and number of what a test draws.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;

/// Random seed and number of the draws: another seed in each run unless `GOODNESS_SEED` names one, and `few` draws
/// unless the environment `variable` asks for another number. Both are printed.
pub fn seed_and_count(variable: &str, few: u64) -> (u64, u64) {
    let number = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
    };
    let fresh = RandomState::new().hash_one(0) % 1_000_000;
    let (seed, count) = (number("GOODNESS_SEED").unwrap_or(fresh), number(variable).unwrap_or(few));
    println!("GOODNESS_SEED={seed} {variable}={count}");
    (seed, count)
}
