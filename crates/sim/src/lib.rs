//! The deterministic discrete-event host. It owns time, tasks and CPUs, asks the policy, performs what it
//! answers, verifies every answer, and tells the observer what happened.
//!
//! Order of what happens at one instant: first starts and timers, then policy timers and ticks, then
//! rescheduling, then the ends of compute bursts and slices. So an interrupt that makes a better task runnable
//! at the very instant a burst ends preempts before the burst's task takes its next step, and a task that wakes
//! several others at one instant is preempted once, after all of them are queued.
//!
//! Omissions of the model are listed in `docs/fidelity/left-out.md`.

mod bursts;
mod calendar;
mod host;
mod outbox;
mod places;

use goodness_block::Storage;
use goodness_core::{Awaited, Machine, MadePolicy, Observer, Registered, Seed, TaskId, Time, Workload};
use host::Host;
use std::fmt;

/// Options of a run, besides machine, policy and workload.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Random seed, from which the policy's and each task's own stream derive.
    pub seed: Seed,
    /// Events to process at most; a run that exceeds it fails with a sentence instead of running on.
    pub event_limit: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { seed: Seed(1), event_limit: u64::MAX }
    }
}

/// Reason for which a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every task exited.
    Finished,
    /// Nobody can act any more: the rest waits for something that will not happen.
    Quiet,
    /// The workload's horizon.
    Horizon,
}

/// Result of a run, besides what its observer saw.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Time of the end.
    pub end: Time,
    /// Reason of the end.
    pub reason: End,
    /// Number of times the policy was asked for a task.
    pub decisions: u64,
    /// Events processed.
    pub events: u64,
    /// Waiting tasks and what they wait for, in the order of the places, when the run ended because nobody could act
    /// any more
    /// ([`End::Quiet`]); empty after any other end.
    pub waiting: Vec<(TaskId, Awaited)>,
}

/// Whose fault a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The policy, or an elevator, answered what cannot be.
    Policy,
    /// The work asks for what cannot be, or never lets time pass: no policy can run it as it is.
    Workload,
}

/// Fault that ended a run. Each is a sentence that names policy or task, CPU and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When.
    pub at: Time,
    /// Whose fault it is.
    pub blame: Blame,
    /// Task whose programme is to be mended, where the fault is the work's.
    pub task: Option<TaskId>,
    /// What: a sentence after the name of the policy or the task, `picked task 3, which does not exist`.
    pub sentence: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}: ", self.at)?;
        if let Some(task) = self.task {
            write!(f, "{task} ")?;
        }
        f.write_str(&self.sentence)
    }
}

impl std::error::Error for Fault {}

/// Runs `workload` on `machine` under policy `P` until everyone is done, nobody can act, or the horizon.
///
/// # Errors
/// A [`Fault`] of the policy when it answers what cannot be (a task that is not queued, a CPU outside the
/// affinity, …); one of the workload when admission refuses a task, when a behaviour uses what is not there, or when it
/// never stops taking steps without time.
pub fn simulate<P: Registered>(
    machine: &Machine,
    settings: P::Settings,
    workload: Workload,
    observer: &mut dyn Observer,
    options: Options,
) -> Result<Outcome, Fault> {
    let policy = MadePolicy::of::<P>(machine, settings, options.seed);
    simulate_with(machine, policy, workload, None, observer, options)
}

/// As [`simulate`], with a policy already made and the disks that the workload's storage asks for.
///
/// # Errors
/// As [`simulate`].
pub fn simulate_with(
    machine: &Machine,
    policy: MadePolicy,
    workload: Workload,
    disks: Option<Storage>,
    observer: &mut dyn Observer,
    options: Options,
) -> Result<Outcome, Fault> {
    Host::new(machine, policy, workload, disks, observer, options).run()
}
