//! The rule by which a task waits behind another one, below all classes.

use super::groups::Hierarchy;
use super::order::{EntityId, Order, QueueId};
use super::reserved::is_fair;
use super::{Running, Stack};
use goodness_core::{Class, Context, CpuId, Reason, Standing, TaskId, Time, Why};

impl<O: Order> Stack<O> {
    /// Answers [`goodness_core::CpuPolicy::why`].
    pub(super) fn rule(&self, cx: &Context, cpu: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        if self.reserved.is_throttled(waiting) || self.order.is_out_of_reach(waiting) {
            let until = self.order.next_refill().min(self.reserved.next_timer());
            return Some(Reason::Throttled { until: (until != Time::NEVER).then_some(until) });
        }
        let it = &self.cpus[cpu.index()];
        let ahead = ahead?;
        let class = cx.tasks.class(waiting);
        match it.running {
            Running::Reserved(_) if class == Class::Deadline && !is_fair(cx, waiting) => {
                let by = self.competes_until(waiting)?.since(self.competes_until(ahead)?);
                Some(Reason::EarlierDeadline { by })
            }
            Running::Realtime(_, own) if class.is_realtime() => {
                let other = cx.tasks[waiting].rt_priority;
                Some(match own > other {
                    true => Reason::Priority { ahead: own.into(), waiting: other.into() },
                    false => Reason::First,
                })
            }
            Running::Fair(_) if is_fair(cx, waiting) => match it.resched_at_tick {
                true => Some(Reason::AwaitsTick),
                false => self.order.rule(ahead, waiting, is_pick).filter(|it| !is_pick || *it != Reason::AwaitsTick),
            },
            Running::Fair(_) if class.is_realtime() => {
                it.realtime.is_throttled().then_some(Reason::Throttled { until: None })
            }
            Running::Reserved(_) | Running::Realtime(..) => {
                Some(Reason::Class { ahead: cx.tasks.class(ahead), waiting: class })
            }
            Running::Fair(_) | Running::Nothing => None,
        }
    }
}

impl<O: Order> Hierarchy<O> {
    /// The rule between two tasks: that of the queue which has both, or the groups around them.
    fn rule(&self, ahead: TaskId, waiting: TaskId, is_pick: bool) -> Option<Reason> {
        let ahead = self.way_up(self.entity(ahead));
        let waiting = self.way_up(self.entity(waiting));
        let (queue, entity) = waiting.into_iter().find(|(queue, _)| ahead.iter().any(|(of, _)| of == queue))?;
        let (_, before) = ahead.into_iter().find(|(of, _)| *of == queue)?;
        self.order().why(queue, before, entity, is_pick)
    }

    /// The place of a task in its queue.
    pub(super) fn standing(&self, task: TaskId) -> Option<Standing> {
        self.order().standing(self.entity(task))
    }

    /// The queue of an entity, and those of the groups around it, from the innermost out.
    fn way_up(&self, entity: EntityId) -> Vec<(QueueId, EntityId)> {
        let home = self.order().home(entity).map(|queue| (queue, entity));
        std::iter::successors(home, |(queue, _)| self.owner(*queue)).collect()
    }
}
