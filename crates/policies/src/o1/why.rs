//! The rule by which a task waits.

use super::O1;
use crate::parts::prio_array::urgency;
use goodness_core::{Class, Context, CpuId, Reason, Why};

impl O1 {
    /// Answers [`goodness_core::CpuPolicy::why`].
    pub(super) fn rule(&self, cx: &Context, cpu: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let (queue, it) = (&self.queues.cpus[cpu.index()], &self.queues.entities[waiting]);
        let ahead = ahead?;
        let current = &self.queues.entities[ahead];
        if it.queued && it.array != queue.active && current.array == queue.active {
            return Some(Reason::RoundUsedUp);
        }
        if !is_pick && current.array != queue.active {
            return None;
        }
        // A bonus for waiting counts from the pick on.
        let own = if is_pick { queue.picked_at } else { current.prio };
        match urgency(cx, (ahead, own), (waiting, it.prio)) {
            Reason::First if !is_pick && cx.tasks.class(ahead) != Class::Fifo => Some(Reason::SliceNotOver),
            reason => Some(reason),
        }
    }
}
