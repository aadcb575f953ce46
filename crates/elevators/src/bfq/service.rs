//! Service of a queue: start, requests, end, and the charge.

use super::Bfq;
use super::budget::{Expiry, Served};
use super::queue::Queue;
use super::raising::Kind;
use crate::parts::nearest_request;
use goodness_core::{Effort, IoContext, RequestId, Span, Time};

/// Shortest service from which a rate is computed.
const TOO_SHORT: Span = Span::from_ms(1);
/// Shortest service that can count as slow.
const LONG: Span = Span::from_ms(20);

/// Decision about the queue in service.
enum Verdict {
    /// Serve this queue: the one in service, or another meanwhile.
    Serve(u32),
    /// Wait.
    Wait,
    End(Expiry),
}

impl Bfq {
    /// The queue whose request the device gets next.
    pub(super) fn select(&mut self, cx: &IoContext) -> Option<u32> {
        loop {
            let (number, is_new) = match self.schedule.serving() {
                Some(number) => (number, false),
                None => (self.begin(cx)?, true),
            };
            let verdict = if !is_new && self.takes_too_long(cx, number) && !self.must_idle(cx, number) {
                Verdict::End(Expiry::Timeout)
            } else {
                self.judge(cx, number)
            };
            match verdict {
                Verdict::Serve(number) => return Some(number),
                Verdict::Wait => return None,
                Verdict::End(why) => self.expire(cx, number, why),
            }
        }
    }

    fn judge(&mut self, cx: &IoContext, number: u32) -> Verdict {
        let queue = &self.queues[number as usize];
        if let Some(next) = queue.next {
            if self.charge(cx, number, next) > self.schedule[number].left() {
                return Verdict::End(Expiry::Exhausted);
            }
            self.idling = None;
            return Verdict::Serve(number);
        }
        if self.idling.is_some() || queue.outstanding > 0 && self.better_to_idle(cx, number) {
            return self.injected(cx, number).map_or(Verdict::Wait, Verdict::Serve);
        }
        Verdict::End(Expiry::NoMoreRequests)
    }

    /// True if its time is over. A queue that is waited for is spared, unless it used little of its budget.
    fn takes_too_long(&self, cx: &IoContext, number: u32) -> bool {
        let entity = &self.schedule[number];
        cx.now >= self.ends && (self.idling.is_none() || entity.left() >= entity.budget / 3)
    }

    fn must_idle(&self, cx: &IoContext, number: u32) -> bool {
        self.queues[number as usize].order.is_empty() && self.better_to_idle(cx, number)
    }

    /// Starts service of the next queue.
    fn begin(&mut self, cx: &IoContext) -> Option<u32> {
        let number = self.schedule.serve_next(cx.now)?;
        // It leaves the tree of its class; virtual time, budget, timeout.
        cx.linked(self.counts.busy() as usize, 0);
        cx.examined(Effort::Recalculate, 3);
        self.bounds.assign();
        let timeout = self.times.timeout;
        let queue = self.queue(number);
        queue.age_checked = false;
        let waited = queue.emptied;
        queue.raise.begins(cx.now, waited);
        // Interactive queues have small budgets at a large weight: they get their time as well.
        let times = if queue.raise.kind() == Some(Kind::Interactive) { queue.raise.factor() } else { 1 };
        (self.began, self.ends) = (cx.now, cx.now + Span(timeout.0 * times));
        Some(number)
    }

    /// Takes the next request of a queue, which need not be the one in service.
    pub(super) fn serve(&mut self, cx: &IoContext, number: u32) -> RequestId {
        let request = self.queues[number as usize].next.expect("a queue that is chosen has a request");
        let charge = self.charge(cx, number, request);
        self.schedule.served(number, charge);
        self.queue(number).raise.served(charge);
        // The queue and its next request; its budget, the rate, the weight, the counts; the lists as on arrival.
        cx.examined(Effort::Search, 2);
        cx.examined(Effort::Recalculate, 4);
        cx.linked(self.queues[number as usize].order.len(), 2);
        let is_serving = self.schedule.serving() == Some(number);
        if is_serving && self.trial.awaits_dispatch {
            (self.trial.request, self.trial.awaits_dispatch) = (Some(request), false);
        }
        let what = &cx.requests[request];
        if self.rate.dispatched(cx, self.position.abs_diff(what.sector), what) {
            self.bounds.learn(self.rate.sectors_in(self.times.timeout));
        }
        self.position = what.end();
        let moved = self.has_moved(cx, request, number);
        let queue = self.queue(number);
        (queue.outstanding, queue.moved) = (queue.outstanding + 1, queue.moved || moved);
        self.take_off(cx, number, request);
        self.check_raise(cx, number);
        self.settle(cx, number);
        let is_idle_class = self.schedule[number].class() == 2;
        if is_serving && is_idle_class && self.counts.busy() > 1 {
            self.expire(cx, number, Expiry::Exhausted);
        }
        request
    }

    fn check_raise(&mut self, cx: &IoContext, number: u32) {
        let interactive = self.rate.interactive();
        let queue = self.queue(number);
        let before = queue.raise.factor();
        let in_burst = queue.in_burst;
        queue.raise.check(cx.now, in_burst, interactive);
        if queue.raise.factor() != before {
            self.weigh(number);
            if self.schedule.serving() == Some(number) {
                self.schedule.apply(number);
            }
        }
        self.recount(number);
    }

    /// Removes a waiting request from its queue and chooses the next one.
    pub(super) fn take_off(&mut self, cx: &IoContext, number: u32, request: RequestId) {
        let next = match self.queues[number as usize].next {
            Some(next) if next == request => self.after(cx, number, request),
            next => next,
        };
        let queue = &mut self.queues[number as usize];
        queue.order.remove(&mut self.sectors, request);
        queue.arrivals.remove(&mut self.arrivals, request);
        queue.next = next;
        self.waiting -= 1;
    }

    /// The request after `request`: the oldest if expired (once per service), else the nearest.
    fn after(&mut self, cx: &IoContext, number: u32, request: RequestId) -> Option<RequestId> {
        let queue = &mut self.queues[number as usize];
        let expire = if queue.sync { self.settings.fifo_expire_sync } else { self.settings.fifo_expire_async };
        if !std::mem::replace(&mut queue.age_checked, true) {
            let oldest = queue.arrivals.oldest().filter(|oldest| *oldest != request);
            let has_expired = |oldest: &RequestId| cx.now.since(cx.requests[*oldest].inserted) >= expire;
            if let Some(oldest) = oldest.filter(has_expired) {
                return Some(oldest);
            }
        }
        nearest_request::beside(&queue.order, &self.sectors, self.back, self.position, request)
    }

    /// Handles a request leaving a queue not in service, which may now be empty or have an unsuitable budget.
    pub(super) fn settle(&mut self, cx: &IoContext, number: u32) {
        if self.schedule.serving() == Some(number) || !self.queues[number as usize].busy {
            return self.recount(number);
        }
        if self.queues[number as usize].order.is_empty() {
            self.schedule.deactivate(number);
            let entity = &mut self.schedule[number];
            (entity.budget, entity.service) = (0, 0);
            self.emptied(cx, number);
        } else {
            self.fit_budget(cx, number);
        }
        self.recount(number);
    }

    /// Marks a queue as not busy.
    fn emptied(&mut self, cx: &IoContext, number: u32) {
        let queue = self.queue(number);
        queue.busy = false;
        if queue.outstanding == 0 {
            queue.emptied = Some(cx.now);
        }
    }

    /// Ends service of a queue.
    pub(super) fn expire(&mut self, cx: &IoContext, number: u32, why: Expiry) {
        self.expire_after_idling(cx, number, why, cx.now);
    }

    /// Ends service of a queue that was idle until `until`.
    pub(super) fn expire_after_idling(&mut self, cx: &IoContext, number: u32, why: Expiry, until: Time) {
        self.idling = None;
        // Start and finish times, the next budget, the counts; a tree of active or idle queues.
        cx.examined(Effort::Recalculate, 4);
        cx.linked(self.counts.busy() as usize, 0);
        self.charge_time(number, why, until.since(self.began));

        let (slice_idle, jiffy, low_latency) = (self.settings.slice_idle, cx.facts.jiffy(), self.settings.low_latency);
        let entity = self.schedule[number];
        let queue = self.queue(number);
        if why == Expiry::TooIdle {
            queue.kept_waiting(entity.service, entity.budget);
        }
        if low_latency {
            queue.raise.expired(cx.now);
            drain(queue, cx.now, slice_idle, jiffy);
        }
        let raised = queue.raise.is_raised();
        let served = Served { sync: queue.sync, raised, outstanding: queue.outstanding, service: entity.service };
        let max_budget = self.bounds.next(self.queues[number as usize].max_budget, why, served);
        self.queue(number).max_budget = max_budget;
        if let Some(next) = self.queues[number as usize].next {
            self.schedule[number].budget = max_budget.max(self.charge(cx, number, next));
            self.schedule.requeue(number);
        } else {
            self.schedule.deactivate(number);
            self.emptied(cx, number);
            self.queue(number).awaited = !matches!(why, Expiry::Timeout | Expiry::Exhausted);
        }
        self.recount(number);
    }

    /// Charges a slow queue for time instead of sectors, because sectors are cheap for a seeking queue. Raised queues
    /// are exempt.
    pub(super) fn charge_time(&mut self, number: u32, why: Expiry, took: Span) {
        let queue = &self.queues[number as usize];
        let entity = &self.schedule[number];
        let is_slow = queue.sync && took > LONG && entity.service < self.rate.sectors_in(took) / 2;
        let is_late = why == Expiry::Timeout && entity.left() >= entity.budget / 3;
        if queue.raise.is_raised() || !(is_slow || is_late) {
            return;
        }
        let (timeout, max) = (self.times.timeout, self.bounds.max());
        // So short, it is charged for a seek.
        let took = if took < TOO_SHORT { self.rate.seek() } else { took };
        let sectors = (u128::from(max) * u128::from(took.min(timeout).0) / u128::from(timeout.0)) as u64;
        let entity = &mut self.schedule[number];
        entity.budget = entity.budget.max(sectors);
        if sectors > entity.service {
            let more = sectors - entity.service;
            self.schedule.served(number, more);
        }
    }

    /// The device has completed a request of a queue.
    pub(super) fn completed(&mut self, cx: &IoContext, number: u32, request: RequestId) {
        // Rate, queueing, think time, counts.
        cx.examined(Effort::Recalculate, 4);
        let (slice_idle, jiffy) = (self.settings.slice_idle, cx.facts.jiffy());
        let queue = self.queue(number);
        queue.outstanding -= 1;
        queue.completed = Some(cx.now);
        queue.moved &= queue.outstanding > 0;
        if queue.outstanding == 0 && !queue.busy {
            queue.emptied = Some(cx.now);
        }
        if queue.drains && queue.outstanding == 0 && queue.order.is_empty() {
            drain(queue, cx.now, slice_idle, jiffy);
        }
        self.recount(number);
        self.end_trial(cx, number, request);
        if self.schedule.serving() != Some(number) {
            return;
        }
        let queue = &self.queues[number as usize];
        let (is_empty, is_drained) = (queue.order.is_empty(), queue.outstanding == 0);
        if self.must_idle(cx, number) {
            if is_drained {
                self.begin_idling(cx, number);
            }
        } else if self.takes_too_long(cx, number) {
            self.expire(cx, number, Expiry::Timeout);
        } else if is_empty {
            self.expire(cx, number, Expiry::NoMoreRequests);
        }
    }
}

/// Handles a queue without requests: once none is outstanding, computes when its next one would count as soft
/// real-time.
fn drain(queue: &mut Queue, now: Time, slice_idle: Span, jiffy: Span) {
    if !queue.order.is_empty() {
        return;
    }
    queue.drains = queue.outstanding > 0;
    if !queue.drains {
        queue.raise.drained(now, slice_idle, jiffy);
    }
}
