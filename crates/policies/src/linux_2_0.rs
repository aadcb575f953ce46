//! Linux 2.0: the task with the largest counter in one list runs.
//!
//! Idea: goodness is the counter alone, plus one tick for the previously running task. Nice only affects the ticks per
//! epoch. A yielding task loses its counter.
//!
//! Source: specs section 1, kernel 2.0.3x. Election, deviations and weakness: `parts/goodness.rs`. The fork rule is
//! from memory.

use crate::parts::goodness::{
    Defaults, End, Goodness, Kernel, NEEDS, NicePart, Rules, TickTest, YieldMode, proportional_ticks,
};
use goodness_core::About;

/// Linux 2.0.3x.
#[derive(Clone, Copy, Debug)]
pub struct Kernel20;

impl Kernel for Kernel20 {
    const ABOUT: About = About {
        name: "linux-2.0",
        summary: "Linux 2.0: the greatest counter of one list runs; yielding forfeits it.",
        source: "Linux 2.0.3x; specs section 1",
        needs: NEEDS,
    };

    const DEFAULTS: Defaults = Defaults {
        wake_threshold: 3,
        insert: End::Tail,
        rescan: false,
        yield_mode: YieldMode::Forfeit,
        prev_bonus: 1,
        mm_bonus: 0,
        tick_test: TickTest::Negative,
    };

    const RULES: Rules = Rules {
        ticks: proportional_ticks,
        nice_part: NicePart::None,
        previous_first: false,
        lazy_address_space: false,
        idle_cpu_looks_on: true,
        fork_rounds_up: false,
        refund: false,
        sync_wakeups: false,
        longest_idle: false,
        preempt_by_goodness: false,
    };
}

/// Linux 2.0.3x.
pub type Linux20 = Goodness<Kernel20>;
