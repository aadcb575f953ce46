//! Reasons for which requests wait.

use super::{Bfq, NO_QUEUE};
use goodness_core::{IoContext, IoReason, RequestId, Submitter, WhyWaits};

impl Bfq {
    pub(super) fn reason(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        let waits_in = self.owner[question.waiting.index()];
        let Some(ahead) = question.ahead else { return self.idles(cx, question.waiting, waits_in) };
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
        if is_known && self.schedule.outclasses(served, waits_in) && own < other {
            return Some(IoReason::Class { ahead: own, waiting: other });
        }
        if self.has_moved(cx, ahead, served) || self.has_moved(cx, question.waiting, waits_in) {
            return None;
        }
        let serving = self.schedule.serving()?;
        Some(if serving == served { self.turn_of(served, waits_in) } else { IoReason::Injected })
    }

    /// True if the process has taken its queue to another group since, or left it.
    pub(super) fn has_moved(&self, cx: &IoContext, request: RequestId, queue: u32) -> bool {
        self.groups.of(cx.requests[request].group) != self.schedule.group(queue)
    }

    /// The queue in service has its turn among those of its group, or its group has.
    fn turn_of(&self, serving: u32, waits_in: u32) -> IoReason {
        match self.schedule.are_beside(serving, waits_in) {
            true => IoReason::InService,
            false => IoReason::GroupTurn,
        }
    }

    /// The disk serves the process whose queue it is, or is kept idle for it.
    fn idles(&self, cx: &IoContext, waiting: RequestId, waits_in: u32) -> Option<IoReason> {
        let serving = self.schedule.serving().filter(|serving| *serving != waits_in)?;
        let queue = Some(&self.queues[serving as usize]).filter(|queue| queue.sync)?;
        if !queue.order.is_empty() {
            return None;
        }
        if queue.outstanding == 0 {
            return (!self.has_requests(cx, queue.of)).then_some(IoReason::Idles { submitter: queue.of });
        }
        (!queue.moved && !self.has_moved(cx, waiting, waits_in)).then(|| self.turn_of(serving, waits_in))
    }

    /// True if synchronous requests of a process are here: in a queue that it has left.
    fn has_requests(&self, cx: &IoContext, submitter: Submitter) -> bool {
        let all = self.owner.iter().enumerate().filter(|(_, owner)| **owner != NO_QUEUE);
        let mut all = all.map(|(request, _)| &cx.requests[RequestId(request as u32)]);
        all.any(|it| it.submitter == submitter && it.sync)
    }

    /// True for two requests of one process, and for asynchronous ones, whose queues are shared.
    fn share_a_queue(&self, cx: &IoContext, ahead: RequestId, waiting: RequestId) -> bool {
        let [own, other] = [ahead, waiting].map(|request| &cx.requests[request]);
        own.submitter == other.submitter || !own.sync && !other.sync
    }
}
