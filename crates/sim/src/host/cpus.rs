//! Execution: the task running on each CPU, and its interruptions.

use super::Host;
use super::tasks::{Deferred, Section, TaskRun};
use crate::calendar::{Entry, class};
use goodness_core::{
    CpuId, Enqueue, Event, Idle, Off, Overhead, Pick, Preemption, Pull, Span, State, Step, Stop, TaskId, Time,
};
use goodness_referee::policy::Asked;
use goodness_referee::{Choice, Move};

/// Number of tasks whose data fits into the CPU's caches.
const FITS_INTO_CACHES: usize = 4_096;

/// Tasks loaded at a time, about as many as a CPU's core waits for at once.
const LOADED_AHEAD: usize = 8;

/// The host's state of a CPU, besides the task that runs.
#[derive(Clone, Copy, Debug)]
pub struct CpuRun {
    /// The task that ran last, for the cost of cold caches.
    pub last: Option<TaskId>,
    /// Time of the pick or of the last charge.
    pub charged: Time,
    /// Time from which the running task does its own work; before, the CPU does host work. What is left of it when the
    /// task stops delays the next one.
    pub working: Time,
    /// A wake-up on this CPU preempts its task at this time, and that has not taken a step since.
    leaves: Time,
    /// Time at which the CPU has decided and switched. A request to reschedule waits for it.
    switched: Time,
    /// End of the work that the block layer has for the CPU.
    pub io_until: Time,
    /// That work, and waiting for elevators' locks, as far as it was not reported.
    pub io_unreported: [Span; 2],
    /// End of the slice of the pick.
    pub slice_end: Time,
    /// Time of the last interrupt by a tick or a timer.
    pub interrupted: Time,
    /// Speed of the CPU now, 1024 for a full one whose siblings idle.
    pub capacity: u32,
    /// True while it runs a task, on machines whose siblings slow each other.
    pub is_busy: bool,
    /// True if the pending request to reschedule is one that `Preemption::Lazy` holds back.
    pub lazy: bool,
    /// True if the running task is stopped where it would return to user mode.
    pub parks: bool,
    /// Time until which the hypervisor runs something else.
    pub stolen: Time,
    /// Time until which no tick arrives.
    pub without_ticks: Time,
    /// Time until which the CPU is unplugged; zero if it is online.
    pub offline: Time,
    /// True while a tick is in the calendar.
    pub tick_armed: bool,
    /// Picks until the next tasks are loaded into the caches; see `load_ahead`.
    until_load: u8,
    /// Number of the last pick. A pending `Reschedule` entry with another number is stale, because any pick satisfies
    /// earlier requests.
    pub ask_stamp: u32,
}

impl CpuRun {
    /// A CPU that never ran anything.
    pub fn idle(capacity: u32) -> CpuRun {
        CpuRun {
            last: None,
            charged: Time::ZERO,
            working: Time::ZERO,
            leaves: Time::ZERO,
            switched: Time::ZERO,
            io_until: Time::ZERO,
            io_unreported: [Span::ZERO; 2],
            slice_end: Time::NEVER,
            interrupted: Time::NEVER,
            capacity,
            is_busy: false,
            lazy: false,
            parks: false,
            stolen: Time::ZERO,
            without_ticks: Time::ZERO,
            offline: Time::ZERO,
            tick_armed: false,
            until_load: 0,
            ask_stamp: 0,
        }
    }

    /// Time at which the burst `work` or the slice ends.
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

impl Host<'_> {
    /// Schedules the reschedule of `cpu`. A tick's request takes effect at once (`by` is `None`). A wake-up's takes
    /// effect after the time to interrupt another CPU, to leave the kernel, or for an idle CPU to wake up.
    #[inline(never)]
    pub fn will_reschedule(&mut self, cpu: CpuId, by: Option<CpuId>) {
        let costs = &self.machine.costs;
        let mut delay = Span::ZERO;
        if by.is_some_and(|from| from != cpu) {
            delay += costs.interrupt;
        }
        match (self.referee.current(cpu), by) {
            (None, _) => delay += costs.idle_exit,
            (Some(_), Some(from)) if from == cpu => {
                delay += costs.preempt;
                if self.keeps_wakers {
                    self.cpus[cpu.index()].leaves = self.referee.now() + delay;
                }
            }
            _ => {}
        }
        if delay == Span::ZERO {
            self.asked.push(cpu);
        } else {
            let stamp = self.cpus[cpu.index()].ask_stamp;
            self.agenda.calendar.push(self.now() + delay, class::RESCHEDULE, Entry::Reschedule(cpu, stamp));
        }
    }

    /// Schedules the reschedule of these CPUs, as requested by `by`.
    #[inline(always)]
    fn will_reschedule_all(&mut self, [first, second]: Asked, by: CpuId) {
        if let Some(cpu) = first {
            self.will_reschedule(cpu, Some(by));
        }
        if let Some(cpu) = second {
            self.will_reschedule(cpu, Some(by));
        }
    }

    /// Makes all CPUs with a request at this instant stop and pick again.
    pub fn reschedule_asked(&mut self) {
        let mut index = 0;
        while index < self.asked.len() {
            let cpu = self.asked[index];
            index += 1;
            if !self.referee.is_asked(cpu) {
                continue;
            }
            match self.referee.current(cpu) {
                _ if self.cpus[cpu.index()].stolen > self.now() => self.reschedule_once_back(cpu),
                Some(task) if self.holds_back(cpu, task) => {}
                Some(_) if self.cpus[cpu.index()].switched > self.now() => self.reschedule_once_switched(cpu),
                Some(task) if self.extends(cpu, task) => {}
                Some(task) => {
                    self.settle(cpu);
                    self.stop_runnable(cpu, task, Stop::Preempted, Enqueue::Preempted, Off::Preempted);
                }
                None => self.schedule(cpu, None, Off::Preempted),
            }
        }
        self.asked.clear();
        self.arm_policy_timer();
    }

    /// `cpu` decides or switches with interrupts off: it sees the request afterwards.
    #[cold]
    fn reschedule_once_switched(&mut self, cpu: CpuId) {
        let CpuRun { switched, ask_stamp, .. } = self.cpus[cpu.index()];
        self.agenda.calendar.push(switched, class::RESCHEDULE, Entry::Reschedule(cpu, ask_stamp));
    }

    /// Takes the running task off its CPU while it stays runnable; the CPU picks again.
    pub fn stop_runnable(&mut self, cpu: CpuId, task: TaskId, stop: Stop, why: Enqueue, off: Off) {
        self.charge(cpu, stop);
        self.requeue(cpu, task, why, off);
    }

    /// Requeues the task running on `cpu`, already charged, and lets the CPU pick.
    pub fn requeue(&mut self, cpu: CpuId, task: TaskId, why: Enqueue, off: Off) {
        if let Some(other) = self.referee.requeue(cpu, why) {
            self.will_reschedule(other, Some(cpu));
        }
        self.schedule(cpu, Some(task), off);
    }

    /// The running task stops being runnable; its CPU chooses again. The caller counts what is live.
    #[inline(always)]
    pub fn stop_blocked(&mut self, cpu: CpuId, task: TaskId, stop: Stop, off: Off) {
        let ran = self.uncharged(cpu);
        if let Some(other) = self.referee.retire(cpu, ran, stop) {
            self.will_reschedule(other, Some(cpu));
        }
        if off == Off::Exited {
            self.referee.exit(task);
            self.emit(Event::Exit { task });
        }
        self.schedule_here(cpu, Some(task), off);
    }

    /// Accounts the time since the last charge; wishes concerning other CPUs are passed on.
    #[inline(always)]
    pub fn charge(&mut self, cpu: CpuId, stop: Stop) {
        let ran = self.uncharged(cpu);
        if let Some(other) = self.referee.charge(cpu, ran, stop) {
            self.will_reschedule(other, Some(cpu));
        }
    }

    /// Time since the last charge on `cpu`, which is now.
    #[inline]
    fn uncharged(&mut self, cpu: CpuId) -> Span {
        let now = self.now();
        let charged = &mut self.cpus[cpu.index()].charged;
        now.since(std::mem::replace(charged, now))
    }

    /// Has the policy pick a task for `cpu`, where nothing runs, and starts it. `prev` just left in state `off`.
    #[inline(never)]
    fn schedule(&mut self, cpu: CpuId, prev: Option<TaskId>, off: Off) {
        self.schedule_here(cpu, prev, off);
    }

    /// Like [`Self::schedule`], without the call: for tasks that fall asleep.
    #[inline(always)]
    fn schedule_here(&mut self, cpu: CpuId, prev: Option<TaskId>, off: Off) {
        let stamp = &mut self.cpus[cpu.index()].ask_stamp;
        *stamp = stamp.wrapping_add(1);
        self.cpus[cpu.index()].lazy = false;
        match self.referee.choose(cpu) {
            Choice::Run { pick, from } => self.run_on(cpu, pick, from, prev, off),
            other => self.carry_out(other, cpu, prev, off),
        }
    }

    /// Carries out any choice.
    #[inline(never)]
    fn carry_out(&mut self, mut choice: Choice, cpu: CpuId, prev: Option<TaskId>, off: Off) {
        loop {
            match choice {
                Choice::Run { pick, from } => return self.run_on(cpu, pick, from, prev, off),
                Choice::Idle => return self.go_idle(cpu, prev, off),
                Choice::Refused => return,
                Choice::Move(it) => self.perform_move(it, cpu),
            }
            choice = self.referee.choose_again(cpu);
        }
    }

    /// Makes `cpu` idle.
    fn go_idle(&mut self, cpu: CpuId, prev: Option<TaskId>, off: Off) {
        self.effort_cost(cpu);
        self.occupies(cpu, false);
        self.agenda.bursts.set(cpu, Time::NEVER);
        if prev.is_some() {
            if self.somebody_spins() {
                self.spinners_switch(cpu, prev, None);
            }
            if self.charging.io {
                self.report_io(cpu);
            }
            self.emit(Event::Switch { cpu, prev, off, next: None });
        }
    }

    /// Starts `pick` on `cpu`; it was on `from` before. Costs come first, then its own work.
    #[inline(always)]
    fn run_on(&mut self, cpu: CpuId, pick: Pick, from: CpuId, prev: Option<TaskId>, off: Off) {
        let Pick { task, timeslice } = pick;
        let now = self.now();
        let decided = self.effort_cost(cpu);
        let (mut switch, mut refill) = (Span::ZERO, Span::ZERO);
        if self.charging.io {
            self.report_io(cpu);
        }
        if prev != Some(task) {
            if self.somebody_spins() {
                self.spinners_switch(cpu, prev, Some(task));
            }
            if from != cpu {
                self.emit(Event::Migrate { task, from, to: cpu });
            }
            self.emit(Event::Switch { cpu, prev, off, next: Some(task) });
            if self.charging.switches {
                [switch, refill] = self.switch_cost(cpu, task);
            }
        }
        if self.runs.len() > FITS_INTO_CACHES {
            self.load_ahead(cpu);
        }
        self.occupies(cpu, true);
        let work = &mut self.runs[task.index()];
        work.runs_on(cpu);
        if prev != Some(task) {
            work.section = Section::None;
        }
        let run = &mut self.cpus[cpu.index()];
        run.last = Some(task);
        run.charged = now;
        run.switched = now.max(run.io_until).max(run.working) + decided + switch;
        run.working = run.switched + refill;
        run.slice_end = timeslice.map_or(Time::NEVER, |slice| run.working + slice);
        run.parks = timeslice == Some(Span::ZERO);
        if run.parks && self.locks.keep_in_kernel(task, work, &self.deferred) {
            run.slice_end = Time::NEVER;
        }
        let at = run.ends(work);
        let arm_tick = self.referee.about().needs.tick && !std::mem::replace(&mut run.tick_armed, true);
        self.agenda.set_burst(cpu, at);
        if arm_tick {
            let at = self.machine.next_tick(now);
            self.agenda.calendar.push(at, class::TICK, Entry::Tick(cpu));
        }
    }

    /// At one pick of several, loads the tasks that probably follow into the CPU's caches, all at once, so that `cpu`
    /// does not wait for them one by one.
    #[inline(never)]
    fn load_ahead(&mut self, cpu: CpuId) {
        let until_load = &mut self.cpus[cpu.index()].until_load;
        *until_load = until_load.checked_sub(1).unwrap_or(LOADED_AHEAD as u8 - 1);
        if *until_load == 0 {
            let mut room = [TaskId(0); LOADED_AHEAD];
            let next = self.referee.likely_next(cpu, &mut room).iter();
            let tasks = self.referee.tasks();
            let loaded = next.filter_map(|task| {
                Some(self.runs.get(task.index())?.is_deferred ^ (tasks.state(*task) == State::Queued))
            });
            std::hint::black_box(loaded.fold(false, |all, one| all ^ one));
        }
    }

    /// Sets when the burst or slice of `task` ends.
    #[inline]
    pub fn arm(&mut self, cpu: CpuId, task: TaskId) {
        let at = self.cpus[cpu.index()].ends(&self.runs[task.index()]);
        self.agenda.set_burst(cpu, at);
    }

    /// Updates the remaining work of the task that runs on `cpu` to now.
    #[inline]
    pub fn settle(&mut self, cpu: CpuId) {
        if let Some(task) = self.referee.current(cpu) {
            let now = self.now();
            self.cpus[cpu.index()].settle(now, &mut self.runs[task.index()]);
        }
    }

    /// Handles the time set by `arm`: the burst or the slice has ended. Every path sets a new one. Includes what may
    /// follow.
    pub fn burst_ended(&mut self, cpu: CpuId) {
        let Some(task) = self.referee.current(cpu) else { return self.agenda.bursts.set(cpu, Time::NEVER) };
        let now = self.now();
        let (run, work) = (&mut self.cpus[cpu.index()], &mut self.runs[task.index()]);
        run.settle(now, work);
        let is_working = run.working > now;
        if !work.is_done() || is_working || run.parks && !self.locks.keep_in_kernel(task, work, &self.deferred) {
            self.stop_runnable(cpu, task, Stop::SliceEnd, Enqueue::SliceEnd, Off::Preempted);
        } else if run.leaves > now && !work.is_deferred && self.referee.is_asked(cpu) {
            self.step_or_stay(cpu, task);
        } else if work.is_deferred || self.storage.is_some() {
            self.step(cpu, task);
        } else {
            // The two most frequent steps, which take time, without the loop over those that do not.
            match work.next_step(task, now) {
                Step::Compute(span) if span > Span::ZERO => {
                    work.begin(span);
                    let at = run.ends(work);
                    // Nothing follows for anyone else.
                    return self.agenda.set_burst(cpu, at);
                }
                Step::Sleep(span) if span > Span::ZERO && !self.charging.sleeps => {
                    self.fall_asleep(cpu, task, now + span);
                }
                step => self.go_on_with(cpu, task, step),
            }
        }
        self.follow_up();
    }

    /// A wake-up will preempt `task` on `cpu`: it goes on if it computes now, as what it does in the kernel may be part
    /// of that. Any other step waits until it has been preempted, as it is in the kernel.
    #[cold]
    fn step_or_stay(&mut self, cpu: CpuId, task: TaskId) {
        let now = self.now();
        let (run, work) = (&mut self.cpus[cpu.index()], &mut self.runs[task.index()]);
        let leaves = std::mem::take(&mut run.leaves);
        match work.next_step(task, now) {
            Step::Compute(span) if span > Span::ZERO => work.begin(span),
            step => {
                run.working = leaves;
                self.held.push((task, step));
                self.defer(task, Deferred::Held);
                self.overhead(cpu, Overhead::Wakeup, leaves.since(now));
            }
        }
        self.arm(cpu, task);
    }

    /// The timer interrupt of `cpu`. An idle CPU has none.
    pub fn ticked(&mut self, cpu: CpuId) {
        let Some(task) = self.referee.current(cpu) else {
            self.cpus[cpu.index()].tick_armed = false;
            return;
        };
        if self.tick_fails(cpu) {
            return;
        }
        self.settle(cpu);
        let now = self.now();
        self.cpus[cpu.index()].interrupted = now;
        let is_lazy = self.preemption == Preemption::Lazy && !self.promote_lazy(cpu);
        let ran = self.uncharged(cpu);
        if let Some(asked) = self.referee.tick(cpu, ran) {
            if asked == cpu && is_lazy {
                self.cpus[cpu.index()].lazy = self.runs_fair(cpu);
            }
            self.will_reschedule(asked, if asked == cpu { None } else { Some(cpu) });
        }
        self.balance(cpu, Idle::Busy);
        if self.is_at_fault() {
            return;
        }
        if self.referee.balances_later(cpu) {
            let at = now + self.machine.costs.late_balance;
            self.agenda.calendar.push(at, class::BALANCE, Entry::Later(cpu));
        }
        let cost = self.effort_cost(cpu) + self.machine.costs.tick;
        if cost > Span::ZERO {
            self.overhead(cpu, Overhead::Tick, self.machine.costs.tick);
            self.cpus[cpu.index()].working += cost;
            self.arm(cpu, task);
        }
        self.agenda.calendar.push(self.machine.next_tick(now), class::TICK, Entry::Tick(cpu));
    }

    /// Moves tasks as the policy proposes at the tick of `cpu` or, on [`Idle::Later`], after it.
    fn balance(&mut self, cpu: CpuId, idle: Idle) {
        while let Some(it) = self.referee.balance(cpu, idle) {
            self.perform_move(it, cpu);
        }
    }

    /// Balances what the policy put off at the tick of `cpu`. No task is charged for it.
    pub fn balance_later(&mut self, cpu: CpuId) {
        self.balance(cpu, Idle::Later);
        self.referee.take_effort();
    }

    /// Performs the remaining part of a migration; `by` is the CPU that balances.
    fn perform_move(&mut self, it: Move, by: CpuId) {
        match it {
            Move::Queued(Pull { task, from, to }, asked) => {
                self.emit(Event::Migrate { task, from, to });
                self.will_reschedule_all(asked, by);
            }
            Move::Running(Pull { task, from, to }) => self.evict(task, from, to),
        }
    }

    /// Takes the running `task` off CPU `from` and queues it on `to`.
    pub fn evict(&mut self, task: TaskId, from: CpuId, to: CpuId) {
        self.settle(from);
        self.charge(from, Stop::Preempted);
        self.take_away(task, from, to);
    }

    /// Takes the running `task`, already charged, off CPU `from` and queues it on `to`.
    pub fn take_away(&mut self, task: TaskId, from: CpuId, to: CpuId) {
        self.referee.take_off(from);
        if self.somebody_spins() {
            self.spinners_switch(from, Some(task), None);
        }
        if self.charging.io {
            self.report_io(from);
        }
        self.emit(Event::Switch { cpu: from, prev: Some(task), off: Off::Preempted, next: None });
        if from != to {
            self.emit(Event::Migrate { task, from, to });
        }
        self.enqueue(task, to, Enqueue::Migrated, from);
        if self.referee.ask(from) {
            self.asked.push(from);
        }
    }

    /// Queues a runnable task on `cpu`; `by` is the CPU that does it.
    #[inline(always)]
    pub fn enqueue(&mut self, task: TaskId, cpu: CpuId, why: Enqueue, by: CpuId) {
        let mut asked = self.referee.enqueue(task, cpu, why);
        if self.preemption == Preemption::Lazy {
            asked = self.note_lazy(task, cpu, asked);
        }
        self.will_reschedule_all(asked, by);
    }
}
