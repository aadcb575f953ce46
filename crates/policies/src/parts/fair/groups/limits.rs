//! Groups that used up their limit: their queues leave those around them, and come back.

use super::super::bandwidth::Bandwidth;
use super::super::load::Loads;
use super::super::order::{Departure, Order, QueueId};
use super::Hierarchy;
use goodness_core::{Context, CpuId, CpuStat, GroupId, Rng, Span, TaskId, Time};

impl<O: Order> Hierarchy<O> {
    /// Prepares the limits of the groups, if any has one. Refills come at times of their own with `rng`.
    pub(super) fn limit(&mut self, cx: &Context, rng: Rng) {
        let quotas = || std::iter::once(None).chain(cx.groups.iter().map(|(_, group)| group.quota));
        if quotas().any(|quota| quota.is_some()) {
            let rng = self.order.version().phases_quotas.then_some(rng);
            self.limits = Some(Box::new(Bandwidth::new(quotas(), self.cpus, rng)));
        }
    }

    /// True if the group of `queue` is throttled there.
    #[inline]
    pub(super) fn is_throttled(&self, queue: QueueId) -> bool {
        self.limits.as_ref().is_some_and(|limits| limits.is_throttled(queue))
    }

    /// True if the group of `task`, or one around it, is throttled on the task's CPU.
    pub fn is_out_of_reach(&self, task: TaskId) -> bool {
        if self.limits.is_none() {
            return false;
        }
        let mut next = self.order.home(self.entity(task));
        while let Some(queue) = next {
            if self.is_throttled(queue) {
                return true;
            }
            next = self.owners[queue.index()].map(|(around, _)| around);
        }
        false
    }

    /// Charges `ran` to the groups of the current task of `cpu`; true if one of them used up its limit.
    pub(super) fn charge(&mut self, now: Time, cpu: CpuId, ran: Span) -> bool {
        let Some(limits) = &mut self.limits else { return false };
        let path = &self.paths[cpu.index()];
        path.iter().fold(false, |out, queue| !limits.charge(now, *queue, ran) | out)
    }

    /// True if the group of `queue` has no CPU time left there.
    pub(super) fn is_out(&mut self, now: Time, queue: QueueId) -> bool {
        self.limits.as_mut().is_some_and(|limits| !limits.charge(now, queue, Span::ZERO))
    }

    /// The group of `queue` leaves the queue around it until there is CPU time again.
    pub(super) fn throttle(&mut self, cx: &Context, loads: &mut Loads, queue: QueueId) {
        let Some((around, entity)) = self.owners[queue.index()] else { return };
        self.close(cx.now, queue);
        loads.part_leaves(cx.now, queue);
        self.remove(cx, loads, around, entity, Departure::Gone);
    }

    /// Throttles the group of `queue`, which is just about to join the queue around it, if it has no CPU time.
    pub(super) fn stays_out(&mut self, now: Time, queue: QueueId) -> bool {
        let is_out = self.is_out(now, queue);
        if is_out {
            self.close(now, queue);
        }
        is_out
    }

    /// Counts the tasks of `queue` out of those around it, and marks it as throttled.
    fn close(&mut self, now: Time, queue: QueueId) {
        let node = self.nodes[queue.index()];
        if let Some((around, _)) = self.owners[queue.index()] {
            self.count(around, -(node.queued as i32), -(node.runnable as i32));
        }
        self.limits.iter_mut().for_each(|limits| limits.throttle(now, queue));
    }

    /// Figures of the limit of `group` so far.
    pub fn cpu_stat(&self, group: GroupId) -> Option<CpuStat> {
        self.limits.as_ref()?.stat(group)
    }

    /// Time at which limits next need attention.
    pub fn next_refill(&self) -> Time {
        self.limits.as_ref().map_or(Time::NEVER, |limits| limits.next())
    }

    /// The next queue whose group may run again, by its CPU. What runs there must be accounted before
    /// [`Hierarchy::release`].
    pub fn next_released(&mut self, now: Time) -> Option<(CpuId, QueueId)> {
        let limits = self.limits.as_mut()?;
        limits.expire(now);
        let queue = limits.pop_released()?;
        Some((self.cpu(queue), queue))
    }

    /// The group of `queue` joins the queue around it again.
    pub fn release(&mut self, cx: &Context, loads: &mut Loads, queue: QueueId) {
        let Some((around, _)) = self.owners[queue.index()] else { return };
        if self.order.queued(queue) > 0 {
            let node = self.nodes[queue.index()];
            self.count(around, node.queued as i32, node.runnable as i32);
            self.rise(cx, loads, queue);
        }
    }
}
