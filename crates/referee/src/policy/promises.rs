//! Promises that a policy may make about tasks that wait: the referee checks them before time passes.

use super::Referee;
use goodness_core::{CpuId, CpuPolicy, State, TaskId};

/// The promise about real-time tasks.
impl<P: CpuPolicy + ?Sized> Referee<P> {
    /// Checks, before time passes, that no real-time task waits while a CPU that it may use runs something less urgent,
    /// if the policy promises that. Tasks that may use a CPU that was asked to reschedule are exempt: the interrupt is
    /// on its way.
    #[inline]
    pub fn check_realtime(&mut self) {
        if !self.realtime.is_empty() && self.policy.waiting_realtime().is_some_and(|waiting| waiting > 0) {
            self.look_for_inversion();
        }
    }

    #[cold]
    fn look_for_inversion(&mut self) {
        let tasks = &self.cx.tasks;
        let waits = |task: &TaskId| {
            let is_realtime = tasks.class(*task).is_realtime();
            is_realtime && tasks.state(*task) == State::Queued && !self.policy.is_closed_to_realtime(tasks.cpu(*task))
        };
        let found = self.realtime.iter().copied().filter(waits).find_map(|task| {
            let allowed = || self.cx.machine.cpu_ids().filter(|cpu| tasks.may_run(task, *cpu));
            let is_less_urgent = |cpu: &CpuId| {
                let other = self.current(*cpu).map_or(0, |other| self.urgency(other));
                other < self.urgency(task) && !self.policy.is_closed_to_realtime(*cpu)
            };
            let cpu = allowed().find(is_less_urgent)?;
            (!allowed().any(|cpu| self.is_asked(cpu))).then_some((task, cpu))
        });
        if let Some((task, cpu)) = found {
            let other = self.current(cpu).map_or("idles".into(), |other| format!("runs {other}, which is less urgent"));
            self.refuse(&format!("left real-time {task} waiting on {}, while {cpu} {other}", tasks.cpu(task)));
        }
    }

    /// Urgency among real-time tasks; that of a task with a reservation is above all of them.
    fn urgency(&self, task: TaskId) -> u8 {
        if self.policy.deadline(task).is_some() {
            return u8::MAX;
        }
        if self.cx.tasks.class(task).is_realtime() { self.cx.tasks[task].rt_priority } else { 0 }
    }
}

/// The promise about reservations.
impl<P: CpuPolicy + ?Sized> Referee<P> {
    /// Checks, before time passes, that no task with a reservation and budget waits while a CPU that it may use runs
    /// something of a later deadline, or of none, if the policy promises that. Tasks that may use a CPU that was asked
    /// to reschedule are exempt: the interrupt is on its way.
    #[inline]
    pub fn check_reservations(&mut self) {
        if self.has_reservations && self.policy.waiting_reservations().is_some_and(|waiting| waiting > 0) {
            self.look_for_later_deadline();
        }
    }

    #[cold]
    fn look_for_later_deadline(&mut self) {
        let tasks = &self.cx.tasks;
        let waiting = (0..tasks.len() as u32).map(TaskId).filter(|task| tasks.state(*task) == State::Queued);
        let mut all = waiting.filter_map(|task| Some((task, self.policy.deadline(task)?)));
        let found = all.find_map(|(task, deadline)| {
            let allowed = || self.cx.machine.cpu_ids().filter(|cpu| tasks.may_run(task, *cpu));
            let is_later = |cpu: &CpuId| {
                let of_task = self.current(*cpu).and_then(|other| self.policy.deadline(other));
                let of_cpu = of_task.or(self.policy.served_deadline(*cpu));
                of_cpu.is_none_or(|other| other > deadline)
            };
            let cpu = allowed().find(is_later)?;
            (!allowed().any(|cpu| self.is_asked(cpu))).then_some((task, cpu, deadline))
        });
        if let Some((task, cpu, deadline)) = found {
            let other = self.current(cpu).map_or("idles".into(), |other| format!("runs {other}, whose is not earlier"));
            self.refuse(&format!(
                "left {task}, whose deadline is {deadline}, waiting on {}, while {cpu} {other}",
                tasks.cpu(task)
            ));
        }
    }
}

/// The promise about limits of groups.
impl<P: CpuPolicy + ?Sized> Referee<P> {
    /// Checks, before time passes, that no task runs whose group is throttled, and that no CPU idles while a task is
    /// queued there whose group is not, if the policy has limits. CPUs that were asked to reschedule are exempt: the
    /// interrupt is on its way.
    #[inline]
    pub fn check_limits(&mut self) {
        if self.has_limits {
            self.look_for_wrong_limits();
        }
    }

    #[cold]
    fn look_for_wrong_limits(&mut self) {
        let tasks = &self.cx.tasks;
        let found = self.cx.machine.cpu_ids().filter(|cpu| !self.is_asked(*cpu)).find_map(|cpu| {
            if let Some(task) = self.current(cpu) {
                let is_wrong = !tasks.class(task).is_realtime() && self.policy.is_throttled(task) == Some(true);
                return is_wrong.then(|| format!("runs {task} on {cpu}, whose group is throttled there"));
            }
            let waits = |task: &TaskId| {
                let is_here = tasks.state(*task) == State::Queued && tasks.cpu(*task) == cpu;
                is_here && !tasks.class(*task).is_realtime() && self.policy.is_throttled(*task) == Some(false)
            };
            let task = (0..tasks.len() as u32).map(TaskId).find(waits)?;
            Some(format!("left {cpu} idle, where {task} is queued and not throttled"))
        });
        if let Some(what) = found {
            self.refuse(&what);
        }
    }
}
