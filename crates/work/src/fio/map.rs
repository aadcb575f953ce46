//! The blocks of a file that were used: a set of small numbers that finds the next free one in a few steps.

/// A bitmap tree with 64 bits per node: a bit is a used block on the lowest level, else a full word on the level below.
#[derive(Clone, Debug)]
pub(super) struct UsedMap {
    levels: Vec<Vec<u64>>,
    blocks: u64,
    used: u64,
}

impl UsedMap {
    /// Most blocks of a map: 16 TiB in blocks of 4 KiB, using 512 MiB of memory.
    pub const MOST: u64 = 1 << 32;

    /// A map of `blocks` blocks, at least one, all free.
    pub fn new(blocks: u64) -> UsedMap {
        let mut levels = Vec::new();
        let mut count = blocks;
        loop {
            let words = count.div_ceil(64);
            levels.push(vec![0; words as usize]);
            if words <= 1 {
                break;
            }
            count = words;
        }
        let mut map = UsedMap { levels, blocks, used: 0 };
        map.clear();
        map
    }

    /// Frees all.
    pub fn clear(&mut self) {
        self.used = 0;
        let mut count = self.blocks;
        for level in &mut self.levels {
            level.fill(0);
            // Blocks beyond the end count as used.
            if !count.is_multiple_of(64)
                && let Some(last) = level.last_mut()
            {
                *last = !0 << (count % 64);
            }
            count = count.div_ceil(64);
        }
    }

    /// True if no block is free.
    pub const fn is_full(&self) -> bool {
        self.used == self.blocks
    }

    /// True if a block is used; blocks beyond the end are.
    pub fn contains(&self, block: u64) -> bool {
        self.levels[0].get((block / 64) as usize).is_none_or(|word| word & 1 << (block % 64) != 0)
    }

    /// Uses a free block.
    pub fn insert(&mut self, block: u64) {
        debug_assert!(!self.contains(block), "block {block} is used already");
        self.used += 1;
        let mut at = block;
        for level in &mut self.levels {
            let word = &mut level[(at / 64) as usize];
            *word |= 1 << (at % 64);
            if *word != !0 {
                return;
            }
            at /= 64;
        }
    }

    /// The first free block from `block` on, wrapping around; `None` if all are used.
    pub fn next_free(&self, block: u64) -> Option<u64> {
        self.free_from(block).or_else(|| self.free_from(0))
    }

    fn free_from(&self, block: u64) -> Option<u64> {
        let mut from = block;
        for (height, level) in self.levels.iter().enumerate() {
            let free = !level.get((from / 64) as usize)? & !0 << (from % 64);
            if free != 0 {
                let mut at = from / 64 * 64 + u64::from(free.trailing_zeros());
                for below in self.levels[..height].iter().rev() {
                    at = at * 64 + u64::from((!below[at as usize]).trailing_zeros());
                }
                return Some(at);
            }
            // On the level above, the search goes on behind this word.
            from = from / 64 + 1;
        }
        None
    }

    /// Number of free blocks in a row from `block` on, `most` at most.
    pub fn free_run(&self, block: u64, most: u64) -> u64 {
        (0..most).take_while(|at| !self.contains(block + at)).count() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Seed;
    use std::collections::BTreeSet;

    #[test]
    fn the_next_free_block_is_that_of_a_plain_set() {
        for blocks in [1, 63, 64, 65, 4096, 4097, 5000] {
            let (mut map, mut free) = (UsedMap::new(blocks), (0..blocks).collect::<BTreeSet<u64>>());
            let mut rng = Seed(blocks).rng();
            while !free.is_empty() {
                let from = rng.below(blocks);
                let expected = free.range(from..).next().or_else(|| free.first()).copied();
                assert_eq!(map.next_free(from), expected, "{blocks} {from}");
                let block = expected.expect("one is free");
                map.insert(block);
                free.remove(&block);
                assert!(map.contains(block));
            }
            assert!(map.is_full());
            assert_eq!(map.next_free(0), None);
            map.clear();
            assert_eq!((map.next_free(blocks - 1), map.is_full()), (Some(blocks - 1), false));
        }
    }

    #[test]
    fn a_run_ends_at_a_used_block_and_at_the_end() {
        let mut map = UsedMap::new(70);
        map.insert(10);
        assert_eq!((map.free_run(5, 64), map.free_run(5, 3), map.free_run(68, 9)), (5, 3, 2));
    }
}
