//! The host's state of tasks: start, wake-up and sleep.

use super::Host;
use crate::calendar::Entry;
use crate::calendar::class;
use goodness_core::{
    Behaviour, CpuId, CpuSet, Enqueue, Event, FaultKind, LockId, Overhead, Preemption, Rng, Seed, Span, Start, State,
    Step, StepContext, TaskId, Time, WakeSource, Workload,
};

/// The host's state of a task, hidden from policies: one cache line, touched by each burst. Other data is in columns of
/// the host.
#[repr(align(64))]
pub struct TaskRun {
    pub behaviour: Box<dyn Behaviour>,
    pub rng: Rng,
    /// Remaining work of the current burst, at full speed.
    left: Span,
    /// CPU it last ran on, or [`TaskRun::NOWHERE`].
    ran_on: u32,
    /// True if it has something to do before its next step; see [`Deferred`].
    pub is_deferred: bool,
    /// True if its burst is in the kernel.
    pub in_kernel: bool,
    /// Its critical section.
    pub section: Section,
    /// True if a fork starts the task; false if the host starts it.
    pub is_forked: bool,
}

/// State of a task that concerns its critical section in user mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// It is in none, or lost its CPU within it.
    None,
    /// A request to reschedule would wait.
    Requested,
    /// A request waits; no other one will.
    Extended,
}

const _: () = assert!(size_of::<TaskRun>() == 64, "a task is one cache line");

/// Deferred work before a task's next step.
#[derive(Clone, Copy, Debug, Default)]
pub enum Deferred {
    /// None.
    #[default]
    Nothing,
    /// Takes a lock again.
    Retake(LockId),
    /// Returns from the kernel.
    LeaveKernel,
    /// Enters the kernel for this long.
    EnterKernel(Span),
    /// Stops to spin for a lock.
    StopSpinning(LockId),
    /// Called sleep until this time and is not switched out yet.
    FallAsleep(Time),
    /// Takes a step that waited until the task had been preempted.
    Held,
}

impl TaskRun {
    /// Marks a task that never ran.
    const NOWHERE: u32 = u32::MAX;

    /// The CPU it last ran on; `None` before its first run.
    #[inline]
    pub fn ran_on(&self) -> Option<CpuId> {
        (self.ran_on != TaskRun::NOWHERE).then_some(CpuId(self.ran_on))
    }

    /// It runs on `cpu`.
    #[inline]
    pub fn runs_on(&mut self, cpu: CpuId) {
        self.ran_on = cpu.0;
    }

    /// True if the burst is complete.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.left == Span::ZERO
    }

    /// Has the behaviour of `task`, which this is, say its next step.
    #[inline(always)]
    pub fn next_step(&mut self, task: TaskId, now: Time) -> Step {
        self.behaviour.next(&mut StepContext { now, task, rng: &mut self.rng })
    }

    /// Starts a burst.
    #[inline]
    pub fn begin(&mut self, work: Span) {
        self.left = work;
    }

    /// Remaining work of the burst.
    #[inline]
    pub fn left(&self) -> Span {
        self.left
    }

    /// Wall time of the remaining burst on a CPU of this capacity.
    #[inline]
    pub fn wall_left(&self, capacity: u32) -> Span {
        if capacity == 1024 || self.left == Span::MAX {
            return self.left;
        }
        Span((u128::from(self.left.0) * 1024).div_ceil(u128::from(capacity.max(1))) as u64)
    }

    /// Does `wall` of work on a CPU of this capacity.
    #[inline]
    pub fn work(&mut self, wall: Span, capacity: u32) {
        if self.left == Span::MAX {
            return;
        }
        let done =
            if capacity == 1024 { wall } else { Span((u128::from(wall.0) * u128::from(capacity) / 1024) as u64) };
        self.left = self.left.saturating_sub(done);
    }
}

impl Host<'_> {
    /// Enters the workload's tasks and their starts.
    pub fn enlist(&mut self, workload: Workload, seed: Seed) {
        self.referee.set_groups(workload.groups);
        if workload.faults.iter().any(|it| it.kind == FaultKind::Offline) {
            self.referee.expect_offline();
        }
        if self.referee.has_limits() && workload.warmup > Span::ZERO {
            self.agenda.calendar.push(Time::ZERO + workload.warmup, class::WAKE, Entry::Warm);
        }
        let of_work = workload.tasks.len() - workload.workers;
        for (index, spec) in workload.tasks.into_iter().enumerate() {
            let task = spec.task;
            if task.group.index() >= self.referee.groups().count() {
                return self.at_fault(TaskId(index as u32), "is in a group that does not exist".into());
            }
            if task.affinity != CpuSet::All && !self.machine.cpu_ids().any(|c| task.affinity.contains(c)) {
                return self.at_fault(TaskId(index as u32), "may run on no CPU of this machine".into());
            }
            let id = self.referee.add(task);
            if !self.machine.cpu_ids().any(|cpu| self.referee.tasks().may_run(id, cpu)) {
                return self.at_fault(id, "is in a group that may use no CPU of this machine".into());
            }
            if self.referee.groups().has_cpusets() {
                self.tell_affinity(id);
            }
            self.runs.push(TaskRun {
                behaviour: spec.behaviour,
                rng: seed.stream("task", index as u64).rng(),
                left: Span::ZERO,
                ran_on: TaskRun::NOWHERE,
                is_deferred: false,
                in_kernel: false,
                section: Section::None,
                is_forked: matches!(spec.start, Start::Forked),
            });
            self.deferred.push(Deferred::Nothing);
            match spec.start {
                Start::At(at) => self.agenda.calendar.push(at, class::WAKE, Entry::Start(id)),
                Start::WokenAt(at) => {
                    self.agenda.calendar.push(at, class::WAKE, Entry::FirstWake(id));
                    self.admit(id, None);
                    self.referee.begin_asleep(id);
                }
                Start::Forked => continue,
            }
            self.agenda.live += u64::from(index < of_work);
        }
        self.enlist_faults(workload.faults);
        self.enlist_outside(workload.outside, seed);
    }

    fn admit(&mut self, task: TaskId, parent: Option<TaskId>) {
        if let Err(rejected) = self.referee.admit(task, parent) {
            self.at_fault(task, format!("was refused by {}: {}", self.referee.about().name, rejected.reason));
        }
        self.emit(Event::Fork { parent, child: task });
    }

    /// Starts a task and makes it runnable. A start by the host counted as live when it was entered.
    pub fn start(&mut self, task: TaskId, parent: Option<TaskId>) {
        if parent.is_some() {
            self.agenda.live += 1;
        }
        self.admit(task, parent);
        if self.is_at_fault() {
            return;
        }
        if let Some(parent) = parent {
            let home = self.cpu_of(parent);
            self.referee.set_home(task, home);
        }
        let by = self.cpu_of(task);
        self.place(task, || Enqueue::Fork { parent }, parent, WakeSource::Task, by);
    }

    /// A task that existed from the beginning is woken for the first time.
    pub fn first_wake(&mut self, task: TaskId) {
        self.agenda.live -= 1;
        self.wake(task, None, false);
    }

    /// Ends a sleep.
    #[inline(always)]
    pub fn timer_expired(&mut self, task: TaskId) {
        let cpu = self.interrupted_cpu(task);
        if self.timer_slack > Span::ZERO {
            self.cpus[cpu.index()].interrupted = self.now();
        }
        // Of what is live, the task replaces its timer.
        self.wake_on(task, None, cpu, false);
        if self.charging.timers {
            self.timer_cost(cpu);
        }
    }

    /// The earliest time at which a timer with slack may expire: it does if its CPU is interrupted now anyway.
    pub fn slack_begins(&mut self, task: TaskId) {
        if self.cpus[self.interrupted_cpu(task).index()].interrupted == self.now() {
            self.timer_expired(task);
        } else {
            self.agenda.calendar.push(self.now() + self.timer_slack, class::WAKE, Entry::Timer(task));
        }
    }

    /// Makes the blocked `task` runnable. `waker` is running on its own CPU; if `None`, an interrupt on the task's last
    /// CPU wakes it, or on another one while that CPU is offline.
    #[inline]
    pub fn wake(&mut self, task: TaskId, waker: Option<TaskId>, sync: bool) {
        self.agenda.live += 1;
        let on = waker.map_or_else(|| self.interrupted_cpu(task), |waker| self.cpu_of(waker));
        self.wake_on(task, waker, on, sync);
    }

    /// Like [`Self::wake`], by the CPU `on`; counts nothing as live.
    #[inline(always)]
    fn wake_on(&mut self, task: TaskId, waker: Option<TaskId>, on: CpuId, sync: bool) {
        debug_assert_eq!(self.referee.tasks().state(task), State::Blocked);
        let from = if waker.is_some() { WakeSource::Task } else { WakeSource::Interrupt };
        self.place(task, || Enqueue::Wakeup { waker, on, sync, from }, waker, from, on);
        if waker.is_none() && self.preemption == Preemption::Lazy {
            self.return_to_user(on);
        }
    }

    /// Chooses a CPU for `task` and queues it there. `by` is the CPU that does the work.
    #[inline(always)]
    fn place(&mut self, task: TaskId, why: impl Fn() -> Enqueue, waker: Option<TaskId>, from: WakeSource, by: CpuId) {
        let Some(cpu) = self.referee.select_cpu(task, &why()) else { return };
        let home = self.cpu_of(task);
        self.emit(Event::Wakeup { task, waker, cpu, from });
        if home != cpu && self.runs[task.index()].ran_on().is_some() {
            self.emit(Event::Migrate { task, from: home, to: cpu });
        }
        self.enqueue(task, cpu, why(), by);
        if self.locks.changed > 0 {
            self.tell_changes(task, by);
        }
        if self.charging.wakeups {
            let cost = self.effort_cost(by) + self.machine.costs.wakeup;
            if cost > Span::ZERO {
                self.pay_for_wakeup(by, cost, waker.is_some());
            }
        }
    }

    /// Charges a wake-up to the task running on `by`: the waker itself, or the interrupted task. On an idle CPU nobody
    /// is delayed.
    fn pay_for_wakeup(&mut self, by: CpuId, cost: Span, by_task: bool) {
        let disturbed = self.referee.current(by);
        if !by_task && disturbed.is_none() {
            return;
        }
        self.interrupt(by, Overhead::Wakeup, self.machine.costs.wakeup);
        self.cpus[by.index()].working += cost.saturating_sub(self.machine.costs.wakeup);
        if let (false, Some(task)) = (by_task, disturbed) {
            self.arm(by, task);
        }
    }

    /// The task does this before its next step.
    pub fn defer(&mut self, task: TaskId, what: Deferred) {
        self.runs[task.index()].is_deferred = true;
        self.deferred[task.index()] = what;
    }

    /// Takes the deferred work before the task's next step.
    #[inline]
    pub fn take_deferred(&mut self, task: TaskId) -> Deferred {
        if std::mem::take(&mut self.runs[task.index()].is_deferred) {
            return std::mem::take(&mut self.deferred[task.index()]);
        }
        Deferred::Nothing
    }

    /// Enters the end of the sleep of `task` in the calendar. The caller counts it as live.
    #[inline(always)]
    pub fn set_timer(&mut self, task: TaskId, at: Time) {
        if self.timer_slack == Span::ZERO || self.task(task).class.is_realtime() {
            self.agenda.calendar.push(at, class::WAKE, Entry::Timer(task));
        } else {
            self.agenda.calendar.push(at, class::SLACK, Entry::Slack(task));
        }
    }
}
