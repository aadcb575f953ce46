//! The feedback queue of CTSS by Corbató (1962): programs start on a level given by their size.
//!
//! Idea: a program starts on the level whose turn is about as long as swapping it in, l0 = ⌊log2(⌊size / quantum_words⌋
//! + 1)⌋, and drops one level when it has used up its turn there.
//!
//! Source: specs section 11, and the CTSS Programmer's Guide (1963): a quantum is about 200 ms; a program starts anew
//! once a response to its user is completed (modelled as the end of a wait); a preempted program goes to the end of its
//! level. The queue, further inferences and its weakness: `parts/feedback.rs`.
//! Inferred: `size` and `quantum_words` are settings and equal for all tasks, because tasks have no size; the defaults
//! are choices.
//! Weakness: long jobs starve behind a stream of short ones; any wait, however short, is rewarded with the first level.

use crate::parts::feedback::{Feedback, Profile, Rules};
use goodness_core::{About, Needs, Span};

goodness_core::tunables! {
    pub struct Settings {
        /// Turn of level 0; that of level l is 2^l times as long.
        quantum: Span = Span::from_ms(200), in Span::from_us(1) => Span::from_s(10);
        /// Levels; the last has no level below it.
        levels: u64 = 9, in 1 => 32;
        /// Words of each program.
        size: u64 = 4096, in 0 => 1_000_000_000;
        /// Words that are swapped in and out in one quantum.
        quantum_words: u64 = 4096, in 1 => 1_000_000_000;
    }
}

/// The rules of 1962.
#[derive(Clone, Copy, Debug)]
pub struct Original;

impl Profile for Original {
    const ABOUT: About = About {
        name: "ctss",
        summary: "CTSS: a multi-level feedback queue; a program's size sets its first level.",
        source: "Corbató 1962; specs section 11",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn rules(settings: &Settings) -> Rules {
        let levels = settings.levels as u8;
        Rules {
            quantum: settings.quantum,
            levels,
            start: start_level(settings.size, settings.quantum_words).min(levels - 1),
            allotment: 1,
            boost: Span::ZERO,
            wakes_anew: true,
            preempted_last: true,
        }
    }
}

/// The queue of 1962.
pub type Ctss = Feedback<Original>;

/// The initial level of a program of `size` words, when `swapped` words are swapped in a quantum.
fn start_level(size: u64, swapped: u64) -> u8 {
    (size / swapped + 1).ilog2() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// specs/cpu-schedulers.md 11: l0 = ⌊log2(⌊size / swapped⌋ + 1)⌋
    #[test]
    fn a_program_begins_on_the_level_of_its_size() {
        let levels = [0, 4095, 4096, 3 * 4096 - 1, 3 * 4096, 7 * 4096, 32_768 * 4].map(|size| start_level(size, 4096));
        assert_eq!(levels, [0, 0, 1, 1, 2, 3, 5]);
    }
}
