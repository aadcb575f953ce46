//! The deterministic discrete-event host. It owns time, tasks and CPUs, calls the policy through a referee that checks
//! every answer, carries the answers out, and reports events to the observer.
//!
//! Order at one instant: starts and timers, policy timers and ticks, rescheduling, ends of bursts and slices. So an
//! interrupt that wakes a better task at the instant a burst ends preempts before the burst's task takes its next step,
//! and a task that wakes several others at one instant is preempted once, after all of them are queued.
//!
//! Omissions of the model are listed in `docs/fidelity/left-out.md`.

mod bursts;
mod calendar;
mod host;
mod outbox;
mod places;

use goodness_block::Storage;
use goodness_core::{
    Awaited, CpuStat, GroupId, Machine, MadePolicy, Observer, Registered, Seed, TaskId, Time, Workload,
};
use host::Host;
use std::fmt;
use std::ops::ControlFlow;

/// Called now and then with the time that a run has reached; `Break` ends the run with [`End::Stopped`].
pub type Pulse<'a> = &'a dyn Fn(Time) -> ControlFlow<()>;

/// Options of a run, besides machine, policy and workload.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// Random seed, from which the policy's and each task's own stream derive.
    pub seed: Seed,
    /// Events to process at most; a run that exceeds it fails with a sentence instead of running on.
    pub event_limit: u64,
    /// Called every 1024 events.
    pub pulse: Option<Pulse<'a>>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Options { seed: Seed(1), event_limit: u64::MAX, pulse: None }
    }
}

/// Reason for which a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every task exited.
    Finished,
    /// Nothing can happen any more: the remaining tasks wait for events that never come.
    Quiet,
    /// The workload's horizon.
    Horizon,
    /// The pulse ended the run.
    Stopped,
}

/// Result of a run, without what its observer saw.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Time of the end.
    pub end: Time,
    /// Reason of the end.
    pub reason: End,
    /// Number of picks.
    pub decisions: u64,
    /// Events processed.
    pub events: u64,
    /// Waiting tasks and what they wait for, in the order of the places, if nothing could happen any more
    /// ([`End::Quiet`]); after any other end, those that wait for each other's locks in a circle.
    pub waiting: Vec<(TaskId, Awaited)>,
    /// Figures of the limits of groups after the warm-up, by group; of policies with limits alone.
    pub cpu_stats: Vec<(GroupId, CpuStat)>,
    /// Tasks that were set free because none of their CPUs was online any more, and when, in order.
    pub set_free: Vec<(TaskId, Time)>,
}

/// Party at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The policy, or an elevator, gave an invalid answer.
    Policy,
    /// The work requested something impossible, or never lets time pass; no policy can run it.
    Workload,
}

/// Fault that ended a run. Each is a sentence that names policy or task, CPU and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Time of the fault.
    pub at: Time,
    /// Party at fault.
    pub blame: Blame,
    /// Task whose behaviour is wrong, if the work is at fault.
    pub task: Option<TaskId>,
    /// Description: a sentence that continues the name of the policy or task, `picked task 3, which does not exist`.
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

/// Runs `workload` on `machine` under policy `P` until every task has ended, nothing can happen any more, or the
/// horizon.
///
/// # Errors
/// A [`Fault`] of the policy for an invalid answer (a task that is not queued, a CPU outside the affinity, …);
/// one of the workload if admission rejects a task, or if a behaviour uses something that does not exist or takes steps
/// without time forever.
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

/// Like [`simulate`], with a policy already made and the disks of the workload's storage.
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
