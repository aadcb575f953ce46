//! Linux 2.4: goodness with shorter slices, a second election after a recalculation, and preemption by goodness.
//!
//! Idea: slices of 60 ms at nice 0; nice adds 20 − nice to the goodness. A woken task gets the CPU that has been idle
//! longest, or preempts the running task, on any CPU, over which its goodness leads most. A child takes the odd tick of
//! its parent, and the rest of its first slice goes back to the parent.
//!
//! Source: specs section 1, kernel 2.4.27. Election, deviations and weakness: `parts/goodness.rs`. The cap of the
//! refund is from memory.

use crate::parts::goodness::{
    Defaults, End, Goodness, Kernel, NEEDS, NicePart, Rules, TickTest, YieldMode, scaled_ticks,
};
use goodness_core::About;

/// Linux 2.4.27.
#[derive(Clone, Copy, Debug)]
pub struct Kernel24;

impl Kernel for Kernel24 {
    const ABOUT: About = About {
        name: "linux-2.4",
        summary: "Linux 2.4: goodness with 60 ms slices, a second search after recalculation, wake-ups by goodness.",
        source: "Linux 2.4.27; specs section 1",
        needs: NEEDS,
    };

    const DEFAULTS: Defaults = Defaults {
        wake_threshold: 0,
        insert: End::Tail,
        rescan: true,
        yield_mode: YieldMode::Negative,
        prev_bonus: 0,
        mm_bonus: 1,
        tick_test: TickTest::Zero,
    };

    const RULES: Rules = Rules {
        ticks: scaled_ticks,
        nice_part: NicePart::Nice,
        previous_first: true,
        lazy_address_space: true,
        idle_cpu_looks_on: false,
        fork_rounds_up: true,
        refund: true,
        sync_wakeups: true,
        longest_idle: true,
        preempt_by_goodness: true,
    };
}

/// Linux 2.4.27.
pub type Linux24 = Goodness<Kernel24>;
