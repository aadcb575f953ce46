//! How fast this machine computes, so that a task can use a given CPU time without asking the clock all the time.

use super::kernel::cpu_ns;
use std::hint::black_box;

/// The longest stretch, in ns of CPU time, between two looks at the clock. It bounds how long a task goes on after the
/// end of the play. A choice: 200 µs hides the cost of looking even where the call takes microseconds.
const STRETCH: u64 = 200_000;

/// Rounds of one probe.
const PROBE: u64 = 200_000;
/// How often is probed. Interrupts only ever make a probe slower, so the fastest one counts.
const PROBES: u32 = 7;

/// The speed of [`burn`] on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Rounds in 1 048 576 ns of CPU time.
    rounds: u64,
    /// What it takes to ask for one's CPU time, in ns.
    look: u64,
}

/// Uses the CPU for that many rounds, touching no memory.
fn burn(rounds: u64) {
    let mut state = black_box(0x9e37_79b9_7f4a_7c15u64);
    for _ in 0..rounds {
        state ^= state << 7;
        state ^= state >> 9;
    }
    black_box(state);
}

impl Pace {
    /// Measures; takes some milliseconds of CPU time.
    #[must_use]
    pub fn measure() -> Pace {
        let fastest = |work: &dyn Fn()| {
            let probe = |_| {
                let before = cpu_ns();
                work();
                cpu_ns() - before
            };
            (0..PROBES).map(probe).min().unwrap_or_default()
        };
        let look = fastest(&|| ()).max(1);
        let took = fastest(&|| burn(PROBE)).saturating_sub(look).max(1);
        Pace { rounds: ((PROBE << 20) / took).max(1), look }
    }

    /// Uses `ns` of the calling thread's CPU time, less what an earlier call used too much (`debt`, which is brought up
    /// to date). Asks `over` at least every 200 µs of it; `false` when that ended it early.
    pub fn compute(&self, ns: u64, debt: &mut u64, over: impl Fn() -> bool) -> bool {
        let paid = (*debt).min(ns);
        *debt -= paid;
        let wanted = ns - paid;
        if wanted == 0 {
            return !over();
        }
        let begun = cpu_ns();
        loop {
            let used = cpu_ns() - begun;
            if used + self.look / 2 >= wanted {
                *debt += used.saturating_sub(wanted);
                return !over();
            }
            if over() {
                return false;
            }
            self.stretch(wanted - used);
        }
    }

    /// Computes until `over`.
    pub fn compute_for_ever(&self, over: impl Fn() -> bool) {
        while !over() {
            self.stretch(STRETCH);
        }
    }

    /// Most of `rest`: what is left is approached in ever shorter steps, since the pace is only a guide.
    fn stretch(&self, rest: u64) {
        let ns = rest.min(STRETCH).saturating_sub(self.look) * 7 / 8;
        burn(((u128::from(ns) * u128::from(self.rounds)) >> 20) as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_lengths_use_their_cpu_time_to_within_a_hundredth_and_a_look_each() {
        let pace = Pace::measure();
        let (mut debt, before) = (0, cpu_ns());
        for _ in 0..100 {
            assert!(pace.compute(300_000, &mut debt, || false));
        }
        let used = cpu_ns() - before;
        assert!(used.abs_diff(30_000_000) < 300_000 + 100 * pace.look, "{used} ns used, {pace:?}");
    }

    #[test]
    fn what_was_used_too_much_is_taken_off_the_next_lengths() {
        let pace = Pace::measure();
        let mut debt = 5_000_000;
        let before = cpu_ns();
        assert!(pace.compute(3_000_000, &mut debt, || false));
        assert_eq!(debt, 2_000_000, "nothing was left to use");
        assert!(cpu_ns() - before < 1_000_000);
    }

    #[test]
    fn the_end_is_noticed_within_a_stretch() {
        let pace = Pace::measure();
        let before = cpu_ns();
        assert!(!pace.compute(u64::MAX, &mut 0, || cpu_ns() > before + 1_000_000));
        assert!(cpu_ns() - before < 1_000_000 + 20 * STRETCH);
    }
}
