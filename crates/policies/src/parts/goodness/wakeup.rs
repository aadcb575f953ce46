//! The CPU on which a task that became runnable runs, and the running task it preempts (specs section 1.5).

use super::{Goodness, Kernel};
use goodness_core::{Context, CpuId, Effort, Enqueue, Resched, TaskId};

impl<K: Kernel> Goodness<K> {
    /// 2.4: for a sync wake-up, the CPU of the waker, which is not asked to reschedule.
    pub(super) fn woken_quietly(&self, cx: &Context, task: TaskId, why: &Enqueue) -> Option<CpuId> {
        match why {
            Enqueue::Wakeup { sync: true, on, waker: Some(_), .. }
                if self.switches.rules.sync_wakeups && cx.tasks.may_run(task, *on) =>
            {
                Some(*on)
            }
            _ => None,
        }
    }

    /// An idle CPU for a task whose own is busy: in 2.4 the one idle longest, whole cores first.
    pub(super) fn find_idle(&self, cx: &Context, task: TaskId) -> Option<CpuId> {
        if !self.switches.rules.longest_idle {
            return self.idle.first_allowed(cx, task);
        }
        let whole =
            |cpu: CpuId| cx.machine.group(cpu, goodness_core::Level::Smt).iter().all(|c| self.idle.contains(*c));
        let allowed = self.idle.iter().filter(|cpu| {
            cx.examined(Effort::Balance, 1);
            cx.tasks.may_run(task, *cpu)
        });
        allowed.min_by_key(|cpu| (!whole(*cpu), self.cpus[cpu.index()].idle_since, *cpu))
    }

    /// The preemption check for a newly runnable task (specs 1.5). `on` is the CPU of the wake-up.
    pub(super) fn reschedule(&mut self, cx: &Context, cpu: CpuId, on: CpuId, task: TaskId) -> Resched {
        if self.idle.contains(cpu) {
            // Its CPU notices by itself. 2.0 also looks at the running task.
            self.idle.set(cpu, false);
            if !self.switches.rules.idle_cpu_looks_on {
                return Resched::Keep;
            }
        }
        if self.switches.rules.preempt_by_goodness {
            return self.preempt_by_goodness(cx, task);
        }
        let here = if cx.tasks.may_run(task, on) { on } else { cpu };
        let Some(current) = self.current(here) else { return Resched::Keep };
        let ahead = self.entities[task].counter > self.entities[current].counter + self.switches.threshold;
        if ahead || cx.tasks[task].class.is_realtime() { Resched::Preempt(here) } else { Resched::Keep }
    }

    /// 2.4: the CPU where the woken task's goodness exceeds the running task's by most.
    fn preempt_by_goodness(&self, cx: &Context, task: TaskId) -> Resched {
        let mut most = self.switches.threshold;
        let mut answer = Resched::Keep;
        for cpu in cx.machine.cpu_ids().filter(|cpu| cx.tasks.may_run(task, *cpu)) {
            let Some(current) = self.current(cpu) else { continue };
            cx.examined(Effort::Balance, 1);
            let election = self.election(cx, cpu);
            let difference = self.weigh(cx, election, task) - self.weigh(cx, election, current);
            if difference > most {
                most = difference;
                answer = Resched::Preempt(cpu);
            }
        }
        answer
    }
}
