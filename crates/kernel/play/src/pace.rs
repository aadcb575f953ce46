//! Uses a given amount of CPU time without asking the kernel how much was used.
//!
//! Asking has a side effect: reading a thread's CPU time makes the kernel update its account, and a fair class then
//! notices that the slice is used up. A thread that reads it often is preempted at the end of its slice instead of at
//! the tick (on Linux 6.18, slices of 0.7 ms ended after 0.72 ms).
//!
//! So a task counts for itself. It computes in short stretches and reads the monotonic clock between them, which takes
//! no system call. A stretch of the usual length is CPU time. After a much longer one, the thread asks whether it was
//! switched out. If it was not, the whole time counts: an interrupt took it, which the kernel charges to the thread as
//! well. If it was, only the usual length counts. The error is at most one stretch per preemption.
//!
//! That question takes no system call either where the thread has a [`Mark`]: a lazy request to reschedule ends at the
//! next return from a system call, so work that makes any is not work that computes. Elsewhere the thread reads its
//! switch count.

use super::mark::Mark;
use goodness_sys::{monotonic_ns, switches};
use std::hint::black_box;

/// Shortest stretch, in ns. A choice: long against reading the clock, short against any time slice.
const STRETCH: u64 = 5_000;
/// Least number of clock readings in a stretch.
const LOOKS: u64 = 8;
/// Longest excess over the usual length, in ns, for a stretch to count as uninterrupted.
const UNSTEADY: u64 = 10_000;
/// Time between two checks of a task that computes forever, in ns: the longest it runs past the end.
const LONG_STRETCH: u64 = 200_000;

/// Rounds of one probe.
const PROBE: u64 = 20_000;
/// Number of probes. The fastest counts, because interrupts only ever slow a probe down.
const PROBES: u32 = 50;

/// The speed of [`burn`] on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Rounds in 1 048 576 ns.
    rounds: u64,
    /// Time between two readings of the clock, ns.
    stretch: u64,
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

/// The means by which a thread sees whether it was switched out.
enum Watch {
    Idle,
    Mark(Mark),
    /// Switches so far.
    Count((u64, u64)),
}

impl Watch {
    fn begin() -> Watch {
        Mark::set().map_or_else(|| Watch::Count(switches()), Watch::Mark)
    }

    /// True if the thread was switched out since this was last asked, or since the beginning.
    fn was_switched_out(&mut self) -> bool {
        match self {
            Watch::Idle => false,
            Watch::Mark(mark) => mark.was_cleared(),
            Watch::Count(known) => {
                let seen = switches();
                std::mem::replace(known, seen) != seen
            }
        }
    }
}

impl Pace {
    /// Measures the pace; takes some milliseconds of CPU time.
    #[must_use]
    pub fn measure() -> Pace {
        let fastest = |work: &dyn Fn()| {
            let probe = |_| {
                let before = monotonic_ns();
                work();
                monotonic_ns() - before
            };
            (0..PROBES).map(probe).min().unwrap_or_default()
        };
        let look = fastest(&|| ());
        let took = fastest(&|| burn(PROBE)).saturating_sub(look).max(1);
        Pace { rounds: ((PROBE << 20) / took).max(1), stretch: STRETCH.max(LOOKS * look) }
    }

    /// Uses `ns` of CPU time, minus the excess of the previous call (`debt`, updated here). Calls `over` with the time
    /// after every stretch. Returns `false` if `over` ended it early.
    pub fn compute(&self, ns: u64, debt: &mut u64, over: impl Fn(u64) -> bool) -> bool {
        let paid = (*debt).min(ns);
        *debt -= paid;
        let (wanted, mut used) = (ns - paid, 0);
        let mut before = monotonic_ns();
        // Begun before the first stretch; otherwise a preemption in it could not be recognised.
        let mut watch = if wanted > 0 { Watch::begin() } else { Watch::Idle };
        while used < wanted {
            if over(before) {
                return false;
            }
            let length = self.stretch.min(wanted - used);
            burn(self.rounds_in(length));
            let now = monotonic_ns();
            let took = now - before;
            let is_long = took > length + self.stretch + UNSTEADY;
            used += if is_long && watch.was_switched_out() { length } else { took };
            before = now;
        }
        *debt += used - wanted;
        !over(before)
    }

    /// Computes until `over`.
    pub fn compute_for_ever(&self, over: impl Fn(u64) -> bool) {
        while !over(monotonic_ns()) {
            burn(self.rounds_in(LONG_STRETCH));
        }
    }

    fn rounds_in(&self, ns: u64) -> u64 {
        ((u128::from(ns) * u128::from(self.rounds)) >> 20) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_sys::thread_cpu_ns;

    /// Rounds are counted between preemptions, and take longer where the machine does more beside.
    #[test]
    fn two_hundred_milliseconds_are_used_to_within_a_tenth_also_beside_a_competitor() {
        let pace = Pace::measure();
        let stop = std::sync::atomic::AtomicBool::new(false);
        let used = std::thread::scope(|scope| {
            // More competitors than CPUs, so that it is preempted.
            use std::sync::atomic::Ordering::Relaxed;
            for _ in 0..=std::thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| pace.compute_for_ever(|_| stop.load(Relaxed)));
            }
            let (mut debt, before, turns) = (0, thread_cpu_ns(), switches());
            for _ in 0..100 {
                assert!(pace.compute(2_000_000, &mut debt, |_| false));
            }
            assert!(switches() != turns, "it was preempted");
            let used = thread_cpu_ns() - before;
            stop.store(true, Relaxed);
            used
        });
        assert!(used.abs_diff(200_000_000) < 20_000_000, "{used} ns used, {pace:?}");
    }

    #[test]
    fn what_was_used_too_much_is_taken_off_the_next_lengths() {
        let pace = Pace::measure();
        let mut debt = 5_000_000;
        let before = thread_cpu_ns();
        assert!(pace.compute(3_000_000, &mut debt, |_| false));
        assert_eq!(debt, 2_000_000, "nothing was left to use");
        assert!(thread_cpu_ns() - before < 1_000_000);
    }

    #[test]
    fn the_end_is_noticed_within_a_stretch() {
        let pace = Pace::measure();
        let (before, begun) = (thread_cpu_ns(), monotonic_ns());
        assert!(!pace.compute(u64::MAX, &mut 0, |now| now > begun + 1_000_000));
        pace.compute_for_ever(|now| now > begun + 2_000_000);
        assert!(thread_cpu_ns() - before < 2_000_000 + 20 * LONG_STRETCH);
    }
}
