//! What tests draw, and its seeds.

use goodness_core::{CpuId, CpuSet, Rng};
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::ops::Range;

/// Seeds of the draws: `few` from another one on in each run, unless `FIRST` and `DRAWS` name the first and their
/// number. They are printed.
pub fn seeds(few: u64) -> Range<u64> {
    let asked = |name: &str| {
        let text = std::env::var(name).ok()?;
        Some(text.parse::<u64>().unwrap_or_else(|_| panic!("{name}={text} is not a number")))
    };
    let fresh = RandomState::new().hash_one(0) % 1_000_000_000;
    let (first, draws) = (asked("FIRST").unwrap_or(fresh), asked("DRAWS").unwrap_or(few));
    println!("FIRST={first} DRAWS={draws}");
    first..first + draws
}

/// A CPU set, often all.
pub fn affinity(rng: &mut Rng, cpus: u64) -> CpuSet {
    let some: Vec<CpuId> = (0..rng.within(1, 3)).map(|_| CpuId(rng.below(cpus) as u32)).collect();
    if rng.below(2) == 0 { CpuSet::All } else { CpuSet::of(&some) }
}
