//! cfq-v2: fairness by rounds. Each process has a queue, and a round takes one request from each.
//!
//! Source: Linux 2.6.12-rc2, `specs/io-schedulers.md` section 6. No time slices, no idling, no I/O priorities.
//!
//! Inferred or different:
//! - `key_type` is not a tunable: the host decides what a submitter's number means.
//! - A round visits the queues in their order at its start; the source walks the list while sorting it.
//! - The next request of a queue is cached as in the source: chosen for the head position at the queue's last change.
//! - A queue's requests count from insertion to completion, by direction.
//! - A submitter's number that is reused after its exit keeps the debt of its queue, and nothing else.

#[cfg(test)]
mod tests;

use crate::parts::dispatch_list::DispatchList;
use crate::parts::fifo::{Arrivals, Fifo, age};
use crate::parts::kind::kind_of;
use crate::parts::nearest_request::{Backward, beside, better};
use crate::parts::sorted::{Sectors, Sorted};
use goodness_core::{
    Allocate, Effort, Elevator, ElevatorAbout, HwQueue, Io, IoContext, IoReason, Layer, QueueFacts, RegisteredElevator,
    Request, RequestId, Run, Seed, Side, Span, Submitter, WhyWaits,
};
use goodness_queues::{Nodes, Tree};

goodness_core::tunables! {
    pub struct Settings {
        /// Requests after which a round ends with the pass.
        quantum: u64 = 4, in 1 => 1024;
        /// Requests of each direction that a queue may always have.
        queued: u64 = 8, in 1 => 8192;
        /// Requests per direction in the block layer; a queue may have a sixteenth of them.
        nr_requests: u64 = 1024, in 16 => 8192;
        /// Age from which a read or synchronous write goes first.
        fifo_expire_sync: Span = Span::from_ms(500), in Span::ZERO => Span::from_s(60);
        /// Age from which another write goes first.
        fifo_expire_async: Span = Span::from_s(5), in Span::ZERO => Span::from_s(60);
        /// Shortest time between two expired requests of a queue that go first.
        fifo_batch_expire: Span = Span::from_ms(125), in Span::ZERO => Span::from_s(60);
        /// Which age applies to which kind of request; the source swaps them.
        fifo_expiry: Expiry = Expiry::AsWritten;
        /// Longest backward seek, in KiB.
        back_seek_max: u64 = 16384, in 0 => 1 << 40;
        /// Cost of a backward seek, relative to a forward seek of the same length.
        back_seek_penalty: u64 = 2, in 1 => 1024;
        /// Take the cheapest next request of a queue; else the one with the lowest sector.
        find_best_crq: bool = true;
    }
}

goodness_core::choices! {
    /// Which age applies to which kind of request: as in the source, where `fifo_expire_sync` applies to asynchronous
    /// requests and vice versa, or as the names say.
    pub enum Expiry { AsWritten = "as-written", AsDocumented = "as-documented" }
}

/// Requests in the driver from which the device counts as queueing commands.
const TAGGED: u32 = 4;

/// The queue of one process.
#[derive(Clone, Debug, Default)]
struct Queue {
    order: Sorted,
    /// By kind.
    arrivals: [Fifo; 2],
    next: Option<RequestId>,
    /// Requests chosen and not complete.
    in_flight: u32,
    /// Requests allocated: reads, then others.
    allocated: [u32; 2],
    /// Start of the current second of service.
    service_start: Option<u64>,
    /// Service in that second plus decayed earlier service: in jiffies, or in requests for a tagged device.
    service_used: u64,
    /// Time an expired request last went first.
    rescued: Option<u64>,
    has_exited: bool,
}

/// Rounds over queues by process.
#[derive(Debug)]
pub struct CfqV2 {
    settings: Settings,
    back: Backward,
    /// In jiffies, by kind.
    expire: [u64; 2],
    batch_expire: u64,
    second: u64,
    queues: Vec<Queue>,
    /// Queues with waiting requests by service, then by requests in flight.
    busy: Tree,
    busy_links: Nodes<0>,
    sectors: Sectors,
    by_arrival: Arrivals,
    chosen: DispatchList,
    /// The sector after the request chosen last.
    head: u64,
    /// The sector after the request that the device got last.
    position: u64,
    is_tagged: bool,
    /// Queues of the current pass.
    pass: Vec<u32>,
}

impl RegisteredElevator for CfqV2 {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "cfq-v2",
        summary: "A queue for each process, and rounds that take a request from each.",
        source: "Linux 2.6.12; specs section 6",
        layer: Layer::Legacy,
    };
    type Settings = Settings;

    fn requests(settings: &Settings, _: &QueueFacts) -> u32 {
        settings.nr_requests as u32
    }

    fn new(facts: &QueueFacts, settings: Settings, _: Seed) -> CfqV2 {
        let [sync, other] = [settings.fifo_expire_sync, settings.fifo_expire_async].map(|s| facts.jiffies_up(s));
        CfqV2 {
            back: Backward { max: settings.back_seek_max * 2, penalty: settings.back_seek_penalty },
            expire: match settings.fifo_expiry {
                Expiry::AsWritten => [sync, other],
                Expiry::AsDocumented => [other, sync],
            },
            batch_expire: facts.jiffies_up(settings.fifo_batch_expire),
            second: u64::from(facts.hz),
            settings,
            queues: Vec::new(),
            busy: Tree::default(),
            busy_links: Nodes::default(),
            sectors: Sectors::default(),
            by_arrival: Arrivals::default(),
            chosen: DispatchList::default(),
            head: 0,
            position: 0,
            is_tagged: false,
            pass: Vec::new(),
        }
    }
}

impl CfqV2 {
    /// Creates the queue of `submitter`, or a new one if the last process with this number has exited.
    fn prepare(&mut self, submitter: Submitter) {
        let index = submitter.index();
        if index >= self.queues.len() {
            self.queues.resize(index + 1, Queue::default());
            self.busy_links.reserve(index + 1);
            self.pass.reserve(index + 1);
        }
        let queue = &mut self.queues[index];
        if queue.has_exited {
            (queue.has_exited, queue.service_start, queue.rescued) = (false, None, None);
            self.account(index, |queue| queue.service_used = 0);
        }
    }

    /// Changes the sort key of the busy queues.
    fn account(&mut self, index: usize, change: impl FnOnce(&mut Queue)) {
        let queue = &mut self.queues[index];
        let is_busy = !queue.order.is_empty();
        if is_busy {
            self.busy.remove(&mut self.busy_links, index as u32);
        }
        change(queue);
        if is_busy {
            self.enqueue(index);
        }
    }

    fn enqueue(&mut self, index: usize) {
        let queue = &self.queues[index];
        let (used, in_flight) = (queue.service_used as i64, i64::from(queue.in_flight));
        self.busy.insert_ranked(&mut self.busy_links, index as u32, used, in_flight, []);
    }

    /// Removes `request` from its queue's order; the queue is no longer busy after its last one.
    fn leave(&mut self, io: &Request, request: RequestId) {
        let index = io.submitter.index();
        let queue = &mut self.queues[index];
        if queue.next == Some(request) {
            queue.next = beside(&queue.order, &self.sectors, self.back, self.head, request);
        }
        queue.order.remove(&mut self.sectors, request);
        if queue.order.is_empty() {
            self.busy.remove(&mut self.busy_links, index as u32);
        }
    }

    /// Fills the dispatch list: one request of each queue with none in flight, then one of each queue, until there are
    /// enough.
    fn round(&mut self, cx: &IoContext) {
        let (mut taken, mut is_first) = (0, true);
        while taken < self.settings.quantum && !self.busy.is_empty() {
            let mut pass = std::mem::take(&mut self.pass);
            pass.clear();
            pass.extend(self.busy.iter(&self.busy_links));
            for index in pass.iter().map(|index| *index as usize) {
                if is_first && self.queues[index].in_flight > 0 {
                    continue;
                }
                let request = self.pick(cx, index);
                self.choose(cx, request);
                taken += 1;
            }
            self.pass = pass;
            is_first = false;
        }
    }

    /// The next request of a non-empty queue.
    fn pick(&mut self, cx: &IoContext, index: usize) -> RequestId {
        let now = cx.jiffies();
        let queue = &mut self.queues[index];
        if queue.rescued.is_none_or(|last| now - last >= self.batch_expire) {
            for (fifo, expire) in queue.arrivals.iter().zip(self.expire) {
                if let Some(oldest) = fifo.oldest().filter(|oldest| age(cx, *oldest) > expire) {
                    queue.rescued = Some(now);
                    return oldest;
                }
            }
        }
        let best = queue.next.filter(|_| self.settings.find_best_crq);
        best.or(queue.order.lowest(&self.sectors)).expect("a busy queue has a request")
    }

    /// Moves `request` from its queue's order to the dispatch list.
    fn choose(&mut self, cx: &IoContext, request: RequestId) {
        let io = &cx.requests[request];
        self.head = io.end();
        self.queues[io.submitter.index()].next = Some(request);
        cx.examined(Effort::Search, 2);
        cx.linked(self.queues[io.submitter.index()].order.len(), 3);
        self.leave(io, request);
        self.enlist(cx, request);
    }

    /// Appends `request`, already out of the order, to the dispatch list.
    fn enlist(&mut self, cx: &IoContext, request: RequestId) {
        let io = &cx.requests[request];
        let index = io.submitter.index();
        self.queues[index].arrivals[kind_of(io)].remove(&mut self.by_arrival, request);
        self.account(index, |queue| queue.in_flight += 1);
        self.chosen.insert_one_way(self.position, request, |of| cx.requests[of].sector);
    }

    /// Accounts for a completed or removed request.
    fn forget(&mut self, io: &Request, was_chosen: bool) {
        let queue = &mut self.queues[io.submitter.index()];
        queue.allocated[io.op.direction()] -= 1;
        if was_chosen {
            self.account(io.submitter.index(), |queue| queue.in_flight -= 1);
        }
    }

    /// Most requests of a queue per direction: its part of all, within bounds.
    fn limit(&self) -> u64 {
        let all = self.settings.nr_requests;
        let most = (all / 16).max(self.settings.queued);
        all.checked_div(self.busy.len() as u64).unwrap_or(most).clamp(self.settings.queued, most)
    }
}

impl Elevator for CfqV2 {
    fn allows_merge(&self, _: &IoContext, request: RequestId, _: &Io) -> bool {
        !self.chosen.contains(request)
    }

    fn merged(&mut self, cx: &IoContext, request: RequestId, side: Side, _: u64) {
        if side == Side::Back || self.chosen.contains(request) {
            return;
        }
        let io = &cx.requests[request];
        let order = &mut self.queues[io.submitter.index()].order;
        if let Some(older) = order.rekey(&mut self.sectors, request, io.sector) {
            self.send_alias(cx, older, request);
        }
    }

    fn absorbed(&mut self, cx: &IoContext, survivor: RequestId, absorbed: RequestId) {
        let [stays, goes] = [survivor, absorbed].map(|request| &cx.requests[request]);
        let is_one_list = stays.submitter == goes.submitter && kind_of(stays) == kind_of(goes);
        if !is_one_list || self.chosen.contains(survivor) || self.chosen.contains(absorbed) {
            return self.remove(cx, absorbed);
        }
        self.leave(goes, absorbed);
        let fifo = &mut self.queues[goes.submitter.index()].arrivals[kind_of(goes)];
        fifo.absorb(&mut self.by_arrival, survivor, absorbed);
        self.forget(goes, false);
    }

    fn remove(&mut self, cx: &IoContext, request: RequestId) {
        let io = &cx.requests[request];
        let was_chosen = self.chosen.remove(request);
        if !was_chosen {
            self.leave(io, request);
            self.queues[io.submitter.index()].arrivals[kind_of(io)].remove(&mut self.by_arrival, request);
        }
        self.forget(io, was_chosen);
    }

    fn may_allocate(&self, _: &IoContext, io: &Io, _: u32) -> Allocate {
        let Some(queue) = self.queues.get(io.submitter.index()) else { return Allocate::AsUsual };
        let has = u64::from(queue.allocated[io.op.direction()]);
        if has < self.settings.queued {
            Allocate::Always
        } else if has >= self.limit() {
            Allocate::Wait
        } else {
            Allocate::AsUsual
        }
    }

    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        let slots = cx.requests.slots();
        self.sectors.reserve(slots);
        self.by_arrival.reserve(slots);
        self.chosen.reserve(slots);
        let io = &cx.requests[request];
        self.prepare(io.submitter);
        let index = io.submitter.index();
        let queue = &mut self.queues[index];
        queue.allocated[io.op.direction()] += 1;
        queue.arrivals[kind_of(io)].push(&mut self.by_arrival, request);
        let was_busy = !queue.order.is_empty();
        let alias = queue.order.insert(&mut self.sectors, request, io.sector);
        cx.linked(queue.order.len(), 2);
        if !was_busy {
            self.enqueue(index);
        }
        match alias {
            Some(older) => self.send_alias(cx, older, request),
            None => {
                let queue = &mut self.queues[index];
                queue.next = better(&self.sectors, self.back, self.head, Some(request), queue.next);
            }
        }
        Run::WhenUnplugged
    }

    fn dispatch(&mut self, cx: &IoContext, _: HwQueue) -> Option<RequestId> {
        if self.chosen.is_empty() {
            self.round(cx);
        }
        let request = self.chosen.pop()?;
        let io = &cx.requests[request];
        self.position = io.end();
        self.account_dispatch(cx, io.submitter.index());
        Some(request)
    }

    fn complete(&mut self, cx: &IoContext, request: RequestId) {
        let io = &cx.requests[request];
        cx.examined(Effort::Recalculate, 3);
        self.forget(io, true);
        if self.is_tagged {
            return;
        }
        let now = cx.jiffies();
        let (took, second) = (now - cx.facts.jiffies(io.issued), self.second);
        self.account(io.submitter.index(), |queue| {
            if queue.service_start.is_some_and(|start| now > start + second) {
                queue.service_start = Some(now);
                queue.service_used >>= 3;
            }
            queue.service_used += took;
        });
    }

    fn exit(&mut self, _: &IoContext, submitter: Submitter) {
        if let Some(queue) = self.queues.get_mut(submitter.index()) {
            queue.has_exited = true;
        }
    }

    fn has_work(&self) -> bool {
        !self.chosen.is_empty() || !self.busy.is_empty()
    }

    fn why(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        let [ahead, waiting] = [question.ahead?, question.waiting].map(|request| cx.requests[request].submitter);
        // Those on the dispatch list have been chosen, and wait in its order.
        let is_chosen = self.chosen.contains(question.waiting);
        let reason = if ahead == waiting { IoReason::QueueOrder } else { IoReason::Round };
        (!is_chosen || ahead == waiting).then_some(reason)
    }
}

impl CfqV2 {
    /// Dispatches `older` at once, because `request` of the same queue now starts at the same sector.
    fn send_alias(&mut self, cx: &IoContext, older: RequestId, request: RequestId) {
        self.head = cx.requests[older].end();
        let queue = &mut self.queues[cx.requests[older].submitter.index()];
        let beside = beside(&queue.order, &self.sectors, self.back, self.head, request);
        queue.next = better(&self.sectors, self.back, self.head, Some(request), beside);
        self.enlist(cx, older);
    }

    /// Counts a request given to the device, which is the unit of service on tagged devices.
    fn account_dispatch(&mut self, cx: &IoContext, index: usize) {
        let (now, second) = (cx.jiffies(), self.second);
        let queue = &mut self.queues[index];
        let start = *queue.service_start.get_or_insert(now);
        if self.is_tagged {
            self.account(index, |queue| {
                if now > start + second {
                    queue.service_start = Some(now);
                    queue.service_used /= 10;
                }
                queue.service_used += 1;
            });
        }
        self.is_tagged |= cx.in_flight + 1 >= TAGGED;
    }
}
