//! One FIFO queue for the whole machine, shared by `fifo` and `rr`. Neighbours in the queue are neighbours in memory;
//! with many tasks a list would cost a cache miss for each.

use crate::parts::idle_cpus::IdleCpus;
use goodness_core::{Context, CpuId, Effort, Machine, Resched, TaskId};
use std::collections::VecDeque;

/// Waiting tasks in FIFO order, and idle CPUs.
#[derive(Debug)]
pub(crate) struct SharedQueue {
    waiting: VecDeque<TaskId>,
    idle: IdleCpus,
}

impl SharedQueue {
    /// An empty queue; all CPUs are idle.
    pub fn new(machine: &Machine) -> SharedQueue {
        SharedQueue { waiting: VecDeque::new(), idle: IdleCpus::all(machine) }
    }

    /// Reserves room for a task.
    pub fn admit(&mut self, task: TaskId) {
        self.waiting.reserve((task.index() + 1).saturating_sub(self.waiting.len()));
    }

    /// Appends `task`, which arrives at `cpu`, and asks an idle CPU to pick.
    #[inline]
    pub fn push(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> Resched {
        self.waiting.push_back(task);
        self.idle.claim(cx, cpu, task)
    }

    /// Removes `task` from the queue, which takes as long as there are tasks before it.
    pub fn remove(&mut self, task: TaskId) {
        if let Some(place) = self.waiting.iter().position(|waiting| *waiting == task) {
            self.waiting.remove(place);
        }
    }

    /// Writes the first tasks; returns how many.
    pub fn first(&self, next: &mut [TaskId]) -> usize {
        next.iter_mut().zip(&self.waiting).map(|(next, task)| *next = *task).count()
    }

    /// Removes and returns the first task that may run on `cpu`; the CPU becomes idle if there is none.
    #[inline]
    pub fn take_first(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        match self.waiting.front() {
            Some(first) if cx.tasks.may_run(*first, cpu) => {
                cx.examined(Effort::Search, 1);
                self.idle.set(cpu, false);
                self.waiting.pop_front()
            }
            _ => self.take_first_allowed(cx, cpu),
        }
    }

    /// Like `take_first`, by examining one task after the other.
    #[cold]
    fn take_first_allowed(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        let place = self.waiting.iter().position(|task| cx.tasks.may_run(*task, cpu));
        cx.examined(Effort::Search, place.map_or(self.waiting.len(), |place| place + 1) as u32);
        self.idle.set(cpu, place.is_none());
        self.waiting.remove(place?)
    }
}
