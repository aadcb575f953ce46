//! deadline: one-way sweeps in batches of one direction, with an expiry that prevents starvation.
//!
//! Source: `deadline-iosched.c`, `specs/io-schedulers.md` section 4. `kernel=2.6.18` is variant A of the sheet (2.6.0
//! to about 2.6.23), `kernel=2.6.25` variant B (up to 5.0). Expiry is checked between batches only. In variant A a gap
//! ends the batch; a new selection of the same direction then continues without resetting the count, hence 17 reads to
//! 16 writes.
//!
//! Inferred: expiry counts jiffies; discards count as writes; a next request that grows at its front stops being next
//! in variant A (it is reinserted into the tree) but not in B.
//! Weakness: two synchronous readers cost a seek per request; no fairness between processes.

use crate::parts::direction::{PassedOver, READ, WRITE};
use crate::parts::dispatch_list::DispatchList;
use crate::parts::fifo::{Arrivals, Fifo, age};
use crate::parts::selected::Selected;
use crate::parts::sorted::{Sectors, Sorted};
use goodness_core::{
    Effort, Elevator, ElevatorAbout, HwQueue, Io, IoContext, IoReason, Layer, QueueFacts, RegisteredElevator,
    RequestId, Run, Seed, Side, Span, WhyWaits,
};

goodness_core::tunables! {
    pub struct Settings {
        /// Kernel modelled: 2.6.18 ends a batch at a gap, 2.6.25 does not.
        kernel: Kernel = Kernel::V2_6_18;
        /// Age after which a read begins the next batch of reads.
        read_expire: Span = Span::from_ms(500), in Span::ZERO => Span::from_s(600);
        /// Age after which a write begins the next batch of writes.
        write_expire: Span = Span::from_ms(5000), in Span::ZERO => Span::from_s(600);
        /// Selections of reads for which waiting writes are passed over.
        writes_starved: u64 = 2, in 0 => 1_000_000;
        /// Requests of a batch.
        fifo_batch: u64 = 16, in 0 => 1_000_000;
        /// Merge requests at the front, too.
        front_merges: bool = true;
    }
}

goodness_core::choices! {
    /// Kernel modelled: variant A or variant B of the specification.
    pub enum Kernel { V2_6_18 = "2.6.18", V2_6_25 = "2.6.25" }
}

/// Sectors in batches, arrival on expiry.
#[derive(Debug)]
pub struct Deadline {
    settings: Settings,
    /// Jiffies until expiry, by direction.
    expire: [u64; 2],
    sectors: Sectors,
    arrivals: Arrivals,
    sorted: [Sorted; 2],
    fifo: [Fifo; 2],
    /// The request after the last one dispatched, in its direction only.
    next: [Option<RequestId>; 2],
    /// Requests dispatched in the batch.
    batching: u64,
    passed_over: PassedOver,
    /// End of the last request dispatched.
    last_sector: u64,
    dispatch: DispatchList,
    /// The rule by which the last request was selected.
    selected: Selected,
}

impl RegisteredElevator for Deadline {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "deadline",
        summary: "Sweeps in batches of one direction; expired requests begin the next batch.",
        source: "Linux 2.6 deadline-iosched.c; specs section 4",
        layer: Layer::Legacy,
    };
    type Settings = Settings;

    fn new(facts: &QueueFacts, settings: Settings, _: Seed) -> Deadline {
        Deadline {
            expire: [settings.read_expire, settings.write_expire].map(|span| facts.jiffies_up(span)),
            settings,
            sectors: Sectors::default(),
            arrivals: Arrivals::default(),
            sorted: Default::default(),
            fifo: Default::default(),
            next: [None; 2],
            batching: 0,
            passed_over: PassedOver::default(),
            last_sector: 0,
            dispatch: DispatchList::default(),
            selected: Selected::default(),
        }
    }
}

impl Elevator for Deadline {
    fn allows_merge(&self, cx: &IoContext, request: RequestId, io: &Io) -> bool {
        let is_front = io.end() == cx.requests[request].sector;
        !self.dispatch.contains(request) && (self.settings.front_merges || !is_front)
    }

    /// Allows it with any `front_merges`, which concerns I/Os only.
    fn allows_absorb(&self, _: &IoContext, survivor: RequestId, absorbed: RequestId) -> bool {
        !self.dispatch.contains(survivor) && !self.dispatch.contains(absorbed)
    }

    fn merged(&mut self, cx: &IoContext, request: RequestId, side: Side, _: u64) {
        if side == Side::Back || self.dispatch.contains(request) {
            return;
        }
        let direction = cx.requests[request].op.direction();
        if self.settings.kernel == Kernel::V2_6_18 {
            self.pass_over(direction, request);
        }
        let alias = self.sorted[direction].rekey(&mut self.sectors, request, cx.requests[request].sector);
        self.send_alias(cx, alias, request);
    }

    fn absorbed(&mut self, cx: &IoContext, survivor: RequestId, absorbed: RequestId) {
        if self.dispatch.contains(survivor) || self.dispatch.contains(absorbed) {
            return self.remove(cx, absorbed);
        }
        let direction = cx.requests[absorbed].op.direction();
        self.pass_over(direction, absorbed);
        self.sorted[direction].remove(&mut self.sectors, absorbed);
        self.fifo[direction].absorb(&mut self.arrivals, survivor, absorbed);
    }

    fn remove(&mut self, cx: &IoContext, request: RequestId) {
        if self.dispatch.remove(request) {
            return;
        }
        let direction = cx.requests[request].op.direction();
        self.pass_over(direction, request);
        self.sorted[direction].remove(&mut self.sectors, request);
        self.fifo[direction].remove(&mut self.arrivals, request);
    }

    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        let slots = cx.requests.slots();
        self.sectors.reserve(slots);
        self.arrivals.reserve(slots);
        self.dispatch.reserve(slots);
        let new = &cx.requests[request];
        let direction = new.op.direction();
        let alias = self.sorted[direction].insert(&mut self.sectors, request, new.sector);
        self.fifo[direction].push(&mut self.arrivals, request);
        cx.linked(self.sorted[direction].len(), 2);
        self.send_alias(cx, alias, request);
        Run::WhenUnplugged
    }

    fn dispatch(&mut self, cx: &IoContext, _: HwQueue) -> Option<RequestId> {
        if let Some(request) = self.dispatch.pop() {
            self.selected = Selected::Otherwise;
            return Some(request);
        }
        let request = match self.continue_batch(cx) {
            Some(request) => {
                self.selected = Selected::InBatch;
                request
            }
            None => {
                let waits = [READ, WRITE].map(|direction| !self.fifo[direction].is_empty());
                let direction = self.passed_over.choose(waits, self.settings.writes_starved)?;
                let (request, selected) = self.begin_batch(cx, direction)?;
                self.selected = selected;
                request
            }
        };
        self.batching += 1;
        self.take(cx, request);
        Some(request)
    }

    fn has_work(&self) -> bool {
        !self.dispatch.is_empty() || self.fifo.iter().any(|fifo| !fifo.is_empty())
    }

    fn why(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        // One on the dispatch list has been chosen.
        let ahead = question.ahead.filter(|_| !self.dispatch.contains(question.waiting))?;
        self.selected.over(cx, ahead, question.waiting)
    }
}

impl Deadline {
    /// The cursor of `direction` does not stay on `request`, which leaves the tree.
    fn pass_over(&mut self, direction: usize, request: RequestId) {
        if self.next[direction] == Some(request) {
            self.next[direction] = self.sorted[direction].next(&self.sectors, request);
        }
    }

    /// Dispatches `alias`, which `request` with the same first sector has displaced from the tree.
    fn send_alias(&mut self, cx: &IoContext, alias: Option<RequestId>, request: RequestId) {
        let Some(alias) = alias else { return };
        let direction = cx.requests[alias].op.direction();
        self.fifo[direction].remove(&mut self.arrivals, alias);
        self.move_on(cx, alias, self.sorted[direction].next(&self.sectors, request));
        self.dispatch.push_back(alias);
    }

    /// The request after the last dispatched one, while its batch lasts.
    fn continue_batch(&mut self, cx: &IoContext) -> Option<RequestId> {
        let next = self.next[WRITE].or(self.next[READ])?;
        if self.settings.kernel == Kernel::V2_6_18 && cx.requests[next].sector != self.last_sector {
            self.batching += self.settings.fifo_batch;
        }
        (self.batching < self.settings.fifo_batch).then_some(next)
    }

    /// The first request of a batch.
    fn begin_batch(&mut self, cx: &IoContext, direction: usize) -> Option<(RequestId, Selected)> {
        let oldest = self.fifo[direction].oldest()?;
        let next = self.next[direction];
        match self.settings.kernel {
            Kernel::V2_6_18 if age(cx, oldest) > self.expire[direction] => {
                self.batching = 0;
                Some((oldest, Selected::Expired))
            }
            // The count is not reset: one request is added to the batch before.
            Kernel::V2_6_18 if next.is_some() => next.map(|next| (next, Selected::InOrder)),
            Kernel::V2_6_18 => {
                self.batching = 0;
                self.sorted[direction].lowest(&self.sectors).map(|lowest| (lowest, Selected::InOrder))
            }
            Kernel::V2_6_25 => {
                self.batching = 0;
                let has_expired = age(cx, oldest) > self.expire[direction];
                Some(match next {
                    Some(next) if !has_expired => (next, Selected::InOrder),
                    _ if has_expired => (oldest, Selected::Expired),
                    _ => (oldest, Selected::Oldest),
                })
            }
        }
    }

    /// Removes `request` from tree and list; the sweep continues behind it.
    fn take(&mut self, cx: &IoContext, request: RequestId) {
        let direction = cx.requests[request].op.direction();
        cx.examined(Effort::Search, 2);
        cx.linked(self.sorted[direction].len(), 2);
        let next = self.sorted[direction].remove(&mut self.sectors, request);
        self.move_on(cx, request, next);
        self.fifo[direction].remove(&mut self.arrivals, request);
    }

    /// `request` was dispatched last and `next` follows it.
    fn move_on(&mut self, cx: &IoContext, request: RequestId, next: Option<RequestId>) {
        let request = &cx.requests[request];
        self.next = [None; 2];
        self.next[request.op.direction()] = next;
        self.last_sector = request.end();
    }
}

#[cfg(test)]
mod tests;
