//! One disk: an elevator, the block layer around it, and a device.
//!
//! Source: `specs/io-schedulers.md` section 2. [`ElevatorAbout::layer`](goodness_core::ElevatorAbout) selects one of
//! the two layers. This file handles dispatch and completion. `admit.rs` assigns requests, `grow.rs` merges, `pool.rs`
//! limits requests, `legacy.rs` and `multi_queue.rs` hold plugs and tags.
//!
//! Departures and inferences. A flush goes to the device at once, before all waiting requests and unseen by the
//! elevator, because it covers only what completed before it. Barriers of 2.6, which drain the queue, are not modelled.
//! A durable (FUA) write bypasses the elevator and is never merged. Without a volatile cache, a flush completes at
//! once. I/Os of a sleeping submitter wait by direction; different directions do not wait for each other. I/Os of one
//! lane are admitted in FIFO order, which the kernel only approximates. `nomerges` is a limit of one segment.
//! Write-back throttling: `wbt.rs`. Numbers of slots: `slots.rs`.

use crate::disk::{Disk, Out, Outcome, Work};
use crate::legacy::Plug;
use crate::merging::Merging;
use crate::multi_queue::Tags;
use crate::pieces::{Chain, NONE, Piece, Pieces};
use crate::pool::Pool;
use crate::slots::Slots;
use crate::wbt::WriteBack;
use goodness_core::{
    Device, DeviceFacts, DiskId, ElevatorAbout, HwQueue, Io, IoEvent, IoStage, Layer, MadeElevator, Operation,
    QueueFacts, QueueLock, RegisteredElevator, Request, RequestId, Seed, Span, Submitter, Time,
};
use goodness_referee::{ElevatorReferee, Refusal};
use std::collections::VecDeque;

/// Set-up of a queue.
#[derive(Clone, Copy, Debug)]
pub struct QueueOptions {
    /// Number of the disk, carried by its events.
    pub disk: DiskId,
    /// Timer interrupts per second.
    pub hz: u32,
    /// CPUs that submit; blk-mq has a software queue for each.
    pub cpus: u16,
    /// `nr_requests`: size of the request pool, per direction in the single-queue layer, over all hardware queues in
    /// blk-mq. `None`: the layer's default, or the elevator's choice.
    pub requests: Option<u32>,
    /// Largest request, in sectors; the device may lower it.
    pub sectors_max: u32,
    /// Most memory segments per request; 1 disables merging.
    pub segments_max: u16,
    /// Latency of reads for which write-back is throttled; `None`: it is not.
    pub wbt_lat: Option<Span>,
    /// Random seed of the elevator.
    pub seed: Seed,
}

impl Default for QueueOptions {
    /// Section 2.1: 1024 sectors, 128 segments.
    fn default() -> QueueOptions {
        QueueOptions {
            disk: DiskId(0),
            hz: 1000,
            cpus: 1,
            requests: None,
            sectors_max: 1024,
            segments_max: 128,
            wbt_lat: None,
            seed: Seed(1),
        }
    }
}

/// True if `wbt_lat` of a disk behind this elevator has an effect.
#[must_use]
pub fn throttles_write_back(about: &ElevatorAbout) -> bool {
    about.layer == Layer::MultiQueue
}

/// Requests per direction of the single-queue layer.
const LEGACY_REQUESTS: u32 = 128;

/// State of one disk.
pub struct Queue {
    /// The elevator behind its rules, with the requests and the time.
    pub(crate) referee: ElevatorReferee,
    pub(crate) layer: Layer,
    device: Box<dyn Device>,
    pub(crate) disk: DiskId,
    pub(crate) sectors_max: u32,
    pub(crate) segments_max: u16,
    pub(crate) has_volatile_cache: bool,
    pub(crate) pieces: Pieces,
    pub(crate) pool: Pool,
    /// Numbers of the requests of each hardware queue of blk-mq.
    pub(crate) slots: Vec<Slots>,
    /// Limits of write-back, if it is throttled.
    pub(crate) wbt: Option<WriteBack>,
    /// Pieces waiting for a request, by hardware queue: reads and others, each split into synchronous and asynchronous.
    pub(crate) lanes: Vec<[Chain; 4]>,
    /// Number of walks along a lane so far.
    pub(crate) walks: u64,
    /// By submitter: the last walk in which the elevator refused it.
    pub(crate) refused: Vec<u64>,
    pub(crate) in_lanes: u32,
    pub(crate) merging: Merging,
    pub(crate) plug: Plug,
    pub(crate) tags: Tags,
    /// Requests that go to the device before all that the elevator has.
    pub(crate) direct: VecDeque<RequestId>,
    done: Vec<RequestId>,
    /// Work of a CPU since the last bill.
    pub(crate) work: Work,
    /// The elevator's timer at that bill.
    timer: Option<Time>,
    /// CPU that armed it.
    timer_by: u16,
    /// CPU that put the plug on.
    plug_by: u16,
}

impl Queue {
    /// A disk of `device` behind elevator `E` with `settings`.
    #[must_use]
    pub fn of<E: RegisteredElevator>(settings: E::Settings, options: &QueueOptions, device: Box<dyn Device>) -> Queue {
        let facts = queue_facts(E::ABOUT.layer, options, &*device);
        Queue::new(MadeElevator::of::<E>(facts, options.requests, settings, options.seed), options, device)
    }

    /// A disk of `device` behind an elevator that was made for [`queue_facts`].
    pub(crate) fn new(made: MadeElevator, options: &QueueOptions, device: Box<dyn Device>) -> Queue {
        let (layer, facts, about) = (made.about.layer, made.facts, device.facts());
        let wbt_lat = options.wbt_lat.filter(|_| throttles_write_back(made.about));
        Queue {
            referee: ElevatorReferee::new(made, 2 * facts.requests as usize),
            layer,
            device,
            disk: options.disk,
            sectors_max: options.sectors_max.min(about.sectors_max).max(1),
            segments_max: options.segments_max.max(1),
            has_volatile_cache: about.volatile_cache,
            pieces: Pieces::default(),
            pool: Pool::new(layer, facts.queues, facts.requests_each()),
            slots: match layer {
                Layer::Legacy => Vec::new(),
                Layer::MultiQueue => {
                    vec![Slots::new(facts.requests_each(), facts.cpus); usize::from(facts.queues)]
                }
            },
            wbt: wbt_lat.map(|target| WriteBack::new(target, facts.depth, about.volatile_cache)),
            lanes: vec![[Chain::EMPTY; 4]; usize::from(facts.queues)],
            walks: 0,
            refused: Vec::new(),
            in_lanes: 0,
            merging: Merging::default(),
            plug: Plug::OFF,
            tags: Tags::new(facts.depth, facts.queues),
            direct: VecDeque::new(),
            done: Vec::new(),
            work: Work { disk: options.disk, ..Work::default() },
            timer: None,
            timer_by: 0,
            plug_by: 0,
        }
    }

    /// Bills `cpu` for what has been done since the last bill.
    fn bill(&mut self, cpu: u16, out: &mut Out) {
        let work = std::mem::replace(&mut self.work, Work { disk: self.disk, ..Work::default() });
        let Some(bills) = &mut out.work else { return };
        let cpu = cpu % self.referee.facts().cpus;
        let lock = match self.referee.lock() {
            QueueLock::Free => None,
            QueueLock::OfQueue => Some(self.tags.queue_of(cpu).0),
            QueueLock::OfDevice => Some(0),
        };
        let queued = if lock.is_some() { work.queued } else { 0 };
        let before = std::mem::replace(&mut self.timer, self.referee.next_timer());
        let timers = u32::from(before != self.timer);
        if timers > 0 {
            self.timer_by = cpu;
        }
        bills.push(Work { cpu, lock, queued, timers, effort: self.referee.take_effort(), ..work });
    }

    /// Requests that wait, here and in the elevator.
    #[inline]
    pub(crate) fn queued(&self) -> u32 {
        self.referee.waiting() + self.direct.len() as u32
    }

    /// True if a request waits and the device can take it.
    fn goes_on(&self) -> bool {
        self.queued() > 0 && self.referee.in_flight() < self.referee.facts().depth
    }

    /// Runs the queue: dispatches requests from the elevator to the device while both agree.
    pub(crate) fn run(&mut self, out: &mut Out) {
        self.plug.take_off();
        match self.layer {
            Layer::Legacy => while self.goes_on() && self.issue_next(HwQueue(0), out) {},
            Layer::MultiQueue => self.run_queues(out),
        }
    }

    /// Runs the queue if it is plugged. Returns whether it was.
    fn run_if_plugged(&mut self, out: &mut Out) -> bool {
        let is_plugged = self.plug.is_on();
        if is_plugged {
            self.run(out);
        }
        is_plugged
    }

    /// Runs all hardware queues in turn, until none has both a tag and a request.
    fn run_queues(&mut self, out: &mut Out) {
        let mut in_vain = 0;
        while in_vain < self.tags.queues() && self.goes_on() {
            let queue = self.tags.next_queue();
            let is_issued = self.tags.is_free(queue) && self.issue_next(queue, out);
            in_vain = if is_issued { 0 } else { in_vain + 1 };
        }
    }

    /// Issues the next request of `queue` to the device. Returns false if there is none.
    fn issue_next(&mut self, queue: HwQueue, out: &mut Out) -> bool {
        let request = match self.direct.pop_front() {
            Some(request) => {
                self.referee.issue(request, queue);
                request
            }
            None => {
                let Some(request) = self.referee.dispatch(queue) else { return false };
                self.forget(request);
                request
            }
        };
        self.tags.take(queue);
        let now = self.referee.now();
        let about = self.referee.requests()[request];
        out.event(|| self.of_request(IoStage::Issued, request, &about, now.since(about.inserted)));
        if let Some(wbt) = &mut self.wbt {
            wbt.issued(now, request, about.op);
        }
        self.device.start(now, request, &about);
        true
    }

    /// The device has completed `request`. Returns the CPU that submitted it, which is interrupted.
    fn complete(&mut self, request: RequestId, out: &mut Out) -> u16 {
        let now = self.referee.now();
        let about = self.referee.complete(request);
        self.tags.give_back(about.queue);
        if let Some(wbt) = &mut self.wbt {
            wbt.completed(now, request, (about.op, about.sync), now.since(about.issued));
        }
        out.event(|| self.of_request(IoStage::Completed, request, &about, now.since(about.issued)));
        let mut piece = self.pieces.unchain(request);
        while piece != NONE {
            let next = self.pieces.next(piece);
            if let Some(whole) = self.pieces.done(piece) {
                self.tell_done(request, &whole, out);
            }
            piece = next;
        }
        self.give_back(request, &about);
        self.work.completed += 1;
        about.cpu
    }

    /// Frees the slot of `request`.
    pub(crate) fn give_back(&mut self, request: RequestId, about: &Request) {
        let share = self.share(about.op, about.cpu);
        self.pool.give_back(share);
        if let Some(slots) = self.slots.get_mut(share) {
            slots.give_back(about.cpu, request);
        }
    }

    /// `whole` is done; `request` was its last.
    pub(crate) fn tell_done(&self, request: RequestId, whole: &Piece, out: &mut Out) {
        let span = || self.referee.now().since(whole.queued);
        out.event(|| IoEvent::of_io(self.disk, IoStage::Done, request, &whole.io, span()));
        out.outcomes.push(Outcome::Done { tag: whole.io.tag });
    }

    /// Pool share of a request: its direction, or its hardware queue.
    pub(crate) fn share(&self, op: Operation, cpu: u16) -> usize {
        match self.layer {
            Layer::Legacy => op.direction(),
            Layer::MultiQueue => self.tags.queue_of(cpu).index(),
        }
    }

    /// An event of a request.
    pub(crate) fn of_request(&self, stage: IoStage, request: RequestId, about: &Request, span: Span) -> IoEvent {
        IoEvent {
            disk: self.disk,
            stage,
            op: about.op,
            sync: about.sync,
            request,
            survivor: request,
            submitter: about.submitter,
            owner: about.owner,
            sector: about.sector,
            sectors: about.sectors,
            span,
        }
    }
}

/// The queue of `device` in `layer`.
pub(crate) fn queue_facts(layer: Layer, options: &QueueOptions, device: &dyn Device) -> QueueFacts {
    let about = device.facts();
    let mut facts = QueueFacts {
        hz: options.hz,
        depth: about.depth.max(1),
        queues: if layer == Layer::Legacy { 1 } else { about.queues.max(1) },
        cpus: options.cpus.max(1),
        rotational: about.rotational,
        sectors: about.sectors,
        requests: LEGACY_REQUESTS,
    };
    facts.requests = usual_requests(&facts, layer);
    facts
}

/// Default `nr_requests`: 128 per direction; in blk-mq twice the depth, at most 256, per hardware queue.
fn usual_requests(facts: &QueueFacts, layer: Layer) -> u32 {
    let queues = u32::from(facts.queues);
    match layer {
        Layer::Legacy => LEGACY_REQUESTS,
        Layer::MultiQueue => queues * 2 * (facts.depth / queues).clamp(1, 128),
    }
}

impl Disk for Queue {
    fn submit(&mut self, now: Time, ios: &[Io], out: &mut Out) {
        self.referee.set_now(now);
        let (mut sleeps, was_plugged) = (false, self.plug.is_on());
        for io in ios {
            self.work.submitted += 1;
            self.work.pages = self.work.pages.saturating_add(Work::of_submission(io).pages);
            let is_accepted = self.accept(io, sleeps, out);
            if !is_accepted && !sleeps {
                sleeps = true;
                // A submitter that goes to sleep flushes its own plug and that of the queue.
                self.flush_plug(out);
                self.run_if_plugged(out);
            }
            if self.layer == Layer::Legacy && io.op == Operation::Write && io.sync {
                self.run_if_plugged(out);
            }
        }
        if self.layer == Layer::MultiQueue {
            self.flush_plug(out);
            self.admit(out);
            self.run(out);
        }
        if let Some(io) = ios.first() {
            if !was_plugged {
                self.plug_by = io.cpu;
            }
            self.bill(io.cpu, out);
        }
    }

    fn unplug(&mut self, now: Time, out: &mut Out) {
        self.referee.set_now(now);
        if self.run_if_plugged(out) {
            self.bill(self.plug_by, out);
        }
    }

    fn next_event(&self) -> Time {
        if self.referee.refusal().is_some() {
            return Time::NEVER;
        }
        let timer = self.referee.next_timer().unwrap_or(Time::NEVER);
        let window = self.wbt.as_ref().and_then(WriteBack::window_ends).unwrap_or(Time::NEVER);
        self.device.next_event().min(timer).min(self.plug.until()).min(window)
    }

    fn advance(&mut self, now: Time, out: &mut Out) {
        self.referee.set_now(now);
        let (mut runs, mut cpu) = (self.plug.until() <= now, self.plug_by);
        if self.device.next_event() <= now {
            let mut done = std::mem::take(&mut self.done);
            self.device.advance(now, &mut done);
            runs |= !done.is_empty();
            for request in done.drain(..) {
                cpu = self.complete(request, out);
                self.bill(cpu, out);
            }
            self.done = done;
        }
        runs |= self.wbt.as_mut().is_some_and(|wbt| wbt.expire(now));
        if self.referee.expire() {
            cpu = if runs { cpu } else { self.timer_by };
            runs = true;
        }
        if runs {
            self.admit(out);
            self.run(out);
            self.bill(cpu, out);
        }
    }

    fn exit(&mut self, now: Time, submitter: Submitter, out: &mut Out) {
        self.referee.set_now(now);
        self.referee.exit(submitter);
        if !self.plug.is_on() {
            self.run(out);
        }
        // What an exit lets go on has waited for the elevator's timer.
        self.bill(self.timer_by, out);
    }

    fn in_flight(&self) -> u32 {
        self.referee.in_flight()
    }

    fn waiting(&self) -> u32 {
        self.queued() + self.in_lanes
    }

    fn facts(&self) -> &QueueFacts {
        self.referee.facts()
    }

    fn device(&self) -> DeviceFacts {
        self.device.facts()
    }

    fn elevator(&self) -> &'static str {
        self.referee.about().name
    }

    fn refusal(&self) -> Option<&Refusal> {
        self.referee.refusal()
    }

    fn pieces(&self, request: RequestId, each: &mut dyn FnMut(&Io)) {
        let mut piece = self.pieces.first(request);
        while piece != NONE {
            each(&self.pieces[piece].io);
            piece = self.pieces.next(piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// specs/io-schedulers.md: `nr_requests`.
    #[test]
    fn a_queue_has_twice_the_depth_as_requests_or_256_or_in_the_legacy_layer_128() {
        let requests = |layer, device: &str| {
            let device = goodness_device::by_name(device, goodness_core::Seed(1)).expect("a device");
            queue_facts(layer, &QueueOptions::default(), &*device).requests
        };
        assert_eq!(requests(Layer::MultiQueue, "null:queues=2,depth=64"), 128);
        assert_eq!(requests(Layer::MultiQueue, "null:queues=2,depth=1024"), 512);
        assert_eq!(requests(Layer::MultiQueue, "null:queues=1,depth=1"), 2);
        assert_eq!(requests(Layer::Legacy, "null:queues=2,depth=1024"), 128);
    }
}
