//! Reasons for which requests wait.

use super::queue::SHARED;
use super::{Cfq, queue_of};
use goodness_core::{IoClass, IoContext, IoReason, Submitter, WhyWaits};

impl Cfq {
    pub(super) fn reason(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        let waiting = &cx.requests[question.waiting];
        let waits_in = queue_of(waiting);
        let Some(ahead) = question.ahead else { return self.idles(waits_in) };
        let ahead = &cx.requests[ahead];
        let served = queue_of(ahead);
        // A request that another one at its sector has displaced is sent in any slice.
        if served != self.filled {
            return None;
        }
        let is_idle_class = |number: u32| self.queue(number).is_idle_class();
        let [own, other] = [ahead.priority.class, waiting.priority.class];
        if served == waits_in {
            Some(IoReason::QueueOrder)
        } else if self.chosen.contains(question.waiting) {
            None
        } else if is_idle_class(waits_in) && !is_idle_class(served) && own < other && other == IoClass::Idle {
            Some(IoReason::Class { ahead: own, waiting: other })
        } else {
            Some(IoReason::InService)
        }
    }

    /// The disk serves the process whose slice it is, or idles for it.
    fn idles(&self, waits_in: u32) -> Option<IoReason> {
        let active = self.active.filter(|active| *active != waits_in)?;
        let submitter = Submitter(active.checked_sub(SHARED as u32)?);
        let queue = self.queue(active);
        let reason = if queue.dispatched == 0 { IoReason::Idles { submitter } } else { IoReason::InService };
        queue.order.is_empty().then_some(reason)
    }
}
