//! Common parts of CFS and EEVDF: the classes on each CPU (reservations, real-time, fair), accounting of the running
//! task, wake-up preemption, placement and balancing. The [`Order`] orders the fair tasks.
//! Source: specs section 5 and the oracle recordings. As in the kernel, the running task stays in the accounts of its
//! queue until another one is picked: `charge` followed by `enqueue(Preempted)` changes nothing by itself.

mod balance;
mod bandwidth;
mod capacity;
mod domains;
mod fork;
mod groups;
mod load;
mod moves;
pub(crate) mod order;
mod reserved;
mod slices;
mod urgent;
mod wakeup;
pub(crate) mod weight;
mod why;
mod why_placed;

use crate::parts::realtime::{FairServer, Members, Realtime};
use balance::Balancer;
use goodness_core::{
    About, Context, CpuId, CpuPolicy, CpuStat, Dequeue, Enqueue, GroupId, Idle, Machine, PerTask, Pick, Placement,
    Preemption, Pull, Reason, Registered, Rejected, Resched, Seed, Span, Standing, Stop, TaskId, Time, Why,
};
use groups::Hierarchy;
use load::Loads;
use order::{Arrival, Departure, Order};
use reserved::{Reserved, is_fair};
use slices::SliceTimer;
use urgent::Urgent;
use wakeup::Wakeups;
use weight::Weight;

/// Occupant of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Running {
    Nothing,
    Fair(TaskId),
    Realtime(TaskId, u8),
    Reserved(TaskId),
}

#[derive(Debug)]
struct Cpu {
    running: Running,
    realtime: Realtime,
    server: FairServer,
    /// Time at which the fair current entity was last accounted, and its CPU time since the last charge.
    accounted_at: Time,
    accounted: Span,
    /// The CPU was asked to pick again and has not done so yet.
    resched: bool,
    /// Its fair server is done, and it was perhaps not asked to pick again.
    has_served: bool,
    /// It will be asked at its next tick, or when its task returns to user mode before.
    resched_at_tick: bool,
    /// The real-time task that runs goes behind one of its priority, because only it can go elsewhere.
    makes_room: bool,
    slice_timer: SliceTimer,
    /// Only the current entity's attributes changed: the next pick returns it without an election.
    keep: bool,
}

impl Cpu {
    /// True if it runs a task of a class above the fair one.
    fn runs_above_fair(&self) -> bool {
        matches!(self.running, Running::Realtime(..) | Running::Reserved(_))
    }

    fn has_realtime(&self) -> bool {
        self.realtime.queued() > 0 || self.runs_above_fair()
    }

    /// Time of the next alarm: the end of a slice, or of throttle or server, which matter beside real-time tasks alone.
    fn next_alarm(&self) -> Time {
        let above = || self.server.next_timer().min(self.realtime.next_timer());
        if self.has_realtime() { above().min(self.slice_timer.at) } else { self.slice_timer.at }
    }
}

/// The classes of every CPU: reservations above real-time above fair, which `O` orders.
#[derive(Debug)]
pub struct Stack<O> {
    order: Hierarchy<O>,
    members: Members,
    /// CPU on whose real-time list a task is.
    listed: PerTask<Option<CpuId>>,
    cpus: Vec<Cpu>,
    reserved: Reserved,
    urgent: Urgent,
    loads: Loads,
    wakeups: Wakeups,
    balancer: Balancer,
    /// Earliest deadline of any throttle, server or slice.
    alarm: Time,
    /// Slices end by a timer.
    times_slices: bool,
}

impl<O: Order> Registered for Stack<O> {
    const ABOUT: About = O::ABOUT;
    const HAS_GROUPS: bool = true;
    const HAS_RESERVATIONS: bool = true;
    type Settings = O::Settings;

    fn new(machine: &Machine, settings: O::Settings, seed: Seed) -> Self {
        let order = O::new(machine, &settings);
        let (version, serves, times_slices) = (order.version(), order.has_fair_server(), order.times_slices());
        let cpu = |_| Cpu {
            running: Running::Nothing,
            realtime: Realtime::new(!serves),
            server: FairServer::new(serves),
            accounted_at: Time::ZERO,
            accounted: Span::ZERO,
            resched: false,
            has_served: false,
            resched_at_tick: false,
            makes_room: false,
            slice_timer: SliceTimer::default(),
            keep: false,
        };
        Stack {
            order: Hierarchy::new(machine, order, seed),
            members: Members::default(),
            listed: PerTask::default(),
            cpus: machine.cpu_ids().map(cpu).collect(),
            reserved: Reserved::new(machine, serves),
            urgent: Urgent::new(machine),
            loads: Loads::new(machine),
            wakeups: Wakeups::new(machine, seed),
            balancer: Balancer::new(machine, version, seed),
            alarm: Time::NEVER,
            times_slices,
        }
    }
}

impl<O: Order> Stack<O> {
    /// Counts `task` as runnable on `cpu`.
    fn arrives(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) {
        self.wakeups.arrives(cpu, task);
        if !is_fair(cx, task) {
            self.loads.forget(cx.now, task);
        } else {
            self.loads.arrives(cx, cpu, task, matches!(why, Enqueue::Wakeup { .. }));
        }
    }

    /// Counts `task` as not runnable; `sleeps` if it waits for something.
    fn leaves(&mut self, cx: &Context, task: TaskId, sleeps: bool) {
        self.wakeups.leaves(task);
        self.loads.leaves(cx.now, task, sleeps);
    }

    /// `task` stops running on `cpu`.
    fn leaves_cpu(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Stop) {
        match self.cpus[cpu.index()].running {
            Running::Fair(_) => self.loads.stops(cx.now, cpu, task),
            Running::Realtime(..) | Running::Reserved(_) => self.loads.realtime_runs(cx.now, cpu, false),
            Running::Nothing => {}
        }
        match why {
            Stop::Blocked { .. } if self.order.home(task).is_some() => {
                self.wakeups.leaves(task);
                self.loads.delays(cx.now, task);
            }
            Stop::Blocked { .. } => self.leaves(cx, task, true),
            Stop::Exited => {
                self.leaves(cx, task, false);
                self.loads.forget(cx.now, task);
            }
            _ => {}
        }
    }

    /// Tasks of all classes on `cpu`, those included that sleep but are still queued.
    fn tasks(&self, cpu: CpuId) -> u32 {
        let it = &self.cpus[cpu.index()];
        self.order.queued(cpu) + it.realtime.queued() as u32 + u32::from(it.runs_above_fair())
    }

    /// Records the number of tasks on `cpu` after a change.
    #[inline]
    fn note_tasks(&mut self, cx: &Context, cpu: CpuId) {
        if cx.machine.cpu_count() > 1 {
            self.loads.note_tasks(cpu, self.tasks(cpu));
        }
    }

    /// Accounts the run time of the current fair entity of `cpu`.
    #[inline(always)]
    fn catch_up(&mut self, cx: &Context, cpu: CpuId) {
        let it = &mut self.cpus[cpu.index()];
        if !matches!(it.running, Running::Fair(_)) {
            return;
        }
        let ran = cx.now.since(it.accounted_at);
        it.accounted_at = cx.now;
        it.accounted += ran;
        self.account_fair(cx, cpu, ran);
    }

    #[inline(always)]
    fn account_fair(&mut self, cx: &Context, cpu: CpuId, ran: Span) {
        if ran == Span::ZERO {
            return;
        }
        let again = self.order.account(cx.now, cpu, ran);
        self.alarm = self.alarm.min(self.order.next_refill());
        let it = &mut self.cpus[cpu.index()];
        it.resched |= again;
        if it.server.account(cx.now, ran) {
            // The host may not ask now: another CPU acts, or a limit is refilled.
            (it.resched, it.has_served) = (true, true);
            self.alarm = cx.now;
        }
    }

    /// Sets the alarm no later than the timer of `cpu`.
    #[inline]
    fn set_alarm(&mut self, cpu: CpuId) {
        let of_tasks = self.order.next_refill().min(self.reserved.next_timer());
        self.alarm = self.alarm.min(self.cpus[cpu.index()].next_alarm()).min(of_tasks);
    }

    /// Result for the host: whether `cpu` was asked to pick again.
    fn answer(&self, cpu: CpuId) -> Resched {
        if self.cpus[cpu.index()].resched { Resched::Preempt(cpu) } else { Resched::Keep }
    }

    /// Starts or stops the fair server as the fair queue fills or empties.
    #[inline(always)]
    fn watch_server(&mut self, cx: &Context, cpu: CpuId) {
        let it = &mut self.cpus[cpu.index()];
        match self.order.queued(cpu) {
            0 => it.server.stop(),
            _ => it.server.start(cx.now),
        }
    }

    #[inline(always)]
    fn enqueue_fair(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) {
        match (self.order.home(task), why) {
            (Some(_), Enqueue::Preempted | Enqueue::Yielded) => return,
            (Some(_), Enqueue::SliceEnd) => return self.stop_at_limit(cx, cpu, task),
            (Some(home), Enqueue::Wakeup { .. }) if home == cpu => {
                // As in the kernel, the current entity is brought up to date for this from 7.3 on alone.
                if self.balancer.version.one_timeline.is_some() {
                    self.catch_up(cx, cpu);
                }
                self.order.rewake(cx, &mut self.loads, cpu, task);
            }
            (None, _) if self.order.stays_in_limbo(cx, cpu, task) => return,
            (home, _) => {
                let heavier =
                    Weight::of_task(cx.tasks.class(task), cx.tasks.nice(task), 3).value >= self.order.weight(task);
                self.cpus[cpu.index()].keep = why == Enqueue::Restored && home == Some(cpu) && heavier;
                if let Some(home) = home {
                    self.catch_up(cx, home);
                    self.order.dequeue(cx, &mut self.loads, home, task, Departure::Move);
                    self.watch_server(cx, home);
                    self.note_tasks(cx, home);
                }
                self.catch_up(cx, cpu);
                let how = match why {
                    Enqueue::Fork { .. } => Arrival::Fork,
                    Enqueue::Wakeup { .. } => Arrival::Wake,
                    _ => Arrival::Move,
                };
                self.order.enqueue(cx, &mut self.loads, cpu, task, how);
                self.time_arrival(cpu);
            }
        }
        self.watch_server(cx, cpu);
        let arrives = matches!(why, Enqueue::Fork { .. } | Enqueue::Wakeup { .. } | Enqueue::Migrated);
        let it = &self.cpus[cpu.index()];
        if arrives && !it.resched && matches!(it.running, Running::Fair(_)) {
            let decided = self.order.class_decides(cx, cpu, task, matches!(why, Enqueue::Fork { .. }));
            let preempts = decided.unwrap_or_else(|| {
                self.catch_up(cx, cpu);
                self.order.preempts(cx, &mut self.loads, cpu, task)
            });
            let is_remote = matches!(why, Enqueue::Wakeup { on, .. } if on != cpu);
            let it = &mut self.cpus[cpu.index()];
            if is_remote && self.order.order().preemption() == Preemption::Lazy {
                it.resched_at_tick |= preempts;
            } else {
                it.resched |= preempts;
            }
        }
    }

    /// `task` would return to user mode, and its group was out of quota when it was picked.
    #[cold]
    fn stop_at_limit(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        if self.order.park(cx, &mut self.loads, task) {
            self.leaves(cx, task, true);
            self.watch_server(cx, cpu);
        } else {
            self.cpus[cpu.index()].keep = true;
        }
    }

    #[inline(always)]
    fn stop_fair(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Stop) {
        match why {
            Stop::Tick => {
                let is_over = self.order.tick(cx, &mut self.loads, cpu);
                let it = &mut self.cpus[cpu.index()];
                it.resched |= is_over | it.resched_at_tick;
            }
            Stop::Yielded => self.order.yields(cpu),
            Stop::Blocked { .. } => self.order.dequeue(cx, &mut self.loads, cpu, task, Departure::Sleep),
            Stop::Exited => self.order.dequeue(cx, &mut self.loads, cpu, task, Departure::Gone),
            Stop::Preempted | Stop::SliceEnd => {}
        }
        self.watch_server(cx, cpu);
    }

    /// Picks from the classes in their order.
    #[inline(always)]
    fn pick_class(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        if let Some(task) = self.pick_waiting_reserved(cx, cpu) {
            return Some(task);
        }
        self.pull_realtime(cx, cpu);
        if self.cpus[cpu.index()].server.is_serving() {
            // Fair tasks may have been throttled since, or sleep and were not dequeued yet.
            let served = self.pick_fair(cx, cpu).or_else(|| self.pick_waiting_reserved(cx, cpu));
            return served.or_else(|| self.pick_realtime(cx, cpu));
        }
        self.pick_realtime(cx, cpu).or_else(|| self.pick_fair(cx, cpu))
    }

    #[inline(always)]
    fn pick_fair(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        // Not even the current task goes on if its group was throttled as it joined its queue again.
        let keep = std::mem::take(&mut self.cpus[cpu.index()].keep);
        let kept = if keep { self.order.current(cpu).filter(|it| !self.order.is_out_of_reach(*it)) } else { None };
        let task = if kept.is_some() { kept } else { self.order.pick(cx, &mut self.loads, cpu) };
        self.watch_server(cx, cpu);
        let it = &mut self.cpus[cpu.index()];
        it.running = Running::Fair(task?);
        it.accounted_at = cx.now;
        it.accounted = Span::ZERO;
        task
    }
}

impl<O: Order> CpuPolicy for Stack<O> {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.members.admit(task);
        self.listed.admit(task);
        self.urgent.admit(task);
        self.loads.admit(task);
        self.wakeups.admit(task, parent);
        self.order.admit(cx, &mut self.loads, task);
        self.reserved.admit(cx, task)
    }

    fn exit(&mut self, cx: &Context, task: TaskId) {
        self.reserved.exit(cx, task);
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        if let Some(home) = self.order.home(task)
            && matches!(why, Enqueue::Wakeup { .. })
            && cx.tasks.may_run(task, home)
        {
            return home;
        }
        self.choose_cpu(cx, task, why)
    }

    fn exec(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> CpuId {
        self.place_at_exec(cx, task, cpu)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        let mut pushed = None;
        if !is_fair(cx, task) {
            if let Some(home) = self.order.home(task) {
                self.catch_up(cx, home);
                self.order.dequeue(cx, &mut self.loads, home, task, Departure::Move);
                self.watch_server(cx, home);
                self.note_tasks(cx, home);
            }
            self.order.forget_parked(task);
            if cx.tasks.class(task).is_realtime() {
                self.leave_reserved(task);
                pushed = self.enqueue_realtime(cx, cpu, task, why);
            } else {
                self.enqueue_reserved(cx, cpu, task, why);
            }
        } else {
            self.leave_reserved(task);
            self.enqueue_fair(cx, cpu, task, why);
        }
        if cx.machine.cpu_count() > 1 {
            if !self.order.is_parked(task) {
                self.arrives(cx, cpu, task, why);
            }
            self.note_tasks(cx, cpu);
        }
        self.set_alarm(cpu);
        pushed.map_or_else(|| self.answer(cpu), Resched::Preempt)
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.leaves(cx, task, false);
        match why {
            Dequeue::Kill => self.loads.forget(cx.now, task),
            Dequeue::Migrate => self.loads.detach(cx.now, task),
            Dequeue::Change => {}
        }
        if self.listed[task].take().is_some() {
            self.cpus[cpu.index()].realtime.remove(&mut self.members, task);
            self.urgent.leaves(cpu, task);
        } else if !self.reserved.remove(cx, task) && !self.order.leave_limbo(task) {
            self.catch_up(cx, cpu);
            let how = if why == Dequeue::Kill { Departure::Gone } else { Departure::Move };
            self.order.dequeue(cx, &mut self.loads, cpu, task, how);
            self.watch_server(cx, cpu);
        }
        self.note_tasks(cx, cpu);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let it = &mut self.cpus[cpu.index()];
        (it.resched, it.resched_at_tick, it.makes_room) = (false, false, false);
        it.running = Running::Nothing;
        let task = self.pick_class(cx, cpu);
        self.wakeups.note(cx.now, cpu, task.is_none());
        self.reserved_picked(cx, cpu);
        if cx.machine.cpu_count() > 1 {
            match self.cpus[cpu.index()].running {
                Running::Fair(task) => self.loads.starts(cx.now, cpu, task),
                Running::Realtime(..) | Running::Reserved(_) => self.loads.realtime_runs(cx.now, cpu, true),
                Running::Nothing => {}
            }
            self.note_tasks(cx, cpu);
            self.push_later(cx, cpu);
        }
        self.time_switch(cx, cpu);
        self.set_alarm(cpu);
        let task = task?;
        let parks = self.cpus[cpu.index()].running == Running::Fair(task) && self.order.parks(cpu);
        Some(Pick { task, timeslice: parks.then_some(Span::ZERO) })
    }

    fn likely_next(&self, cpu: CpuId, next: &mut [TaskId]) -> usize {
        self.order.likely_next(cpu, next)
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let it = &mut self.cpus[cpu.index()];
        if let Running::Realtime(..) = it.running {
            self.stop_realtime(cx, cpu, task, ran, why);
        } else if let Running::Reserved(_) = it.running {
            self.stop_reserved(cx, cpu, task, ran, why);
        } else {
            let rest = ran.saturating_sub(std::mem::take(&mut it.accounted));
            it.accounted_at = cx.now;
            self.account_fair(cx, cpu, rest);
            self.stop_fair(cx, cpu, task, why);
        }
        if why != Stop::Tick {
            if cx.machine.cpu_count() > 1 {
                self.leaves_cpu(cx, cpu, task, why);
            }
            // Accounting is complete; the CPU picks next, whatever else happens at this instant.
            let it = &mut self.cpus[cpu.index()];
            it.running = Running::Nothing;
            (it.resched, it.has_served) = (false, false);
            self.note_tasks(cx, cpu);
            return Resched::Keep;
        }
        self.answer(cpu)
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        self.propose(cx, cpu, idle)
    }

    fn balances_later(&self, cpu: CpuId) -> bool {
        self.balances_late(cpu)
    }

    fn preemption(&self) -> Preemption {
        self.order.order().preemption()
    }

    fn slice_extension(&self) -> Span {
        self.order.order().slice_extension()
    }

    fn waits_for_tick(&self, cpu: CpuId) -> bool {
        self.cpus[cpu.index()].resched_at_tick
    }

    fn waiting_realtime(&self) -> Option<u32> {
        Some(self.urgent.waiting())
    }

    fn is_closed_to_realtime(&self, cpu: CpuId) -> bool {
        self.is_closed(cpu)
    }

    fn is_throttled(&self, task: TaskId) -> Option<bool> {
        Some(self.reserved.is_throttled(task) || self.order.is_out_of_reach(task))
    }

    fn waiting_reservations(&self) -> Option<u32> {
        Some(self.reserved.waiting())
    }

    fn deadline(&self, task: TaskId) -> Option<Time> {
        self.competes_until(task)
    }

    fn served_deadline(&self, cpu: CpuId) -> Option<Time> {
        self.cpus[cpu.index()].server.serves_until()
    }

    fn why(&self, cx: &Context, cpu: CpuId, question: Why) -> Option<Reason> {
        self.rule(cx, cpu, question)
    }

    fn why_placed(&self, cx: &Context, task: TaskId, cpu: CpuId, why: &Enqueue) -> Option<Placement> {
        self.placement(cx, task, cpu, why)
    }

    fn standing(&self, task: TaskId) -> Option<Standing> {
        self.order.standing(task)
    }

    fn cpu_stat(&self, group: GroupId) -> Option<CpuStat> {
        self.order.cpu_stat(group)
    }

    fn next_timer(&self) -> Option<Time> {
        (self.alarm != Time::NEVER).then_some(self.alarm)
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        if let Some(cpu) = self.release(cx) {
            return Resched::Preempt(cpu);
        }
        while let Some(answer) = self.replenish_reserved(cx) {
            if answer != Resched::Keep {
                return answer;
            }
        }
        if self.reserved.is_due {
            if let Some(cpu) = self.push_reserved(cx) {
                return Resched::Preempt(cpu);
            }
            self.reserved.is_due = false;
        }
        if self.urgent.is_due {
            if let Some(cpu) = self.push_waiting(cx) {
                return Resched::Preempt(cpu);
            }
            self.urgent.is_due = false;
        }
        for cpu in cx.machine.cpu_ids() {
            if self.ends_slice(cx, cpu) {
                return Resched::Preempt(cpu);
            }
            let it = &mut self.cpus[cpu.index()];
            let opens = it.realtime.timer(cx.now);
            // Tasks that wait elsewhere may come.
            self.urgent.is_due |= opens && self.urgent.waiting() > 0;
            let opened = opens && it.realtime.best_waiting() > 0;
            let serves = it.has_realtime() && it.server.timer(cx.now) && it.runs_above_fair();
            let is_awaited = it.realtime.best_waiting() > 0 || self.reserved.waiting() > 0;
            let has_served = std::mem::take(&mut it.has_served) && is_awaited;
            if opened || serves || has_served {
                it.resched = true;
                return Resched::Preempt(cpu);
            }
        }
        if self.urgent.is_due {
            self.alarm = cx.now;
            return Resched::Keep;
        }
        let soonest = self.cpus.iter().map(Cpu::next_alarm).min();
        let of_tasks = self.order.next_refill().min(self.reserved.next_timer());
        self.alarm = soonest.unwrap_or(Time::NEVER).min(of_tasks);
        Resched::Keep
    }
}

#[cfg(test)]
mod tests;
