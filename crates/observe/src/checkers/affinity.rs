//! Checks that a task is queued and runs only on allowed CPUs.

use super::Invariant;
use crate::tracker::Tracker;
use goodness_core::{CpuId, TaskId};

pub(super) const INVARIANT: Invariant =
    Invariant { name: "affinity", summary: "A task is queued and runs only on CPUs of its affinity." };

pub(super) fn placed<T: Default>(task: TaskId, cpu: CpuId, tracker: &Tracker<T>) -> Option<String> {
    (!tracker.may_run(task, cpu)).then(|| format!("{task} was placed on {cpu}, which its affinity forbids"))
}

pub(super) fn unknown_cpu<T: Default>(cpu: CpuId, tracker: &Tracker<T>) -> Option<String> {
    let count = tracker.cpu_count();
    (cpu.index() >= count).then(|| format!("{cpu} is not one of the machine's {count} CPUs"))
}
