//! SCHED_BATCH on SMT cores: a batch task is not placed beside a sibling that runs non-batch work, because it would
//! slow that down (specs 3.4).
//!
//! Inferred: the rule applies at wake-up, start, change of affinity and balancing; a running batch task stays when its
//! sibling becomes busy. The task gets the lowest-numbered idle CPU that the rule and its affinity allow, else the one
//! with the fewest runnable tasks, even if that keeps an idle sibling idle. If the rule allows no CPU, it is ignored.

use super::{Runqueues, Staircase};
use goodness_core::{Class, Context, CpuId, Effort, Level, Task, TaskId};

/// True if a task runs only when no other is runnable. Kernel threads are exempt.
pub(super) fn is_batch(task: &Task) -> bool {
    matches!(task.class, Class::Batch | Class::Idle) && task.address_space.is_some()
}

impl Runqueues {
    /// True if the siblings of `cpu` allow `task` there.
    pub(super) fn suits(&self, cx: &Context, task: TaskId, cpu: CpuId) -> bool {
        let siblings = cx.machine.group(cpu, Level::Smt);
        siblings.len() == 1 || !is_batch(&cx.tasks[task]) || {
            cx.examined(Effort::Balance, siblings.len() as u32);
            let first = |other: &CpuId| self.cpus[other.index()].array.first();
            let busy = |other: &CpuId| first(other).is_some_and(|it| !is_batch(&cx.tasks[it]));
            !siblings.iter().any(|other| *other != cpu && busy(other))
        }
    }
}

impl Staircase {
    /// `cpu`, or the alternative for the batch task `task`.
    pub(super) fn spare_siblings(&self, cx: &Context, task: TaskId, cpu: CpuId) -> CpuId {
        if self.queues.suits(cx, task, cpu) {
            return cpu;
        }
        let affinity = &cx.tasks[task].affinity;
        let others = cx.machine.cpu_ids().filter(|it| affinity.contains(*it) && self.queues.suits(cx, task, *it));
        others.min_by_key(|it| (self.queues.cpus[it.index()].array.len(), *it)).unwrap_or(cpu)
    }
}
