//! Tasks: their private part, how they start, wake and sleep.

use crate::calendar::Entry;
use crate::{Host, class, context};
use goodness_core::{
    Behaviour, Context, CpuId, CpuSet, Enqueue, Event, LockId, Observer, Overhead, Registered, Rng, Seed, Span, Start,
    State, TaskId, Time, WakeSource, Workload,
};

/// What the host knows of a task and policies do not.
pub struct TaskRun {
    pub behaviour: Box<dyn Behaviour>,
    pub rng: Rng,
    /// Work left of the current burst, at full speed.
    left: Span,
    /// Validity of the pending timer.
    pub stamp: u32,
    /// Where it last ran, once it has run.
    pub ran_on: Option<CpuId>,
    /// A lock to take before the next step.
    pub retake: Option<LockId>,
    /// It called to sleep until then and is not switched out yet.
    pub falling_asleep: Option<Time>,
    /// Whether it begins by a fork (and not from the start).
    pub forked: bool,
}

impl TaskRun {
    /// Whether the burst is complete.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.left == Span::ZERO
    }

    /// Begins a burst.
    #[inline]
    pub fn begin(&mut self, work: Span) {
        self.left = work;
    }

    /// Time the rest of the burst takes on a CPU of this capacity.
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

impl<P: Registered, O: Observer> Host<'_, P, O> {
    /// Enters the workload's tasks and their starts.
    pub fn enlist(&mut self, workload: Workload, seed: Seed) {
        for (index, spec) in workload.tasks.into_iter().enumerate() {
            let mut task = spec.task;
            task.state = State::New;
            if task.affinity != CpuSet::All && !self.machine.cpu_ids().any(|c| task.affinity.contains(c)) {
                return self.at_fault(TaskId(index as u32), "may run on no CPU of this machine".into());
            }
            let id = self.tasks.push(task);
            self.runs.push(TaskRun {
                behaviour: spec.behaviour,
                rng: seed.stream("task", index as u64).rng(),
                left: Span::ZERO,
                stamp: 0,
                ran_on: None,
                retake: None,
                falling_asleep: None,
                forked: matches!(spec.start, Start::Forked),
            });
            match spec.start {
                Start::At(at) => self.calendar.push(at, class::WAKE, Entry::Start(id)),
                Start::WokenAt(at) => {
                    self.calendar.push(at, class::WAKE, Entry::FirstWake(id));
                    self.admit(id, None);
                    self.tasks[id].state = State::Blocked;
                }
                Start::Forked => continue,
            }
            self.live += 1;
        }
        self.enlist_outside(workload.outside, seed);
    }

    fn admit(&mut self, task: TaskId, parent: Option<TaskId>) {
        if let Err(rejected) = self.policy.admit(&context!(self), task, parent) {
            self.at_fault(task, format!("was refused by {}: {}", P::ABOUT.name, rejected.reason));
        }
        self.emit(Event::Fork { parent, child: task });
    }

    /// A task begins to exist and becomes runnable. A start by the host was counted as live when entered.
    pub fn start(&mut self, task: TaskId, parent: Option<TaskId>) {
        if parent.is_some() {
            self.live += 1;
        }
        self.admit(task, parent);
        if self.fault.is_some() {
            return;
        }
        if let Some(parent) = parent {
            self.tasks[task].cpu = self.tasks[parent].cpu;
        }
        let by = self.tasks[task].cpu;
        self.place(task, Enqueue::Fork { parent }, parent, WakeSource::Task, by);
    }

    /// A task that existed from the beginning is woken for the first time.
    pub fn first_wake(&mut self, task: TaskId) {
        self.live -= 1;
        self.wake(task, None, false);
    }

    /// A sleep is over, unless something else ended it.
    pub fn timer_expired(&mut self, task: TaskId, stamp: u32) {
        let cpu = self.tasks[task].cpu;
        self.cpus[cpu.index()].interrupted = self.now;
        if self.runs[task.index()].stamp == stamp && self.tasks[task].state == State::Blocked {
            self.live -= 1;
            self.wake(task, None, false);
            self.timer_cost(cpu);
        }
    }

    /// The earliest time at which a timer with slack may expire: it does if its CPU is interrupted now anyway.
    pub fn slack_begins(&mut self, task: TaskId, stamp: u32) {
        if self.cpus[self.tasks[task].cpu.index()].interrupted == self.now {
            self.timer_expired(task, stamp);
        } else {
            self.calendar.push(self.now + self.timer_slack, class::WAKE, Entry::Timer(task, stamp));
        }
    }

    /// Makes the blocked `task` runnable. `waker` runs right now on its own CPU; without one, an interrupt
    /// on the CPU where the task last ran does it.
    pub fn wake(&mut self, task: TaskId, waker: Option<TaskId>, sync: bool) {
        debug_assert_eq!(self.tasks[task].state, State::Blocked);
        self.live += 1;
        let on = self.tasks[waker.unwrap_or(task)].cpu;
        let from = if waker.is_some() { WakeSource::Task } else { WakeSource::Interrupt };
        self.place(task, Enqueue::Wakeup { waker, on, sync, from }, waker, from, on);
    }

    /// Chooses a CPU for `task` and queues it there. `by` is the CPU that does the work.
    fn place(&mut self, task: TaskId, why: Enqueue, waker: Option<TaskId>, from: WakeSource, by: CpuId) {
        let cpu = self.policy.select_cpu(&context!(self), task, &why);
        if cpu.index() >= self.cpus.len() || !self.tasks[task].affinity.contains(cpu) {
            return self.fail(format!("selected {cpu} for {task}, which its affinity or the machine forbids"));
        }
        let home = std::mem::replace(&mut self.tasks[task].cpu, cpu);
        self.emit(Event::Wakeup { task, waker, cpu, from });
        if home != cpu && self.runs[task.index()].ran_on.is_some() {
            self.emit(Event::Migrate { task, from: home, to: cpu });
        }
        self.join(task, cpu, why, by);
        let cost = self.effort_cost(by) + self.machine.costs.wakeup;
        if cost > Span::ZERO {
            self.pay_for_wakeup(by, cost, waker.is_some());
        }
    }

    /// Takes the time of a wake-up from what runs on `by`: the waker itself, or whom the interrupt disturbs. On an
    /// idle CPU nobody is delayed.
    fn pay_for_wakeup(&mut self, by: CpuId, cost: Span, by_task: bool) {
        let disturbed = self.cpus[by.index()].current;
        if !by_task && disturbed.is_none() {
            return;
        }
        self.interrupt(by, Overhead::Wakeup, self.machine.costs.wakeup);
        self.cpus[by.index()].working += cost.saturating_sub(self.machine.costs.wakeup);
        if let (false, Some(task)) = (by_task, disturbed) {
            self.arm(by, task);
        }
    }

    /// Puts the end of a sleep of `task` into the calendar.
    #[inline]
    pub fn set_timer(&mut self, task: TaskId, at: Time) {
        let run = &mut self.runs[task.index()];
        run.stamp = run.stamp.wrapping_add(1);
        self.live += 1;
        let stamp = run.stamp;
        if self.timer_slack == Span::ZERO || self.tasks[task].class.is_realtime() {
            self.calendar.push(at, class::WAKE, Entry::Timer(task, stamp));
        } else {
            self.calendar.push(at, class::SLACK, Entry::Slack(task, stamp));
        }
    }
}
