//! One FIFO queue for the whole machine, shared by `fifo` and `rr`.

use crate::parts::idle_cpus::IdleCpus;
use goodness_core::{Context, CpuId, Effort, Machine, Resched, TaskId};
use goodness_queues::{Links, List};

/// Waiting tasks in FIFO order, and idle CPUs.
#[derive(Debug)]
pub(crate) struct SharedQueue {
    links: Links,
    list: List,
    idle: IdleCpus,
}

impl SharedQueue {
    /// An empty queue; all CPUs are idle.
    pub fn new(machine: &Machine) -> SharedQueue {
        SharedQueue { links: Links::default(), list: List::default(), idle: IdleCpus::all(machine) }
    }

    /// Reserves room for a task.
    pub fn admit(&mut self, task: TaskId) {
        self.links.reserve(task.index() + 1);
    }

    /// Appends `task`, which arrives at `cpu`, and asks an idle CPU to pick.
    #[inline]
    pub fn push(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> Resched {
        self.list.push_back(&mut self.links, task.0);
        self.idle.claim(cx, cpu, task)
    }

    /// Removes `task` from the queue.
    pub fn remove(&mut self, task: TaskId) {
        self.list.remove(&mut self.links, task.0);
    }

    /// Writes the first tasks; returns how many.
    pub fn first(&self, next: &mut [TaskId]) -> usize {
        next.iter_mut().zip(self.list.iter(&self.links)).map(|(next, task)| *next = TaskId(task)).count()
    }

    /// Removes and returns the first task that may run on `cpu`; the CPU becomes idle if there is none.
    #[inline]
    pub fn take_first(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        match self.list.front() {
            Some(first) if cx.tasks.may_run(TaskId(first), cpu) => {
                cx.examined(Effort::Search, 1);
                self.idle.set(cpu, false);
                self.list.pop_front(&mut self.links).map(TaskId)
            }
            _ => self.take_first_allowed(cx, cpu),
        }
    }

    /// Like `take_first`, by examining one task after the other.
    #[cold]
    fn take_first_allowed(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        let found = self.search_allowed(cx, cpu);
        self.idle.set(cpu, found.is_none());
        if let Some(task) = found {
            self.remove(task);
        }
        found
    }

    fn search_allowed(&self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        let mut looked_at = 0;
        let found = self.list.iter(&self.links).map(TaskId).find(|task| {
            looked_at += 1;
            cx.tasks.may_run(*task, cpu)
        });
        cx.examined(Effort::Search, looked_at);
        found
    }
}
