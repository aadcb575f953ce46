//! Con Kolivas' Rotating Staircase Deadline: levels with a quota for each, and rotations that bound every wait.
//!
//! Source: specs section 4 (announcement of 4 March 2007 for 2.6.20, −ck documentation). A task of nice n enters at
//! level n + 20 of 40 and has a quota at each level down to the last; a level as a whole has the sum of the quotas of
//! the tasks that queued there. When that is used up, all tasks still on it go down one level ("minor rotation").
//! Inferred (specs section 4, 14 (2)): the quotas are one `rr_interval` for each level, so that nice 0 has 20 times the
//! quota of nice 19; 6 ms is SD 0.48's value. Further inferences and general knowledge: `rotation.rs`.
//! Weakness: a task that wakes late in a rotation may wait for the rest of it; interactive tasks are not favoured.

use crate::parts::rotation::{Ladder, Rotation, scaled};
use goodness_core::{About, Machine, Needs, Registered, Seed, Span};

goodness_core::tunables! {
    pub struct Settings {
        /// Quota at each level (/proc/sys/kernel/rr_interval; auto: 6 ms, times 1 + log2 of the CPUs).
        rr_interval: Option<Span> = None, in Span::from_us(100) => Span::from_ms(5000);
    }
}

/// Every level from that of the nice downwards.
#[derive(Clone, Copy, Debug)]
pub struct Stairs;

impl Ladder for Stairs {
    const HAS_QUEUE_QUOTA: bool = true;

    fn may_use(index: u8, level: u8) -> bool {
        level >= index
    }
}

/// The rotating staircase.
pub type Rsdl = Rotation<Stairs>;

impl Registered for Rsdl {
    const ABOUT: About = About {
        name: "rsdl",
        summary: "Rotating staircase deadline: quotas at each level from a task's nice down, then the next rotation.",
        source: "Con Kolivas, 4 March 2007; specs section 4",
        needs: Needs { tick: false, timer: false, balance: true, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Rotation::with(machine, settings.rr_interval.unwrap_or(scaled(Span::from_ms(6), machine)))
    }
}
