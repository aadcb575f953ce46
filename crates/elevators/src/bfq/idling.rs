//! Idling: whether to keep the device idle for the queue in service, for how long, and which requests to inject
//! meanwhile.

use super::budget::Expiry;
use super::settings::Times;
use super::{Bfq, Idling, Trial};
use goodness_core::{IoClass, IoContext, RequestId, Span};

/// Interval after which the number of injected requests is learnt anew.
const LEARN_ANEW: Span = Span::from_s(1);

impl Bfq {
    /// True if keeping the device idle for the queue is better than serving another.
    pub(super) fn better_to_idle(&self, cx: &IoContext, number: u32) -> bool {
        let queue = &self.queues[number as usize];
        if queue.exited {
            return false;
        }
        if self.settings.strict_guarantees {
            return true;
        }
        if self.settings.slice_idle.0 == 0 || !queue.sync || queue.priority.class == IoClass::Idle {
            return false;
        }
        self.idling_helps_throughput(number) || self.idling_keeps_shares(cx, number)
    }

    /// True if idling helps throughput: the next request probably follows the last one, and would otherwise come after
    /// a seek. Not while raised queues are busy.
    pub(super) fn idling_helps_throughput(&self, number: u32) -> bool {
        let queue = &self.queues[number as usize];
        let (rotational, queueing) = (self.rate.is_rotational(), self.queueing.is_queueing());
        let follows = !queue.is_seeky() && queue.is_io_bound() && queue.thinks_shortly(self.settings.slice_idle);
        let helps = rotational && !queueing || (rotational || !queueing) && follows;
        helps && self.counts.raised() == 0
    }

    /// True if idling is needed for the queue to get its share.
    fn idling_keeps_shares(&self, cx: &IoContext, number: u32) -> bool {
        let queue = &self.queues[number as usize];
        let others_compete = self.counts.raised() < self.counts.busy() || cx.in_flight >= queue.outstanding + 4;
        queue.raise.is_raised() && others_compete
            || self.counts.are_asymmetric(queue.counted.weight)
            || self.counts.busy() == 1
    }

    /// The queue has no requests and none outstanding: waits for the next.
    pub(super) fn begin_idling(&mut self, cx: &IoContext, number: u32) {
        let queue = &self.queues[number as usize];
        let idle = self.settings.slice_idle;
        let raised = queue.raise.is_raised();
        let for_throughput_only = !raised && !self.counts.are_asymmetric(queue.counted.weight);
        let idle = match () {
            () if queue.is_seeky() && for_throughput_only => idle.min(Times::SHORT_IDLE),
            () if raised => idle.max(Times::RAISED_IDLE),
            () => idle,
        };
        self.idling = Some(Idling { since: cx.now, until: cx.now + idle });
    }

    /// The device was kept idle long enough.
    pub(super) fn idled(&mut self, cx: &IoContext) {
        let Some(idling) = self.idling.take() else { return };
        let Some(number) = self.schedule.serving() else { return };
        if cx.now >= self.ends {
            self.expire_after_idling(cx, number, Expiry::Timeout, idling.since);
        } else if self.queues[number as usize].order.is_empty() {
            self.expire_after_idling(cx, number, Expiry::TooIdle, idling.since);
        }
    }

    /// Learns whether the device takes several commands.
    pub(super) fn sample_queueing(&mut self, cx: &IoContext) {
        let in_device = cx.in_flight + 1;
        let held_back = self.schedule.serving().is_some_and(|number| {
            let queue = &self.queues[number as usize];
            queue.thinks_shortly(self.settings.slice_idle) && queue.outstanding + (queue.order.len() as u32) < 3
        });
        self.queueing.sample(in_device, self.waiting, held_back);
    }

    /// A queue with a request that can be served meanwhile without delaying the expected one too much.
    pub(super) fn injected(&mut self, cx: &IoContext, serving: u32) -> Option<u32> {
        let queue = &self.queues[serving as usize];
        let thinks = !queue.thinks_shortly(self.settings.slice_idle);
        let raised = queue.raise.is_raised();
        if self.settings.strict_guarantees
            || self.idling_helps_throughput(serving)
            || raised && self.counts.raised() < 2 && !thinks
        {
            return None;
        }
        let waited = self.idling.is_some_and(|idling| cx.now.since(idling.since) >= self.settings.slice_idle);
        let limit = if queue.alone.is_none() && waited { queue.inject.max(1) } else { queue.inject };
        if cx.in_flight >= limit {
            return None;
        }
        let fits = |number: &u32| {
            let queue = &self.queues[*number as usize];
            let Some(next) = queue.next else { return false };
            (!raised || thinks || queue.raise.is_raised())
                && self.charge(cx, *number, next) <= self.schedule[*number].left()
                && (self.rate.is_rotational()
                    || cx.requests[next].sectors < Times::SMALL_SECTORS
                    || cx.in_flight == 0)
        };
        let found = self.schedule.active().find(fits)?;
        self.trial.injected = true;
        Some(found)
    }

    /// Starts timing the first request after a pause of the queue in service. Old results expire.
    pub(super) fn begin_trial(&mut self, cx: &IoContext, number: u32) {
        let idle = self.settings.slice_idle;
        let queue = &mut self.queues[number as usize];
        if !queue.order.is_empty() || !queue.sync {
            return;
        }
        if cx.now.since(queue.inject_since) >= LEARN_ANEW {
            (queue.alone, queue.inject_since) = (None, cx.now);
            queue.inject = u32::from(!queue.thinks_shortly(idle));
        }
        if self.schedule.serving() != Some(number) {
            return;
        }
        if cx.in_flight == 0 || queue.alone.is_some() && self.trial.injected {
            let injected = self.trial.injected && cx.in_flight > 0;
            self.trial = Trial { since: cx.now, awaits_dispatch: true, request: None, injected };
        }
    }

    /// Ends the timing. More requests may be injected if it took less than 1.5 times as long as alone, else fewer.
    pub(super) fn end_trial(&mut self, cx: &IoContext, number: u32, request: RequestId) {
        if self.trial.request != Some(request) {
            return;
        }
        let (took, injected, deepest) = (cx.now.since(self.trial.since), self.trial.injected, cx.facts.depth);
        let (alone_in_device, now) = (cx.in_flight == 0, cx.now);
        let queue = self.queue(number);
        if let Some(alone) = queue.alone.filter(|_| injected) {
            if took.0 >= alone.0 * 3 / 2 {
                (queue.inject, queue.inject_since) = (queue.inject.saturating_sub(1), now);
            } else if queue.inject <= deepest {
                queue.inject += 1;
            }
        }
        if queue.alone.is_none() && alone_in_device {
            queue.inject = queue.inject.max(1);
        }
        if alone_in_device && !injected || queue.alone.is_some_and(|alone| took < alone) {
            queue.alone = Some(took);
        }
        self.trial = Trial::default();
    }
}
