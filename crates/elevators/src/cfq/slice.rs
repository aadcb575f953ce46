//! A slice: a queue is selected, dispatches alone, may be waited for, and expires.

use super::Cfq;
use super::queue::Queue;
use crate::parts::fifo::age;
use goodness_core::{IoContext, RequestId, Span};

/// The longest wait for the next request of a seeky process.
pub(super) const SEEKY_WAIT: Span = Span::from_ms(2);

impl Cfq {
    /// Fills the dispatch list from the active queue.
    pub(super) fn fill(&mut self, cx: &IoContext) {
        let now = cx.jiffies();
        let Some(number) = self.select(now) else { return };
        (self.idle_timer, self.filled) = (None, number);
        let queue = self.queue_mut(number);
        (queue.must_dispatch, queue.is_awaited) = (false, false);
        let most = if queue.is_idle_class() { 1 } else { self.quantum };
        let mut taken = 0;
        while taken < most {
            let Some(request) = self.pick(cx, number) else { break };
            self.choose(cx, request);
            taken += 1;
        }
        self.slice_requests += taken;
        let slices = self.slices;
        let queue = self.queue_mut(number);
        let level = queue.priority.level;
        queue.slice_end.get_or_insert(now + slices.length(queue.is_sync, level));
        let is_spent = !queue.is_sync && self.slice_requests >= slices.requests(level);
        let queue = self.queue(number);
        if is_spent || queue.is_idle_class() || !queue.has_idle_window {
            self.expire(now);
        }
    }

    /// The queue that may dispatch. `None`: there is no request, or waiting is better.
    fn select(&mut self, now: u64) -> Option<u32> {
        if let Some(number) = self.active {
            let queue = self.queue(number);
            let is_over = !queue.must_dispatch && queue.slice_end.is_some_and(|end| now > end);
            if !is_over {
                if !queue.order.is_empty() {
                    return Some(number);
                }
                if self.awaits(now, number) {
                    return None;
                }
            }
            self.expire(now);
        }
        let next = self.service.first(&mut self.queues).or_else(|| self.first_idle(now));
        if let Some(number) = next {
            self.grace_timer = None;
            let queue = self.queue_mut(number);
            (queue.slice_end, queue.was_indulged, queue.was_rescued) = (None, false, false);
            self.active = next;
        }
        next
    }

    /// The next queue of the idle class, if no other request has completed for long enough.
    fn first_idle(&mut self, now: u64) -> Option<u32> {
        let number = self.service.first_idle()?;
        let from = self.last_completion + self.grace;
        if now >= from {
            return Some(number);
        }
        self.grace_timer = Some(from);
        None
    }

    /// True if the active, empty queue keeps the disk: while its requests are in flight, and for a wait after that.
    pub(super) fn awaits(&mut self, now: u64, number: u32) -> bool {
        let queue = self.queue(number);
        if !queue.is_sync || !queue.has_idle_window || queue.pattern.has_exited || self.slice_idle == 0 {
            return false;
        }
        if queue.dispatched == 0 && !queue.is_awaited {
            self.idle_timer = Some(now + self.wait_of(queue));
            let queue = self.queue_mut(number);
            (queue.is_awaited, queue.must_dispatch) = (true, true);
        }
        true
    }

    /// Length of the wait for a queue's next request.
    fn wait_of(&self, queue: &Queue) -> u64 {
        if queue.pattern.is_seeky() { self.slice_idle.min(self.seeky_wait) } else { self.slice_idle }
    }

    /// The wait for the active queue has ended; it continues if no other queue has requests.
    pub(super) fn wait_ended(&mut self, now: u64) {
        self.idle_timer = None;
        let Some(number) = self.active else { return };
        let queue = self.queue(number);
        let end = queue.slice_end.unwrap_or(now);
        if now < end && queue.order.is_empty() && self.service.queues() == 0 {
            self.idle_timer = Some((now + self.wait_of(queue)).min(end));
        } else if now >= end || queue.order.is_empty() {
            self.expire(now);
        }
    }

    /// The active queue's slice is over.
    pub(super) fn expire(&mut self, now: u64) {
        let Some(number) = self.active.take() else { return };
        self.idle_timer = None;
        self.slice_requests = 0;
        let queue = self.queue_mut(number);
        if queue.dispatched == 0 {
            queue.served = Some(now);
        }
        (queue.must_dispatch, queue.is_awaited) = (false, false);
        if queue.place.is_some() {
            self.service.sort_in(&mut self.queues, number);
        }
    }

    /// Next request of a queue: its oldest if expired (once per slice), else the nearest.
    fn pick(&mut self, cx: &IoContext, number: u32) -> Option<RequestId> {
        let expire = self.expire;
        let queue = self.queue_mut(number);
        let oldest = queue.arrivals.oldest().filter(|_| !queue.was_rescued);
        if let Some(oldest) = oldest.filter(|oldest| age(cx, *oldest) > expire[usize::from(queue.is_sync)]) {
            queue.was_rescued = true;
            return Some(oldest);
        }
        queue.next
    }
}
