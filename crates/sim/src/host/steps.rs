//! Performs the steps that behaviours ask for.

use super::Host;
use super::tasks::{Deferred, Section};
use crate::places::Waiting;
use goodness_core::{
    Channel, CpuId, CpuSet, Enqueue, Event, GroupId, IoStep, Off, Overhead, Preemption, Span, State, Step, Stop, Task,
    TaskId, Time,
};

/// Consecutive zero-time steps after which a task counts as stuck.
const IDLE_STEPS: u32 = 1_000_000;

/// Continuation of a task after a step.
pub enum Then {
    /// The next step follows.
    Next,
    /// It left the CPU, started a burst, or the run failed.
    Stop,
}

/// True if the kernel sees the step: it ends an extension of the slice, and a lazy request acts at its return. Locks
/// are taken in user mode.
fn is_system_call(step: &Step) -> bool {
    !matches!(
        step,
        Step::Compute(_)
            | Step::BeginCritical
            | Step::EndCritical
            | Step::Lock(_)
            | Step::LockShared(_)
            | Step::Unlock(_)
            | Step::Served(_)
    )
}

impl Host<'_> {
    /// Continues the task on `cpu` after its burst: takes steps until one takes time, the task leaves the CPU, or the
    /// CPU is asked to reschedule.
    #[inline(never)]
    pub fn step(&mut self, cpu: CpuId, task: TaskId) {
        self.take_steps(cpu, task, IDLE_STEPS);
    }

    /// Like [`Self::step`], when the first step is known already.
    #[inline(never)]
    pub fn go_on_with(&mut self, cpu: CpuId, task: TaskId, step: Step) {
        let then = self.perform(cpu, task, step);
        if self.may_step_after(cpu, task, then) {
            self.take_steps(cpu, task, IDLE_STEPS - 1);
        }
    }

    fn take_steps(&mut self, cpu: CpuId, task: TaskId, steps_max: u32) {
        for _ in 0..steps_max {
            let then = match self.take_deferred(task) {
                Deferred::Nothing => self.next_step(cpu, task),
                Deferred::Retake(lock) => self.lock(cpu, task, lock, true),
                Deferred::LeaveKernel => {
                    self.leave_kernel(cpu, task);
                    Then::Next
                }
                Deferred::EnterKernel(work) => self.enter_kernel(cpu, task, work),
                Deferred::StopSpinning(lock) => self.stop_spinning(cpu, task, lock),
                Deferred::FallAsleep(until) => self.fall_asleep(cpu, task, until),
                Deferred::Held => self.take_held(cpu, task),
            };
            if !self.may_step_after(cpu, task, then) {
                return;
            }
        }
        self.at_fault(task, format!("took {IDLE_STEPS} steps in a row without using time"));
    }

    /// Takes the step of `task` that waited until it had been preempted.
    #[cold]
    fn take_held(&mut self, cpu: CpuId, task: TaskId) -> Then {
        let place = self.held.iter().position(|(whose, _)| *whose == task).expect("what was held");
        let (_, step) = self.held.swap_remove(place);
        self.perform(cpu, task, step)
    }

    /// True if the task takes another step at once. If host work or a reschedule comes before, the CPU is armed.
    fn may_step_after(&mut self, cpu: CpuId, task: TaskId, then: Then) -> bool {
        if matches!(then, Then::Stop) || self.is_at_fault() {
            return false;
        }
        let run = &self.cpus[cpu.index()];
        let goes_on =
            run.working <= self.now() && !self.referee.is_asked(cpu) && !(run.parks && self.may_park(cpu, task));
        if !goes_on {
            if self.storage.is_some() {
                self.submit_all();
            }
            self.arm(cpu, task);
        }
        goes_on
    }

    /// Gets the next step from the behaviour and performs it.
    #[inline]
    fn next_step(&mut self, cpu: CpuId, task: TaskId) -> Then {
        if self.storage.is_some() {
            return self.next_step_with_storage(cpu, task);
        }
        let now = self.now();
        let step = self.runs[task.index()].next_step(task, now);
        self.perform(cpu, task, step)
    }

    #[cold]
    fn next_step_with_storage(&mut self, cpu: CpuId, task: TaskId) -> Then {
        if self.charging.io && self.waits_after_work(task) {
            let then = self.wait_for_io(cpu, task);
            if self.preemption == Preemption::Lazy && matches!(then, Then::Next) {
                self.return_from_call(cpu, task);
            }
            return then;
        }
        self.take_ios(task);
        let deferred = self.deferred(task);
        let now = self.now();
        let run = &mut self.runs[task.index()];
        let step = deferred.unwrap_or_else(|| run.next_step(task, now));
        match self.unplug(cpu, task, step) {
            Ok(step) => self.perform(cpu, task, step),
            Err(then) => then,
        }
    }

    /// Performs the two most frequent kinds of step; [`Self::perform_other`] handles the rest.
    #[inline(always)]
    fn perform(&mut self, cpu: CpuId, task: TaskId, step: Step) -> Then {
        match step {
            Step::Compute(work) if work > Span::ZERO => {
                self.runs[task.index()].begin(work);
                self.arm(cpu, task);
                Then::Stop
            }
            Step::Sleep(span) if span > Span::ZERO => self.sleep_until(cpu, task, self.now() + span),
            step => self.perform_other(cpu, task, step),
        }
    }

    fn perform_other(&mut self, cpu: CpuId, task: TaskId, step: Step) -> Then {
        self.standstill.note(task, self.referee.now());
        if self.runs[task.index()].section == Section::Extended && is_system_call(&step) {
            self.leave_section(cpu, task);
            if let Step::Kernel(work) = step {
                self.defer(task, Deferred::EnterKernel(work));
                return Then::Next;
            }
        }
        // I/Os that follow each other are submitted by one call.
        let returns = is_system_call(&step) && !matches!(step, Step::Io(IoStep::Submit { .. }));
        let then = self.perform_rare(cpu, task, step);
        if returns && self.preemption == Preemption::Lazy && matches!(then, Then::Next) {
            self.return_from_call(cpu, task);
        }
        then
    }

    fn perform_rare(&mut self, cpu: CpuId, task: TaskId, step: Step) -> Then {
        match step {
            Step::Compute(_) | Step::Kernel(Span::ZERO) | Step::Sleep(_) => Then::Next,
            Step::Kernel(work) => self.enter_kernel(cpu, task, work),
            Step::BeginCritical => self.enter_section(task),
            Step::EndCritical => {
                self.leave_section(cpu, task);
                Then::Next
            }
            Step::SleepUntil(at) if at <= self.now() => Then::Next,
            Step::SleepUntil(at) => self.sleep_until(cpu, task, at),
            Step::Wait(channel) => self.wait(cpu, task, channel, Off::Sleeping),
            Step::WaitUninterruptible(channel) => self.wait(cpu, task, channel, Off::Uninterruptible),
            Step::Wake(channel) => self.post(task, channel, Some(task), false),
            Step::WakeSync(channel) => self.post(task, channel, Some(task), true),
            Step::Interrupt(channel) => self.post(task, channel, None, false),
            Step::WakeAll(channel) => self.post_all(task, channel),
            Step::Lock(lock) => self.lock(cpu, task, lock, false),
            Step::LockShared(lock) => self.lock_shared(cpu, task, lock),
            Step::Unlock(lock) => self.unlock(task, lock),
            Step::WaitUnlocked(channel, lock) => self.wait_unlocked(cpu, task, channel, lock),
            Step::Yield => {
                self.stop_runnable(cpu, task, Stop::Yielded, Enqueue::Yielded, Off::Yielded);
                Then::Stop
            }
            Step::Fork(child) => self.fork(task, TaskId(child.0)),
            Step::Exec => self.exec(cpu, task),
            Step::SetNice(nice) => {
                self.outbox.reclass(self.referee.now(), task, self.referee.tasks().class(task), nice);
                self.change(cpu, task, |it| it.nice = nice)
            }
            Step::SetClass(class, priority) => self.set_class(cpu, task, class, priority),
            Step::SetGroup(group) => self.set_group(cpu, task, group),
            Step::SetAffinity(cpus) => self.set_affinity(cpu, task, cpus),
            Step::Served(arrived) => {
                self.emit(Event::Served { task, latency: self.now().since(arrived) });
                Then::Next
            }
            Step::Io(step) => self.perform_io(cpu, task, step),
            Step::Exit => {
                if self.storage.is_some() {
                    self.exit_io(task);
                }
                self.agenda.live -= 1;
                self.reap(cpu);
                self.stop_blocked(cpu, task, Stop::Exited, Off::Exited);
                Then::Stop
            }
        }
    }

    fn enter_kernel(&mut self, cpu: CpuId, task: TaskId, work: Span) -> Then {
        self.runs[task.index()].begin(work);
        self.runs[task.index()].in_kernel = true;
        self.defer(task, Deferred::LeaveKernel);
        self.arm(cpu, task);
        Then::Stop
    }

    /// Blocks the task and takes it off its CPU.
    pub fn block(&mut self, cpu: CpuId, task: TaskId, off: Off) -> Then {
        self.agenda.live -= 1;
        self.stop_blocked(cpu, task, Stop::Blocked { interruptible: off == Off::Sleeping }, off);
        Then::Stop
    }

    /// Starts a sleep call: the task is switched out after the CPU time of the call.
    #[inline(always)]
    fn sleep_until(&mut self, cpu: CpuId, task: TaskId, at: Time) -> Then {
        let cost = self.machine.costs.sleep;
        if cost > Span::ZERO {
            self.defer(task, Deferred::FallAsleep(at));
            self.interrupt(cpu, Overhead::Switch, cost);
            return Then::Next;
        }
        self.fall_asleep(cpu, task, at)
    }

    /// Blocks until `at`, or continues at once if that has passed.
    #[inline(always)]
    pub fn fall_asleep(&mut self, cpu: CpuId, task: TaskId, at: Time) -> Then {
        if at <= self.now() {
            return Then::Next;
        }
        // Of what is live, the timer replaces the task.
        self.set_timer(task, at);
        self.stop_blocked(cpu, task, Stop::Blocked { interruptible: true }, Off::Sleeping);
        Then::Stop
    }

    pub fn wait(&mut self, cpu: CpuId, task: TaskId, channel: Channel, off: Off) -> Then {
        if !self.known(task, channel) {
            return Then::Stop;
        }
        match self.places.wait(channel, task) {
            Waiting::Passed => Then::Next,
            Waiting::Waits => self.block(cpu, task, off),
            Waiting::Opened => self.post_all(task, channel),
        }
    }

    /// `task` wakes the first waiter of `channel`, as `waker` or as an interrupt.
    fn post(&mut self, task: TaskId, channel: Channel, waker: Option<TaskId>, sync: bool) -> Then {
        if !self.known(task, channel) {
            return Then::Stop;
        }
        self.deliver(channel, waker, sync);
        Then::Next
    }

    /// Wakes one task that waits on `channel`, which exists.
    pub fn deliver(&mut self, channel: Channel, waker: Option<TaskId>, sync: bool) {
        if let Some(woken) = self.places.wake(channel) {
            self.wake_anyone(woken, waker, sync);
        }
    }

    /// Wakes a task or an outsider.
    pub fn wake_anyone(&mut self, woken: TaskId, waker: Option<TaskId>, sync: bool) {
        match woken.index().checked_sub(self.referee.tasks().len()) {
            None => self.wake(woken, waker, sync),
            Some(outsider) => self.outside.rouse(outsider as u32),
        }
    }

    fn post_all(&mut self, task: TaskId, channel: Channel) -> Then {
        if !self.known(task, channel) {
            return Then::Stop;
        }
        while let Some(woken) = self.places.wake_next(channel) {
            self.wake_anyone(woken, Some(task), false);
        }
        Then::Next
    }

    fn known(&mut self, task: TaskId, channel: Channel) -> bool {
        let known = self.places.has_channel(channel);
        if !known {
            self.at_fault(task, format!("used channel {}, which the workload does not have", channel.0));
        }
        known
    }

    fn fork(&mut self, parent: TaskId, child: TaskId) -> Then {
        let can = self.runs.get(child.index()).is_some_and(|run| run.is_forked);
        if !can || self.referee.tasks().state(child) != State::New {
            self.at_fault(parent, format!("forked {child}, which is not there to be forked or was forked before"));
            return Then::Stop;
        }
        self.start(child, Some(parent));
        Then::Next
    }

    /// Replaces the program of the running task: the stopper thread moves it if the policy wants it elsewhere.
    fn exec(&mut self, cpu: CpuId, task: TaskId) -> Then {
        let Some(to) = self.referee.exec(cpu, task) else { return Then::Stop };
        if to == cpu {
            return Then::Next;
        }
        self.evict(task, cpu, to);
        Then::Stop
    }

    /// Changes the running task: takes it off, edits it and requeues it; its CPU picks again.
    pub fn change(&mut self, cpu: CpuId, task: TaskId, edit: impl FnOnce(&mut Task)) -> Then {
        self.charge(cpu, Stop::Preempted);
        self.referee.edit(task, edit);
        self.requeue(cpu, task, Enqueue::Restored, Off::Preempted);
        Then::Stop
    }

    fn set_group(&mut self, cpu: CpuId, task: TaskId, group: GroupId) -> Then {
        if group.index() >= self.referee.groups().count() {
            self.at_fault(task, "asked for a group that does not exist".into());
            return Then::Stop;
        }
        if self.referee.tasks().group(task) == group {
            return Then::Next;
        }
        self.charge(cpu, Stop::Preempted);
        self.referee.edit(task, |it| it.group = group);
        self.tell_affinity(task);
        if self.referee.tasks().may_run(task, cpu) {
            self.requeue(cpu, task, Enqueue::Restored, Off::Preempted);
            return Then::Stop;
        }
        let Some(to) = self.referee.select_cpu(task, &Enqueue::Restored) else { return Then::Stop };
        self.take_away(task, cpu, to);
        Then::Stop
    }

    fn set_affinity(&mut self, cpu: CpuId, task: TaskId, cpus: CpuSet) -> Then {
        if !self.machine.cpu_ids().any(|c| cpus.contains(c)) {
            self.at_fault(task, "asked for an affinity without any CPU of this machine".into());
            return Then::Stop;
        }
        self.referee.edit(task, |it| it.affinity = cpus);
        self.tell_affinity(task);
        if self.referee.tasks().may_run(task, cpu) {
            return Then::Next;
        }
        let Some(to) = self.referee.select_cpu(task, &Enqueue::Restored) else { return Then::Stop };
        self.evict(task, cpu, to);
        Then::Stop
    }
}
