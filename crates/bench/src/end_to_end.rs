//! Decisions per second of the whole simulator, metrics and checkers on.

use crate::clock::cpu_time;
use crate::pattern::{BURST, FIRST_WAKES, Pattern};
use crate::{Size, machine_of};
use goodness_core::{Registered, Time, Workload};
use goodness_observe::{Ending, MetricsAndCheckers, Subject};
use goodness_sim::{Options, simulate};
use std::time::Duration;

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// CPU time per decision, in ns: what other programs take of the CPU is not in it.
    pub end_to_end_ns: f64,
    /// Decisions taken.
    pub decisions: u64,
}

/// Simulates the pattern under policy `P` for about `decisions` decisions, three times, and takes the fastest. What
/// it takes to admit all tasks and wake them for the first time is measured apart and left out.
///
/// # Errors
/// A size that no machine can have, a fault of the policy, or a violated checker.
pub fn speed<P: Registered>(
    settings: &P::Settings,
    size: Size,
    decisions: u64,
    pattern: Pattern,
) -> Result<Speed, String> {
    let begin = || run::<P>(settings.clone(), size, Time(FIRST_WAKES), pattern);
    let (idle, first) = begin()?;
    let set_up = idle.min(begin()?.0);
    let mut best: Option<Speed> = None;
    for _ in 0..3 {
        let (took, all) = run::<P>(settings.clone(), size, horizon(size, decisions), pattern)?;
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
pub fn once<P: Registered>(settings: P::Settings, size: Size, decisions: u64) -> Result<Speed, String> {
    let (took, decisions) = run::<P>(settings, size, horizon(size, decisions), Pattern::Sleeps)?;
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
fn run<P: Registered>(
    settings: P::Settings,
    size: Size,
    horizon: Time,
    pattern: Pattern,
) -> Result<(Duration, u64), String> {
    timed::<P>(settings, size, pattern.work(size.tasks, size.cpus, horizon))
}

/// Simulates `work` with metrics and checkers on: the CPU time it took and the decisions.
///
/// # Errors
/// As [`speed`].
pub fn timed<P: Registered>(settings: P::Settings, size: Size, work: Workload) -> Result<(Duration, u64), String> {
    let machine = machine_of(size.cpus)?;
    let mut observer = MetricsAndCheckers::new(size.cpus, Time::ZERO, &Subject::all(&work));
    let began = cpu_time();
    let outcome = simulate::<P, _>(&machine, settings, work, &mut observer, Options::default())
        .map_err(|fault| fault.to_string())?;
    let took = cpu_time() - began;
    let (_, checked) = observer.finish(outcome.end, Ending::Horizon);
    match checked.violations.first() {
        Some(violation) => Err(violation.to_string()),
        None => Ok((took, outcome.decisions)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_takes_about_as_many_decisions_as_asked_for_and_keeps_every_invariant() {
        for about in goodness_cpu::ALL {
            struct Run(&'static str);
            impl goodness_core::Visitor for Run {
                type Output = ();
                fn visit<P: Registered + 'static>(self) {
                    let size = Size { tasks: 40, cpus: 2 };
                    let speed =
                        once::<P>(P::Settings::default(), size, 5_000).unwrap_or_else(|e| panic!("{}: {e}", self.0));
                    assert!((4_000..8_000).contains(&speed.decisions), "{}: {} decisions", self.0, speed.decisions);
                }
            }
            goodness_cpu::with_policy(about.name, Run(about.name)).expect("a listed policy is found");
        }
    }
}
