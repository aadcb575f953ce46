//! The clock of load tracking on one CPU: on a slow CPU it is as much slower while a task runs, so that work counts
//! alike everywhere. When the CPU idles it shows the time again.
//!
//! Source: specs/smp.md section 2.1. Departure: also after a time without idleness it shows the time as soon as the CPU
//! idles.

use super::FULL;
use goodness_core::{Span, Time};

/// The clock of a CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Capacity of the CPU.
    speed: u64,
    /// What it showed at a time.
    shown: Time,
    at: Time,
}

impl Default for Clock {
    fn default() -> Clock {
        Clock::new(FULL as u32)
    }
}

impl Clock {
    pub fn new(capacity: u32) -> Clock {
        Clock { speed: capacity.into(), shown: Time::ZERO, at: Time::ZERO }
    }

    /// Capacity of the CPU.
    pub fn speed(&self) -> u64 {
        self.speed
    }

    /// What it shows `now`, if a task ran since the last time or not.
    #[inline]
    pub fn advance(&mut self, now: Time, is_busy: bool) -> Time {
        if self.speed == FULL {
            return now;
        }
        let passed = now.since(self.at);
        if passed > Span::ZERO {
            self.at = now;
            self.shown = if is_busy { self.shown + Span(passed.0 * self.speed / FULL) } else { now };
        }
        self.shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// specs/smp.md section 2.1. The control is a CPU of full capacity, which shows the time always.
    #[test]
    fn the_clock_of_a_slow_cpu_is_slower_while_it_works_and_catches_up_when_it_idles() {
        let shown = |capacity: u32| {
            let mut clock = Clock::new(capacity);
            [(100, false), (200, true), (200, false), (300, true), (400, false)]
                .map(|(at, is_busy)| clock.advance(Time(at), is_busy).0)
        };
        assert_eq!(shown(512), [100, 150, 150, 200, 400]);
        assert_eq!(shown(1024), [100, 200, 200, 300, 400]);
    }
}
