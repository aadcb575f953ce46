//! Decisions per second of the whole simulator, metrics and checkers on.

use crate::bare_loop::BareLoop;
use crate::clock::cpu_time;
use crate::pattern::{BURST, FIRST_WAKES, Pattern};
use crate::{Size, machine_of};
use goodness::{PolicySpec, Run, Trial};
use goodness_core::{Seed, Time, Workload};
use std::time::Duration;

/// Measured speed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// CPU time per decision in ns, independent of other programs.
    pub end_to_end_ns: f64,
    /// Decisions taken.
    pub decisions: u64,
}

/// Runs of each program: the fastest counts.
const ROUNDS: usize = 3;

/// Simulates the pattern under `policy` for about `decisions` decisions, three times, and returns the fastest. Time to
/// admit all tasks and wake them for the first time is measured separately and subtracted.
///
/// The second result is the speed of the [bare loop](BareLoop::beside) on the same work, measured alternately with the
/// simulator; `None` for work without sleeps and for several CPUs, which the loop does not support.
///
/// # Errors
/// An impossible size, a fault of the policy, or a violated checker.
pub fn speed(
    policy: &PolicySpec,
    size: Size,
    decisions: u64,
    pattern: Pattern,
) -> Result<(Speed, Option<Speed>), String> {
    let horizon = horizon(size, decisions);
    let mut simulator = Rounds::new(|horizon| simulate(policy, size, horizon, pattern))?;
    let bare = BareLoop::beside(policy.name);
    let mut bare = match pattern {
        Pattern::Sleeps if size.cpus == 1 => {
            Some(Rounds::new(move |horizon: Time| Ok(bare.timed(pattern.work(size.tasks, 1, horizon))))?)
        }
        _ => None,
    };
    for _ in 0..ROUNDS {
        simulator.round(horizon)?;
        if let Some(bare) = &mut bare {
            bare.round(horizon)?;
        }
    }
    Ok((simulator.speed(), bare.map(|bare| bare.speed())))
}

/// Repeated runs of one program up to a horizon, with CPU time and decisions.
struct Rounds<R> {
    run: R,
    /// CPU time and decisions until all tasks were woken for the first time.
    set_up: Duration,
    first: u64,
    /// Fastest so far: nanoseconds per decision, and decisions.
    best: Option<Speed>,
}

impl<R: FnMut(Time) -> Result<(Duration, u64), String>> Rounds<R> {
    fn new(mut run: R) -> Result<Self, String> {
        let (set_up, first) = run(Time(FIRST_WAKES))?;
        let again = run(Time(FIRST_WAKES))?.0;
        Ok(Rounds { run, set_up: set_up.min(again), first, best: None })
    }

    fn round(&mut self, horizon: Time) -> Result<(), String> {
        let (took, all) = (self.run)(horizon)?;
        let decisions = all.saturating_sub(self.first).max(1);
        let end_to_end_ns = nanoseconds(took.saturating_sub(self.set_up)) / decisions as f64;
        if self.best.is_none_or(|best| end_to_end_ns < best.end_to_end_ns) {
            self.best = Some(Speed { end_to_end_ns, decisions });
        }
        Ok(())
    }

    fn speed(&self) -> Speed {
        self.best.unwrap_or(Speed { end_to_end_ns: 0.0, decisions: 0 })
    }
}

/// One timed run, including the host's setup of the tasks but not the creation of the workload.
///
/// # Errors
/// As [`speed`].
pub fn once(policy: &PolicySpec, size: Size, decisions: u64) -> Result<Speed, String> {
    let (took, decisions) = simulate(policy, size, horizon(size, decisions), Pattern::Sleeps)?;
    Ok(Speed { end_to_end_ns: nanoseconds(took) / decisions as f64, decisions })
}

/// Length of the pattern for about `decisions` decisions.
fn horizon(size: Size, decisions: u64) -> Time {
    Time(decisions * BURST.0 / (size.cpus as u64).max(1) + 1_000_000)
}

fn nanoseconds(span: Duration) -> f64 {
    span.as_nanos() as f64
}

/// Simulates the pattern up to `horizon`. Returns CPU time and decisions.
fn simulate(policy: &PolicySpec, size: Size, horizon: Time, pattern: Pattern) -> Result<(Duration, u64), String> {
    timed(policy, size, pattern.work(size.tasks, size.cpus, horizon))
}

/// Simulates `work` with metrics and checkers on: the CPU time it took and the decisions.
///
/// # Errors
/// As [`speed`].
pub fn timed(policy: &PolicySpec, size: Size, work: Workload) -> Result<(Duration, u64), String> {
    let began = cpu_time();
    let run = run(policy, size, work)?;
    Ok((cpu_time() - began, run.outcome.decisions))
}

/// Simulates `work` with metrics and checkers on.
///
/// # Errors
/// As [`speed`].
pub fn run(policy: &PolicySpec, size: Size, work: Workload) -> Result<Run, String> {
    let machine = machine_of(size.cpus)?;
    let trial = Trial::of(policy, &machine, work, Seed(1));
    let run = goodness::run(trial).map_err(|fault| fault.to_string())?;
    match run.checked.violations.first() {
        Some(violation) => Err(violation.to_string()),
        None => Ok(run),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_takes_about_as_many_decisions_as_asked_for_and_keeps_every_invariant() {
        for about in goodness_policies::ALL {
            let policy = PolicySpec::parse(about.name).unwrap();
            let size = Size { tasks: 40, cpus: 2 };
            let speed = once(&policy, size, 5_000).unwrap_or_else(|e| panic!("{policy}: {e}"));
            // A policy that preempts at wake-ups takes up to two decisions for a burst.
            assert!((4_000..12_000).contains(&speed.decisions), "{policy}: {} decisions", speed.decisions);
        }
    }
}
