//! Execution: who runs where, since when, and what interrupts it.

use crate::calendar::Entry;
use crate::tasks::TaskRun;
use crate::{Host, class, context};
use goodness_core::{
    Context, CpuId, Dequeue, Enqueue, Event, Idle, Observer, Off, Overhead, Pick, Pull, Registered, Resched, Span,
    State, Stop, TaskId, Time,
};

/// One CPU.
#[derive(Clone, Copy, Debug)]
pub struct CpuRun {
    /// Who runs.
    pub current: Option<TaskId>,
    /// Who ran last, for the cost of cold caches.
    pub last: Option<TaskId>,
    /// When `current` was picked or last charged.
    pub charged: Time,
    /// From when on `current` does its own work: before it, the CPU works for the host.
    pub working: Time,
    /// When the slice of the pick ends.
    pub slice_end: Time,
    /// When a tick or a timer last interrupted it.
    pub interrupted: Time,
    /// The machine's, at hand.
    pub capacity: u32,
    /// Whether a tick is in the calendar.
    pub tick_armed: bool,
    /// Whether the CPU was asked to reschedule and has not done so yet.
    pub asked: bool,
    /// Validity of a pending `Reschedule` entry: picking for any reason answers what was asked before.
    pub ask_stamp: u32,
}

impl CpuRun {
    /// A CPU that never ran anything.
    pub fn idle(capacity: u32) -> CpuRun {
        CpuRun {
            current: None,
            last: None,
            charged: Time::ZERO,
            working: Time::ZERO,
            slice_end: Time::NEVER,
            interrupted: Time::NEVER,
            capacity,
            tick_armed: false,
            asked: false,
            ask_stamp: 0,
        }
    }

    /// When the burst `work` or the slice ends.
    #[inline]
    fn ends(&self, work: &TaskRun) -> Time {
        (self.working + work.wall_left(self.capacity)).min(self.slice_end)
    }

    /// Does `work` up to `now`.
    #[inline]
    fn settle(&mut self, now: Time, work: &mut TaskRun) {
        if now > self.working {
            work.work(now.since(self.working), self.capacity);
            self.working = now;
        }
    }
}

impl<P: Registered, O: Observer> Host<'_, P, O> {
    /// Asks `cpu` to reschedule. A tick's wish is heeded at once (`by` is `None`); a wake-up's after the time it
    /// takes to interrupt another CPU, to leave the kernel, or for an idle CPU to wake up.
    #[inline]
    pub fn ask(&mut self, cpu: CpuId, by: Option<CpuId>) {
        let run = &mut self.cpus[cpu.index()];
        if run.asked {
            return;
        }
        run.asked = true;
        let costs = &self.machine.costs;
        let mut delay = Span::ZERO;
        if by.is_some_and(|from| from != cpu) {
            delay += costs.interrupt;
        }
        match (run.current, by) {
            (None, _) => delay += costs.idle_exit,
            (Some(_), Some(from)) if from == cpu => delay += costs.preempt,
            _ => {}
        }
        if delay == Span::ZERO {
            self.asked.push(cpu);
        } else {
            self.calendar.push(self.now + delay, class::RESCHEDULE, Entry::Reschedule(cpu, run.ask_stamp));
        }
    }

    /// All CPUs that were asked at this instant stop what they do and pick again.
    pub fn reschedule_asked(&mut self) {
        let mut index = 0;
        while index < self.asked.len() {
            let cpu = self.asked[index];
            index += 1;
            if !self.cpus[cpu.index()].asked {
                continue;
            }
            match self.cpus[cpu.index()].current {
                Some(task) => {
                    self.settle(cpu);
                    self.leave_runnable(cpu, task, Stop::Preempted, Enqueue::Preempted, Off::Preempted);
                }
                None => self.schedule(cpu, None, Off::Preempted),
            }
        }
        self.asked.clear();
        self.arm_policy_timer();
    }

    /// The running task stays runnable but gives up its CPU, which picks again.
    pub fn leave_runnable(&mut self, cpu: CpuId, task: TaskId, stop: Stop, why: Enqueue, off: Off) {
        self.charge(cpu, task, stop);
        self.rejoin(cpu, task, why, off);
    }

    /// The task that just ran on `cpu`, charged already, is queued there again, and the CPU picks.
    pub fn rejoin(&mut self, cpu: CpuId, task: TaskId, why: Enqueue, off: Off) {
        self.tasks[task].state = State::Queued;
        self.cpus[cpu.index()].current = None;
        let answer = self.policy.enqueue(&context!(self), cpu, task, why);
        self.heed_others(answer, cpu);
        self.schedule(cpu, Some(task), off);
    }

    /// The running task stops being runnable; its CPU picks again.
    pub fn leave(&mut self, cpu: CpuId, task: TaskId, stop: Stop, off: Off) {
        self.live -= 1;
        self.charge(cpu, task, stop);
        self.tasks[task].state = if off == Off::Exited { State::Exited } else { State::Blocked };
        self.cpus[cpu.index()].current = None;
        if off == Off::Exited {
            self.policy.exit(&context!(self), task);
            self.emit(Event::Exit { task });
        }
        self.schedule(cpu, Some(task), off);
    }

    /// Accounts the time since the last charge; wishes concerning other CPUs are passed on.
    #[inline]
    pub fn charge(&mut self, cpu: CpuId, task: TaskId, stop: Stop) {
        let run = &mut self.cpus[cpu.index()];
        let ran = self.now.since(run.charged);
        run.charged = self.now;
        let answer = self.policy.charge(&context!(self), cpu, task, ran, stop);
        self.heed_others(answer, cpu);
    }

    /// As `heed`, but `cpu` itself is about to pick anyway.
    #[inline]
    fn heed_others(&mut self, answer: Resched, cpu: CpuId) {
        if answer != Resched::Preempt(cpu) {
            self.heed(answer, Some(cpu));
        }
    }

    /// Asks the policy whom to run on `cpu`, where nothing runs, and starts it. `prev` just left in manner `off`.
    fn schedule(&mut self, cpu: CpuId, prev: Option<TaskId>, off: Off) {
        self.decisions += 1;
        let run = &mut self.cpus[cpu.index()];
        run.asked = false;
        run.ask_stamp = run.ask_stamp.wrapping_add(1);
        let mut pick = self.policy.pick_next(&context!(self), cpu);
        while pick.is_none() && P::ABOUT.needs.balance {
            let Some(pull) = self.policy.balance(&context!(self), cpu, Idle::Newly) else { break };
            if !self.migrate(pull, cpu) {
                return;
            }
            pick = self.policy.pick_next(&context!(self), cpu);
        }
        match pick {
            Some(pick) if self.may_run(cpu, pick.task) => self.run_on(cpu, pick, prev, off),
            Some(_) => {}
            None => self.go_idle(cpu, prev, off),
        }
    }

    /// There is nobody to run on `cpu`.
    fn go_idle(&mut self, cpu: CpuId, prev: Option<TaskId>, off: Off) {
        self.effort_cost(cpu);
        self.bursts.set(cpu, Time::NEVER);
        if prev.is_some() {
            self.emit(Event::Switch { cpu, prev, off, next: None });
        }
    }

    /// Verifies the policy's choice.
    #[inline]
    fn may_run(&mut self, cpu: CpuId, task: TaskId) -> bool {
        if task.index() < self.tasks.len() {
            let it = &self.tasks[task];
            if it.state == State::Queued && it.affinity.contains(cpu) {
                return true;
            }
        }
        self.refuse(cpu, task);
        false
    }

    /// Says what is wrong with the choice.
    #[cold]
    fn refuse(&mut self, cpu: CpuId, task: TaskId) {
        if task.index() >= self.tasks.len() {
            return self.fail(format!("picked {task}, which does not exist"));
        }
        match self.tasks[task].state {
            State::Queued => self.fail(format!("picked {task} for {cpu}, which its affinity forbids")),
            state => self.fail(format!("picked {task} for {cpu}, but it is {state:?}, not Queued")),
        }
    }

    /// Starts `pick` on `cpu`: costs first, then its own work.
    #[inline]
    fn run_on(&mut self, cpu: CpuId, pick: Pick, prev: Option<TaskId>, off: Off) {
        let Pick { task, timeslice } = pick;
        let mut cost = self.effort_cost(cpu);
        if prev != Some(task) {
            let from = self.tasks[task].cpu;
            if from != cpu {
                self.emit(Event::Migrate { task, from, to: cpu });
            }
            self.emit(Event::Switch { cpu, prev, off, next: Some(task) });
            if self.switch_costs {
                cost += self.switch_cost(cpu, task);
            }
        }
        let it = &mut self.tasks[task];
        it.state = State::Running;
        it.cpu = cpu;
        let work = &mut self.runs[task.index()];
        work.ran_on = Some(cpu);
        let run = &mut self.cpus[cpu.index()];
        run.current = Some(task);
        run.last = Some(task);
        run.charged = self.now;
        run.working = self.now + cost;
        run.slice_end = timeslice.map_or(Time::NEVER, |slice| run.working + slice);
        let at = run.ends(work);
        let arm_tick = P::ABOUT.needs.tick && !std::mem::replace(&mut run.tick_armed, true);
        self.bursts.set(cpu, if at < self.horizon { at } else { Time::NEVER });
        if arm_tick {
            let at = self.machine.next_tick(self.now);
            self.calendar.push(at, class::TICK, Entry::Tick(cpu));
        }
    }

    /// Sets when the burst or slice of `task` ends.
    #[inline]
    pub fn arm(&mut self, cpu: CpuId, task: TaskId) {
        let at = self.cpus[cpu.index()].ends(&self.runs[task.index()]);
        self.bursts.set(cpu, if at < self.horizon { at } else { Time::NEVER });
    }

    /// Brings the work left of what runs on `cpu` up to now.
    #[inline]
    pub fn settle(&mut self, cpu: CpuId) {
        let run = &mut self.cpus[cpu.index()];
        if let Some(task) = run.current {
            run.settle(self.now, &mut self.runs[task.index()]);
        }
    }

    /// The time that `arm` set has come: the burst is done or the slice is over. Whatever follows sets a new one.
    pub fn burst_ended(&mut self, cpu: CpuId) {
        let run = &mut self.cpus[cpu.index()];
        let Some(task) = run.current else { return self.bursts.set(cpu, Time::NEVER) };
        let work = &mut self.runs[task.index()];
        run.settle(self.now, work);
        if work.is_done() {
            self.step(cpu, task);
        } else {
            self.leave_runnable(cpu, task, Stop::SliceEnd, Enqueue::SliceEnd, Off::Preempted);
        }
    }

    /// The timer interrupt of `cpu`. An idle CPU has none.
    pub fn ticked(&mut self, cpu: CpuId) {
        let Some(task) = self.cpus[cpu.index()].current else {
            self.cpus[cpu.index()].tick_armed = false;
            return;
        };
        self.settle(cpu);
        let run = &mut self.cpus[cpu.index()];
        run.interrupted = self.now;
        let ran = self.now.since(run.charged);
        run.charged = self.now;
        let answer = self.policy.charge(&context!(self), cpu, task, ran, Stop::Tick);
        let by = if answer == Resched::Preempt(cpu) { None } else { Some(cpu) };
        self.heed(answer, by);
        if P::ABOUT.needs.balance {
            for _ in 0..self.cpus.len() {
                let Some(pull) = self.policy.balance(&context!(self), cpu, Idle::Busy) else { break };
                if !self.migrate(pull, cpu) {
                    return;
                }
            }
        }
        let cost = self.effort_cost(cpu) + self.machine.costs.tick;
        if cost > Span::ZERO {
            self.overhead(cpu, Overhead::Tick, self.machine.costs.tick);
            self.cpus[cpu.index()].working += cost;
            self.arm(cpu, task);
        }
        let at = self.machine.next_tick(self.now);
        self.calendar.push(at, class::TICK, Entry::Tick(cpu));
    }

    /// Moves a task as the policy proposed; false after a fault. `by` is the CPU that balances.
    fn migrate(&mut self, pull: Pull, by: CpuId) -> bool {
        let Pull { task, from, to } = pull;
        if task.index() >= self.tasks.len() || from.index() >= self.cpus.len() || to.index() >= self.cpus.len() {
            self.fail(format!("proposed to move {task} from {from} to {to}, one of which does not exist"));
            return false;
        }
        if !self.tasks[task].affinity.contains(to) {
            self.fail(format!("proposed to move {task} to {to}, which its affinity forbids"));
            return false;
        }
        if self.cpus[from.index()].current == Some(task) {
            self.evict(task, from, to);
        } else if self.tasks[task].state == State::Queued && self.tasks[task].cpu == from {
            self.policy.dequeue(&context!(self), from, task, Dequeue::Migrate);
            self.tasks[task].cpu = to;
            self.emit(Event::Migrate { task, from, to });
            self.join(task, to, Enqueue::Migrated, by);
        } else {
            self.fail(format!("proposed to move {task}, which is neither queued nor running on {from}"));
            return false;
        }
        true
    }

    /// Takes the running `task` off `from` and queues it on `to`.
    pub fn evict(&mut self, task: TaskId, from: CpuId, to: CpuId) {
        self.settle(from);
        self.charge(from, task, Stop::Preempted);
        self.tasks[task].state = State::Queued;
        self.cpus[from.index()].current = None;
        self.emit(Event::Switch { cpu: from, prev: Some(task), off: Off::Preempted, next: None });
        self.tasks[task].cpu = to;
        if from != to {
            self.emit(Event::Migrate { task, from, to });
        }
        self.join(task, to, Enqueue::Migrated, from);
        if !std::mem::replace(&mut self.cpus[from.index()].asked, true) {
            self.asked.push(from);
        }
    }

    /// Queues a runnable task on `cpu` and heeds what the policy says of it.
    #[inline(always)]
    pub fn join(&mut self, task: TaskId, cpu: CpuId, why: Enqueue, by: CpuId) {
        self.tasks[task].state = State::Queued;
        let answer = self.policy.enqueue(&context!(self), cpu, task, why);
        self.heed(answer, Some(by));
        if self.cpus[cpu.index()].current.is_none() {
            self.ask(cpu, Some(by));
        }
    }
}
