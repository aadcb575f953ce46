//! The rule by which a task waits.

use super::O1;
use crate::parts::prio_array::urgency;
use goodness_core::{Context, CpuId, Reason, Why};

impl O1 {
    /// Answers [`goodness_core::CpuPolicy::why`].
    pub(super) fn rule(&self, cx: &Context, cpu: CpuId, Why { ahead, waiting, .. }: Why) -> Option<Reason> {
        let (queue, it) = (&self.queues.cpus[cpu.index()], &self.queues.entities[waiting]);
        let ahead = ahead?;
        let current = &self.queues.entities[ahead];
        if it.queued && it.array != queue.active && current.array == queue.active {
            return Some(Reason::RoundUsedUp);
        }
        Some(urgency(cx, (ahead, current.prio), (waiting, it.prio)))
    }
}
