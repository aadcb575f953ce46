//! The only source of randomness: named, seeded streams of Xoshiro256++.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};

/// Random seed of a stream. Streams of different names are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Seed(pub u64);

impl Seed {
    /// The seed of the `index`-th stream called `name` below this one.
    #[must_use]
    pub fn stream(self, name: &str, index: u64) -> Seed {
        // FNV-1a over the name, then a SplitMix64 finaliser: cheap, fixed for ever, and well spread.
        let mut hash = 0xcbf2_9ce4_8422_2325u64 ^ self.0;
        for byte in name.bytes().chain(index.to_le_bytes()) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Seed(hash ^ (hash >> 31))
    }

    /// The stream of this seed.
    #[must_use]
    pub fn rng(self) -> Rng {
        Rng(Xoshiro256PlusPlus::seed_from_u64(self.0))
    }
}

/// A random stream.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// 64 even bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// An even draw from `0..bound`.
    ///
    /// # Panics
    /// If `bound` is 0.
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "a draw needs at least one outcome");
        // Multiply-shift with rejection of the uneven remainder, which is smaller than the bound: the division is
        // almost never needed.
        loop {
            let wide = u128::from(self.bits()) * u128::from(bound);
            let low = wide as u64;
            if low >= bound || low >= bound.wrapping_neg() % bound {
                return (wide >> 64) as u64;
            }
        }
    }

    /// An even draw from `low..=high`.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        match (high - low).checked_add(1) {
            Some(count) => low + self.below(count),
            None => self.bits(),
        }
    }

    /// An exponentially distributed integer with this mean, without logarithms (von Neumann 1951): a run of falling
    /// draws that starts with u has odd length with probability e^-u.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        let mut whole: u64 = 0;
        loop {
            let first = self.bits();
            let (mut last, mut is_odd) = (first, true);
            loop {
                let next = self.bits();
                if next > last {
                    break;
                }
                (last, is_odd) = (next, !is_odd);
            }
            if is_odd {
                let part = (u128::from(mean) * u128::from(first)) >> 64;
                return mean.saturating_mul(whole).saturating_add(part as u64);
            }
            whole += 1;
        }
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_streams_and_names_part_them() {
        let draw = |seed: Seed| seed.rng().bits();
        assert_eq!(draw(Seed(1).stream("a", 0)), draw(Seed(1).stream("a", 0)));
        assert_ne!(draw(Seed(1).stream("a", 0)), draw(Seed(1).stream("a", 1)));
        assert_ne!(draw(Seed(1).stream("a", 0)), draw(Seed(1).stream("b", 0)));
        assert_ne!(draw(Seed(1).stream("a", 0)), draw(Seed(2).stream("a", 0)));
    }

    #[test]
    fn an_exponential_draw_has_its_mean_its_spread_and_its_tail() {
        let mut rng = Seed(3).rng();
        let drawn: Vec<u64> = (0..100_000).map(|_| rng.exponential(1_000_000)).collect();
        let mean = drawn.iter().sum::<u64>() / 100_000;
        assert!((990_000..1_010_000).contains(&mean), "{mean}");
        // One in e is larger than the mean, one in e^3 larger than three times the mean.
        let above = |limit: u64| drawn.iter().filter(|d| **d > limit).count();
        assert!((36_200..37_400).contains(&above(1_000_000)), "{}", above(1_000_000));
        assert!((4_750..5_210).contains(&above(3_000_000)), "{}", above(3_000_000));
    }

    #[test]
    fn a_draw_stays_below_its_bound_and_reaches_every_outcome() {
        let mut rng = Seed(7).rng();
        let mut seen = [0; 5];
        for _ in 0..1000 {
            seen[rng.below(5) as usize] += 1;
        }
        assert!(seen.iter().all(|n| (120..280).contains(n)), "{seen:?}");
    }
}
