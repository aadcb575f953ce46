//! Real-time tasks of several CPUs: a CPU that would run something less urgent pulls one that waits elsewhere, and a
//! CPU on which one has to wait pushes it to the CPU that runs the least urgent work.
//!
//! Source: specs/smp.md section 6.1. A CPU that is throttled, or serves fair tasks, neither gives nor takes.
//! Departures:
//! - A CPU pulls the most urgent task of all; that one must not be the best of its CPU.
//! - A task that cannot be pushed does not keep less urgent ones of its CPU from it.
//! - A push asks the other CPU to pull, which takes the time of an interrupt. RT_PUSH_IPI pulls like the rest.

use super::domains::Domain;
use super::order::Order;
use super::{Running, Stack};
use goodness_core::{Context, CpuId, Effort, Enqueue, Machine, PerTask, Span, Stop, TaskId};

/// Urgency of a CPU that real-time tasks cannot have.
const CLOSED: u8 = 100;

/// The real-time tasks that wait, summed up.
#[derive(Debug)]
pub struct Urgent {
    /// Tasks that wait, pinned ones included.
    waiting: u32,
    /// By CPU: those among them that may use another CPU.
    movable: Vec<u32>,
    /// CPUs with such tasks, a bit each.
    overloaded: Vec<u64>,
    /// True for tasks that may use several CPUs, as of their last arrival.
    may_leave: PerTask<bool>,
    /// By CPU: the task that it was asked to pull, and its priority.
    claims: Vec<Option<(TaskId, u8)>>,
    /// True for tasks that wait and that a CPU was asked to pull.
    is_claimed: PerTask<bool>,
    /// True if tasks wait that may have to be pushed.
    pub is_due: bool,
    /// The CPU that was last chosen among equals.
    last: CpuId,
}

impl Urgent {
    pub fn new(machine: &Machine) -> Urgent {
        let cpus = machine.cpu_count();
        Urgent {
            waiting: 0,
            movable: vec![0; cpus],
            overloaded: vec![0; cpus.div_ceil(64)],
            may_leave: PerTask::default(),
            claims: vec![None; cpus],
            is_claimed: PerTask::default(),
            is_due: false,
            last: CpuId(0),
        }
    }

    pub fn admit(&mut self, task: TaskId) {
        self.may_leave.admit(task);
        self.is_claimed.admit(task);
    }

    /// Tasks that wait.
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// `task` waits on `cpu`.
    fn arrives(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        self.waiting += 1;
        self.may_leave[task] = !cx.tasks[task].affinity.is_single() && cx.machine.cpu_count() > 1;
        self.movable[cpu.index()] += u32::from(self.may_leave[task]);
        self.note(cpu);
    }

    /// `task` does not wait on `cpu` any more.
    pub fn leaves(&mut self, cpu: CpuId, task: TaskId) {
        self.waiting -= 1;
        self.is_claimed[task] = false;
        self.movable[cpu.index()] -= u32::from(self.may_leave[task]);
        self.note(cpu);
    }

    fn note(&mut self, cpu: CpuId) {
        let (word, bit) = (&mut self.overloaded[cpu.index() / 64], 1 << (cpu.index() % 64));
        *word = if self.movable[cpu.index()] > 0 { *word | bit } else { *word & !bit };
    }

    /// CPUs with tasks that wait and may use another CPU.
    fn overloaded(&self) -> impl Iterator<Item = CpuId> + '_ {
        let words = self.overloaded.iter().enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(|(index, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| CpuId(index as u32 * 64 + bit))
        })
    }

    /// `cpu` picks now; true if it was asked to pull.
    pub fn answers(&mut self, cpu: CpuId) -> bool {
        let Some((task, _)) = self.claims[cpu.index()].take() else { return false };
        self.is_claimed[task] = false;
        true
    }
}

impl<O: Order> Stack<O> {
    /// Queues a real-time task. Returns another CPU that is to pull it.
    #[inline(never)]
    pub(super) fn enqueue_realtime(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Option<CpuId> {
        let it = &mut self.cpus[cpu.index()];
        let at_head = match (why, self.order.launch_rank(task)) {
            (Enqueue::Preempted, _) => !self.members.is_expired(task) && !it.makes_room,
            (_, 0) => false,
            (_, rank) => {
                let first = it.realtime.front(cx.tasks[task].rt_priority);
                first.is_some_and(|first| rank < self.order.launch_rank(first))
            }
        };
        it.realtime.enqueue(&mut self.members, cx, task, at_head);
        self.listed[task] = Some(cpu);
        self.urgent.arrives(cx, cpu, task);
        let urgent = match it.running {
            Running::Nothing | Running::Reserved(_) => false,
            Running::Fair(_) => !it.server.is_serving() && it.realtime.best_waiting() > 0,
            Running::Realtime(_, priority) => it.realtime.best_waiting() > priority,
        };
        it.resched |= urgent;
        if self.urgent.may_leave[task] && !self.runs_soon(cx, cpu, task) {
            let by = if let Enqueue::Wakeup { on, .. } = why { on } else { cpu };
            if let Some(to) = self.push(cx, task, by) {
                return Some(to);
            }
        }
        if matches!(why, Enqueue::Wakeup { .. }) {
            self.make_room(cx, cpu, task);
        }
        None
    }

    /// Lets woken `task` go before a running one of its priority that can go elsewhere, if `task` itself cannot.
    fn make_room(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        let Running::Realtime(current, priority) = self.cpus[cpu.index()].running else { return };
        let is_equal = priority == cx.tasks[task].rt_priority && !self.cpus[cpu.index()].resched;
        if !is_equal || !self.urgent.may_leave[current] || self.lowest(cx, current, priority, cpu).is_none() {
            return;
        }
        let it = &mut self.cpus[cpu.index()];
        it.realtime.remove(&mut self.members, task);
        it.realtime.enqueue(&mut self.members, cx, task, true);
        (it.makes_room, it.resched) = (true, true);
    }

    #[inline(never)]
    pub(super) fn stop_realtime(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) {
        let it = &mut self.cpus[cpu.index()];
        let must_stop = it.realtime.account(ran);
        let turn_over = why == Stop::Tick && it.realtime.tick(&mut self.members, cx, task);
        it.resched |= must_stop || turn_over;
    }

    #[inline(always)]
    pub(super) fn pick_realtime(&mut self, cx: &Context, cpu: CpuId) -> Option<TaskId> {
        let it = &mut self.cpus[cpu.index()];
        let task = it.realtime.pick(&mut self.members)?;
        it.running = Running::Realtime(task, cx.tasks[task].rt_priority);
        it.keep = false;
        self.listed[task] = None;
        self.urgent.leaves(cpu, task);
        self.order.ran_elsewhere(task);
        self.order.put_current(cx, cpu);
        Some(task)
    }

    /// True if real-time tasks cannot have `cpu` now.
    pub(super) fn is_closed(&self, cpu: CpuId) -> bool {
        let it = &self.cpus[cpu.index()];
        it.server.is_serving() || it.realtime.is_throttled()
    }

    /// Urgency of what runs on `cpu`, or is about to.
    fn urgency(&self, cpu: CpuId) -> u8 {
        let it = &self.cpus[cpu.index()];
        if self.is_closed(cpu) || matches!(it.running, Running::Reserved(_)) {
            return CLOSED;
        }
        let runs = if let Running::Realtime(_, priority) = it.running { priority } else { 0 };
        let claim = self.urgent.claims[cpu.index()].map_or(0, |(_, priority)| priority);
        runs.max(it.realtime.best_waiting()).max(claim)
    }

    /// True if `task`, which waits on `cpu`, is what that CPU runs next, without any other event.
    fn runs_soon(&self, cx: &Context, cpu: CpuId, task: TaskId) -> bool {
        let (it, priority) = (&self.cpus[cpu.index()], cx.tasks[task].rt_priority);
        let beats = match it.running {
            Running::Reserved(_) => false,
            Running::Realtime(_, than) => than < priority,
            _ => true,
        };
        beats && it.realtime.best_waiting() == priority && it.realtime.front(priority) == Some(task)
    }

    /// CPU for a real-time task that becomes runnable: its previous one, unless that runs one as urgent, or one that
    /// cannot go elsewhere; then the one with the least urgent work. `on` is where this is decided.
    pub(super) fn place_realtime(&mut self, cx: &Context, task: TaskId, before: CpuId, on: CpuId) -> CpuId {
        let priority = cx.tasks[task].rt_priority;
        let it = &self.cpus[before.index()];
        let stays = match it.running {
            Running::Realtime(current, than) => than < priority && self.urgent.may_leave[current],
            Running::Reserved(_) => false,
            _ => it.realtime.best_waiting() < priority,
        };
        if stays { before } else { self.lowest(cx, task, priority, on).unwrap_or(before) }
    }

    /// The CPU with the least urgent work below `priority` that `task` may use: its own, else the nearest to it.
    fn lowest(&mut self, cx: &Context, task: TaskId, priority: u8, on: CpuId) -> Option<CpuId> {
        let machine = &cx.machine;
        cx.examined(Effort::Balance, machine.cpu_count() as u32);
        let allowed = |cpu: &CpuId| cx.tasks.may_run(task, *cpu);
        let least = machine.cpu_ids().filter(allowed).map(|cpu| self.urgency(cpu)).min()?;
        if least >= priority {
            return None;
        }
        let is_lowest = |cpu: &CpuId| allowed(cpu) && self.urgency(*cpu) == least;
        let own = cx.tasks.cpu(task);
        let near = self.nearest(cx, own, on, |cpu| is_lowest(&cpu))?;
        if near != own {
            self.urgent.last = near;
        }
        Some(near)
    }

    /// The CPU that `fits` and is nearest to `own`; `on` first among equals, else in turns.
    pub(super) fn nearest(&self, cx: &Context, own: CpuId, on: CpuId, fits: impl Fn(CpuId) -> bool) -> Option<CpuId> {
        if fits(own) {
            return Some(own);
        }
        let last = self.urgent.last;
        let any = |cpus: &[CpuId]| {
            let (low, high) = cpus.split_at(cpus.partition_point(|cpu| *cpu <= last));
            high.iter().chain(low).copied().find(|cpu| fits(*cpu))
        };
        Domain::around(&cx.machine, own).find_map(|domain| {
            let span = cx.machine.group(own, domain.level);
            if span.contains(&on) && fits(on) { Some(on) } else { any(span) }
        })
    }

    /// Asks the CPU with the least urgent work to pull `task`, if that is less urgent. `by` asks.
    fn push(&mut self, cx: &Context, task: TaskId, by: CpuId) -> Option<CpuId> {
        let priority = cx.tasks[task].rt_priority;
        if self.listed[task].is_none_or(|cpu| self.is_closed(cpu)) {
            return None;
        }
        let to = self.lowest(cx, task, priority, by)?;
        if let Some((other, _)) = self.urgent.claims[to.index()].replace((task, priority)) {
            // A less urgent task loses the CPU that it was to go to, and may have to go to another.
            self.urgent.is_claimed[other] = false;
            (self.urgent.is_due, self.alarm) = (true, cx.now);
        }
        self.urgent.is_claimed[task] = true;
        self.cpus[to.index()].resched = true;
        Some(to)
    }

    /// Pushes the most urgent task that waits and can be pushed; returns the CPU that is to pull it.
    pub(super) fn push_waiting(&mut self, cx: &Context) -> Option<CpuId> {
        let mut best: Option<(u8, TaskId, CpuId)> = None;
        for cpu in self.urgent.overloaded().filter(|cpu| !self.is_closed(*cpu)) {
            let can = |task: TaskId, cpu: CpuId| cx.tasks.may_run(task, cpu);
            let found = self.cpus[cpu.index()].realtime.find(&self.members, |task| {
                let priority = cx.tasks[task].rt_priority;
                let mut cpus = cx.machine.cpu_ids().filter(|cpu| can(task, *cpu));
                self.urgent.may_leave[task]
                    && !self.urgent.is_claimed[task]
                    && !self.runs_soon(cx, cpu, task)
                    && cpus.any(|cpu| self.urgency(cpu) < priority)
            });
            let found = found.map(|task| (cx.tasks[task].rt_priority, task, cpu));
            best = match (best, found) {
                (Some(best), Some(found)) if found.0 <= best.0 => Some(best),
                (best, found) => found.or(best),
            };
        }
        let (_, task, cpu) = best?;
        self.push(cx, task, cpu)
    }

    /// Takes the most urgent real-time task that waits elsewhere and may use `cpu`, if `cpu` has none as urgent.
    pub(super) fn pull_realtime(&mut self, cx: &Context, cpu: CpuId) {
        if self.urgent.waiting == 0 || self.is_closed(cpu) {
            return;
        }
        let mut most = self.cpus[cpu.index()].realtime.best_waiting();
        let mut best = None;
        for from in self.urgent.overloaded().filter(|from| *from != cpu && !self.is_closed(*from)) {
            cx.examined(Effort::Balance, 1);
            let there = &self.cpus[from.index()].realtime;
            if there.best_waiting() <= most {
                continue;
            }
            let fits = |task: TaskId| cx.tasks.may_run(task, cpu) && !self.runs_soon(cx, from, task);
            if let Some(task) = there.find(&self.members, fits)
                && cx.tasks[task].rt_priority > most
            {
                (most, best) = (cx.tasks[task].rt_priority, Some((from, task)));
            }
        }
        let Some((from, task)) = best else { return };
        self.cpus[from.index()].realtime.remove(&mut self.members, task);
        self.urgent.leaves(from, task);
        self.note_tasks(cx, from);
        self.cpus[cpu.index()].realtime.enqueue(&mut self.members, cx, task, false);
        self.urgent.arrives(cx, cpu, task);
        self.listed[task] = Some(cpu);
        self.wakeups.arrives(cpu, task);
    }

    /// `cpu` has picked: tasks that still wait there, or for which it was asked, may have to be pushed.
    pub(super) fn push_later(&mut self, cx: &Context, cpu: CpuId) {
        let was_asked = self.urgent.answers(cpu);
        if self.urgent.waiting > 0 && (was_asked || self.urgent.movable[cpu.index()] > 0) {
            self.urgent.is_due = true;
            self.alarm = cx.now;
        }
    }
}
