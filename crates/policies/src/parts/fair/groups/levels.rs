//! Groups level by level: the queue of a group on a CPU has an entity in the parent's queue there. A change in a queue
//! is passed on to its ancestors.
//!
//! Source: docs/specs/groups-locks.md sections 1.2 to 1.4 ("hier": kernels to 7.2).

use super::super::load::Loads;
use super::super::order::{Arrival, Departure, EntityId, Order, QueueId, Traits};
use super::super::weight::Weight;
use super::Hierarchy;
use goodness_core::Context;

impl<O: Order> Hierarchy<O> {
    /// Weight of the entity of `queue` in the parent's queue.
    fn part_weight(&self, cx: &Context, loads: &mut Loads, queue: QueueId) -> Weight {
        let shares = cx.groups[self.group(queue)].weight;
        let whole =
            if self.cpus == 1 { shares } else { loads.part_weight(cx.now, queue, self.order.load(queue), shares) };
        Weight::of(whole.max(2))
    }

    /// Traits of the entity of `queue` in the parent's queue.
    fn part_traits(&self, cx: &Context, loads: &mut Loads, queue: QueueId) -> Traits {
        let weight = self.part_weight(cx, loads, queue);
        Traits { weight, is_idle: cx.groups[self.group(queue)].is_idle, slice: self.order.least_slice(queue) }
    }

    /// Enqueues the entities of `queue` and its ancestors that are not queued yet, after an entity joined `queue`.
    pub(super) fn enqueue_ancestors(&mut self, cx: &Context, loads: &mut Loads, queue: QueueId) {
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
    pub(super) fn favour(&mut self, cx: &Context, queue: QueueId) {
        let mut below = queue;
        while let Some((queue, entity)) = self.owners[below.index()] {
            if self.order.home(entity).is_none() || cx.groups[self.group(below)].is_idle {
                return;
            }
            self.order.favour(queue, entity);
            below = queue;
        }
    }
}
