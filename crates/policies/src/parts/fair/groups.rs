//! Task groups of CFS and EEVDF. Each group has a queue on each CPU. To Linux 7.2 these are scheduled level by level
//! ([`levels`]); from 7.3 on all tasks of a CPU are on one timeline ([`timeline`]).
//!
//! Source: docs/specs/groups-locks.md sections 1.2 to 1.4.
//! Departures: weights of groups are whole numbers of at least 2, as the kernel rounds them where it computes virtual
//! time; elsewhere it has multiples of 1/1024.
//! Without groups each CPU has its one queue, and every call goes straight to it.

mod levels;
mod limits;
mod parking;
mod pick;
mod timeline;

use super::bandwidth::Bandwidth;
use super::load::Loads;
use super::order::{Arrival, Departure, EntityId, Order, QueueId, Traits};
use super::weight::Weight;
use goodness_core::{Class, Context, CpuId, GroupId, Machine, Seed, Span, TaskId, Time};
use parking::Limbo;
use timeline::Timeline;

/// Tasks on a queue and on those below it.
#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// All, those that sleep but are still queued included.
    queued: u32,
    runnable: u32,
}

/// The queues of all CPUs and groups. Group `g` has queue `g * cpus + c` on CPU `c`; the root is group 0. The entity of
/// a group's queue has the number of the queue less `cpus`; the entities of tasks follow.
#[derive(Debug)]
pub struct Hierarchy<O> {
    order: O,
    cpus: u32,
    /// Number of entities that are no tasks; 0 without groups.
    parts: u32,
    /// By queue: the parent's queue, and the entity of this queue there.
    owners: Vec<Option<(QueueId, EntityId)>>,
    nodes: Vec<Node>,
    /// By CPU: the queues from the top down to that of the task picked last.
    paths: Vec<Vec<QueueId>>,
    /// The entities of a pick, from the top down.
    trail: Vec<(QueueId, EntityId)>,
    /// The limits of groups, if any has one.
    limits: Option<Box<Bandwidth>>,
    /// Tasks that limits have stopped, if the kernel stops tasks rather than queues.
    limbo: Option<Box<Limbo>>,
    /// The weights of groups, if all tasks of a CPU are on one timeline.
    timeline: Option<Box<Timeline>>,
    seed: Seed,
}

/// The interface of the order to the classes of a CPU, with groups or without.
impl<O: Order> Hierarchy<O> {
    pub fn new(machine: &Machine, order: O, seed: Seed) -> Hierarchy<O> {
        let cpus = machine.cpu_count();
        let (parts, trail) = (0, Vec::new());
        Hierarchy {
            order,
            cpus: cpus as u32,
            parts,
            owners: vec![None; cpus],
            nodes: Vec::new(),
            paths: Vec::new(),
            trail,
            limits: None,
            limbo: None,
            timeline: None,
            seed,
        }
    }

    /// The order within each queue.
    #[inline(always)]
    pub fn order(&self) -> &O {
        &self.order
    }

    #[inline(always)]
    fn is_flat(&self) -> bool {
        self.parts == 0
    }

    /// The parent of `queue`, and the entity of `queue` there.
    pub(super) fn owner(&self, queue: QueueId) -> Option<(QueueId, EntityId)> {
        self.owners.get(queue.index()).copied().flatten()
    }

    #[inline(always)]
    pub(super) fn entity(&self, task: TaskId) -> EntityId {
        EntityId(self.parts + task.0)
    }

    #[inline(always)]
    fn task(&self, entity: EntityId) -> Option<TaskId> {
        entity.0.checked_sub(self.parts).map(TaskId)
    }

    /// The queue of a group on a CPU.
    fn queue(&self, group: GroupId, cpu: CpuId) -> QueueId {
        QueueId(group.0 * self.cpus + cpu.0)
    }

    fn group(&self, queue: QueueId) -> GroupId {
        GroupId(queue.0 / self.cpus)
    }

    #[inline(always)]
    fn cpu(&self, queue: QueueId) -> CpuId {
        if self.is_flat() { CpuId(queue.0) } else { CpuId(queue.0 % self.cpus) }
    }

    /// Makes room for `task`, and with the first one for all groups.
    pub fn admit(&mut self, cx: &Context, loads: &mut Loads, task: TaskId) {
        if self.is_flat() && !cx.groups.is_flat() {
            self.arrange(cx, loads);
        }
        let entity = self.entity(task);
        self.order.admit(entity);
        self.limbo.iter_mut().for_each(|limbo| limbo.admit(task));
        self.timeline.iter_mut().for_each(|timeline| timeline.admit(task));
        if cx.now == Time::ZERO {
            let queue = self.queue(cx.tasks.group(task), cx.tasks.cpu(task));
            self.order.launch(queue, entity);
        }
    }

    fn arrange(&mut self, cx: &Context, loads: &mut Loads) {
        let queues = cx.groups.count() as u32 * self.cpus;
        self.parts = queues - self.cpus;
        let owner = |queue: u32| {
            let entity = queue.checked_sub(self.cpus)?;
            let around = cx.groups[GroupId(queue / self.cpus)].parent;
            Some((self.queue(around, CpuId(queue % self.cpus)), EntityId(entity)))
        };
        self.owners = (0..queues).map(owner).collect();
        self.nodes = vec![Node::default(); queues as usize];
        self.order.arrange(&self.owners);
        (0..self.parts).for_each(|part| self.order.admit(EntityId(part)));
        self.paths = vec![Vec::with_capacity(cx.groups.count()); self.cpus as usize];
        self.trail = Vec::with_capacity(cx.groups.count());
        loads.arrange(&self.owners, self.cpus, self.order.version().one_timeline.is_some());
        if let Some(mode) = self.order.version().one_timeline {
            self.timeline = Some(Box::new(Timeline::new(cx, mode, self.owners.len())));
        }
        self.limit(cx, self.seed.stream("limits", 0).rng());
    }

    /// Order among tasks that wait for a common start; see [`Order::launch_rank`].
    pub fn launch_rank(&self, task: TaskId) -> i64 {
        self.order.launch_rank(self.entity(task))
    }

    /// A task ran in another class.
    pub fn ran_elsewhere(&mut self, task: TaskId) {
        self.order.ran_elsewhere(self.entity(task));
    }

    /// CPU on one of whose queues the task is, even if it sleeps but is not dequeued yet.
    #[inline(always)]
    pub fn home(&self, task: TaskId) -> Option<CpuId> {
        self.order.home(self.entity(task)).map(|queue| self.cpu(queue))
    }

    /// The queue of its group that a task is on.
    fn group_queue(&self, task: TaskId) -> Option<QueueId> {
        match &self.timeline {
            Some(timeline) => timeline.queue(task),
            None => self.order.home(self.entity(task)),
        }
    }

    /// Tasks on the queues of `cpu`, including the current one and delayed dequeues.
    #[inline(always)]
    pub fn queued(&self, cpu: CpuId) -> u32 {
        if self.is_flat() { self.order.queued(QueueId(cpu.0)) } else { self.nodes[cpu.index()].queued }
    }

    /// Tasks that want the CPU, the current one included.
    #[inline(always)]
    pub fn runnable(&self, cpu: CpuId) -> u32 {
        if self.is_flat() { self.order.runnable(QueueId(cpu.0)) } else { self.nodes[cpu.index()].runnable }
    }

    /// Weight of a task as of its last arrival.
    #[inline(always)]
    pub fn weight(&self, task: TaskId) -> u64 {
        self.timeline.as_ref().map_or_else(|| self.order.weight(self.entity(task)), |it| it.weight(task))
    }

    #[inline(always)]
    fn traits(&self, cx: &Context, task: TaskId) -> Traits {
        let class = cx.tasks.class(task);
        let weight = Weight::of_task(class, cx.tasks.nice(task), self.order.idle_weight());
        Traits { weight, is_idle: class == Class::Idle, slice: cx.tasks.slice(task).map(|slice| slice.0) }
    }

    /// Adds a task to its queue on `cpu`. What runs there was accounted up to now.
    #[inline(always)]
    pub fn enqueue(&mut self, cx: &Context, loads: &mut Loads, cpu: CpuId, task: TaskId, how: Arrival) {
        let (traits, tasks) = (self.traits(cx, task), self.queued(cpu));
        if self.is_flat() {
            return self.order.enqueue(cx, (QueueId(cpu.0), tasks), EntityId(task.0), traits, how);
        }
        if self.timeline.is_some() {
            return self.join_timeline(cx, loads, (cpu, tasks), task, traits, how);
        }
        let queue = self.queue(cx.tasks.group(task), cpu);
        self.order.enqueue(cx, (queue, tasks), self.entity(task), traits, how);
        self.count(queue, 1, 1);
        self.enqueue_ancestors(cx, loads, queue);
    }

    /// A task leaves its queue; one that sleeps may stay queued. What runs on `cpu` was accounted up to now.
    #[inline(always)]
    pub fn dequeue(&mut self, cx: &Context, loads: &mut Loads, cpu: CpuId, task: TaskId, how: Departure) {
        if self.is_flat() {
            return self.order.dequeue(cx, QueueId(cpu.0), EntityId(task.0), how);
        }
        if self.timeline.is_some() {
            return self.leave_timeline(cx, loads, task, how);
        }
        let entity = self.entity(task);
        if let Some(queue) = self.order.home(entity) {
            self.remove(cx, loads, queue, entity, how);
        }
    }

    /// Moves a task that sleeps but is still queued to its queue on `to`.
    pub fn move_delayed(&mut self, cx: &Context, loads: &mut Loads, to: CpuId, task: TaskId) {
        let Some(from) = self.home(task) else { return };
        self.dequeue(cx, loads, from, task, Departure::Move);
        self.enqueue(cx, loads, to, task, Arrival::Move);
        let entity = self.entity(task);
        if let Some(queue) = self.order.home(entity) {
            self.order.delay(queue, entity);
            if !self.is_flat() {
                self.group_queue(task).iter().for_each(|queue| self.count(*queue, 0, -1));
            }
        }
    }

    /// Wakes a task that sleeps but is still queued.
    #[inline(always)]
    pub fn rewake(&mut self, cx: &Context, loads: &mut Loads, cpu: CpuId, task: TaskId) {
        let traits = self.traits(cx, task);
        if self.is_flat() {
            return self.order.rewake(cx, QueueId(cpu.0), EntityId(task.0), traits);
        }
        if self.timeline.is_some() {
            return self.rewake_on_timeline(cx, loads, cpu, task, traits);
        }
        let entity = self.entity(task);
        if let Some(queue) = self.order.home(entity) {
            self.order.rewake(cx, queue, entity, traits);
            self.count(queue, 0, 1);
            self.refresh(cx, loads, queue);
        }
    }

    /// The current task ran; whether the CPU should choose again.
    #[inline(always)]
    pub fn account(&mut self, now: Time, cpu: CpuId, ran: Span) -> bool {
        if self.is_flat() {
            return self.order.account(QueueId(cpu.0), ran);
        }
        let is_out = self.charge(now, cpu, ran);
        let path = &self.paths[cpu.index()];
        path.iter().fold(is_out, |again, queue| self.order.account(*queue, ran) | again)
    }

    /// Handles a tick, after the accounting. Returns whether the CPU should pick again.
    pub fn tick(&mut self, cx: &Context, loads: &mut Loads, cpu: CpuId) -> bool {
        let tasks = self.queued(cpu);
        if self.is_flat() {
            return self.order.tick(cx, QueueId(cpu.0), tasks);
        }
        if self.timeline.is_some() {
            self.refresh_timeline(cx, loads, cpu);
        } else if let Some(queue) = self.paths[cpu.index()].last() {
            self.refresh(cx, loads, *queue);
        }
        let path = &self.paths[cpu.index()];
        path.iter().fold(false, |again, queue| self.order.tick(cx, *queue, tasks) | again)
    }

    /// CPU time until the slice of the current task is over.
    pub fn slice_left(&self, cpu: CpuId) -> Option<Span> {
        self.order.slice_left(self.running_on(cpu)?)
    }

    /// The current task yields.
    pub fn yields(&mut self, cpu: CpuId) {
        self.running_on(cpu).iter().for_each(|queue| self.order.yields(*queue));
    }

    /// Preemption by `woken`, just queued, as decided by classes and idleness alone. `None` for equals.
    #[inline(always)]
    pub fn class_decides(&mut self, cx: &Context, cpu: CpuId, woken: TaskId, is_fork: bool) -> Option<bool> {
        let class = cx.tasks.class(woken);
        if !self.is_flat() {
            return self.class_decides_in_groups(cx, cpu, woken, is_fork);
        }
        if self.order.favours_woken() && !is_fork {
            self.order.favour(QueueId(cpu.0), EntityId(woken.0));
        }
        self.order.class_decides(QueueId(cpu.0), EntityId(woken.0), class, is_fork)
    }

    /// True if `woken`, just queued, preempts the current task, which is accounted up to now.
    #[inline(always)]
    pub fn preempts(&mut self, cx: &Context, loads: &mut Loads, cpu: CpuId, woken: TaskId) -> bool {
        if !self.is_flat() {
            return self.preempts_in_groups(cx, loads, cpu, woken);
        }
        let (queue, entity) = (QueueId(cpu.0), EntityId(woken.0));
        while let Some(delayed) = self.order.delayed_best(cx, queue, entity) {
            self.order.dequeue(cx, queue, delayed, Departure::Gone);
            loads.leaves(cx.now, TaskId(delayed.0), false);
        }
        self.order.preempts(cx, queue, entity)
    }

    /// The task that runs on `cpu` or just stopped there, if it is still queued there.
    #[inline(always)]
    pub fn current(&self, cpu: CpuId) -> Option<TaskId> {
        self.running_on(cpu).and_then(|queue| self.order.current(queue)).and_then(|entity| self.task(entity))
    }

    /// The queue of the order from which `cpu` runs a task.
    #[inline(always)]
    fn running_on(&self, cpu: CpuId) -> Option<QueueId> {
        if self.is_flat() {
            return Some(QueueId(cpu.0));
        }
        self.paths[cpu.index()].last().copied()
    }

    /// Chooses the next task and makes it current.
    #[inline(always)]
    pub fn pick(&mut self, cx: &Context, loads: &mut Loads, cpu: CpuId) -> Option<TaskId> {
        if !self.is_flat() {
            return self.pick_in_groups(cx, loads, cpu);
        }
        let queue = QueueId(cpu.0);
        while let Some(entity) = self.order.elect(cx, queue) {
            if !self.order.is_delayed(entity) {
                self.order.switch_to(cx, queue, entity);
                return Some(TaskId(entity.0));
            }
            self.order.dequeue(cx, queue, entity, Departure::Gone);
            loads.leaves(cx.now, TaskId(entity.0), false);
        }
        self.order.put_current(cx, queue);
        None
    }

    /// Writes the tasks that `cpu` is likely to run next, if they are known at a glance.
    pub fn likely_next(&self, cpu: CpuId, next: &mut [TaskId]) -> usize {
        if self.is_flat() { self.order.likely_next(QueueId(cpu.0), next) } else { 0 }
    }

    /// Clears the current task, because another class runs now.
    #[inline(always)]
    pub fn put_current(&mut self, cx: &Context, cpu: CpuId) {
        if self.is_flat() {
            return self.order.put_current(cx, QueueId(cpu.0));
        }
        self.trail.clear();
        self.follow_trail(cx, cpu);
    }

    /// True if `task` got more than its share on its queue.
    pub fn is_ahead(&self, task: TaskId) -> bool {
        let entity = self.entity(task);
        self.order.home(entity).is_some_and(|queue| self.order.is_ahead(queue, entity))
    }

    /// Counts tasks in or out on `queue` and those around it.
    fn count(&mut self, queue: QueueId, queued: i32, runnable: i32) {
        let mut next = Some(queue);
        while let Some(queue) = next {
            let node = &mut self.nodes[queue.index()];
            node.queued = node.queued.wrapping_add_signed(queued);
            node.runnable = node.runnable.wrapping_add_signed(runnable);
            if self.is_shut(queue) {
                return;
            }
            next = self.owners[queue.index()].map(|(around, _)| around);
        }
    }
}

#[cfg(test)]
mod tests;
