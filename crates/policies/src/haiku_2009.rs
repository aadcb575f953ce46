//! Haiku's simple scheduler as it was in 2009: one ordered list; the best thread runs, except when it is skipped at
//! random.
//!
//! Idea: the head of the list runs unless a random draw skips it. Next is the last thread of its level, and if that is
//! skipped too, the level below. So leaving a level of several threads takes two skips.
//!
//! Source: specs 7.3, with the history of its threshold; the quantum is 3 ms. Parts common to the family (scale of
//! priorities, list, quantum): `be_priorities.rs` and `be_elections.rs`.
//! Deviations: idle threads are not on the list; the last thread that may run on the CPU is taken without a draw, as
//! Haiku took the last thread before an idle one. Several CPUs share the list, as in Haiku's `simple_smp`; threads that
//! may not run on the CPU are passed over. Two rules have no counterpart: the boost to priority 20 of an exiting
//! thread, because an exit takes no time here, and the forced yield, which slept 9 ms.
//! Inferred: before the loop was repaired (October 2007) one skip left the level; only check 7.10(4) of the sheet shows
//! that. The threshold 0x500 has no date; it is called 2007-02 after its place in the history.
//! Weakness: inside a level only the first and the last thread are ever elected. The level below gets 4 %, whatever its
//! size. An insertion walks past all threads of equal or higher level.

use crate::parts::be_elections::{Election, Elections, Listed, NEEDS};
use crate::parts::be_priorities::{Draw, FIRST_REAL_TIME, Place, QUANTUM, Walk};
use goodness_core::{About, Seed, Span};

goodness_core::choices! {
    /// Month from which a threshold was used: 0x3000, 0x1000, 0x500, 0x1500, 0x2000, 0x1a00.
    pub enum Version {
        V2004 = "2004",
        V2007Jan = "2007-01",
        V2007Feb = "2007-02",
        V2007Mar = "2007-03",
        V2007Apr = "2007-04",
        V2007Oct = "2007-10",
    }
}

goodness_core::choices! {
    /// Result of a skip: the last thread of the level and only then the level below, or the level below at once.
    pub enum Rule { TwoSkips = "two-skip", SingleSkip = "single-skip" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Month whose threshold and rule are used.
        version: Version = Version::V2007Oct;
        /// Draws of 15 bits up to this one skip a thread (auto: the version's; 6656 since October 2007).
        threshold: Option<u64> = None, in 0 => 32_767;
        /// Result of a skip (auto: two-skip since October 2007, single-skip before).
        rule: Option<Rule> = None;
        /// CPU time until the next election.
        quantum: Span = QUANTUM, in Span::from_us(1) => Span::from_s(10);
    }
}

impl Version {
    fn threshold(self) -> u32 {
        match self {
            Version::V2004 => 0x3000,
            Version::V2007Jan => 0x1000,
            Version::V2007Feb => 0x500,
            Version::V2007Mar => 0x1500,
            Version::V2007Apr => 0x2000,
            Version::V2007Oct => 0x1a00,
        }
    }

    fn rule(self) -> Rule {
        if self == Version::V2007Oct { Rule::TwoSkips } else { Rule::SingleSkip }
    }
}

/// Haiku's simple scheduler of 2009.
pub type Haiku2009 = Elections<Listed<Skips>>;

/// The election by skipping.
#[derive(Debug)]
pub struct Skips {
    draw: Draw,
    threshold: u32,
    rule: Rule,
}

impl Skips {
    /// The rules of October 2007, for policies that share this election.
    pub(crate) fn of_2007_10(seed: Seed) -> Skips {
        let version = Version::V2007Oct;
        Skips { draw: Draw::new(seed), threshold: version.threshold(), rule: version.rule() }
    }
}

impl Election for Skips {
    const ABOUT: About = About {
        name: "haiku-2009",
        summary: "Haiku's simple scheduler: the best thread of one list, skipped by chance.",
        source: "Haiku, October 2007 to December 2009; specs 7.3",
        needs: NEEDS,
    };
    type Settings = Settings;

    fn new(settings: Settings, seed: Seed) -> (Self, Span) {
        let version = settings.version;
        let skips = Skips {
            draw: Draw::new(seed),
            threshold: settings.threshold.map_or(version.threshold(), |it| it as u32),
            rule: settings.rule.unwrap_or(version.rule()),
        };
        (skips, settings.quantum)
    }

    fn elect(&mut self, walk: &mut Walk, first: Place) -> Place {
        let mut place = first;
        loop {
            let priority = walk.priority(place);
            if priority >= FIRST_REAL_TIME {
                return place;
            }
            let Some(next) = walk.after(place) else { return place };
            if self.draw.next() > self.threshold {
                return place;
            }
            place = match self.rule {
                Rule::TwoSkips => last_of_level(walk, next, priority),
                Rule::SingleSkip => match walk.next_level(place) {
                    Some(below) => below,
                    None => return place,
                },
            };
        }
    }
}

/// The last thread of the level of `priority`, whose second is `next`; `next` itself if it has a lower level.
fn last_of_level(walk: &mut Walk, next: Place, priority: u8) -> Place {
    let mut last = next;
    while let Some(beyond) = walk.after(last) {
        if walk.priority(beyond) != priority {
            break;
        }
        last = beyond;
    }
    last
}
