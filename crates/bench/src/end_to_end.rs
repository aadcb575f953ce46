//! Decisions per second of the whole simulator, metrics and checkers on.

use crate::clock::cpu_time;
use crate::pattern::{BURST, FIRST_WAKES, Pattern};
use crate::{Size, machine_of};
use goodness_core::{Seed, Time, Workload};
use goodness_lab::{PolicySpec, Trial};
use std::time::Duration;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// CPU time per decision, in ns: what other programs take of the CPU is not in it.
    pub end_to_end_ns: f64,
    /// Decisions taken.
    pub decisions: u64,
}

/// Simulates the pattern under `policy` for about `decisions` decisions, three times, and takes the fastest. What
/// it takes to admit all tasks and wake them for the first time is measured apart and left out.
///
/// # Errors
/// A size that no machine can have, a fault of the policy, or a violated checker.
pub fn speed(policy: &PolicySpec, size: Size, decisions: u64, pattern: Pattern) -> Result<Speed, String> {
    let begin = || run(policy, size, Time(FIRST_WAKES), pattern);
    let (idle, first) = begin()?;
    let set_up = idle.min(begin()?.0);
    let mut best: Option<Speed> = None;
    for _ in 0..3 {
        let (took, all) = run(policy, size, horizon(size, decisions), pattern)?;
        let counted = (all - first).max(1);
        let speed =
            Speed { end_to_end_ns: nanoseconds(took.saturating_sub(set_up)) / counted as f64, decisions: counted };
        if best.is_none_or(|b| speed.end_to_end_ns < b.end_to_end_ns) {
            best = Some(speed);
        }
    }
    best.ok_or_else(|| "nothing was measured".into())
}

/// One timed run: the host's own set-up for the tasks is in it, making the workload is not.
///
/// # Errors
/// As [`speed`].
pub fn once(policy: &PolicySpec, size: Size, decisions: u64) -> Result<Speed, String> {
    let (took, decisions) = run(policy, size, horizon(size, decisions), Pattern::Sleeps)?;
    Ok(Speed { end_to_end_ns: nanoseconds(took) / decisions as f64, decisions })
}

/// How long the pattern must run for about `decisions` decisions.
fn horizon(size: Size, decisions: u64) -> Time {
    Time(decisions * BURST.0 / (size.cpus as u64).max(1) + 1_000_000)
}

fn nanoseconds(span: Duration) -> f64 {
    span.as_nanos() as f64
}

/// Simulates the pattern up to `horizon`: the CPU time it took and the decisions.
fn run(policy: &PolicySpec, size: Size, horizon: Time, pattern: Pattern) -> Result<(Duration, u64), String> {
    timed(policy, size, pattern.work(size.tasks, size.cpus, horizon))
}

/// Simulates `work` with metrics and checkers on: the CPU time it took and the decisions.
///
/// # Errors
/// As [`speed`].
pub fn timed(policy: &PolicySpec, size: Size, work: Workload) -> Result<(Duration, u64), String> {
    let machine = machine_of(size.cpus)?;
    let began = cpu_time();
    let trial = Trial { policy, elevator: None, machine: &machine, work, seed: Seed(1), recorder: None };
    let run = goodness_lab::run(trial).map_err(|fault| fault.to_string())?;
    let took = cpu_time() - began;
    match run.checked.violations.first() {
        Some(violation) => Err(violation.to_string()),
        None => Ok((took, run.outcome.decisions)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_takes_about_as_many_decisions_as_asked_for_and_keeps_every_invariant() {
        for about in goodness_cpu::ALL {
            let policy = PolicySpec::parse(about.name).unwrap();
            let size = Size { tasks: 40, cpus: 2 };
            let speed = once(&policy, size, 5_000).unwrap_or_else(|e| panic!("{policy}: {e}"));
            // A policy that preempts at wake-ups takes up to two decisions for a burst.
            assert!((4_000..12_000).contains(&speed.decisions), "{policy}: {} decisions", speed.decisions);
        }
    }
}
