//! Haiku's simple scheduler of 11 December 2009: from the highest occupied level, the election moves on to the next
//! lower one with probability 2^−Δ, where Δ is the difference of their priorities.
//!
//! Source: specs 7.4; the quantum is 3 ms. Parts common to the family: `be_priorities.rs` and `be_elections.rs`.
//! Deviations: several CPUs share the list; threads that may not run on a CPU are skipped.
//! Weakness: threads more than 15 levels below starve completely, and the number of threads on a level does not count.

use crate::parts::be_elections::{Election, Elections, Listed, NEEDS};
use crate::parts::be_priorities::{Draw, FIRST_REAL_TIME, Place, QUANTUM, Walk};
use goodness_core::{About, Seed, Span};

goodness_core::tunables! {
    pub struct Settings {
        /// CPU time until the next election.
        quantum: Span = QUANTUM, in Span::from_us(1) => Span::from_s(10);
    }
}

/// Haiku's simple scheduler with the rule of December 2009.
pub type Haiku2Pow = Elections<Listed<PowerOfTwo>>;

/// Bits of a draw, and the largest difference that is ever skipped.
const DRAW_BITS: u8 = 15;

/// The election by differences of priority.
#[derive(Debug)]
pub struct PowerOfTwo(Draw);

impl Election for PowerOfTwo {
    const ABOUT: About = About {
        name: "haiku-2pow",
        summary: "Haiku's simple scheduler with the rule that a level lower by n is elected with probability 2^-n.",
        source: "Haiku, 11 December 2009; specs 7.4",
        needs: NEEDS,
    };
    type Settings = Settings;

    fn new(settings: Settings, seed: Seed) -> (Self, Span) {
        (PowerOfTwo(Draw::new(seed)), settings.quantum)
    }

    fn elect(&mut self, walk: &mut Walk, first: Place) -> Place {
        let mut place = first;
        while walk.priority(place) < FIRST_REAL_TIME {
            let Some(below) = walk.next_level(place) else { return place };
            let lower_by = walk.priority(place) - walk.priority(below);
            if lower_by > DRAW_BITS || self.0.next() >> (DRAW_BITS - lower_by) != 0 {
                return place;
            }
            place = below;
        }
        place
    }
}
