//! Reasons for which requests wait.

use super::{Bfq, NO_QUEUE};
use goodness_core::{IoContext, IoReason, RequestId, WhyWaits};

impl Bfq {
    pub(super) fn reason(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        let waits_in = self.owner[question.waiting.index()];
        let Some(ahead) = question.ahead else { return self.idles(waits_in) };
        let served = self.owner[ahead.index()];
        if served == NO_QUEUE || waits_in == NO_QUEUE {
            return None;
        }
        if served == waits_in {
            return self.share_a_queue(cx, ahead, question.waiting).then_some(IoReason::QueueOrder);
        }
        let [own, other] = [ahead, question.waiting].map(|request| &cx.requests[request]);
        // The process has given up its queue in between.
        if own.submitter == other.submitter && own.sync && other.sync {
            return None;
        }
        let class = |queue: u32| self.queues[queue as usize].priority.class;
        let [own, other] = [own.priority.class, other.priority.class];
        let is_known = [class(served), class(waits_in)] == [own, other];
        if is_known && self.schedule[served].class() < self.schedule[waits_in].class() && own < other {
            return Some(IoReason::Class { ahead: own, waiting: other });
        }
        // A process has taken its queue to another group, or left it.
        let has_moved = |(request, queue)| self.groups.of(cx.requests[request].group) != self.schedule.group(queue);
        if [(ahead, served), (question.waiting, waits_in)].into_iter().any(has_moved) {
            return None;
        }
        match self.schedule.serving() {
            Some(serving) if serving != served => Some(IoReason::Injected),
            Some(_) if !self.schedule.are_beside(served, waits_in) => Some(IoReason::GroupTurn),
            Some(_) => Some(IoReason::InService),
            None => None,
        }
    }

    /// The disk serves the process whose queue it is, or is kept idle for it.
    fn idles(&self, waits_in: u32) -> Option<IoReason> {
        let serving = self.schedule.serving().filter(|serving| *serving != waits_in)?;
        let queue = Some(&self.queues[serving as usize]).filter(|queue| queue.sync)?;
        let submitter = queue.of;
        let reason = if queue.outstanding == 0 { IoReason::Idles { submitter } } else { IoReason::InService };
        queue.order.is_empty().then_some(reason)
    }

    /// True for two requests of one process, and for asynchronous ones, whose queues are shared.
    fn share_a_queue(&self, cx: &IoContext, ahead: RequestId, waiting: RequestId) -> bool {
        let [own, other] = [ahead, waiting].map(|request| &cx.requests[request]);
        own.submitter == other.submitter || !own.sync && !other.sync
    }
}
