//! A queue of the order for each group and CPU, which stands for an entity of the queue of the group around it. A pick
//! walks down from the CPU's own queue; whatever changes a queue is followed upwards.
//!
//! Source: docs/specs/groups-locks.md sections 1.2 to 1.4 ("hier": kernels to 7.2).

use super::super::load::Loads;
use super::super::order::{Arrival, Departure, EntityId, Order, QueueId, Traits};
use super::super::weight::Weight;
use super::Hierarchy;
use goodness_core::{Class, Context, CpuId, TaskId};

impl<O: Order> Hierarchy<O> {
    /// Weight of the entity that `queue` stands for.
    fn part_weight(&self, cx: &Context, loads: &mut Loads, queue: QueueId) -> Weight {
        let shares = cx.groups[self.group(queue)].weight;
        let whole =
            if self.cpus == 1 { shares } else { loads.part_weight(cx.now, queue, self.order.load(queue), shares) };
        Weight::of(whole.max(2))
    }

    /// The traits of the entity that `queue` stands for.
    fn part_traits(&self, cx: &Context, loads: &mut Loads, queue: QueueId) -> Traits {
        let weight = self.part_weight(cx, loads, queue);
        Traits { weight, is_idle: cx.groups[self.group(queue)].is_idle, slice: self.order.least_slice(queue) }
    }

    /// Queues the entities of the groups around `queue`, which has just got an entity.
    pub(super) fn rise(&mut self, cx: &Context, loads: &mut Loads, queue: QueueId) {
        let mut below = queue;
        while let Some((queue, entity)) = self.owners[below.index()] {
            if self.order.home(entity).is_some() {
                if self.order.is_delayed(entity) {
                    loads.part_arrives(cx.now, below, self.order.weight(entity));
                    let traits = self.part_traits(cx, loads, below);
                    self.order.rewake(cx, queue, entity, traits);
                }
                return self.refresh(cx, loads, below);
            }
            if self.is_shut(below) || self.stays_out(cx.now, below) {
                return;
            }
            let traits = self.part_traits(cx, loads, below);
            loads.part_arrives(cx.now, below, traits.weight.value);
            let tasks = self.queued(self.cpu(queue));
            self.order.enqueue(cx, (queue, tasks), entity, traits, Arrival::Wake);
            below = queue;
        }
    }

    /// Brings weights and slices of the groups from that of `queue` upwards up to date.
    pub(super) fn refresh(&mut self, cx: &Context, loads: &mut Loads, queue: QueueId) {
        let mut below = queue;
        while let Some((queue, entity)) = self.owners[below.index()] {
            if self.order.home(entity).is_some() {
                if self.order.queued(below) > 0 {
                    let weight = self.part_weight(cx, loads, below);
                    loads.part_reweighs(cx.now, below, weight.value);
                    self.order.reweigh(cx, queue, entity, weight);
                }
                if let Some(slice) = self.order.least_slice(below) {
                    self.order.set_slice(entity, slice);
                }
            }
            below = queue;
        }
    }

    /// Removes an entity from `queue`, and with it the groups that become empty.
    pub(super) fn remove(&mut self, cx: &Context, loads: &mut Loads, queue: QueueId, entity: EntityId, how: Departure) {
        let (is_task, was_delayed) = (self.task(entity).is_some(), self.order.is_delayed(entity));
        self.order.dequeue(cx, queue, entity, how);
        let stays = self.order.home(entity).is_some();
        if is_task {
            self.count(queue, if stays { 0 } else { -1 }, if was_delayed { 0 } else { -1 });
        }
        if stays {
            return;
        }
        let sleeps = how == Departure::Sleep || (was_delayed && how == Departure::Gone);
        let mut below = queue;
        while let Some((queue, entity)) = self.owners[below.index()] {
            if self.order.queued(below) > 0 {
                if sleeps {
                    self.favour(cx, below);
                }
                break;
            }
            if let Some(limits) = &mut self.limits {
                limits.give_back(cx.now, below);
            }
            if self.is_shut(below) {
                break;
            }
            loads.part_leaves(cx.now, below);
            self.order.dequeue(cx, queue, entity, Departure::Sleep);
            if self.order.home(entity).is_some() {
                break;
            }
            below = queue;
        }
        self.refresh(cx, loads, below);
    }

    /// Favours the groups from that of `queue` upwards: one of its tasks sleeps or preempts before its slice is over.
    fn favour(&mut self, cx: &Context, queue: QueueId) {
        let mut below = queue;
        while let Some((queue, entity)) = self.owners[below.index()] {
            if self.order.home(entity).is_none() || cx.groups[self.group(below)].is_idle {
                return;
            }
            self.order.favour(queue, entity);
            below = queue;
        }
    }

    /// The queue that contains both `woken` or a group around it and what runs on `cpu`, and the former there.
    fn meeting(&self, cpu: CpuId, woken: TaskId) -> Option<(QueueId, EntityId)> {
        let entity = self.entity(woken);
        let (mut queue, mut entity) = (self.order.home(entity)?, entity);
        while !self.paths[cpu.index()].contains(&queue) {
            (queue, entity) = self.owners[queue.index()]?;
            self.order.home(entity)?;
        }
        Some((queue, entity))
    }

    pub(super) fn class_decides_in_groups(&mut self, cx: &Context, cpu: CpuId, woken: TaskId, is_fork: bool) -> Option<bool> {
        let Some((queue, entity)) = self.meeting(cpu, woken) else { return Some(false) };
        let class = cx.tasks.class(woken);
        if self.order.favours_woken() && !is_fork {
            let task = self.entity(woken);
            if let Some(home) = self.order.home(task) {
                self.order.favour(home, task);
                self.favour(cx, home);
            }
        }
        let running = self.current(cpu).map(|task| cx.tasks.class(task));
        if self.order.idle_tasks_yield() && running == Some(Class::Idle) && class != Class::Idle {
            return Some(true);
        }
        self.order.class_decides(queue, entity, class, is_fork)
    }

    pub(super) fn preempts_in_groups(&mut self, cx: &Context, loads: &mut Loads, cpu: CpuId, woken: TaskId) -> bool {
        let Some((queue, entity)) = self.meeting(cpu, woken) else { return false };
        while let Some(delayed) = self.order.delayed_best(cx, queue, entity) {
            self.remove_delayed(cx, loads, queue, delayed);
        }
        let preempts = self.order.preempts(cx, queue, entity);
        if preempts && self.order.favours_preemptors() {
            self.favour(cx, queue);
        }
        preempts
    }

    /// Removes an entity that sleeps but is still queued.
    fn remove_delayed(&mut self, cx: &Context, loads: &mut Loads, queue: QueueId, entity: EntityId) {
        let Some(task) = self.task(entity) else {
            return self.remove(cx, loads, queue, entity, Departure::Gone);
        };
        self.dequeue(cx, loads, self.cpu(queue), task, Departure::Gone);
        loads.leaves(cx.now, task, false);
    }

    pub(super) fn pick_in_groups(&mut self, cx: &Context, loads: &mut Loads, cpu: CpuId) -> Option<TaskId> {
        self.trail.clear();
        let mut queue = QueueId(cpu.0);
        let picked = loop {
            let Some(entity) = self.order.elect(cx, queue) else {
                self.trail.clear();
                break None;
            };
            if self.order.is_delayed(entity) {
                self.remove_delayed(cx, loads, queue, entity);
                self.trail.clear();
                queue = QueueId(cpu.0);
                continue;
            }
            self.trail.push((queue, entity));
            match self.task(entity) {
                Some(task) => break Some(task),
                None => queue = QueueId(entity.0 + self.cpus),
            }
            if self.is_out(cx.now, queue) && self.throttle(cx, loads, queue) {
                self.trail.clear();
                queue = QueueId(cpu.0);
            }
        };
        self.follow_trail(cx, cpu);
        if let Some(task) = picked.filter(|_| self.timeline.is_some()) {
            self.begin_on_timeline(cx, loads, cpu, task);
        }
        picked
    }

    /// Makes the entities of the trail current, and all others of `cpu` not.
    pub(super) fn follow_trail(&mut self, cx: &Context, cpu: CpuId) {
        let path = &mut self.paths[cpu.index()];
        for (depth, queue) in path.iter().take(self.depth).enumerate() {
            if self.trail.get(depth).map(|it| it.0) != Some(*queue) {
                self.order.put_current(cx, *queue);
            }
        }
        path.clear();
        for (queue, entity) in &self.trail {
            self.order.switch_to(cx, *queue, *entity);
            path.push(*queue);
        }
    }
}
