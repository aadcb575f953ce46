//! Groups out of quota. To Linux 6.15 the queue of such a group leaves its parent's until the refill; from 6.18 it
//! stays, and its tasks are stopped one by one ([`super::parking`]).
//!
//! Source: docs/specs/groups-locks.md section 2.

use super::super::bandwidth::Bandwidth;
use super::super::load::Loads;
use super::super::order::{Departure, Order, QueueId};
use super::timeline::charged;
use super::{Hierarchy, Limbo};
use goodness_core::{Context, CpuId, CpuStat, GroupId, Rng, Span, TaskId, Time};

impl<O: Order> Hierarchy<O> {
    /// Prepares the limits of the groups, if any has one. From 6.12 `rng` draws when the periods of each group begin.
    pub(super) fn limit(&mut self, cx: &Context, rng: Rng) {
        let quotas = || std::iter::once(None).chain(cx.groups.iter().map(|(_, group)| group.quota));
        if quotas().any(|quota| quota.is_some()) {
            let rng = self.order.version().phases_quotas.then_some(rng);
            self.limits = Some(Box::new(Bandwidth::new(quotas(), self.cpus, rng)));
            self.limbo = self.order.version().parks_tasks.then(|| Box::new(Limbo::new(self.owners.len())));
        }
    }

    /// True if the group of `queue` is throttled there.
    #[inline]
    pub(super) fn is_throttled(&self, queue: QueueId) -> bool {
        self.limits.as_ref().is_some_and(|limits| limits.is_throttled(queue))
    }

    /// True if `queue` left its parent's queue because its group is throttled on that CPU.
    #[inline]
    pub(super) fn is_shut(&self, queue: QueueId) -> bool {
        self.limbo.is_none() && self.is_throttled(queue)
    }

    /// True if the group of `queue`, or one around it, is throttled on its CPU.
    pub(super) fn is_held(&self, queue: QueueId) -> bool {
        let around = |queue: &QueueId| self.owners[queue.index()].map(|(around, _)| around);
        self.limits.is_some() && std::iter::successors(Some(queue), around).any(|queue| self.is_throttled(queue))
    }

    /// True if the group of `task`, which is queued, or one around it, is throttled on the task's CPU.
    pub fn is_limited(&self, task: TaskId) -> bool {
        self.limits.is_some() && self.group_queue(task).is_some_and(|queue| self.is_held(queue))
    }

    /// True if a limit keeps `task` from being picked.
    pub fn is_out_of_reach(&self, task: TaskId) -> bool {
        match &self.limbo {
            Some(limbo) => limbo.has(task),
            None => self.is_limited(task),
        }
    }

    /// Charges `ran` to the groups of the current task of `cpu`; true if one of them used up its limit.
    pub(super) fn charge(&mut self, now: Time, cpu: CpuId, ran: Span) -> bool {
        let Some(limits) = &mut self.limits else { return false };
        charged(self.timeline.as_deref(), &self.paths, cpu)
            .iter()
            .fold(false, |out, queue| !limits.charge(now, *queue, ran) | out)
    }

    /// True if the group of `queue` has no CPU time left there, and is not throttled yet.
    pub(super) fn is_out(&mut self, now: Time, queue: QueueId) -> bool {
        self.limits.as_mut().is_some_and(|limits| !limits.charge(now, queue, Span::ZERO))
    }

    /// Throttles the group of `queue`. Returns true if `queue` leaves its parent's, false if its tasks are stopped one
    /// by one instead.
    pub(super) fn throttle(&mut self, cx: &Context, loads: &mut Loads, queue: QueueId) -> bool {
        let Some((around, entity)) = self.owners[queue.index()] else { return false };
        if self.limbo.is_some() {
            self.mark_throttled(queue);
            return false;
        }
        self.close(cx.now, queue);
        loads.part_leaves(cx.now, queue);
        self.remove(cx, loads, around, entity, Departure::Gone);
        true
    }

    /// Throttles the group of `queue`, which is just about to join the queue around it, if it has no CPU time. True if
    /// it does not join.
    pub(super) fn stays_out(&mut self, now: Time, queue: QueueId) -> bool {
        if !self.is_out(now, queue) {
            return false;
        }
        if self.limbo.is_some() {
            self.mark_throttled(queue);
            return false;
        }
        self.close(now, queue);
        true
    }

    /// The group of `queue` is throttled there from now on, where tasks are stopped one by one.
    fn mark_throttled(&mut self, queue: QueueId) {
        self.limits.iter_mut().for_each(|limits| limits.throttle(queue));
    }

    /// Throttles the group of `queue` if it has no CPU time, where tasks are stopped one by one.
    pub(super) fn throttle_if_out(&mut self, now: Time, queue: QueueId) {
        if self.is_out(now, queue) {
            self.mark_throttled(queue);
        }
    }

    /// Counts the tasks of `queue` out of those around it, and marks it as throttled.
    fn close(&mut self, now: Time, queue: QueueId) {
        let node = self.nodes[queue.index()];
        if let Some((around, _)) = self.owners[queue.index()] {
            self.count(around, -(node.queued as i32), -(node.runnable as i32));
        }
        if let Some(limits) = &mut self.limits {
            limits.throttle(queue);
            limits.stops(now, queue);
        }
    }

    /// Figures of the limit of `group` so far.
    pub fn cpu_stat(&self, group: GroupId) -> Option<CpuStat> {
        self.limits.as_ref()?.stat(group)
    }

    /// Time at which limits next need attention.
    pub fn next_refill(&self) -> Time {
        self.limits.as_ref().map_or(Time::NEVER, |limits| limits.next())
    }

    /// The next queue whose group may run again, and its CPU. What runs there must be accounted before
    /// [`Hierarchy::release`].
    pub fn next_released(&mut self, now: Time) -> Option<(CpuId, QueueId)> {
        let limits = self.limits.as_mut()?;
        limits.expire(now);
        let queue = limits.pop_released()?;
        Some((self.cpu(queue), queue))
    }

    /// Puts `queue` back into its parent's queue, if it left that.
    pub fn release(&mut self, cx: &Context, loads: &mut Loads, queue: QueueId) {
        let Some((around, _)) = self.owners[queue.index()] else { return };
        if self.limbo.is_none() && self.order.queued(queue) > 0 {
            let node = self.nodes[queue.index()];
            self.count(around, node.queued as i32, node.runnable as i32);
            self.enqueue_ancestors(cx, loads, queue);
        }
    }
}
