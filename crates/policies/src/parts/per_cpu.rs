//! Placement and stealing for policies with one queue per CPU.
//!
//! Placement: a task's last CPU if idle; else the nearest idle CPU; else the CPU with the fewest runnable tasks among
//! those sharing its cache, its own on a tie. An idle CPU steals the longest-waiting task of the CPU with most waiting
//! tasks.

use crate::parts::idle_cpus::IdleCpus;
use goodness_core::policy::previous_cpu;
use goodness_core::{Context, CpuId, Effort, Level, Machine, Pull, TaskId};

/// State of each CPU's queue.
#[derive(Clone, Debug)]
pub(crate) struct PerCpu {
    /// Runnable tasks, the running one included.
    load: Vec<u32>,
    waiting: u32,
    idle: IdleCpus,
}

impl PerCpu {
    /// Every CPU of the machine, all idle.
    pub fn all(machine: &Machine) -> PerCpu {
        PerCpu { load: vec![0; machine.cpu_count()], waiting: 0, idle: IdleCpus::all(machine) }
    }

    /// A task was queued on `cpu`.
    #[inline]
    pub fn queued(&mut self, cpu: CpuId) {
        self.load[cpu.index()] += 1;
        self.waiting += 1;
    }

    /// Counts a task that left the queue of `cpu` without being picked.
    #[inline]
    pub fn dequeued(&mut self, cpu: CpuId) {
        self.load[cpu.index()] -= 1;
        self.waiting -= 1;
    }

    /// Notes the task that `cpu` picked.
    #[inline]
    pub fn picked(&mut self, cpu: CpuId, task: Option<TaskId>) {
        self.waiting -= u32::from(task.is_some());
        self.idle.set(cpu, task.is_none());
    }

    /// Records that the running task of `cpu` left it, for any reason.
    #[inline]
    pub fn stopped(&mut self, cpu: CpuId) {
        self.load[cpu.index()] -= 1;
    }

    /// Runnable tasks of `cpu`, the running one included.
    #[inline]
    pub fn load(&self, cpu: CpuId) -> u32 {
        self.load[cpu.index()]
    }

    /// The CPU for a task that becomes runnable.
    pub fn select(&self, cx: &Context, task: TaskId) -> CpuId {
        let home = previous_cpu(cx, task);
        if self.load[home.index()] == 0 {
            return home;
        }
        self.nearest_idle(cx, home, task).unwrap_or_else(|| self.least_loaded(cx, home, task))
    }

    fn nearest_idle(&self, cx: &Context, home: CpuId, task: TaskId) -> Option<CpuId> {
        if self.idle.is_empty() {
            return None;
        }
        let affinity = &cx.tasks[task].affinity;
        Level::ALL.iter().find_map(|level| {
            cx.machine.group(home, *level).iter().copied().find(|cpu| {
                cx.examined(Effort::Balance, 1);
                self.load[cpu.index()] == 0 && affinity.contains(*cpu)
            })
        })
    }

    fn least_loaded(&self, cx: &Context, home: CpuId, task: TaskId) -> CpuId {
        let affinity = &cx.tasks[task].affinity;
        let near = cx.machine.group(home, Level::Cache).iter().copied().filter(|cpu| affinity.contains(*cpu));
        near.min_by_key(|cpu| {
            cx.examined(Effort::Balance, 1);
            (self.load[cpu.index()], *cpu != home, *cpu)
        })
        .unwrap_or(home)
    }

    /// A task for the idle CPU `to`, from the CPU with most waiting tasks: the first one in `queued` that may run on
    /// `to`.
    pub fn steal<I>(&self, cx: &Context, to: CpuId, queued: impl Fn(CpuId) -> I) -> Option<Pull>
    where
        I: Iterator<Item = TaskId>,
    {
        if self.waiting == 0 {
            return None;
        }
        let mut best: Option<(u32, Pull)> = None;
        for from in cx.machine.cpu_ids().filter(|cpu| *cpu != to) {
            cx.examined(Effort::Balance, 1);
            let load = self.load[from.index()];
            if best.is_some_and(|(most, _)| load <= most) {
                continue;
            }
            let found = queued(from).find(|task| cx.tasks.may_run(*task, to));
            best = found.map(|task| (load, Pull { task, from, to })).or(best);
        }
        best.map(|(_, pull)| pull)
    }
}
