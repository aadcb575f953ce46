//! Running task and urgency of each CPU, for policies with one queue for the whole machine: an arriving task gets an
//! idle CPU, or that of the least urgent task.

use crate::parts::idle_cpus::IdleCpus;
use goodness_core::{Context, CpuId, Effort, Machine, Resched, TaskId};

/// The task each CPU is running, and its urgency `R`: the greater preempts.
#[derive(Clone, Debug)]
pub(crate) struct RunningCpus<R> {
    running: Vec<Option<(TaskId, R)>>,
    idle: IdleCpus,
}

impl<R: Copy + Ord> RunningCpus<R> {
    /// Every CPU of the machine, all idle.
    pub fn all(machine: &Machine) -> RunningCpus<R> {
        RunningCpus { running: vec![None; machine.cpu_count()], idle: IdleCpus::all(machine) }
    }

    /// Records the task that runs on `cpu` from now on. Call it at the end of every pick.
    #[inline]
    pub fn set(&mut self, cpu: CpuId, next: Option<(TaskId, R)>) {
        self.running[cpu.index()] = next;
        self.idle.set(cpu, next.is_none());
    }

    /// The task running on `cpu`, and its urgency. Between a switch-out and the next pick, still the previous task.
    #[inline]
    pub fn on(&self, cpu: CpuId) -> Option<(TaskId, R)> {
        self.running[cpu.index()]
    }

    /// True if `cpu` is idle and has not been claimed since.
    #[inline]
    pub fn is_idle(&self, cpu: CpuId) -> bool {
        self.idle.contains(cpu)
    }

    /// True if no CPU is idle.
    #[inline]
    pub fn all_busy(&self) -> bool {
        self.idle.is_empty()
    }

    /// Changes the urgency of the task running on `cpu`.
    #[inline]
    pub fn revalue(&mut self, cpu: CpuId, rank: R) {
        if let Some((_, it)) = &mut self.running[cpu.index()] {
            *it = rank;
        }
    }

    /// CPU for a task just queued: its own or another idle one; else, among those it may use, the CPU with the least
    /// urgent task, if that is less urgent than `rank`; its own on a tie.
    pub fn claim(&mut self, cx: &Context, cpu: CpuId, task: TaskId, rank: R) -> Resched {
        let has_idle = !self.idle.is_empty();
        if has_idle && (self.idle.contains(cpu) || self.idle.first_allowed(cx, task).is_some()) {
            return self.idle.claim(cx, cpu, task);
        }
        match self.least_urgent(cx, cpu, task) {
            Some((victim, running)) if running < rank => {
                // Until it picks, the CPU counts as running the new task: the next arrival looks for another.
                self.revalue(victim, rank);
                Resched::Preempt(victim)
            }
            _ => Resched::Keep,
        }
    }

    /// Like `claim`, for a task that lost its CPU: takes an idle CPU and preempts no task.
    #[inline]
    pub fn claim_idle(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> Resched {
        if self.idle.is_empty() { Resched::Keep } else { self.idle.claim(cx, cpu, task) }
    }

    /// The idle CPUs.
    #[inline]
    pub fn idle(&self) -> &IdleCpus {
        &self.idle
    }

    /// The CPU that runs the least urgent task among those `task` may use, `home` first among equals.
    pub fn least_urgent(&self, cx: &Context, home: CpuId, task: TaskId) -> Option<(CpuId, R)> {
        let affinity = &cx.tasks[task].affinity;
        let running_cpus = cx.machine.cpu_ids().filter(|cpu| affinity.contains(*cpu));
        let ranked = running_cpus.filter_map(|cpu| {
            cx.examined(Effort::Balance, 1);
            self.running[cpu.index()].map(|(_, rank)| (cpu, rank))
        });
        ranked.min_by_key(|(cpu, rank)| (*rank, *cpu != home, *cpu))
    }
}
