//! Tasks of throttled groups, stopped one by one at their return to user mode, as from Linux 6.18.
//!
//! Source: docs/specs/groups-locks.md section 2.3. A throttled queue stays where it is; whatever is picked from it goes
//! on in the kernel, and is parked when it would return to user mode. When the queue is released, its parked tasks come
//! back as if they woke, the one parked last first.
//! Departures: all tasks are those of processes; threads of the kernel, which are never parked, are not told apart.

use super::super::load::Loads;
use super::super::order::{Departure, Order, QueueId};
use super::Hierarchy;
use super::timeline::charged;
use goodness_core::{Context, CpuId, TaskId};
use goodness_queues::{Links, List};

/// Place of a task with respect to the parked ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Elsewhere,
    /// Parked beside this queue.
    Beside(QueueId),
    /// It was parked, and is on its way to another queue.
    Moving,
}

/// The parked tasks of all queues.
#[derive(Debug)]
pub struct Limbo {
    links: Links,
    /// By queue: its parked tasks, the one parked last first.
    lists: Vec<List>,
    /// By task.
    places: Vec<Place>,
}

impl Limbo {
    /// Nothing is parked beside any of `queues` queues.
    pub fn new(queues: usize) -> Limbo {
        Limbo { links: Links::default(), lists: vec![List::default(); queues], places: Vec::new() }
    }

    /// Makes room for `task`.
    pub fn admit(&mut self, task: TaskId) {
        let count = self.places.len().max(task.index() + 1);
        self.places.resize(count, Place::Elsewhere);
        self.links.reserve(count);
    }

    /// True if `task` is parked.
    pub fn has(&self, task: TaskId) -> bool {
        matches!(self.places[task.index()], Place::Beside(_))
    }

    fn park(&mut self, task: TaskId, queue: QueueId) {
        self.places[task.index()] = Place::Beside(queue);
        self.lists[queue.index()].push_front(&mut self.links, task.0);
    }
}

impl<O: Order> Hierarchy<O> {
    /// True if the current task of `cpu` is to be parked at its return to user mode.
    #[inline]
    pub fn parks(&self, cpu: CpuId) -> bool {
        let charged = || charged(self.timeline.as_deref(), &self.paths, cpu).iter();
        self.limbo.is_some() && charged().any(|queue| self.is_throttled(*queue))
    }

    /// True if `task` is parked.
    #[inline]
    pub fn is_parked(&self, task: TaskId) -> bool {
        self.limbo.as_ref().is_some_and(|limbo| limbo.has(task))
    }

    /// True if tasks are stopped one by one.
    pub fn has_limbo(&self) -> bool {
        self.limbo.is_some()
    }

    /// Parks `task`, which stopped where it would return to user mode, if its group is still throttled.
    pub fn park(&mut self, cx: &Context, loads: &mut Loads, task: TaskId) -> bool {
        let Some(queue) = self.group_queue(task).filter(|queue| self.is_held(*queue)) else { return false };
        let Some(limbo) = &mut self.limbo else { return false };
        limbo.park(task, queue);
        let mut next = Some(queue);
        while let Some(queue) = next {
            self.limits.iter_mut().for_each(|limits| limits.stops(cx.now, queue));
            next = self.owners[queue.index()].map(|(around, _)| around);
        }
        self.dequeue(cx, loads, self.cpu(queue), task, Departure::Gone);
        true
    }

    /// Takes `task` away from the parked ones, to move it. False if it is not parked.
    pub fn leave_limbo(&mut self, task: TaskId) -> bool {
        let Some(limbo) = &mut self.limbo else { return false };
        let Place::Beside(queue) = limbo.places[task.index()] else { return false };
        limbo.lists[queue.index()].remove(&mut limbo.links, task.0);
        limbo.places[task.index()] = Place::Moving;
        true
    }

    /// Parks `task` at once if it was parked before it moved, and the group that it joins on `cpu` is throttled, too.
    #[inline]
    pub fn stays_in_limbo(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> bool {
        self.limbo.is_some() && self.goes_to_limbo(cx, cpu, task)
    }

    #[cold]
    fn goes_to_limbo(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> bool {
        let queue = self.queue(cx.tasks.group(task), cpu);
        let is_held = self.is_held(queue);
        let Some(limbo) = &mut self.limbo else { return false };
        let place = std::mem::take(&mut limbo.places[task.index()]);
        let stays = place == Place::Moving && is_held;
        if stays {
            limbo.park(task, queue);
        }
        stays
    }

    /// `task`, which may have been parked before it moved, is not a fair task any more.
    #[inline]
    pub fn forget_parked(&mut self, task: TaskId) {
        self.limbo.iter_mut().for_each(|limbo| limbo.places[task.index()] = Place::Elsewhere);
    }

    /// The next task that may come back to its queue, which is `released` or one below it.
    pub fn next_unparked(&mut self, released: QueueId) -> Option<TaskId> {
        let limbo = self.limbo.as_ref()?;
        let below = (released.0..self.owners.len() as u32).step_by(self.cpus as usize).rev().map(QueueId);
        let is_free = |queue: &QueueId| {
            !limbo.lists[queue.index()].is_empty() && self.is_within(*queue, released) && !self.is_held(*queue)
        };
        let queue = below.into_iter().find(is_free)?;
        let limbo = self.limbo.as_mut()?;
        let task = limbo.lists[queue.index()].pop_front(&mut limbo.links).map(TaskId)?;
        limbo.places[task.index()] = Place::Elsewhere;
        Some(task)
    }

    /// True if `queue` is `outer` or one below it.
    fn is_within(&self, queue: QueueId, outer: QueueId) -> bool {
        let around = |queue: &QueueId| self.owners[queue.index()].map(|(around, _)| around);
        std::iter::successors(Some(queue), around).any(|queue| queue == outer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 2.3: last parked first. The control is a limbo without them.
    #[test]
    fn the_task_parked_last_comes_back_first() {
        let mut limbo = Limbo::new(1);
        let tasks = [0, 1, 2].map(TaskId);
        tasks.iter().for_each(|task| limbo.admit(*task));
        assert!(!limbo.has(TaskId(1)));
        tasks.iter().for_each(|task| limbo.park(*task, QueueId(0)));
        assert!(limbo.has(TaskId(1)));
        let back = std::iter::from_fn(|| limbo.lists[0].pop_front(&mut limbo.links)).collect::<Vec<_>>();
        assert_eq!(back, [2, 1, 0]);
    }
}
