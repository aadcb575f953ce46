//! Balancing of a CPU without work looks at a level as often as it found something there.

use goodness_core::{Rng, Time};

/// Share of the looks at a level that found work for a CPU without any: decides whether it looks again.
#[derive(Clone, Copy, Debug)]
pub struct Luck {
    calls: u64,
    successes: u64,
    ratio: u64,
    /// Time at which the ratio was determined.
    since: Time,
}

impl Luck {
    pub const NEW: Luck = Luck { calls: 512, successes: 256, ratio: 512, since: Time::ZERO };

    /// Draws whether to look: the weight of a success, or `None`.
    pub fn draw(&self, rng: &mut Rng) -> Option<u64> {
        let weight = 1 + self.ratio;
        (rng.below(1024) <= weight).then_some((1024 + weight / 2) / weight)
    }

    /// Counts a look. If `by_time`, looks that are rare enough always succeed: the ratio grows by one each 2²² ns.
    pub fn note(&mut self, now: Time, success: u64, by_time: bool) {
        self.calls += 1;
        self.successes += success;
        if self.calls >= 1024 {
            let rest = if by_time { now.since(self.since).0 >> 22 } else { 0 };
            self.ratio = (self.successes + rest).min(1024);
            self.since = now;
            (self.calls, self.successes) = (self.calls / 2, self.successes / 2);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_never_succeed_are_drawn_rarely_and_count_for_all_that_were_not() {
        let luck = Luck { ratio: 0, ..Luck::NEW };
        let mut rng = goodness_core::Seed(1).rng();
        let drawn: Vec<u64> = (0..100_000).filter_map(|_| luck.draw(&mut rng)).collect();
        assert!((150..250).contains(&drawn.len()), "{}: two of 1024 numbers", drawn.len());
        assert!(drawn.iter().all(|weight| *weight == 1024));
    }
}
