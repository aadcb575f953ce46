//! No task runs on two CPUs at once.

use super::Invariant;
use crate::tracker::TaskTrack;
use goodness_core::{CpuId, State, TaskId};

pub(super) const INVARIANT: Invariant =
    Invariant { name: "one_cpu_per_task", summary: "No task runs on two CPUs at once." };

pub(super) fn switch_in<T>(task: TaskId, cpu: CpuId, track: &TaskTrack<T>) -> Option<String> {
    (track.state == State::Running).then(|| format!("{task} was put on {cpu} while it runs on {}", track.cpu()))
}
