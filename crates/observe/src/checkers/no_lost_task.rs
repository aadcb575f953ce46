//! A runnable task is queued or running until it blocks, and only a runnable task runs.

use super::Invariant;
use crate::tracker::{TaskTrack, Tracker};
use goodness_core::{CpuId, Span, State, TaskId, Time};

pub(super) const INVARIANT: Invariant = Invariant {
    name: "no_lost_task",
    summary: "A runnable task is queued or running until it blocks, and only a runnable task runs.",
};

/// The violation of a wake-up of a task that is runnable already.
pub(super) fn wakeup<T>(task: TaskId, track: &TaskTrack<T>) -> Option<String> {
    let runnable = matches!(track.state, State::Queued | State::Running);
    runnable.then(|| format!("{task} was woken although it is {:?} on {}", track.state, track.cpu()))
}

/// A violation if the task runs without having become runnable.
pub(super) fn switch_in<T>(task: TaskId, cpu: CpuId, track: &TaskTrack<T>) -> Option<String> {
    let asleep = matches!(track.state, State::New | State::Blocked);
    asleep.then(|| format!("{cpu} switched to {task}, which is {:?}: it was not woken", track.state))
}

/// The task that leaves is the one that runs there.
pub(super) fn switch_out(cpu: CpuId, prev: Option<TaskId>, running: Option<TaskId>) -> Option<String> {
    let name = |task: Option<TaskId>| task.map_or_else(|| "idle".to_string(), |task| task.to_string());
    let says = || format!("{cpu} switched away from {} although it runs {}", name(prev), name(running));
    (prev != running).then(says)
}

/// A violation if a task still waits for a CPU when nothing is scheduled.
pub(super) fn at_end<T: Default>(tracker: &Tracker<T>) -> Option<String> {
    let (task, track) = tracker.tasks().find(|(_, t)| t.state == State::Queued)?;
    Some(format!("{task} still waits on {} since {}, and nothing is left to happen", track.cpu(), track.since))
}

/// Time for which a task may wait at the end of a run although the CPU on whose run queue it is idles.
#[derive(Clone, Debug)]
pub(crate) struct Forgotten {
    pub limit: Span,
    /// Time of the latest migration to each CPU.
    moved: Vec<Time>,
}

impl Forgotten {
    pub fn new(cpus: usize) -> Forgotten {
        Forgotten { limit: Span::MAX, moved: vec![Time::ZERO; cpus] }
    }

    /// A task was moved to the run queue of `cpu`.
    pub fn moved(&mut self, at: Time, cpu: CpuId) {
        self.moved[cpu.index()] = at;
    }

    /// A violation if a task waited beyond the limit on the run queue of a CPU that did nothing until the end.
    /// `idle_since` tells since when a CPU idles.
    pub fn at_end<T: Default>(
        &self,
        end: Time,
        tracker: &Tracker<T>,
        idle_since: impl Fn(CpuId) -> Option<Time>,
    ) -> Option<String> {
        tracker.tasks().filter(|(_, track)| track.state == State::Queued).find_map(|(task, track)| {
            let cpu = track.cpu();
            let since = idle_since(cpu)?.max(track.since).max(self.moved[cpu.index()]);
            let is_forgotten = end.since(since) > self.limit;
            is_forgotten.then(|| format!("{task} waits on {cpu} since {since}, and {cpu} idles until the end, {end}"))
        })
    }
}
