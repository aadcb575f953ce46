//! Measures what a timer tick costs the task it interrupts, as a gap in a stream of clock readings.
//!
//! `CLOCK_MONOTONIC_COARSE` advances when the kernel ticks. The gap nearest to such a step, within a twentieth of a
//! period, is the tick of this CPU, as all CPUs tick at the same time. There is no figure if fewer than four of five
//! steps come with a gap: then the CPU has no tick (`nohz_full`), ticks at another time than the timekeeping CPU
//! (`skew_tick`), or has a clock too slow to tell.

use goodness_sys as sys;

/// Ticks of one figure.
const TICKS: usize = 101;
/// Fewest samples for a figure.
const LEAST: usize = 51;
/// Limit of periods to wait for the ticks: other tasks may have the CPU.
const PERIODS_MAX: u64 = 3 * TICKS as u64;
/// A gap counts as a pause if it is this many times longer than the usual gap between two readings.
const PAUSE: u64 = 8;

/// Clock to read; tests supply their own.
pub trait Clock {
    /// Monotonic time, ns.
    fn now(&mut self) -> u64;
    /// Time of the latest tick, in any unit.
    fn coarse(&mut self) -> u64;
    /// Context switches away from the reader so far.
    fn switches(&mut self) -> u64;
}

/// The kernel's.
pub struct Kernel;

impl Clock for Kernel {
    fn now(&mut self) -> u64 {
        sys::monotonic_ns()
    }

    fn coarse(&mut self) -> u64 {
        sys::coarse_ns()
    }

    fn switches(&mut self) -> u64 {
        super::switches()
    }
}

#[derive(Clone, Copy)]
struct Pause {
    begun: u64,
    ended: u64,
    /// True if another task ran during the pause.
    lost: bool,
}

impl Pause {
    /// Distance from `at` to the pause; 0 inside it.
    fn distance(self, at: u64) -> u64 {
        self.begun.saturating_sub(at).max(at.saturating_sub(self.ended))
    }
}

/// Observations of one stretch of time.
#[derive(Default)]
struct Seen {
    pauses: Vec<Pause>,
    steps: Vec<u64>,
}

/// Durations in ns of ticks with a period of `period` ns.
///
/// # Errors
/// The reason there is no figure, as a sentence.
pub fn ticks(clock: &mut impl Clock, period: u64) -> Result<Vec<u64>, String> {
    let usual = between_readings(clock);
    let (mut times, mut met) = (Vec::with_capacity(TICKS), 0);
    let until = clock.now() + period * PERIODS_MAX;
    while times.len() < TICKS && clock.now() < until {
        let seen = watch(clock, 10 * period, usual * PAUSE);
        for step in seen.steps {
            let nearest = seen.pauses.iter().min_by_key(|pause| pause.distance(step));
            match nearest.filter(|pause| pause.distance(step) <= period / 20) {
                // A tick at which the thread lost its CPU does not count: the gap is another task's slice.
                Some(pause) if pause.lost => continue,
                Some(pause) => times.push((pause.ended - pause.begun).saturating_sub(usual)),
                None => {}
            }
            met += 1;
        }
    }
    if met < LEAST {
        return Err(format!("others had this CPU: only {met} ticks were met without losing it"));
    }
    if times.len() < LEAST || times.len() * 5 < met * 4 {
        let seen = times.len();
        return Err(format!(
            "only {seen} of {met} ticks of the kernel paused a thread that reads the clock: this CPU does not tick, or \
                not with the others"
        ));
    }
    Ok(times)
}

/// Median time in ns from one reading of both clocks to the next.
fn between_readings(clock: &mut impl Clock) -> u64 {
    let mut times: Vec<u64> = (0..1_001)
        .map(|_| {
            let begun = clock.now();
            clock.coarse();
            clock.now() - begun
        })
        .collect();
    times.sort_unstable();
    times[times.len() / 2].max(1)
}

/// Reads the clocks for `span` ns; pauses are gaps longer than `least`.
fn watch(clock: &mut impl Clock, span: u64, least: u64) -> Seen {
    let mut seen = Seen::default();
    let mut switches = clock.switches();
    let (mut last, mut tick) = (clock.now(), clock.coarse());
    let until = last + span;
    while last < until {
        let (mut now, coarse) = (clock.now(), clock.coarse());
        if coarse != tick {
            seen.steps.push(now);
        }
        if now - last > least {
            let before = std::mem::replace(&mut switches, clock.switches());
            seen.pauses.push(Pause { begun: last, ended: now, lost: switches != before });
            // The time of this check does not count as a pause.
            now = clock.now();
        }
        (last, tick) = (now, coarse);
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{Rng, Seed};

    const PERIOD: u64 = 4_000_000;

    /// Clock of a CPU that ticks every [`PERIOD`], 3 us late, for `cost`.
    struct Planted {
        now: u64,
        cost: u64,
        /// One of this many ticks interrupts; 0 for none.
        every: u64,
        /// Probability in 1/1000 that a reading is disturbed for 20 us.
        noise: u64,
        /// The thread loses its CPU at every tick.
        shared: bool,
        ticked: u64,
        rng: Rng,
    }

    fn planted(cost: u64) -> Planted {
        Planted { now: 1, cost, every: 1, noise: 0, shared: false, ticked: 0, rng: Seed(7).rng() }
    }

    impl Clock for Planted {
        fn now(&mut self) -> u64 {
            self.now += 25;
            if self.noise > 0 && self.rng.below(100_000) < self.noise {
                self.now += 20_000;
            }
            let due = (self.ticked + 1) * PERIOD + 3_000;
            if self.now >= due {
                self.ticked = self.now / PERIOD;
                if self.every > 0 && self.ticked.is_multiple_of(self.every) {
                    self.now += self.cost;
                }
            }
            self.now
        }

        fn coarse(&mut self) -> u64 {
            self.ticked
        }

        fn switches(&mut self) -> u64 {
            if self.shared { self.ticked } else { 0 }
        }
    }

    #[test]
    fn a_tick_costs_what_was_planted() {
        for cost in [900, 2_000, 17_000] {
            let times = ticks(&mut planted(cost), PERIOD).unwrap();
            assert!(times.len() >= LEAST, "{}", times.len());
            assert!(times.iter().all(|&time| (cost..cost + 50).contains(&time)), "{cost}: {times:?}");
        }
    }

    #[test]
    fn the_median_tick_is_found_among_other_pauses() {
        let mut clock = Planted { noise: 5, ..planted(2_000) };
        let median = super::super::Sample::of(ticks(&mut clock, PERIOD).unwrap()).unwrap().median;
        assert!((2_000..2_050).contains(&median), "{median}");
    }

    #[test]
    fn a_cpu_without_a_tick_or_without_time_for_us_has_no_figure() {
        let why = ticks(&mut Planted { every: 0, ..planted(2_000) }, PERIOD).unwrap_err();
        assert!(why.starts_with("only 0 of"), "{why}");
        let why = ticks(&mut Planted { every: 2, ..planted(2_000) }, PERIOD).unwrap_err();
        assert!(why.ends_with("does not tick, or not with the others"), "{why}");
        let why = ticks(&mut Planted { shared: true, ..planted(2_000) }, PERIOD).unwrap_err();
        assert!(why.starts_with("others had this CPU"), "{why}");
    }
}
