//! Preemption models: when a request to reschedule a busy CPU takes effect. `Full`, at once, is the rule of the rest of
//! this host; here is what the others hold back, and until when (specs/groups-locks.md section 4.1).
//!
//! A held request stays with the referee as one that is on its way. It is let go at the end of the kernel's span, and
//! `Lazy` lets it go at the next tick. A request is lazy if neither the task that runs nor the one that came is a
//! real-time task. In user mode, too, a request of another CPU waits for a tick, a system call or an interrupt; until
//! then the policy holds it, not the referee.
//!
//! A critical section in user mode keeps its CPU for some microseconds after a request, in kernels with extensions of
//! slices (section 4.4). The request waits for the end of the section, of the extension, or for a system call.
//!
//! A task of a group that is out of quota may be picked only to return to user mode, where it is stopped (section 2.3).

use super::Host;
use super::steps::Then;
use super::tasks::Section;
use crate::calendar::{Entry, class};
use goodness_core::{CpuId, Preemption, Span, TaskId};
use goodness_referee::policy::Asked;

impl Host<'_> {
    /// True if the task that runs on `cpu` cannot lose it now.
    #[inline]
    pub fn holds_back(&self, cpu: CpuId, task: TaskId) -> bool {
        self.runs[task.index()].in_kernel && self.cannot_leave_kernel(cpu)
    }

    #[cold]
    fn cannot_leave_kernel(&self, cpu: CpuId) -> bool {
        match self.preemption {
            Preemption::Full => false,
            Preemption::Lazy => self.cpus[cpu.index()].lazy,
            Preemption::None | Preemption::Voluntary => true,
        }
    }

    /// The task that runs on `cpu` leaves the kernel: requests take effect.
    pub fn leave_kernel(&mut self, cpu: CpuId, task: TaskId) {
        self.runs[task.index()].in_kernel = false;
        if self.referee.is_asked(cpu) || self.referee.waits_for_tick(cpu) && self.referee.ask(cpu) {
            self.asked.push(cpu);
        }
    }

    /// The task that runs on `cpu` returns to user mode after a system call or an interrupt: under `Lazy`, a request of
    /// another CPU takes effect.
    pub fn return_to_user(&mut self, cpu: CpuId) {
        if !self.is_in_kernel(cpu) && self.referee.waits_for_tick(cpu) && self.referee.ask(cpu) {
            self.will_reschedule(cpu, Some(cpu));
        }
    }

    /// `task`, which runs on `cpu`, returns from a system call, unless that goes on when its CPU has worked for it.
    pub fn return_from_call(&mut self, cpu: CpuId, task: TaskId) {
        if !self.storage.as_ref().is_some_and(|storage| storage.will_wait(task)) {
            self.return_to_user(cpu);
        }
    }

    /// `task` begins a critical section, which matters in kernels with extensions of slices.
    pub fn enter_section(&mut self, task: TaskId) -> Then {
        if self.slice_extension > Span::ZERO {
            self.runs[task.index()].section = Section::Requested;
        }
        Then::Next
    }

    /// The critical section of `task` ends: a request that waited for it takes effect.
    pub fn leave_section(&mut self, cpu: CpuId, task: TaskId) {
        let section = std::mem::replace(&mut self.runs[task.index()].section, Section::None);
        if section == Section::Extended && self.referee.is_asked(cpu) {
            self.asked.push(cpu);
        }
    }

    /// True if `task`, which runs on `cpu`, goes on in its critical section instead of being rescheduled now. It does
    /// so once a section.
    #[inline]
    pub fn extends(&mut self, cpu: CpuId, task: TaskId) -> bool {
        self.runs[task.index()].section == Section::Requested && self.grant_extension(cpu, task)
    }

    #[cold]
    fn grant_extension(&mut self, cpu: CpuId, task: TaskId) -> bool {
        let run = &mut self.runs[task.index()];
        if run.in_kernel || self.cpus[cpu.index()].parks {
            return false;
        }
        run.section = Section::Extended;
        let (ends, stamp) = (self.now() + self.slice_extension, self.cpus[cpu.index()].ask_stamp);
        self.agenda.calendar.push(ends, class::RESCHEDULE, Entry::Reschedule(cpu, stamp));
        true
    }

    /// True if `task`, which runs on `cpu` and is to be parked, would return to user mode now.
    #[cold]
    pub fn may_park(&self, cpu: CpuId, task: TaskId) -> bool {
        self.cpus[cpu.index()].working <= self.now()
            && !self.locks.keep_in_kernel(task, &self.runs[task.index()], &self.deferred)
    }

    /// `task` came to `cpu` under `Lazy`, and these CPUs were newly asked to reschedule. Returns those to tell.
    #[cold]
    pub fn note_lazy(&mut self, task: TaskId, cpu: CpuId, asked: Asked) -> Asked {
        let is_urgent = self.referee.tasks().class(task).is_realtime();
        let is_held = self.is_in_kernel(cpu);
        if is_urgent && is_held && std::mem::take(&mut self.cpus[cpu.index()].lazy) {
            return [Some(cpu), asked[0].filter(|it| *it != cpu)];
        }
        for it in asked.into_iter().flatten() {
            self.cpus[it.index()].lazy = !is_urgent && self.runs_fair(it);
        }
        asked
    }

    /// The tick of `cpu` begins under `Lazy`: what was asked for before is urgent now. True if there was such a
    /// request.
    #[cold]
    pub fn promote_lazy(&mut self, cpu: CpuId) -> bool {
        let was_lazy = std::mem::take(&mut self.cpus[cpu.index()].lazy);
        let is_held = self.is_in_kernel(cpu);
        if was_lazy && is_held && self.referee.is_asked(cpu) {
            self.asked.push(cpu);
        }
        was_lazy || self.referee.waits_for_tick(cpu)
    }

    /// True if the task that runs on `cpu` is in the kernel.
    fn is_in_kernel(&self, cpu: CpuId) -> bool {
        self.referee.current(cpu).is_some_and(|task| self.runs[task.index()].in_kernel)
    }

    /// True if `cpu` runs a task that is not a real-time task.
    pub fn runs_fair(&self, cpu: CpuId) -> bool {
        self.referee.current(cpu).is_some_and(|task| !self.referee.tasks().class(task).is_realtime())
    }
}
