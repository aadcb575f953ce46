//! BeOS: every 3 ms a random election, in which each thread weighs 2^priority.
//!
//! Source: specs 7.2. Published: a thread of priority 8 is four times as likely to be elected as one of priority 6. The
//! algorithm of the election is not published.
//! Inferred: weights belong to threads, so a level weighs in proportion to its threads; within a level the
//! longest-waiting thread is taken; the list is Haiku's ordered one, and an election walks all of it, because 94 µs per
//! quantum were measured with 4095 threads (7.6). Parts common to the family: `be_priorities.rs` and `be_elections.rs`.
//! Deviations: several CPUs share the list; threads that may not run on a CPU take no part in its election; the random
//! numbers differ.
//! Weakness: threads a few levels lower starve, and an election takes time proportional to the threads.

use crate::parts::be_elections::{Election, Elections, Listed, NEEDS};
use crate::parts::be_priorities::{FIRST_REAL_TIME, Place, QUANTUM, Walk};
use goodness_core::{About, Rng, Seed, Span};

goodness_core::tunables! {
    pub struct Settings {
        /// CPU time until the next election.
        quantum: Span = QUANTUM, in Span::from_us(1) => Span::from_s(10);
    }
}

/// The scheduler of BeOS.
pub type BeOs = Elections<Listed<LogTwo>>;

/// A level in an election: its weight and first thread.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    weight: u128,
    first: Place,
}

/// The election by weights of 2^priority.
#[derive(Debug)]
pub struct LogTwo {
    rng: Rng,
    /// The levels of an election.
    candidates: Vec<Candidate>,
}

impl Election for LogTwo {
    const ABOUT: About = About {
        name: "beos",
        summary: "BeOS: a random election every 3 ms, in which a thread's weight is two to the power of its priority.",
        source: "Be Newsletter I-37 (1996); specs 7.2",
        needs: NEEDS,
    };
    type Settings = Settings;

    fn new(settings: Settings, seed: Seed) -> (Self, Span) {
        let candidates = Vec::with_capacity(usize::from(FIRST_REAL_TIME));
        (LogTwo { rng: seed.stream("beos", 0).rng(), candidates }, settings.quantum)
    }

    fn elect(&mut self, walk: &mut Walk, first: Place) -> Place {
        if walk.priority(first) >= FIRST_REAL_TIME {
            return first;
        }
        self.count(walk, first);
        let total = self.candidates.iter().map(|level| level.weight).sum();
        let mut drawn = below(&mut self.rng, total);
        for level in &self.candidates {
            if drawn < level.weight {
                return level.first;
            }
            drawn -= level.weight;
        }
        first
    }
}

impl LogTwo {
    /// Walks the list and weighs its levels. Fewer than 2^28 threads at priorities below 100 fit.
    fn count(&mut self, walk: &mut Walk, first: Place) {
        self.candidates.clear();
        let (mut level, mut at) = (u8::MAX, Some(first));
        while let Some(place) = at {
            let priority = walk.priority(place);
            if priority != level {
                level = priority;
                self.candidates.push(Candidate { weight: 0, first: place });
            }
            self.candidates.last_mut().expect("a level was entered").weight += 1 << priority;
            at = walk.after(place);
        }
    }
}

/// A uniform draw from `0..bound`, exact even for weights as far apart as 2^99 and 2.
fn below(rng: &mut Rng, bound: u128) -> u128 {
    if let Ok(bound) = u64::try_from(bound) {
        return u128::from(rng.below(bound));
    }
    loop {
        let drawn = (u128::from(rng.bits()) << 64 | u128::from(rng.bits())) >> bound.leading_zeros();
        if drawn < bound {
            return drawn;
        }
    }
}
