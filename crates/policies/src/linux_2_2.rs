//! Linux 2.2: the task with the greatest goodness in one list runs; ties go to the previous task.
//!
//! Idea: goodness is the counter plus the ticks of an epoch (so nice counts twice), plus a bonus for sharing the
//! previous task's address space. A yielding task counts as weight 0 for one election.
//!
//! Source: specs section 1, kernel 2.2.1. Election, deviations and weakness: `parts/goodness.rs`.

use crate::parts::goodness::{
    Defaults, End, Goodness, Kernel, NEEDS, NicePart, Rules, TickTest, YieldMode, proportional_ticks,
};
use goodness_core::About;

/// Linux 2.2.1.
#[derive(Clone, Copy, Debug)]
pub struct Kernel22;

impl Kernel for Kernel22 {
    const ABOUT: About = About {
        name: "linux-2.2",
        summary: "Linux 2.2: the greatest goodness of one list runs: counter, priority, cache and address space.",
        source: "Linux 2.2.1; specs section 1",
        needs: NEEDS,
    };

    const DEFAULTS: Defaults = Defaults {
        wake_threshold: 3,
        insert: End::Head,
        rescan: false,
        yield_mode: YieldMode::Zero,
        prev_bonus: 0,
        mm_bonus: 1,
        tick_test: TickTest::Negative,
    };

    const RULES: Rules = Rules {
        ticks: proportional_ticks,
        nice_part: NicePart::Slice,
        previous_first: true,
        lazy_address_space: false,
        idle_cpu_looks_on: false,
        fork_rounds_up: false,
        refund: false,
        sync_wakeups: false,
        longest_idle: false,
        preempt_by_goodness: false,
    };
}

/// Linux 2.2.1.
pub type Linux22 = Goodness<Kernel22>;
