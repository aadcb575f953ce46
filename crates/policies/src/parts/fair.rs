//! Common parts of CFS and EEVDF: the classes on each CPU (real-time above fair), accounting of the running task,
//! wake-up preemption, placement and balancing. The [`Order`] orders the fair tasks.
//!
//! Source: specs section 5 and the oracle recordings. As in the kernel, the running task stays in the accounts of its
//! queue until another one is picked: `charge` followed by `enqueue(Preempted)` changes nothing by itself.

mod balance;
mod place;
pub(crate) mod weight;

use crate::parts::realtime::{FairServer, Members, Realtime};
use balance::Balancer;
use goodness_core::{
    About, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Idle, Machine, PerTask, Pick, Pull, Registered, Rejected,
    Resched, Seed, Span, Stop, TaskId, Time, Tunables,
};
use place::Placement;
use weight::Weight;

/// Reason for an enqueue on a fair queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is new.
    Fork,
    /// It slept.
    Wake,
    /// Moved from another queue, or after a change of nice, class or affinity.
    Move,
}

/// Reason for a dequeue from a fair queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It waits for something.
    Sleep,
    /// Moves to another queue, or changes nice, class or affinity.
    Move,
    /// It ends.
    Gone,
}

/// The order of fair tasks: one queue per CPU, with at most one current entity (running or just stopped).
pub trait Order: Sized + 'static {
    /// The policy's entry in the registry.
    const ABOUT: About;
    /// Its tunables.
    type Settings: Tunables;
    /// Empty queues.
    fn new(machine: &Machine, settings: &Self::Settings) -> Self;
    /// True if the fair server keeps fair tasks alive; otherwise the real-time throttle does.
    fn has_fair_server(&self) -> bool;
    /// Reserves room for a task.
    fn admit(&mut self, cx: &Context, task: TaskId);
    /// Order among tasks that wait for a common start: smaller first; 0 for all others.
    fn launch_rank(&self, _: TaskId) -> i64 {
        0
    }
    /// A task ran in another class.
    fn has_run(&mut self, _: TaskId) {}
    /// CPU whose queue contains the task, even if it sleeps but is not dequeued yet.
    fn home(&self, task: TaskId) -> Option<CpuId>;
    /// Entities on the queue, including the current one and delayed dequeues.
    fn queued(&self, cpu: CpuId) -> u32;
    /// Entities that want the CPU, the current one included.
    fn runnable(&self, cpu: CpuId) -> u32;
    /// Weight of a task as of its last arrival.
    fn weight(&self, task: TaskId) -> u64;
    /// Adds a task to the queue. The current entity is accounted up to now, and stays current.
    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, how: Arrival);
    /// A task leaves the queue; one that sleeps may stay queued. The current entity was accounted up to now.
    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, how: Departure);
    /// Wakes a task that sleeps but is still queued.
    fn rewake(&mut self, cx: &Context, cpu: CpuId, task: TaskId);
    /// The current entity ran; whether the CPU should choose again.
    fn account(&mut self, cpu: CpuId, ran: Span) -> bool;
    /// Handles a tick, after the accounting. Returns whether the CPU should pick again.
    fn tick(&mut self, cx: &Context, cpu: CpuId) -> bool;
    /// The current entity yields.
    fn yields(&mut self, cpu: CpuId);
    /// Preemption of the current entity by `woken` (just queued) as decided by class alone. `None` for equal classes.
    fn class_decides(&mut self, cx: &Context, cpu: CpuId, woken: TaskId, is_fork: bool) -> Option<bool>;
    /// True if `woken`, just queued, preempts the current entity, which is accounted up to now.
    fn preempts(&mut self, cx: &Context, cpu: CpuId, woken: TaskId) -> bool;
    /// The entity that runs on `cpu` or just stopped there, if it is still queued there.
    fn current(&self, cpu: CpuId) -> Option<TaskId>;
    /// Chooses the next entity and makes it current.
    fn pick(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId>;
    /// Clears the current entity, because another class runs now.
    fn put_current(&mut self, cx: &Context, cpu: CpuId);
    /// The first waiting entity in queue order that `accepts`.
    fn first_waiting(&self, cpu: CpuId, accepts: &mut dyn FnMut(TaskId) -> bool) -> Option<TaskId>;
}

/// Occupant of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Running {
    Nothing,
    Fair(TaskId),
    Realtime(TaskId, u8),
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
    /// Only the current entity's attributes changed: the next pick returns it without an election.
    keep: bool,
}

impl Cpu {
    fn has_realtime(&self) -> bool {
        self.realtime.queued() > 0 || matches!(self.running, Running::Realtime(..))
    }

    /// Time at which throttle or server want attention; neither matters without real-time tasks.
    fn next_alarm(&self) -> Time {
        if self.has_realtime() { self.server.next_timer().min(self.realtime.next_timer()) } else { Time::NEVER }
    }
}

/// The classes of every CPU: real-time above fair, which `O` orders.
#[derive(Debug)]
pub struct Stack<O> {
    order: O,
    members: Members,
    /// CPU on whose real-time list a task is.
    listed: PerTask<Option<CpuId>>,
    cpus: Vec<Cpu>,
    placement: Placement,
    balancer: Balancer,
    /// Earliest deadline of any throttle or server.
    alarm: Time,
}

impl<O: Order> Registered for Stack<O> {
    const ABOUT: About = O::ABOUT;
    type Settings = O::Settings;

    fn new(machine: &Machine, settings: O::Settings, _: Seed) -> Self {
        let order = O::new(machine, &settings);
        let serves = order.has_fair_server();
        let cpu = |_| Cpu {
            running: Running::Nothing,
            realtime: Realtime::new(!serves),
            server: FairServer::new(serves),
            accounted_at: Time::ZERO,
            accounted: Span::ZERO,
            resched: false,
            keep: false,
        };
        Stack {
            order,
            members: Members::default(),
            listed: PerTask::default(),
            cpus: machine.cpu_ids().map(cpu).collect(),
            placement: Placement::new(machine),
            balancer: Balancer::new(machine),
            alarm: Time::NEVER,
        }
    }
}

impl<O: Order> Stack<O> {
    /// Accounts the run time of the current fair entity of `cpu`.
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

    fn account_fair(&mut self, cx: &Context, cpu: CpuId, ran: Span) {
        if ran == Span::ZERO {
            return;
        }
        let again = self.order.account(cpu, ran);
        let it = &mut self.cpus[cpu.index()];
        it.resched |= again;
        it.resched |= it.server.account(cx.now, ran);
    }

    /// Sets the alarm no later than the timer of `cpu`.
    #[inline]
    fn set_alarm(&mut self, cpu: CpuId) {
        self.alarm = self.alarm.min(self.cpus[cpu.index()].next_alarm());
    }

    /// Result for the host: whether `cpu` was asked to pick again.
    fn answer(&self, cpu: CpuId) -> Resched {
        if self.cpus[cpu.index()].resched { Resched::Preempt(cpu) } else { Resched::Keep }
    }

    /// Starts or stops the fair server as the fair queue fills or empties.
    fn watch_server(&mut self, cx: &Context, cpu: CpuId) {
        let it = &mut self.cpus[cpu.index()];
        match self.order.queued(cpu) {
            0 => it.server.stop(),
            _ => it.server.start(cx.now),
        }
    }

    fn enqueue_realtime(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) {
        let it = &mut self.cpus[cpu.index()];
        let at_head = match (why, self.order.launch_rank(task)) {
            (Enqueue::Preempted, _) => !self.members.is_expired(task),
            (_, 0) => false,
            (_, rank) => {
                let first = it.realtime.front(cx.tasks[task].rt_priority);
                first.is_some_and(|first| rank < self.order.launch_rank(first))
            }
        };
        it.realtime.enqueue(&mut self.members, cx, task, at_head);
        self.listed[task] = Some(cpu);
        let urgent = match it.running {
            Running::Nothing => false,
            Running::Fair(_) => !it.server.is_serving() && it.realtime.best_waiting() > 0,
            Running::Realtime(_, priority) => it.realtime.best_waiting() > priority,
        };
        it.resched |= urgent;
    }

    fn enqueue_fair(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) {
        match (self.order.home(task), why) {
            (Some(_), Enqueue::Preempted | Enqueue::Yielded | Enqueue::SliceEnd) => return,
            (Some(home), Enqueue::Wakeup { .. }) if home == cpu => {
                // As in the kernel, the current entity is not brought up to date for this.
                self.order.rewake(cx, cpu, task);
            }
            (home, _) => {
                let heavier = Weight::of_task(&cx.tasks[task], 3).value >= self.order.weight(task);
                self.cpus[cpu.index()].keep = why == Enqueue::Restored && home == Some(cpu) && heavier;
                if let Some(home) = home {
                    self.catch_up(cx, home);
                    self.order.dequeue(cx, home, task, Departure::Move);
                    self.watch_server(cx, home);
                }
                self.catch_up(cx, cpu);
                let how = match why {
                    Enqueue::Fork { .. } => Arrival::Fork,
                    Enqueue::Wakeup { .. } => Arrival::Wake,
                    _ => Arrival::Move,
                };
                self.order.enqueue(cx, cpu, task, how);
            }
        }
        self.watch_server(cx, cpu);
        let arrives = matches!(why, Enqueue::Fork { .. } | Enqueue::Wakeup { .. } | Enqueue::Migrated);
        let it = &self.cpus[cpu.index()];
        if arrives && !it.resched && matches!(it.running, Running::Fair(_)) {
            let decided = self.order.class_decides(cx, cpu, task, matches!(why, Enqueue::Fork { .. }));
            let preempts = decided.unwrap_or_else(|| {
                self.catch_up(cx, cpu);
                self.order.preempts(cx, cpu, task)
            });
            self.cpus[cpu.index()].resched |= preempts;
        }
    }

    fn stop_fair(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Stop) {
        match why {
            Stop::Tick => {
                if self.order.tick(cx, cpu) {
                    self.cpus[cpu.index()].resched = true;
                }
            }
            Stop::Yielded => self.order.yields(cpu),
            Stop::Blocked { .. } => self.order.dequeue(cx, cpu, task, Departure::Sleep),
            Stop::Exited => self.order.dequeue(cx, cpu, task, Departure::Gone),
            Stop::Preempted | Stop::SliceEnd => {}
        }
        self.watch_server(cx, cpu);
    }

    fn stop_realtime(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) {
        let it = &mut self.cpus[cpu.index()];
        let must_stop = it.realtime.account(ran);
        let turn_over = why == Stop::Tick && it.realtime.tick(&mut self.members, cx, task);
        it.resched |= must_stop || turn_over;
    }

    fn pick_realtime(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        let it = &mut self.cpus[cpu.index()];
        let task = it.realtime.pick(&mut self.members)?;
        it.running = Running::Realtime(task, cx.tasks[task].rt_priority);
        it.keep = false;
        self.listed[task] = None;
        self.order.has_run(task);
        self.order.put_current(cx, cpu);
        Some(task)
    }

    fn pick_fair(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        let keep = std::mem::take(&mut self.cpus[cpu.index()].keep);
        let kept = if keep { self.order.current(cpu) } else { None };
        let task = kept.or_else(|| self.order.pick(cx, cpu));
        self.watch_server(cx, cpu);
        let it = &mut self.cpus[cpu.index()];
        it.running = Running::Fair(task?);
        it.accounted_at = cx.now;
        it.accounted = Span::ZERO;
        task
    }
}

impl<O: Order> CpuPolicy for Stack<O> {
    fn admit(&mut self, cx: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.members.admit(task);
        self.listed.admit(task);
        self.placement.admit(task);
        self.order.admit(cx, task);
        Ok(())
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        if let Some(home) = self.order.home(task)
            && matches!(why, Enqueue::Wakeup { .. })
        {
            return home;
        }
        self.choose_cpu(cx, task, why)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        if cx.tasks[task].class.is_realtime() {
            if let Some(home) = self.order.home(task) {
                self.catch_up(cx, home);
                self.order.dequeue(cx, home, task, Departure::Move);
                self.watch_server(cx, home);
            }
            self.enqueue_realtime(cx, cpu, task, why);
        } else {
            self.enqueue_fair(cx, cpu, task, why);
        }
        if cx.machine.cpu_count() > 1 {
            self.placement.arrives(cx, cpu, task);
        }
        self.set_alarm(cpu);
        self.answer(cpu)
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.placement.leaves(cx, task);
        if self.listed[task].take().is_some() {
            self.cpus[cpu.index()].realtime.remove(&mut self.members, task);
        } else {
            self.catch_up(cx, cpu);
            let how = if why == Dequeue::Kill { Departure::Gone } else { Departure::Move };
            self.order.dequeue(cx, cpu, task, how);
            self.watch_server(cx, cpu);
        }
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let it = &mut self.cpus[cpu.index()];
        it.resched = false;
        it.running = Running::Nothing;
        let task = if it.server.is_serving() {
            self.pick_fair(cx, cpu).or_else(|| self.pick_realtime(cx, cpu))
        } else {
            self.pick_realtime(cx, cpu).or_else(|| self.pick_fair(cx, cpu))
        };
        self.placement.note(cpu, task.is_none());
        self.set_alarm(cpu);
        Some(Pick { task: task?, timeslice: None })
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let it = &mut self.cpus[cpu.index()];
        if let Running::Realtime(..) = it.running {
            self.stop_realtime(cx, cpu, task, ran, why);
        } else {
            let rest = ran.saturating_sub(std::mem::take(&mut it.accounted));
            it.accounted_at = cx.now;
            self.account_fair(cx, cpu, rest);
            self.stop_fair(cx, cpu, task, why);
        }
        if why != Stop::Tick {
            if cx.machine.cpu_count() > 1 {
                self.placement.stopped(cx.now, task);
                if matches!(why, Stop::Blocked { .. } | Stop::Exited) {
                    self.placement.leaves(cx, task);
                }
            }
            // Accounting is complete; the CPU picks next, whatever else happens at this instant.
            let it = &mut self.cpus[cpu.index()];
            it.running = Running::Nothing;
            it.resched = false;
            return Resched::Keep;
        }
        self.answer(cpu)
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        self.propose(cx, cpu, idle)
    }

    fn next_timer(&self) -> Option<Time> {
        (self.alarm != Time::NEVER).then_some(self.alarm)
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        for cpu in cx.machine.cpu_ids() {
            let it = &mut self.cpus[cpu.index()];
            let opened = it.realtime.timer(cx.now) && it.realtime.best_waiting() > 0;
            let serves = it.has_realtime() && it.server.timer(cx.now) && matches!(it.running, Running::Realtime(..));
            if opened || serves {
                it.resched = true;
                return Resched::Preempt(cpu);
            }
        }
        let soonest = self.cpus.iter().map(Cpu::next_alarm).min();
        self.alarm = soonest.unwrap_or(Time::NEVER);
        Resched::Keep
    }
}
