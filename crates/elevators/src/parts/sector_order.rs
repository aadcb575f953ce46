//! Base of the textbook disciplines: all waiting requests ordered by first sector, and the head position, which is the
//! end of the last request dispatched. A discipline only chooses the next request.
//!
//! Reads and writes are treated alike. Requests with the same first sector are FIFO.

use crate::parts::sorted::{Sectors, Sorted};
use goodness_core::{Effort, Elevator, HwQueue, IoContext, IoReason, RequestId, Run, Side, Time, WhyWaits};

/// Chooses the next request.
pub trait Discipline {
    /// The next request; `waiting` is not empty. `None` while the head is moving, until [`Discipline::next_timer`].
    fn choose(&mut self, cx: &IoContext, waiting: &Waiting) -> Option<RequestId>;

    /// The rule by which the request at `ahead` was chosen, or by which none was, while the one at `waiting` waits.
    fn why(&self, ahead: Option<u64>, waiting: u64) -> Option<IoReason> {
        let _ = waiting;
        ahead.map(|_| IoReason::SectorOrder)
    }

    /// Arrival of the head at its target.
    fn next_timer(&self) -> Option<Time> {
        None
    }

    /// The head has arrived.
    fn timer(&mut self, _: &IoContext) {}
}

/// The waiting requests and the place of the head.
#[derive(Debug, Default)]
pub struct Waiting {
    sectors: Sectors,
    sorted: Sorted,
    /// The sector at which the head is.
    pub head: u64,
}

impl Waiting {
    /// The first request at or above `sector`.
    pub fn from(&self, sector: u64) -> Option<RequestId> {
        self.sorted.first_from(&self.sectors, sector)
    }

    /// The first of the requests at the highest sector below `sector`.
    pub fn below(&self, sector: u64) -> Option<RequestId> {
        let last = self.sorted.last_before(&self.sectors, sector)?;
        self.from(self.sectors.sector(last))
    }

    /// First sector of `request`.
    pub fn sector(&self, request: RequestId) -> u64 {
        self.sectors.sector(request)
    }
}

/// An elevator that follows a discipline.
#[derive(Debug, Default)]
pub struct SectorOrder<D> {
    /// The discipline.
    pub discipline: D,
    waiting: Waiting,
}

impl<D> SectorOrder<D> {
    /// No requests, and the head at sector 0.
    pub fn new(discipline: D) -> SectorOrder<D> {
        SectorOrder { discipline, waiting: Waiting::default() }
    }
}

impl<D: Discipline> Elevator for SectorOrder<D> {
    fn merged(&mut self, cx: &IoContext, request: RequestId, side: Side, _: u64) {
        if side == Side::Front {
            let waiting = &mut self.waiting;
            waiting.sorted.rekey_behind_equals(&mut waiting.sectors, request, cx.requests[request].sector);
        }
    }

    fn remove(&mut self, _: &IoContext, request: RequestId) {
        self.waiting.sorted.remove(&mut self.waiting.sectors, request);
    }

    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        self.waiting.sectors.reserve(cx.requests.slots());
        self.waiting.sorted.insert_behind_equals(&mut self.waiting.sectors, request, cx.requests[request].sector);
        cx.linked(self.waiting.sorted.len(), 0);
        Run::WhenUnplugged
    }

    fn dispatch(&mut self, cx: &IoContext, _: HwQueue) -> Option<RequestId> {
        if self.waiting.sorted.is_empty() {
            return None;
        }
        let request = self.discipline.choose(cx, &self.waiting)?;
        cx.examined(Effort::Search, 1);
        cx.linked(self.waiting.sorted.len(), 0);
        self.waiting.sorted.remove(&mut self.waiting.sectors, request);
        self.waiting.head = cx.requests[request].end();
        Some(request)
    }

    fn next_timer(&self) -> Option<Time> {
        self.discipline.next_timer()
    }

    fn timer(&mut self, cx: &IoContext) {
        self.discipline.timer(cx);
    }

    fn has_work(&self) -> bool {
        !self.waiting.sorted.is_empty()
    }

    fn why(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        let sector = |request| cx.requests[request].sector;
        self.discipline.why(question.ahead.map(sector), sector(question.waiting))
    }
}

/// The example queue of operating-systems textbooks: 200 cylinders of 100 sectors, the head at 53, eight requests
/// waiting. Returns the cylinders in order of dispatch, with the millisecond of each.
#[cfg(test)]
pub fn textbook<E: goodness_core::RegisteredElevator>(settings: E::Settings) -> Vec<(u64, u64)> {
    use crate::parts::verb_driver::{VerbDriver, facts};
    use goodness_core::{Io, QueueFacts, Span, Submitter};
    let mut driver = VerbDriver::<E>::with(QueueFacts { sectors: 20_000, ..facts() }, settings);
    let read = |cylinder: u64| Io::read(Submitter(0), cylinder * 100, 1);
    driver.insert(read(53));
    driver.drain();
    for cylinder in [98, 183, 37, 122, 14, 124, 65, 67] {
        driver.insert(read(cylinder));
    }
    let mut order = Vec::new();
    while driver.elevator().has_work() {
        order.extend(driver.drain().into_iter().map(|sector| (sector / 100, driver.now().ns() / 1_000_000)));
        driver.pass(Span::from_ms(1));
    }
    order
}
