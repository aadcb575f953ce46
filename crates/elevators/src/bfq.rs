//! bfq: each process has a queue with a budget of sectors; proportional shares of throughput, and short delays for
//! interactive processes.
//!
//! Source: Linux 5.x, `specs/io-schedulers.md` section 9. In `bfq/`: the next queue (`wf2q.rs`), budgets (`budget.rs`),
//! service (`service.rs`), arrivals (`arrival.rs`), device idling (`idling.rs`), weight raising (`raising.rs`), shared
//! queues (`sharing.rs`), groups (`groups.rs`), device speed (`rate.rs`).
//!
//! Groups with weights for I/O share the device like queues do, at each level of the hierarchy; within a group its
//! queues share what it gets. Without groups all queues are in the root.
//!
//! Inferred (general knowledge where the spec is short): which queues are shared from the start; when a queue counts as
//! I/O-bound, and the device as queueing; the pause of soft real-time; limits on slots for writes; number of injected
//! requests.
//! Departures: *slow* compares rates, as the spec says; times are nanoseconds instead of jiffies, except the timeout.
//! A queue that preempts is compared by weight with the one in service where their groups part; the kernel compares the
//! innermost groups. Left out: merging of queues that read next to each other, wakers, weights by device, and weights
//! that change during a run.
//!
//! Weakness: the device idles on purpose, which costs throughput on a device with a queue or without seeks. A raised
//! queue takes throughput from all others.

mod arrival;
mod budget;
mod counts;
mod groups;
mod idling;
mod queue;
mod raising;
mod rate;
mod service;
mod settings;
mod sharing;
#[cfg(test)]
mod tests;
mod wf2q;
mod why;

use crate::parts::nearest_request::Backward;
use crate::parts::fifo::Arrivals;
use crate::parts::sorted::Sectors;
use budget::Bounds;
use counts::{Counted, Counts, Queueing};
use goodness_core::{
    Allocate, Elevator, ElevatorAbout, Groups, HwQueue, Io, IoContext, IoReason, Layer, Operation, QueueFacts,
    RegisteredElevator, RequestId, Run, Seed, Side, Submitter, Time, WhyWaits,
};
use groups::Attribution;
use queue::Queue;
use raising::Burst;
use rate::PeakRate;
pub use settings::Settings;
use settings::Times;
use sharing::Sharing;
use wf2q::Schedule;

/// The queue of requests that bypass all queues.
const NO_QUEUE: u32 = u32::MAX;

/// While the device is kept idle for the queue that is served.
#[derive(Clone, Copy, Debug)]
struct Idling {
    since: Time,
    until: Time,
}

/// The timed first request of a queue after a pause, which shows whether injected requests delay it.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    since: Time,
    /// The next request served of the queue is the one.
    awaits_dispatch: bool,
    request: Option<RequestId>,
    /// Requests of other queues were injected meanwhile.
    injected: bool,
}

/// Budget fair queueing.
#[derive(Clone, Debug)]
pub struct Bfq {
    settings: Settings,
    times: Times,
    back: Backward,
    groups: Attribution,
    schedule: Schedule,
    queues: Vec<Queue>,
    sectors: Sectors,
    arrivals: Arrivals,
    /// By request: its queue.
    owner: Vec<u32>,
    waiting: u32,
    bounds: Bounds,
    rate: PeakRate,
    burst: Burst,
    sharing: Sharing,
    counts: Counts,
    queueing: Queueing,
    /// End of the last request given to the device.
    position: u64,
    /// Start of the present queue's service, and its timeout.
    began: Time,
    ends: Time,
    idling: Option<Idling>,
    trial: Trial,
}

impl RegisteredElevator for Bfq {
    const ABOUT: ElevatorAbout = ElevatorAbout {
        name: "bfq",
        summary: "Weighted fair queueing of processes by budgets of sectors; interactive processes get more weight.",
        source: "Linux 5.x; specs section 9",
        layer: Layer::MultiQueue,
    };
    type Settings = Settings;
    const WEIGHS_GROUPS: bool = true;

    fn new(facts: &QueueFacts, settings: Settings, _: Seed) -> Bfq {
        Bfq {
            times: Times::new(facts, &settings),
            back: Backward { max: settings.back_seek_max.saturating_mul(2), penalty: settings.back_seek_penalty },
            groups: Attribution::default(),
            schedule: Schedule::new(&[]),
            queues: Vec::new(),
            sectors: Sectors::default(),
            arrivals: Arrivals::default(),
            owner: Vec::new(),
            waiting: 0,
            bounds: Bounds::new(settings.max_budget),
            rate: PeakRate::new(facts),
            burst: Burst::default(),
            sharing: Sharing::new(1),
            counts: Counts::new(1),
            queueing: Queueing::default(),
            position: 0,
            began: Time::ZERO,
            ends: Time::ZERO,
            idling: None,
            trial: Trial::default(),
            settings,
        }
    }
}

impl Elevator for Bfq {
    fn share(&mut self, groups: &Groups) {
        assert!(self.queues.is_empty(), "groups are told before the first request");
        let (attribution, shares) = Attribution::new(groups);
        self.groups = attribution;
        self.schedule = Schedule::new(&shares);
        self.sharing = Sharing::new(self.groups.count());
        self.counts = Counts::new(self.groups.count() as usize);
    }

    fn allows_merge(&self, _: &IoContext, request: RequestId, io: &Io) -> bool {
        let (owner, group) = (self.owner[request.index()], self.groups.of(io.group));
        self.queue_for(io) == Some(owner) && self.schedule.group(owner) == group
    }

    fn merged(&mut self, cx: &IoContext, request: RequestId, side: Side, _: u64) {
        if side == Side::Back {
            return;
        }
        let owner = self.owner[request.index()];
        let queue = &mut self.queues[owner as usize];
        queue.order.rekey_behind_equals(&mut self.sectors, request, cx.requests[request].sector);
        self.consider(cx, owner, request);
    }

    fn absorbed(&mut self, cx: &IoContext, survivor: RequestId, absorbed: RequestId) {
        let owner = self.owner[absorbed.index()];
        if owner == self.owner[survivor.index()] {
            // `remove` takes the absorbed one off; only its place must not be lost.
            self.queues[owner as usize].arrivals.absorb(&mut self.arrivals, survivor, absorbed);
            self.queues[owner as usize].arrivals.push(&mut self.arrivals, absorbed);
        }
        self.remove(cx, absorbed);
    }

    fn remove(&mut self, cx: &IoContext, request: RequestId) {
        let owner = self.owner[request.index()];
        self.schedule.hold(owner, |held| held - 1);
        self.take_off(cx, owner, request);
        self.settle(cx, owner);
    }

    fn may_allocate(&self, cx: &IoContext, io: &Io, _: u32) -> Allocate {
        let slots = self.slots(cx, io);
        if self.settings.slot_limits
            && let Some(queue) = self.queue_for(io)
            && self.schedule.holds_its_part(queue, slots)
        {
            return Allocate::Shallow(1);
        }
        if slots < cx.facts.requests_each() { Allocate::Shallow(slots) } else { Allocate::AsUsual }
    }

    fn insert(&mut self, cx: &IoContext, request: RequestId) -> Run {
        let slots = cx.requests.slots();
        self.sectors.reserve(slots);
        self.arrivals.reserve(slots);
        if self.owner.len() < slots {
            self.owner.resize(slots, NO_QUEUE);
        }
        self.arrive(cx, request);
        Run::WhenUnplugged
    }

    fn dispatch(&mut self, cx: &IoContext, _: HwQueue) -> Option<RequestId> {
        if self.settings.strict_guarantees && cx.in_flight > 0 {
            return None;
        }
        let queue = self.select(cx)?;
        Some(self.serve(cx, queue))
    }

    fn complete(&mut self, cx: &IoContext, request: RequestId) {
        let owner = std::mem::replace(&mut self.owner[request.index()], NO_QUEUE);
        self.schedule.hold(owner, |held| held - 1);
        self.sample_queueing(cx);
        if self.rate.completed(cx.now) {
            self.bounds.learn(self.rate.sectors_in(self.times.timeout));
        }
        self.completed(cx, owner, request);
    }

    fn next_timer(&self) -> Option<Time> {
        self.idling.map(|idling| idling.until)
    }

    fn timer(&mut self, cx: &IoContext) {
        if self.idling.is_some_and(|idling| idling.until <= cx.now) {
            self.idled(cx);
        }
    }

    fn exit(&mut self, cx: &IoContext, submitter: Submitter) {
        if let Some(number) = self.sharing.leaves(submitter) {
            self.abandon(cx, number);
        }
    }

    fn has_work(&self) -> bool {
        self.waiting > 0
    }

    fn why(&self, cx: &IoContext, question: WhyWaits) -> Option<IoReason> {
        self.reason(cx, question)
    }
}

impl Bfq {
    fn queue(&mut self, number: u32) -> &mut Queue {
        &mut self.queues[number as usize]
    }

    /// The queue that `io` would join, unless its process is new.
    fn queue_for(&self, io: &Io) -> Option<u32> {
        let number = match io.sync {
            true => self.sharing.queue_of(io.submitter)?,
            false => queue::shared(self.groups.of(io.group), io.priority),
        };
        ((number as usize) < self.queues.len()).then_some(number)
    }

    /// Slots for requests such as `io`: all for reads, fewer for writes, and fewer still while a raised queue is busy.
    fn slots(&self, cx: &IoContext, io: &Io) -> u32 {
        let sixteenths = match (io.op == Operation::Read, self.counts.raised() > 0, io.sync) {
            (true, _, _) => 16,
            (false, false, false) => 8,
            (false, false, true) => 12,
            (false, true, false) => 3,
            (false, true, true) => 6,
        };
        (cx.facts.requests_each() * sixteenths / 16).max(1)
    }

    /// Retires a queue that no process uses any more.
    fn abandon(&mut self, cx: &IoContext, number: u32) {
        self.queue(number).exited = true;
        // No request will come: the timer ends service of the queue at once.
        if self.schedule.serving() == Some(number)
            && let Some(idling) = &mut self.idling
        {
            idling.until = cx.now;
        }
    }

    /// Sectors charged for `request`. Asynchronous writes are charged more, because they fill the device's cache at
    /// others' cost.
    fn charge(&self, cx: &IoContext, number: u32, request: RequestId) -> u64 {
        let queue = &self.queues[number as usize];
        let sectors = u64::from(cx.requests[request].sectors);
        let as_it_is = queue.sync || queue.raise.is_raised() || self.counts.are_asymmetric(queue.counted.weight);
        if as_it_is { sectors } else { sectors * Times::ASYNC_CHARGE }
    }

    /// Brings counts and weight of a queue up to date after it changed.
    fn recount(&mut self, number: u32) {
        let entity = self.schedule[number];
        let queue = &mut self.queues[number as usize];
        let raised = queue.raise.is_raised();
        let counts = (queue.busy || queue.outstanding > 0) && !raised;
        let (_, weight) = queue::class_and_weight(queue.priority);
        let new = Counted {
            busy: queue.busy.then(|| entity.class()),
            raised: queue.busy && raised,
            weight: counts.then_some(weight as usize / 10),
            group: (queue.busy || queue.outstanding > 0).then_some(entity.group()),
        };
        self.counts.replace(queue.counted, new);
        queue.counted = new;
    }

    /// Sets a queue's weight from its priority and raising, effective at its next activation.
    fn weigh(&mut self, number: u32) {
        let queue = &self.queues[number as usize];
        let (class, weight) = queue::class_and_weight(queue.priority);
        self.schedule.want(number, class, weight * queue.raise.factor());
    }
}
