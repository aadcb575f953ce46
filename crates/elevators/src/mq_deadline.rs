//! mq-deadline: deadline for blk-mq, once per class of I/O priority.
//!
//! Source: `mq-deadline.c` of a 2026 tree, `specs/io-schedulers.md` section 8. A class is served only if no higher one
//! has waiting requests or requests in flight, unless a request is older than `prio_aging_expire`. Batch, starvation
//! count and direction are common to all classes.
//!
//! Inferred: an age of exactly 10 s suffices, as for other expiries of blk-mq; a class searched in vain for aged
//! requests has still started a batch (count and direction have changed); discards count as writes.
//! Weakness: sorting only affects requests the device has no tag for; lower classes starve for 10 s.

use crate::parts::direction::{PassedOver, READ, WRITE};
use crate::parts::fifo::{Arrivals, Fifo, age};
use crate::parts::selected::Selected;
use crate::parts::sorted::{Sectors, Sorted};
use goodness_core::{
    Allocate, Effort, Elevator, ElevatorAbout, HwQueue, Io, IoClass, IoContext, IoReason, Layer, Operation, QueueFacts,
    RegisteredElevator, RequestId, Run, Seed, Side, Span, WhyWaits,
};
use std::cmp::Ordering;

goodness_core::tunables! {
    pub struct Settings {
        /// Age at which a read begins the next batch of reads.
        read_expire: Span = Span::from_ms(500), in Span::ZERO => Span::from_s(600);
        /// Age at which a write begins the next batch of writes.
        write_expire: Span = Span::from_ms(5000), in Span::ZERO => Span::from_s(600);
        /// Selections of reads for which waiting writes are passed over.
        writes_starved: u64 = 2, in 0 => 1_000_000;
        /// Requests of a batch.
        fifo_batch: u64 = 16, in 0 => 1_000_000;
        /// Merge requests at the front, too.
        front_merges: bool = true;
        /// Age at which a request is no longer kept waiting by higher classes.
        prio_aging_expire: Span = Span::from_ms(10_000), in Span::ZERO => Span::from_s(600);
        /// Slots of each hardware queue for all but synchronous reads; by default all.
        async_depth: Option<u64> = None, in 1 => 1_000_000;
    }
}

/// Real time, best effort, idle.
const LEVELS: usize = 3;

/// Requests of one class of I/O priority.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    sorted: [Sorted; 2],
    fifo: [Fifo; 2],
    /// Start of the last request dispatched, by direction.
    latest: [u64; 2],
    /// First request at or after that sector, cached so that a batch needs no search.
    ahead: [Option<RequestId>; 2],
    /// Requests waiting or in flight.
    queued: u32,
}

impl Level {
    /// Adds the waiting `request`.
    fn put(&mut self, sectors: &mut Sectors, direction: usize, request: RequestId, sector: u64) {
        self.sorted[direction].insert_behind_equals(sectors, request, sector);
        let is_nearer = self.ahead[direction].is_none_or(|ahead| sector < sectors.sector(ahead));
        if sector >= self.latest[direction] && is_nearer {
            self.ahead[direction] = Some(request);
        }
    }

    /// `request` leaves the tree.
    fn take(&mut self, sectors: &mut Sectors, direction: usize, request: RequestId) {
        let next = self.sorted[direction].remove(sectors, request);
        if self.ahead[direction] == Some(request) {
            self.ahead[direction] = next;
        }
    }

    /// Continues behind the dispatched request, which started at `sector`.
    fn move_on(&mut self, sectors: &Sectors, direction: usize, sector: u64) {
        self.latest[direction] = sector;
        self.ahead[direction] = self.sorted[direction].first_from(sectors, sector);
    }

    /// True if the cached next request equals the result of a search.
    fn is_sound(&self, sectors: &Sectors) -> bool {
        [READ, WRITE].iter().all(|d| self.ahead[*d] == self.sorted[*d].first_from(sectors, self.latest[*d]))
    }
}

/// Sector order in batches, FIFO on expiry, by class.
#[derive(Clone, Debug)]
pub struct MqDeadline {
    settings: Settings,
    /// Jiffies until expiry, by direction.
    expire: [u64; 2],
    /// Jiffies until a lower class may go before a higher one.
    aging: u64,
    sectors: Sectors,
    arrivals: Arrivals,
    levels: [Level; LEVELS],
    /// By request: whether its level counts it.
    counted: Vec<bool>,
    /// Direction of the batch.
    last_direction: usize,
    /// Requests dispatched in the batch.
    batching: u64,
    passed_over: PassedOver,
    /// The rule by which the last request was selected.
    selected: Selected,
}

impl RegisteredElevator for MqDeadline {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "mq-deadline",
        summary: "Deadline of blk-mq with three classes of I/O priority.",
        source: "Linux 6.18 mq-deadline.c; specs section 8",
        layer: Layer::MultiQueue,
    };
    type Settings = Settings;

    fn new(facts: &QueueFacts, settings: Settings, _: Seed) -> MqDeadline {
        MqDeadline {
            expire: [settings.read_expire, settings.write_expire].map(|span| facts.jiffies_up(span)),
            aging: facts.jiffies_up(settings.prio_aging_expire),
            settings,
            sectors: Sectors::default(),
            arrivals: Arrivals::default(),
            levels: Default::default(),
            counted: Vec::new(),
            last_direction: WRITE,
            batching: 0,
            passed_over: PassedOver::default(),
            selected: Selected::default(),
        }
    }
}

/// The classes in the order of their levels.
const CLASSES: [IoClass; LEVELS] = [IoClass::RealTime, IoClass::BestEffort, IoClass::Idle];

/// The level of a class.
fn level(class: IoClass) -> usize {
    match class {
        IoClass::RealTime => 0,
        IoClass::BestEffort => 1,
        IoClass::Idle => 2,
    }
}

impl Elevator for MqDeadline {
    fn allows_merge(&self, cx: &IoContext, request: RequestId, io: &Io) -> bool {
        let waits = &cx.requests[request];
        let is_front = io.end() == waits.sector;
        waits.priority.class == io.priority.class && (self.settings.front_merges || !is_front)
    }

    /// Allows it with any `front_merges`, which concerns I/Os only.
    fn allows_absorb(&self, cx: &IoContext, survivor: RequestId, absorbed: RequestId) -> bool {
        place(cx, survivor) == place(cx, absorbed)
    }

    fn merged(&mut self, cx: &IoContext, request: RequestId, side: Side, _: u64) {
        if side == Side::Front {
            let (level, direction) = place(cx, request);
            self.levels[level].take(&mut self.sectors, direction, request);
            self.levels[level].put(&mut self.sectors, direction, request, cx.requests[request].sector);
        }
    }

    fn absorbed(&mut self, cx: &IoContext, survivor: RequestId, absorbed: RequestId) {
        let (level, direction) = place(cx, absorbed);
        self.levels[level].take(&mut self.sectors, direction, absorbed);
        self.levels[level].fifo[direction].absorb(&mut self.arrivals, survivor, absorbed);
        self.uncount(cx, absorbed);
    }

    fn remove(&mut self, cx: &IoContext, request: RequestId) {
        self.unlink(cx, request);
        self.uncount(cx, request);
    }

    fn may_allocate(&self, cx: &IoContext, io: &Io, _: u32) -> Allocate {
        let all = u64::from(cx.facts.requests_each());
        let depth = self.settings.async_depth.unwrap_or(all);
        let is_limited = !(io.sync && io.op == Operation::Read) && depth < all;
        if is_limited { Allocate::Shallow(depth as u32) } else { Allocate::AsUsual }
    }

    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        self.reserve(cx.requests.slots());
        let (level, direction) = place(cx, request);
        // A request that comes back without having completed is counted already.
        if !std::mem::replace(&mut self.counted[request.index()], true) {
            self.levels[level].queued += 1;
        }
        let level = &mut self.levels[level];
        level.put(&mut self.sectors, direction, request, cx.requests[request].sector);
        level.fifo[direction].push(&mut self.arrivals, request);
        // The tree, the list of arrivals, the index of merge candidates.
        cx.linked(level.sorted[direction].len(), 2);
        Run::WhenUnplugged
    }

    fn dispatch(&mut self, cx: &IoContext, _: HwQueue) -> Option<RequestId> {
        cx.examined(Effort::Search, LEVELS as u32);
        self.aged(cx).or_else(|| self.highest(cx))
    }

    fn complete(&mut self, cx: &IoContext, request: RequestId) {
        cx.examined(Effort::Recalculate, 1);
        self.uncount(cx, request);
    }

    fn has_work(&self) -> bool {
        let is_waiting = |level: &Level| level.fifo.iter().any(|fifo| !fifo.is_empty());
        self.levels.iter().any(is_waiting)
    }

    fn why(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        let class = |request| cx.requests[request].priority.class;
        let waits = class(question.waiting);
        let served = match question.ahead {
            Some(ahead) => class(ahead),
            // A request of a higher class that is in flight keeps the lower ones waiting, too.
            None => CLASSES.into_iter().find(|class| self.levels[level(*class)].queued > 0)?,
        };
        match level(served).cmp(&level(waits)) {
            Ordering::Less => Some(IoReason::Class { ahead: served, waiting: waits }),
            Ordering::Greater => Some(IoReason::Aged),
            Ordering::Equal => self.selected.over(cx, question.ahead?, question.waiting),
        }
    }
}

/// Level and direction of a request.
fn place(cx: &IoContext, request: RequestId) -> (usize, usize) {
    let request = &cx.requests[request];
    (level(request.priority.class), request.op.direction())
}

impl MqDeadline {
    fn reserve(&mut self, slots: usize) {
        if slots > self.counted.len() {
            self.counted.resize(slots, false);
            self.sectors.reserve(slots);
            self.arrivals.reserve(slots);
        }
    }

    /// Removes `request` from its tree and list.
    fn unlink(&mut self, cx: &IoContext, request: RequestId) {
        let (level, direction) = place(cx, request);
        cx.linked(self.levels[level].sorted[direction].len(), 2);
        self.levels[level].take(&mut self.sectors, direction, request);
        self.levels[level].fifo[direction].remove(&mut self.arrivals, request);
    }

    /// `request` neither waits nor is in flight.
    fn uncount(&mut self, cx: &IoContext, request: RequestId) {
        if std::mem::take(&mut self.counted[request.index()]) {
            self.levels[place(cx, request).0].queued -= 1;
        }
    }

    /// A request of a lower class that higher ones have kept waiting too long.
    fn aged(&mut self, cx: &IoContext) -> Option<RequestId> {
        if self.levels.iter().filter(|level| level.queued > 0).count() < 2 {
            return None;
        }
        (1..LEVELS).find_map(|level| self.select(cx, level, self.aging))
    }

    /// A request of the highest class that has any, waiting or in flight.
    fn highest(&mut self, cx: &IoContext) -> Option<RequestId> {
        let level = (0..LEVELS).find(|level| self.levels[*level].queued > 0)?;
        self.select(cx, level, 0)
    }

    /// The next request within a level, if older than `aged` jiffies.
    fn select(&mut self, cx: &IoContext, level: usize, aged: u64) -> Option<RequestId> {
        let request = match self.continue_batch(level) {
            Some(request) => {
                // The search of another class has begun a batch in vain, which goes on here.
                self.selected = if self.batching == 0 { Selected::Otherwise } else { Selected::InBatch };
                request
            }
            None => {
                let waits = [READ, WRITE].map(|direction| !self.levels[level].fifo[direction].is_empty());
                let direction = self.passed_over.choose(waits, self.settings.writes_starved)?;
                self.last_direction = direction;
                self.batching = 0;
                let (request, selected) = self.begin_batch(cx, level, direction)?;
                self.selected = selected;
                request
            }
        };
        debug_assert!(self.levels[level].is_sound(&self.sectors), "who is ahead is not the first ahead");
        // Every age will do for 0, and an age costs two divisions.
        if aged > 0 && age(cx, request) < aged {
            return None;
        }
        self.batching += 1;
        let direction = cx.requests[request].op.direction();
        let is_ahead = self.levels[level].ahead[direction] == Some(request);
        self.unlink(cx, request);
        let sector = cx.requests[request].sector;
        if is_ahead {
            // The request behind it is ahead of its place, too.
            self.levels[level].latest[direction] = sector;
        } else {
            self.levels[level].move_on(&self.sectors, direction, sector);
        }
        Some(request)
    }

    /// The next request of the batch's direction, while the batch lasts.
    fn continue_batch(&self, level: usize) -> Option<RequestId> {
        if self.batching >= self.settings.fifo_batch {
            return None;
        }
        self.levels[level].ahead[self.last_direction]
    }

    /// First request of a batch: the oldest if it has expired or nothing lies ahead.
    fn begin_batch(&self, cx: &IoContext, level: usize, direction: usize) -> Option<(RequestId, Selected)> {
        let oldest = self.levels[level].fifo[direction].oldest()?;
        if age(cx, oldest) >= self.expire[direction] {
            return Some((oldest, Selected::Expired));
        }
        let ahead = self.levels[level].ahead[direction];
        Some(ahead.map_or((oldest, Selected::Oldest), |ahead| (ahead, Selected::InOrder)))
    }
}

#[cfg(test)]
mod tests;
