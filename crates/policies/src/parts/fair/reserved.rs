//! Tasks of SCHED_DEADLINE above the real-time class: of those with budget the earliest deadlines run, one on each CPU.
//!
//! Source: specs/smp.md section 6.3, specs section 11; servers: `cbs.rs`. A task with SCHED_DEADLINE and a reservation
//! is one of them. Budgets are looked at on ticks and switches, as without HRTICK; what was overrun is paid back.
//! Departures:
//! - One queue for the machine stands for the kernel's queues with push and pull, whose outcome is the same.
//! - A push asks the other CPU to pick again, which takes the time of an interrupt.
//! - No task reclaims the bandwidth of others (SCHED_FLAG_RECLAIM).
//! - Affinities narrower than the machine are accepted; the kernel wants an exclusive cpuset for them.

use super::order::Order;
use super::{Running, Stack};
use crate::parts::cbs::Servers;
use crate::parts::ordered::{Ordered, Places};
use goodness_core::{
    Class, Context, CpuId, Effort, Enqueue, Machine, PerTask, Rejected, Resched, Reservation, Span, Stop, TaskId, Time,
};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// It runs, sleeps, or is in another class.
    #[default]
    Nowhere,
    Queued,
    /// Runnable, but without budget.
    Throttled,
}

/// The tasks with a reservation.
#[derive(Debug)]
pub struct Reserved {
    servers: Servers,
    at: PerTask<Place>,
    places: Places,
    /// Those that wait and have budget, by deadline.
    queue: Ordered,
    waiting: u32,
    /// By CPU: the task that it was asked to pick, and its deadline.
    claims: Vec<Option<(TaskId, Time)>>,
    is_claimed: PerTask<bool>,
    /// True if tasks wait that another CPU may have to pick.
    pub is_due: bool,
    /// True once there was such a task.
    is_used: bool,
}

/// The reservation by which `task` is scheduled.
#[inline]
pub fn reservation(cx: &Context, task: TaskId) -> Option<&Reservation> {
    if cx.tasks.class(task) == Class::Deadline { cx.tasks[task].reservation.as_ref() } else { None }
}

/// True if `task` is in no class above the fair one.
#[inline(always)]
pub fn is_fair(cx: &Context, task: TaskId) -> bool {
    let class = cx.tasks.class(task);
    !class.is_realtime() && (class != Class::Deadline || cx.tasks[task].reservation.is_none())
}

impl Reserved {
    /// No reservation yet; `serves_fair` if each CPU has a fair server.
    pub fn new(machine: &Machine, serves_fair: bool) -> Reserved {
        Reserved {
            servers: Servers::new(machine.cpu_count(), false, serves_fair),
            at: PerTask::default(),
            places: Places::default(),
            queue: Ordered::default(),
            waiting: 0,
            claims: vec![None; machine.cpu_count()],
            is_claimed: PerTask::default(),
            is_due: false,
            is_used: false,
        }
    }

    pub fn admit(&mut self, cx: &Context, task: TaskId) -> Result<(), Rejected> {
        self.at.admit(task);
        self.is_claimed.admit(task);
        if cx.tasks[task].reservation.is_some() {
            self.places.reserve(task.index() + 1);
            // Its class may change.
            self.servers.reserve(task);
        }
        self.servers.admit(task, reservation(cx, task))
    }

    pub fn exit(&mut self, cx: &Context, task: TaskId) {
        self.servers.exit(cx, task);
    }

    /// Tasks that wait and have budget.
    #[inline]
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// True if `task` is runnable, but without budget.
    #[inline]
    pub fn is_throttled(&self, task: TaskId) -> bool {
        self.at[task] == Place::Throttled
    }

    /// Deadline by which `task`, which runs or waits, competes.
    pub fn deadline(&self, task: TaskId) -> Time {
        self.servers.deadline(task)
    }

    /// Time of the next end of throttling.
    #[inline(always)]
    pub fn next_timer(&self) -> Time {
        if self.is_used { self.servers.next_timer().unwrap_or(Time::NEVER) } else { Time::NEVER }
    }

    fn insert(&mut self, cx: &Context, task: TaskId) {
        self.queue.insert(&mut self.places, cx, task, self.servers.deadline(task).0 as i64);
        self.at[task] = Place::Queued;
        self.waiting += 1;
    }

    /// Takes `task` off the queue; false if it is none of these tasks, or does not wait.
    pub fn remove(&mut self, cx: &Context, task: TaskId) -> bool {
        let place = std::mem::take(&mut self.at[task]);
        if place == Place::Queued {
            self.queue.remove(&mut self.places, cx, task);
            self.waiting -= 1;
        }
        self.is_claimed[task] = false;
        place != Place::Nowhere
    }

    /// The earliest deadline among tasks that wait and may run on `cpu`.
    fn first(&self, cx: &Context, cpu: CpuId) -> Option<(TaskId, Time)> {
        if self.waiting == 0 {
            return None;
        }
        self.queue.first_allowed(&self.places, cx, cpu).map(|(task, key)| (task, Time(key as u64)))
    }

    /// `cpu` picks now; true if it was asked to.
    fn answers(&mut self, cpu: CpuId) -> bool {
        let Some((task, _)) = self.claims[cpu.index()].take() else { return false };
        self.is_claimed[task] = false;
        true
    }
}

impl<O: Order> Stack<O> {
    #[inline(always)]
    pub(super) fn pick_waiting_reserved(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        if self.reserved.waiting() > 0 { self.pick_reserved(cx, cpu) } else { None }
    }

    /// Queues `task`, unless it has no budget.
    #[inline(never)]
    pub(super) fn enqueue_reserved(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) {
        let Some(reservation) = reservation(cx, task) else { return };
        self.reserved.is_used = true;
        let wakes = matches!(why, Enqueue::Fork { .. } | Enqueue::Wakeup { .. });
        if !self.reserved.servers.arrive(cx, task, reservation, wakes) {
            self.reserved.at[task] = Place::Throttled;
            return;
        }
        self.join_reserved(cx, cpu, task);
    }

    /// Queues a task with budget, and asks `cpu` to pick again if it runs something of a later deadline.
    fn join_reserved(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        self.reserved.insert(cx, task);
        let deadline = self.reserved.deadline(task);
        if cx.tasks.may_run(task, cpu) && self.deadline_on(cpu).is_none_or(|other| other > deadline) {
            self.ask_for(cx, cpu, task);
        } else {
            self.push_reserved_later(cx);
        }
    }

    /// Asks `cpu` to pick again, for the sake of `task`.
    fn ask_for(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        let claim = (task, self.reserved.deadline(task));
        if let Some((other, _)) = self.reserved.claims[cpu.index()].replace(claim) {
            self.reserved.is_claimed[other] = false;
            self.push_reserved_later(cx);
        }
        self.reserved.is_claimed[task] = true;
        self.cpus[cpu.index()].resched = true;
    }

    /// Tasks wait that another CPU may have to pick: looked at by the timer, at this instant.
    pub(super) fn push_reserved_later(&mut self, cx: &Context) {
        if cx.machine.cpu_count() > 1 {
            self.reserved.is_due = true;
            self.alarm = cx.now;
        }
    }

    /// Deadline of what `cpu` runs or was asked to; `None` for tasks without a reservation.
    fn deadline_on(&self, cpu: CpuId) -> Option<Time> {
        let it = &self.cpus[cpu.index()];
        let running = match it.running {
            Running::Reserved(task) => Some(self.reserved.deadline(task)),
            Running::Fair(_) => it.server.serves_until(),
            _ => None,
        };
        let claimed = self.reserved.claims[cpu.index()].map(|(_, deadline)| deadline);
        running.into_iter().chain(claimed).min()
    }

    /// Picks the earliest deadline for `cpu`, if it is earlier than that of the fair server.
    #[inline]
    pub(super) fn pick_reserved(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        let (task, deadline) = self.reserved.first(cx, cpu)?;
        let it = &mut self.cpus[cpu.index()];
        if it.server.serves_until().is_some_and(|other| other <= deadline) {
            return None;
        }
        it.running = Running::Reserved(task);
        it.keep = false;
        self.reserved.remove(cx, task);
        self.order.ran_elsewhere(task);
        self.order.put_current(cx, cpu);
        Some(task)
    }

    /// `cpu` has picked: tasks that still wait, or for which it was asked, may have to be pushed.
    #[inline]
    pub(super) fn reserved_picked(&mut self, cx: &Context, cpu: CpuId) {
        if !self.reserved.is_used {
            return;
        }
        let was_asked = self.reserved.answers(cpu);
        if self.reserved.waiting > 0 || was_asked {
            self.push_reserved_later(cx);
        }
    }

    /// Charges a task with a reservation.
    #[inline(never)]
    pub(super) fn stop_reserved(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) {
        let it = &mut self.cpus[cpu.index()];
        // The real-time class shares its limit with this one, which is not subject to it.
        it.realtime.account_other(ran);
        if let Some(reservation) = reservation(cx, task) {
            it.resched |= self.reserved.servers.charge(cx, task, reservation, ran, why);
        }
    }

    /// Asks the CPU with the latest deadline to pick the earliest task that waits and has to be pushed; returns it.
    pub(super) fn push_reserved(&mut self, cx: &Context) -> Option<CpuId> {
        let found = self.reserved.queue.iter(&self.reserved.places).find_map(|task| {
            let to = if self.reserved.is_claimed[task] { None } else { self.latest(cx, task) };
            to.map(|to| (task, to))
        });
        let (task, to) = found?;
        self.ask_for(cx, to, task);
        Some(to)
    }

    /// The CPU that `task` may use with the latest deadline after its own: one without a reservation if there is one,
    /// of those its own CPU, else the nearest to it.
    fn latest(&self, cx: &Context, task: TaskId) -> Option<CpuId> {
        cx.examined(Effort::Balance, cx.machine.cpu_count() as u32);
        let (own, deadline) = (cx.tasks.cpu(task), self.reserved.deadline(task));
        let allowed = || cx.machine.cpu_ids().filter(|cpu| cx.tasks.may_run(task, *cpu));
        let on = |cpu: CpuId| self.deadline_on(cpu).unwrap_or(Time::NEVER);
        let latest = allowed().map(on).max().filter(|latest| *latest > deadline)?;
        self.nearest(cx, own, own, |cpu| cx.tasks.may_run(task, cpu) && on(cpu) == latest)
    }

    /// CPU for a task with a reservation that becomes runnable: its previous one, unless that runs an earlier deadline
    /// or a task that cannot go elsewhere; then the one with the latest deadline.
    pub(super) fn place_reserved(&mut self, cx: &Context, task: TaskId, before: CpuId) -> CpuId {
        let stays = match self.cpus[before.index()].running {
            Running::Reserved(current) => {
                self.reserved.deadline(task) < self.reserved.deadline(current)
                    && !cx.tasks[current].affinity.is_single()
            }
            _ => true,
        };
        if stays { before } else { self.latest(cx, task).unwrap_or(before) }
    }

    /// Gives a task whose period began its budget. Returns its CPU if that must pick again.
    pub(super) fn replenish_reserved(&mut self, cx: &Context) -> Option<Resched> {
        let task = self.reserved.servers.next_due(cx)?;
        let cpu = cx.tasks.cpu(task);
        if self.cpus[cpu.index()].running == Running::Reserved(task) {
            self.reserved.servers.replenish(cx, task);
            self.push_reserved_later(cx);
            return Some(Resched::Keep);
        }
        if self.reserved.at[task] != Place::Throttled {
            // It blocked, or has another class now.
            self.reserved.servers.rest(task);
            return Some(Resched::Keep);
        }
        self.reserved.servers.replenish(cx, task);
        self.join_reserved(cx, cpu, task);
        Some(self.answer(cpu))
    }

    /// Deadline by which `task` competes, if it runs or waits with budget in this class.
    pub(super) fn competes_until(&self, task: TaskId) -> Option<Time> {
        let runs = || self.cpus.iter().any(|it| it.running == Running::Reserved(task));
        let competes = self.reserved.at[task] == Place::Queued || runs();
        competes.then(|| self.reserved.deadline(task))
    }

    /// `task` is queued in another class.
    #[inline]
    pub(super) fn leave_reserved(&mut self, task: TaskId) {
        if self.reserved.is_used {
            self.reserved.servers.leave(task);
        }
    }
}
