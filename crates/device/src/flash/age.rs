//! The start `aged`: a drive overwritten at random for a long time.
//!
//! Under uniform random writes, the valid part of a block falls exponentially with its age (mean-field result of
//! Desnoyers 2012 for cleaning in order of writing; greedy cleaning comes close). So the state is computed instead of
//! simulated: each LUN keeps its last blocks free, and the others hold as much as their age predicts. Only additions,
//! multiplications and divisions are used, which give the same bits on every machine.

use super::mapping::Mapping;
use super::settings::Geometry;
use goodness_core::Seed;

/// The mapping of an aged drive.
pub(crate) fn aged(geometry: &Geometry, seed: Seed) -> Mapping {
    let mut mapping = Mapping::new(geometry, 0);
    let mut units = scattered(geometry.units, seed);
    for lun in 0..geometry.luns {
        let share = geometry.units / geometry.luns + u32::from(lun < geometry.units % geometry.luns);
        for (index, count) in valid_by_age(geometry, share).enumerate() {
            let first = (lun * geometry.blocks + index as u32) * geometry.units_per_block();
            for place in spread(count, geometry.units_per_block()) {
                mapping.program(geometry, units.next(), first + place);
            }
        }
    }
    mapping
}

/// All units once, in scattered order: steps of about 0.618 of their number, coprime to it.
fn scattered(units: u32, seed: Seed) -> impl Iterator<Item = u32> {
    let units = u64::from(units);
    let step = (units * 618 / 1000..).find(|step| divisor(*step, units) == 1).unwrap_or(1);
    let first = seed.stream("age", 0).rng().below(units);
    (0..units).scan(first, move |unit, _| {
        let this = *unit;
        *unit = (this + step) % units;
        Some(this as u32)
    })
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

/// Valid units per block of a LUN, from the youngest to the oldest, `units` in all. Free blocks are left out.
fn valid_by_age(geometry: &Geometry, units: u32) -> impl Iterator<Item = u32> + use<> {
    let full = f64::from(geometry.units_per_block());
    let written = geometry.blocks - geometry.forced - 1;
    let sum = |ratio: f64| (0..written).fold((0.0, full), |(sum, valid), _| (sum + valid, valid * ratio)).0;
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if sum(middle) < f64::from(units) { low = middle } else { high = middle }
    }
    let (mut exact, mut valid, mut placed) = (0.0, full, 0);
    (0..written).map(move |block| {
        exact += valid;
        valid *= low;
        let until = if block + 1 == written { units } else { (exact as u32).min(units) };
        let count = until - placed;
        placed = until;
        count
    })
}

/// `count` of the numbers below `all`, evenly spread.
fn spread(count: u32, all: u32) -> impl Iterator<Item = u32> {
    (0..count).map(move |n| (u64::from(n) * u64::from(all) / u64::from(count)) as u32)
}

#[cfg(test)]
mod tests {
    use super::super::settings::Settings;
    use super::*;

    #[test]
    fn every_unit_has_one_place_and_the_last_blocks_are_free() {
        for over_provision in [15, 28, 100] {
            let settings = Settings { sectors: 1 << 22, over_provision, pages_per_block: 32, ..Settings::ssd() };
            let geometry = Geometry::new(&settings).unwrap();
            let mapping = aged(&geometry, Seed(1));
            let owned = (0..geometry.places() as u32).filter_map(|place| mapping.owner(place));
            let mut owned: Vec<u32> = owned.collect();
            owned.sort_unstable();
            assert!(owned.iter().copied().eq(0..geometry.units), "{over_provision} %");
            for lun in 0..geometry.luns {
                let valid = |index| mapping.valid(lun * geometry.blocks + index);
                let oldest = geometry.blocks - geometry.forced - 2;
                assert!(valid(0) >= valid(oldest / 2) && valid(oldest / 2) > valid(oldest), "{over_provision} %");
                assert_eq!(valid(oldest + 1), 0);
            }
        }
    }
}
