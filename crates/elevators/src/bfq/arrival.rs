//! Arrival of a request: updates its queue, and decides whether the queue preempts.

use super::budget::Expiry;
use super::queue::{self, DEFAULT_WEIGHT, Queue};
use super::raising::{self, Raise, Signs};
use super::wf2q::Return;
use super::{Bfq, NO_QUEUE};
use crate::parts::nearest_request;
use goodness_core::{Effort, IoContext, Request, RequestId, Span, Submitter};

/// A request smaller than this may still grow while its queue is waited for.
const SMALL: u32 = 32;

impl Bfq {
    /// A request joins its queue.
    pub(super) fn arrive(&mut self, cx: &IoContext, request: RequestId) {
        let what = &cx.requests[request];
        let number = self.enrol(cx, what);
        self.owner[request.index()] = number;
        self.schedule.hold(number, |held| held + 1);
        self.learn(cx, number, what);
        self.begin_trial(cx, number);
        // Its process and queue; think time, seeks, weight, counts; tree, list of arrivals, index of merge candidates.
        cx.examined(Effort::Search, 2);
        cx.examined(Effort::Recalculate, 4);
        cx.linked(self.queues[number as usize].order.len() + 1, 2);
        let queue = &mut self.queues[number as usize];
        queue.order.insert_behind_equals(&mut self.sectors, request, what.sector);
        queue.arrivals.push(&mut self.arrivals, request);
        self.waiting += 1;
        if queue.busy {
            self.join(cx, number, request, what.sync);
        } else {
            queue.next = Some(request);
            self.become_busy(cx, number);
        }
        self.stop_idling(cx, number, what);
    }

    /// The queue of a request; a new one for a new process, or one that reuses the number of an exited process.
    fn enrol(&mut self, cx: &IoContext, what: &Request) -> u32 {
        self.reconsider(cx, what);
        let group = self.groups.of(what.group);
        let (number, begins) = if what.sync {
            self.regroup(cx, what.submitter, group);
            let may_share = self.settings.stable_merge && !self.rate.is_rotational() && self.queueing.is_queueing();
            self.sharing.enrol(cx.now, what.submitter, (group, what.priority), may_share)
        } else {
            (queue::shared(group, what.priority), false)
        };
        assert_ne!(number, NO_QUEUE, "submitters are numbered densely");
        self.make_room(cx, number);
        let first = self.bounds.first();
        let queue = self.queue(number);
        if queue.exited && !queue.busy && queue.outstanding == 0 {
            *queue = Queue::new(queue.sync, cx.now, first);
        }
        if begins {
            queue.of = what.submitter;
        }
        queue.exited = false;
        queue.priority = what.priority;
        self.move_to(cx, number, group);
        self.weigh(number);
        number
    }

    fn make_room(&mut self, cx: &IoContext, number: u32) {
        while self.queues.len() <= number as usize {
            let sync = self.queues.len() >= self.groups.shared_queues() as usize;
            self.queues.push(Queue::new(sync, cx.now, self.bounds.first()));
        }
        self.schedule.reserve(self.queues.len());
    }

    /// A process that has moved to another group takes its queue along, or leaves the one that it shares.
    fn regroup(&mut self, cx: &IoContext, submitter: Submitter, group: u32) {
        let Some(number) = self.sharing.queue_of(submitter) else { return };
        if self.schedule.group(number) == group {
            return;
        }
        if self.sharing.is_shared(number) {
            self.sharing.leaves(submitter);
            let of = self.sharing.user_of(number);
            self.queue(number).of = of.unwrap_or(submitter);
        } else {
            self.sharing.moves_alone(submitter, number, group);
            self.move_to(cx, number, group);
        }
    }

    /// Moves a queue with its requests to `group`, if it is in another.
    fn move_to(&mut self, cx: &IoContext, number: u32, group: u32) {
        if self.schedule.group(number) == group {
            return;
        }
        if self.schedule.serving() == Some(number) {
            self.expire(cx, number, Expiry::Preempted);
        }
        self.schedule.moves(number, group);
        let queue = self.queue(number);
        queue.moved = queue.outstanding > 0;
        self.recount(number);
    }

    /// Lets a process that started together with another join its queue, after a while, on a device that seeks or has
    /// no queue of its own, unless idling for it alone serves it faster.
    fn reconsider(&mut self, cx: &IoContext, what: &Request) {
        let is_late = self.settings.stable_merge && (self.rate.is_rotational() || !self.queueing.is_queueing());
        if !is_late || !what.sync {
            return;
        }
        let Some((own, first)) = self.sharing.take_due(cx.now, what.submitter) else { return };
        if self.idling_helps_throughput(own) || !self.schedule.are_beside(own, first) {
            return;
        }
        self.pass_raise(cx, own, first);
        if let Some(left) = self.sharing.moves(what.submitter, first) {
            self.abandon(cx, left);
        }
    }

    /// Passes the weight raising of queue `from` to `to`, unless that is raised already.
    fn pass_raise(&mut self, cx: &IoContext, from: u32, to: u32) {
        if !self.queues[from as usize].raise.is_raised() {
            return;
        }
        let raise = std::mem::replace(&mut self.queue(from).raise, Raise::new(cx.now));
        if !self.queues[to as usize].raise.is_raised() {
            self.queue(to).raise = raise;
        }
        for number in [from, to] {
            self.weigh(number);
            self.recount(number);
        }
    }

    fn learn(&mut self, cx: &IoContext, number: u32, what: &Request) {
        let seeks = self.rate.is_seek(self.queues[number as usize].end.abs_diff(what.sector), what.sectors);
        let idle = self.settings.slice_idle;
        let queue = self.queue(number);
        queue.learn_think(cx.now, idle);
        queue.learn_seek(seeks);
        queue.end = what.end();
    }

    /// `request` of a busy queue may be better than the one it would serve next.
    pub(super) fn consider(&mut self, cx: &IoContext, number: u32, request: RequestId) {
        let next = self.queues[number as usize].next;
        let better = nearest_request::better(&self.sectors, self.back, self.position, next, Some(request));
        if better != next {
            self.queue(number).next = better;
            self.fit_budget(cx, number);
        }
    }

    fn join(&mut self, cx: &IoContext, number: u32, request: RequestId, sync: bool) {
        let interactive = self.rate.interactive();
        if self.settings.low_latency {
            let queue = self.queue(number);
            if !sync {
                queue.raise.joined_async(cx.now, interactive);
            }
            queue.raise.joined(cx.now);
            self.weigh(number);
            self.recount(number);
        }
        self.consider(cx, number, request);
    }

    /// The budget of a queue that waits for service is as large as its next request, at least.
    pub(super) fn fit_budget(&mut self, cx: &IoContext, number: u32) {
        let Some(next) = self.queues[number as usize].next else { return };
        if self.schedule.serving() == Some(number) {
            return;
        }
        let budget = self.queues[number as usize].max_budget.max(self.charge(cx, number, next));
        let budget = budget.max(self.schedule[number].service);
        if budget != self.schedule[number].budget {
            self.schedule[number].budget = budget;
            self.schedule.requeue(number);
            self.recount(number);
        }
    }

    /// A queue without requests has its first.
    fn become_busy(&mut self, cx: &IoContext, number: u32) {
        self.note_burst(cx, number);
        let slice_idle = self.settings.slice_idle;
        let queue = self.queue(number);
        let in_time = queue.completed.is_some_and(|at| cx.now.since(at) <= Span(3 * slice_idle.0));
        queue.returns(in_time);
        let signs = self.signs(cx, number);
        let goes_on = self.budget_on_return(cx, number, in_time);
        if self.settings.low_latency {
            let was_raised = self.queues[number as usize].raise.is_raised();
            let interactive = self.rate.interactive();
            let queue = self.queue(number);
            queue.raise.backlogged(cx.now, signs, interactive);
            if queue.raise.is_raised() && !was_raised {
                // Close to what it asks for, so that its finish is early.
                let budget = self.schedule[number].budget.min(2 * self.bounds.min());
                self.schedule[number].budget = budget;
            }
            self.weigh(number);
        }
        let raised = self.queues[number as usize].raise.factor();
        self.schedule.activate(number, if goes_on { Return::InTime { raised } } else { Return::Late });
        let queue = self.queue(number);
        (queue.busy, queue.awaited, queue.drains) = (true, false, false);
        self.recount(number);
        self.preempt(cx, number, goes_on);
    }

    /// A new queue may belong to a burst; one that was idle for very long no longer does.
    fn note_burst(&mut self, cx: &IoContext, number: u32) {
        let queue = &mut self.queues[number as usize];
        if queue.begun {
            if queue.outstanding == 0 && raising::is_burst_over(cx.now, queue.emptied) {
                queue.in_burst = false;
            }
            return;
        }
        queue.begun = true;
        if !queue.sync {
            return;
        }
        let group = self.schedule.group(number);
        for member in self.burst.begins(cx.now, number, group) {
            self.queues[*member as usize].in_burst = true;
        }
    }

    fn signs(&self, cx: &IoContext, number: u32) -> Signs {
        let queue = &self.queues[number as usize];
        let may_ever = !queue.in_burst && queue::class_and_weight(queue.priority).1 == DEFAULT_WEIGHT;
        let was_idle = queue.emptied.is_none_or(|at| cx.now.since(at) > raising::LONG_IDLE);
        let interactive = may_ever && queue.outstanding == 0 && was_idle;
        let soft = may_ever && queue.outstanding == 0 && !queue.only_seeks() && queue.raise.has_paused(cx.now);
        let may = queue.raise.is_raised() || queue.sync && (interactive || soft);
        Signs { may, interactive, soft, in_burst: queue.in_burst }
    }

    /// Assigns the budget of a queue that has requests again. Returns whether its last budget continues: it was waited
    /// for without blocking others, came in time, and has budget left.
    fn budget_on_return(&mut self, cx: &IoContext, number: u32, in_time: bool) -> bool {
        let queue = &self.queues[number as usize];
        let (max, next) = (queue.max_budget, queue.next.expect("the queue has its first request"));
        let left = self.schedule[number].left();
        let goes_on = queue.awaited && in_time && left > 0;
        let budget = if goes_on { left.min(max) } else { max.max(self.charge(cx, number, next)) };
        let entity = &mut self.schedule[number];
        (entity.budget, entity.service) = (budget, 0);
        goes_on
    }

    /// Preempts another queue's service, if this queue can fill a hole in its own service, has priority, or waiting for
    /// the other has become useless.
    fn preempt(&mut self, cx: &IoContext, number: u32, goes_on: bool) {
        let Some(serving) = self.schedule.serving() else { return };
        let (new, old) = (&self.queues[number as usize], &self.queues[serving as usize]);
        let fills_hole = goes_on && new.raise.factor() >= old.raise.factor();
        let weighs_more = self.schedule.outweighs(number, serving);
        let matters = (fills_hole || weighs_more) && self.schedule.precedes(number, serving);
        if matters || !self.better_to_idle(cx, serving) {
            self.expire(cx, serving, Expiry::Preempted);
        }
    }

    /// Ends idling, as the expected request has come. A small request may still grow; then the device continues when
    /// more arrives or the layer asks.
    fn stop_idling(&mut self, cx: &IoContext, number: u32, what: &Request) {
        if self.idling.is_none() || self.schedule.serving() != Some(number) {
            return;
        }
        let is_late = cx.now >= self.ends;
        let is_small = self.queues[number as usize].order.len() == 1 && what.sectors < SMALL;
        if is_small && !is_late && self.idling_helps_throughput(number) {
            return;
        }
        self.idling = None;
        if is_late {
            self.expire(cx, number, Expiry::Timeout);
        }
    }
}
