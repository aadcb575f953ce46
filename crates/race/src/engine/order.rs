//! The order in which arms are run.

use goodness_core::Seed;

/// Random order of the arms in block `block`.
#[must_use]
pub fn order(seed: Seed, block: u32, arms: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..arms).collect();
    seed.stream("order", u64::from(block)).rng().shuffle(&mut order);
    order
}

/// Seed of all runs of block `block`, which get the same work.
#[must_use]
pub fn seed_of(seed: Seed, block: u32) -> Seed {
    seed.stream("run", u64::from(block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_block_has_every_arm_once_and_every_arm_is_first_as_often() {
        let mut first = [0; 3];
        for block in 0..3000 {
            let order = order(Seed(1), block, 3);
            first[order[0]] += 1;
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        assert!(first.iter().all(|times| (900..1100).contains(times)), "{first:?}");
        assert_eq!(order(Seed(7), 3, 5), order(Seed(7), 3, 5));
    }
}
