//! A load of our own that needs nothing installed: a fixed amount of work, timed, while hogs want the same CPUs.

use super::process::Process;
use super::{About, Better, Load, LoadError, Measure, Registered};
use crate::part::{self, Parts};
use crate::place::{Place, Role};
use goodness_core::{Seed, tunables};
use std::hint::black_box;
use std::time::{Duration, Instant};

tunables! {
    pub struct Settings {
        /// Units of work, of about a millisecond each.
        work: u64 = 200, in 1 => 1_000_000;
        /// Processes that compute as long as the work lasts.
        hogs: u64 = 0, in 0 => 1024;
    }
}

/// Steps of a generator that make a unit: about a millisecond at 1 ns a step.
const STEPS: u64 = 1_000_000;
const PATIENCE: Duration = Duration::from_secs(600);
/// More work than was asked for, in percent: how the race's own power is tested.
pub const SLOW_DOWN: &str = "GOODNESS_SPIN_SLOW_DOWN";

/// Work and hogs.
#[derive(Debug)]
pub struct Spin {
    settings: Settings,
    parts: Parts,
}

impl Registered for Spin {
    const ABOUT: About = About {
        name: "spin",
        summary: "A fixed amount of computation is timed while hogs want the same CPUs; it needs nothing installed.",
        needs: &[],
        measures: &["completion_time"],
    };
    type Settings = Settings;

    fn new(settings: Settings, parts: Parts) -> Result<Self, LoadError> {
        Ok(Spin { settings, parts })
    }
}

impl Load for Spin {
    fn prepare(&mut self, _: &Place) -> Result<(), LoadError> {
        Ok(())
    }

    fn run(&mut self, place: &Place, _: Seed) -> Result<Vec<Measure>, LoadError> {
        let hog = |number| {
            let mut command = self.parts.command("hog", &self.settings);
            Process::start(place, Role::Client, &format!("hog-{number}"), &mut command, None)
        };
        let _hogs = (0..self.settings.hogs).map(hog).collect::<Result<Vec<_>, _>>()?;
        let mut command = self.parts.command("spin", &self.settings);
        let work = Process::start(place, Role::Server, "spin", &mut command, None)?;
        part::measures(&work.finish(PATIENCE)?)
    }
}

/// The part that works: how long it took, how long it computed, and how much of a CPU it had meanwhile.
pub(crate) fn work(settings: &Settings) -> Result<Vec<Measure>, LoadError> {
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

/// The part that competes, until it is killed.
pub(crate) fn hog() -> ! {
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
