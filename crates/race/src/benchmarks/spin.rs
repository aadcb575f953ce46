//! A fixed amount of work, timed, with hogs on the same CPUs.

use crate::load_error::LoadError;
use crate::measure::{Better, Measure};
use goodness_core::tunables;
use std::hint::black_box;
use std::time::Instant;

tunables! {
    pub struct Settings {
        /// Units of work, of about a millisecond each.
        work: u64 = 200, in 1 => 1_000_000;
        /// Processes that compute as long as the work lasts.
        hogs: u64 = 0, in 0 => 1024;
    }
}

/// Generator steps per unit of work: about a millisecond at 1 ns per step.
const STEPS: u64 = 1_000_000;

/// Extra work in percent, to test the statistical power of a race.
pub const SLOW_DOWN: &str = "GOODNESS_SPIN_SLOW_DOWN";

/// Does the work. Measures elapsed time, CPU time, and the share of a CPU it got.
pub fn work(settings: &Settings) -> Result<Vec<Measure>, LoadError> {
    let more: u64 = match std::env::var(SLOW_DOWN) {
        Ok(percent) => percent.parse().map_err(|_| LoadError(format!("{SLOW_DOWN} is a whole number of percent")))?,
        Err(_) => 0,
    };
    let steps = STEPS * settings.work / 100 * (100 + more);
    let begun = Instant::now();
    compute(steps);
    let time = begun.elapsed().as_nanos() as f64;
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let used = used.tv_sec as f64 * 1e9 + used.tv_nsec as f64;
    let share = (used / time).min(1.0);
    Ok(vec![
        Measure::new("completion_time", "ns", Better::Lower, time),
        Measure::new("cpu_time", "ns", Better::Lower, used),
        Measure::new("cpu_share", "1", Better::Higher, share),
    ])
}

/// Competes for the CPU until it is killed.
pub fn hog() -> ! {
    loop {
        compute(STEPS);
    }
}

/// A chain that no compiler can shorten.
fn compute(steps: u64) {
    let mut state = black_box(1u64);
    for _ in 0..steps {
        state = black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
    }
    black_box(state);
}
