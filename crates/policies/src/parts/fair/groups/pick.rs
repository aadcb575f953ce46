//! Picks and preemptions in groups. With levels, a pick walks down from the root queue of the CPU to a task; with one
//! timeline, the root queue holds the tasks.
//!
//! Source: docs/specs/groups-locks.md sections 1.3 and 1.4.

use super::super::load::Loads;
use super::super::order::{Departure, EntityId, Order, QueueId};
use super::Hierarchy;
use goodness_core::{Class, Context, CpuId, TaskId};

impl<O: Order> Hierarchy<O> {
    /// The lowest queue with both the current entity of `cpu` and one of `woken` or its ancestors, and the latter.
    fn common_queue(&self, cpu: CpuId, woken: TaskId) -> Option<(QueueId, EntityId)> {
        let entity = self.entity(woken);
        let (mut queue, mut entity) = (self.order.home(entity)?, entity);
        while !self.paths[cpu.index()].contains(&queue) {
            (queue, entity) = self.owners[queue.index()]?;
            self.order.home(entity)?;
        }
        Some((queue, entity))
    }

    pub(super) fn class_decides_in_groups(
        &mut self,
        cx: &Context,
        cpu: CpuId,
        woken: TaskId,
        is_fork: bool,
    ) -> Option<bool> {
        let Some((queue, entity)) = self.common_queue(cpu, woken) else { return Some(false) };
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
        let Some((queue, entity)) = self.common_queue(cpu, woken) else { return false };
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
            self.begin_on_timeline(cx, cpu, task);
        }
        picked
    }

    /// Makes the entities of the trail current, and all others of `cpu` not.
    pub(super) fn follow_trail(&mut self, cx: &Context, cpu: CpuId) {
        self.timeline.iter_mut().for_each(|timeline| timeline.charge_none(cpu));
        let path = &mut self.paths[cpu.index()];
        for (depth, queue) in path.iter().enumerate() {
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
