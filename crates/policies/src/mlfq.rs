//! The textbook's multi-level feedback queue: tasks that use the CPU drop level by level, and a boost lifts all.
//!
//! Idea: all tasks begin on level 0 and fall when their allotment there is used up, in however many turns; every
//! `boost` all return. A waiting task keeps its level and the rest of its allotment.
//!
//! Source: specs section 11, general knowledge. The queue, what is inferred and its weakness: `parts/feedback.rs`.
//! Inferred: the defaults of 3 levels of 10 ms with a boost each second are choices.
//! Weakness: long jobs starve behind a stream of short ones until the boost.

use crate::parts::feedback::{Feedback, Profile, Rules};
use goodness_core::{About, Needs, Span};

goodness_core::tunables! {
    pub struct Settings {
        /// Turn of level 0; that of level l is 2^l times as long.
        quantum: Span = Span::from_ms(10), in Span::from_us(1) => Span::from_s(10);
        /// Levels; the last has no level below it.
        levels: u64 = 3, in 1 => 32;
        /// Quanta of its level after which a task falls, in however many turns it used them.
        allotment: u64 = 1, in 1 => 1_000;
        /// Time after which all tasks return to level 0; 0 for never.
        boost: Span = Span::from_s(1), in Span::ZERO => Span::from_s(1_000);
    }
}

/// The textbook's rules.
#[derive(Clone, Copy, Debug)]
pub struct Textbook;

impl Profile for Textbook {
    const ABOUT: About = About {
        name: "mlfq",
        summary: "Multi-level feedback queue: tasks sink as they use the CPU, and a periodic boost lifts all.",
        source: "textbook; specs section 11",
        needs: Needs { tick: false, timer: true, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn rules(settings: &Settings) -> Rules {
        let Settings { quantum, levels, allotment, boost } = *settings;
        let levels = levels as u8;
        Rules { quantum, levels, start: 0, allotment, boost, wakes_anew: false, preempted_last: false }
    }
}

/// The textbook's queue.
pub type Mlfq = Feedback<Textbook>;
