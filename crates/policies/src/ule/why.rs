//! The rule by which a thread waits.

use super::{IDLE_QUEUE, LISTS, Ule, Version};
use goodness_core::{Class, Context, CpuId, Reason, Resched, TaskId, Why};
use std::cmp::Ordering;

impl Ule {
    /// Answers [`goodness_core::CpuPolicy::why`].
    pub(super) fn rule(&self, cx: &Context, cpu: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let ahead = ahead?;
        let [own, other] = [ahead, waiting].map(|task| cx.tasks[task].class);
        if served(own) < served(other) {
            return Some(Reason::Class { ahead: own, waiting: other });
        }
        if is_pick {
            return self.picked(ahead, waiting);
        }
        // A thread that was queued may preempt; then the switch is under way.
        let goes_on = self.preempt(cpu, waiting) == Resched::Keep;
        let reason = if own == Class::Fifo { Reason::RunsOn } else { Reason::SliceNotOver };
        goes_on.then_some(reason)
    }

    /// The rule by which `ahead` was picked: its queue, then its list there, then the order of the list.
    fn picked(&self, ahead: TaskId, waiting: TaskId) -> Option<Reason> {
        let [own, other] = [ahead, waiting].map(|task| &self.entities[task]);
        if own.queue != other.queue {
            let is_next_round = self.settings.version == Version::V2005 && usize::from(other.queue) < IDLE_QUEUE;
            return match is_next_round {
                true if other.is_used_up => Some(Reason::RoundUsedUp),
                // Who wakes up joins the next round, too.
                true => Some(Reason::Level { ahead: 0, waiting: 1 }),
                false => self.more_urgent(ahead, waiting),
            };
        }
        let is_on_wheel = self.settings.version == Version::Current && own.queue == 1;
        match own.list.cmp(&other.list) {
            Ordering::Equal if own.at_head => Some(Reason::Favoured),
            Ordering::Equal => Some(Reason::First),
            // The level is the distance on the wheel.
            _ if is_on_wheel => {
                let behind = (LISTS + usize::from(other.list) - usize::from(own.list)) % LISTS;
                Some(Reason::Level { ahead: 0, waiting: behind as i32 })
            }
            _ => self.more_urgent(ahead, waiting),
        }
    }

    /// Larger numbers are more urgent in reasons, and less here.
    fn more_urgent(&self, ahead: TaskId, waiting: TaskId) -> Option<Reason> {
        let [own, other] = [ahead, waiting].map(|task| -i32::from(self.entities[task].priority));
        (own > other).then_some(Reason::Priority { ahead: own, waiting: other })
    }
}

/// Classes in the order in which they are served.
fn served(class: Class) -> u8 {
    match class {
        Class::Fifo | Class::RoundRobin => 0,
        Class::Normal | Class::Batch | Class::Iso | Class::Deadline => 1,
        Class::Idle => 2,
    }
}
