//! One disk: an elevator, the layer around it, and a device.
//!
//! Source: `specs/io-schedulers.md` section 2. [`ElevatorAbout::layer`](goodness_core::ElevatorAbout) says which of the two
//! layers runs. Files beside this one: `admit.rs` from the piece of I/O to the waiting request, `grow.rs` merging, `pool.rs`
//! who may have a request, `legacy.rs` and `multi_queue.rs` plugs and tags; here is the way from the elevator to the device
//! and back.
//!
//! Departures and inferences. A flush goes to the device by itself, before all that waits and unseen by the elevator: it
//! promises only what completed before it, so it waits for nothing. Barriers of 2.6, which drain the queue, are not
//! modelled. A durable (FUA) write passes the elevator and is never merged. Without a volatile cache a flush is done at
//! once. The pieces of a submitter that sleeps wait by direction; those of different directions do not wait for each other.
//! Pieces of one lane are admitted in order of arrival, which the kernel promises only nearly. `nomerges` is a limit of one
//! segment. Write-back throttling (wbt) is not modelled.

use crate::disk::{Disk, Out, Outcome};
use crate::legacy::Plug;
use crate::merging::Merging;
use crate::multi_queue::Tags;
use crate::pieces::{Chain, NONE, Piece, Pieces};
use crate::pool::Pool;
use goodness_core::{
    Device, DiskId, HwQueue, Io, IoEvent, IoStage, Layer, Merges, Operation, QueueFacts, RegisteredElevator, Request,
    RequestId, RequestTable, Seed, Span, Submitter, Time,
};
use std::collections::VecDeque;

/// How a queue is set up; see [`Queue::new`].
#[derive(Clone, Copy, Debug)]
pub struct QueueOptions {
    /// Which disk it is: events carry it.
    pub disk: DiskId,
    /// Timer interrupts per second.
    pub hz: u32,
    /// CPUs that submit; blk-mq has a software queue for each.
    pub cpus: u16,
    /// `nr_requests`: requests that may exist, per direction in the single-queue layer, of all hardware queues together in
    /// blk-mq. `None`: the layer's default, or what the elevator makes of it.
    pub requests: Option<u32>,
    /// Largest request, in sectors; the device's own limit counts as well.
    pub sectors_max: u32,
    /// Most pieces of memory that one request gathers. 1: nothing is merged.
    pub segments_max: u16,
    /// Where the elevator's chance begins.
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
            seed: Seed(1),
        }
    }
}

/// Requests per direction of the single-queue layer.
const LEGACY_REQUESTS: u32 = 128;

/// Where a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Free,
    Plugged,
    Waiting,
    InFlight,
}

/// One disk with elevator `E`.
pub struct Queue<E> {
    pub(crate) elevator: E,
    pub(crate) merges: Merges,
    device: Box<dyn Device>,
    disk: DiskId,
    pub(crate) facts: QueueFacts,
    pub(crate) sectors_max: u32,
    pub(crate) segments_max: u16,
    pub(crate) has_volatile_cache: bool,
    pub(crate) requests: RequestTable,
    pub(crate) states: Vec<State>,
    pub(crate) pieces: Pieces,
    pub(crate) pool: Pool,
    /// Pieces that wait for a request, by hardware queue: reads and others, each with those that nobody waits for apart.
    pub(crate) lanes: Vec<[Chain; 4]>,
    /// How often somebody was looked for along a lane.
    pub(crate) walks: u64,
    /// By submitter: the last such walk in which the elevator refused it.
    pub(crate) refused: Vec<u64>,
    pub(crate) in_lanes: u32,
    pub(crate) merging: Merging,
    pub(crate) plug: Plug,
    pub(crate) tags: Tags,
    /// What goes to the device before all that the elevator has.
    pub(crate) direct: VecDeque<RequestId>,
    /// Requests that wait, here and in the elevator.
    pub(crate) queued: u32,
    pub(crate) in_flight: u32,
    done: Vec<RequestId>,
}

/// What the elevator of `$queue` sees; borrows nothing that a call of the elevator needs.
macro_rules! context {
    ($queue:expr, $now:expr) => {
        &goodness_core::IoContext {
            now: $now,
            requests: &$queue.requests,
            facts: &$queue.facts,
            in_flight: $queue.in_flight,
        }
    };
}
pub(crate) use context;

impl<E: RegisteredElevator> Queue<E> {
    pub(crate) const LAYER: Layer = E::ABOUT.layer;

    /// A disk of `device` behind an elevator with `settings`.
    #[must_use]
    pub fn new(settings: E::Settings, options: &QueueOptions, device: Box<dyn Device>) -> Queue<E> {
        let about = device.facts();
        let mut facts = QueueFacts {
            hz: options.hz,
            depth: about.depth.max(1),
            queues: if Self::LAYER == Layer::Legacy { 1 } else { about.queues.max(1) },
            cpus: options.cpus.max(1),
            rotational: about.rotational,
            sectors: about.sectors,
            requests: LEGACY_REQUESTS,
        };
        facts.requests = usual_requests(&facts, Self::LAYER);
        facts.requests = options.requests.unwrap_or_else(|| E::requests(&settings, &facts)).max(1);
        let elevator = E::new(&facts, settings, options.seed);
        Queue {
            merges: elevator.merges(),
            elevator,
            device,
            disk: options.disk,
            facts,
            sectors_max: options.sectors_max.min(about.sectors_max).max(1),
            segments_max: options.segments_max.max(1),
            has_volatile_cache: about.volatile_cache,
            requests: RequestTable::with_capacity(2 * facts.requests as usize),
            states: Vec::new(),
            pieces: Pieces::default(),
            pool: Pool::new(Self::LAYER, facts.queues, facts.requests_each()),
            lanes: vec![[Chain::EMPTY; 4]; usize::from(facts.queues)],
            walks: 0,
            refused: Vec::new(),
            in_lanes: 0,
            merging: Merging::default(),
            plug: Plug::OFF,
            tags: Tags::new(facts.depth, facts.queues),
            direct: VecDeque::new(),
            queued: 0,
            in_flight: 0,
            done: Vec::new(),
        }
    }

    /// The elevator, to look at its statistics.
    pub fn elevator(&self) -> &E {
        &self.elevator
    }

    /// The queue runs: whatever the elevator gives and the device takes goes to the device.
    pub(crate) fn run(&mut self, now: Time, out: &mut Out) {
        self.plug.take_off();
        match Self::LAYER {
            Layer::Legacy => {
                while self.queued > 0 && self.in_flight < self.facts.depth {
                    let Some(request) = self.next(now, HwQueue(0)) else { return };
                    self.issue(now, request, HwQueue(0), out);
                }
            }
            Layer::MultiQueue => self.run_queues(now, out),
        }
    }

    /// All hardware queues in turn, until none has both a tag and a request.
    fn run_queues(&mut self, now: Time, out: &mut Out) {
        let mut in_vain = 0;
        while in_vain < self.tags.queues() && self.queued > 0 && self.in_flight < self.facts.depth {
            let queue = self.tags.next_queue();
            match self.tags.is_free(queue).then(|| self.next(now, queue)).flatten() {
                Some(request) => {
                    self.issue(now, request, queue, out);
                    in_vain = 0;
                }
                None => in_vain += 1,
            }
        }
    }

    /// What `queue` gets next.
    fn next(&mut self, now: Time, queue: HwQueue) -> Option<RequestId> {
        if let Some(request) = self.direct.pop_front() {
            return Some(request);
        }
        let request = self.elevator.dispatch(context!(self, now), queue)?;
        let state = self.states.get(request.index());
        assert!(
            state == Some(&State::Waiting),
            "{} dispatched request {} which does not wait but is {state:?}",
            E::ABOUT.name,
            request.0
        );
        self.forget(request);
        Some(request)
    }

    /// The device gets `request`.
    fn issue(&mut self, now: Time, request: RequestId, queue: HwQueue, out: &mut Out) {
        self.queued -= 1;
        self.in_flight += 1;
        self.states[request.index()] = State::InFlight;
        self.tags.take(queue);
        let about = &mut self.requests[request];
        (about.issued, about.queue) = (now, queue);
        let about = self.requests[request];
        out.event(|| self.of_request(IoStage::Issued, request, &about, now.since(about.inserted)));
        self.device.start(now, request, &about);
    }

    /// The device has completed `request`.
    fn complete(&mut self, now: Time, request: RequestId, out: &mut Out) {
        let state = self.states.get(request.index());
        assert!(
            state == Some(&State::InFlight),
            "the device of disk {} completed request {} which it does not have: it is {state:?}",
            self.disk.0,
            request.0
        );
        let about = self.requests[request];
        self.in_flight -= 1;
        self.tags.give_back(about.queue);
        out.event(|| self.of_request(IoStage::Completed, request, &about, now.since(about.issued)));
        if about.op != Operation::Flush {
            self.elevator.complete(context!(self, now), request);
        }
        let mut piece = self.pieces.unchain(request);
        while piece != NONE {
            let next = self.pieces.next(piece);
            if let Some(whole) = self.pieces.done(piece) {
                self.tell_done(now, request, &whole, out);
            }
            piece = next;
        }
        self.free(request);
    }

    /// `whole` is done; `request` was its last.
    pub(crate) fn tell_done(&self, now: Time, request: RequestId, whole: &Piece, out: &mut Out) {
        out.event(|| self.of_piece(IoStage::Done, request, &whole.io, now.since(whole.queued)));
        out.outcomes.push(Outcome::Done { tag: whole.io.tag });
    }

    /// `request` is no more.
    pub(crate) fn free(&mut self, request: RequestId) {
        self.states[request.index()] = State::Free;
        let Request { op, cpu, .. } = self.requests[request];
        self.pool.give_back(self.share(op, cpu));
        self.requests.give_back(request);
    }

    /// The share of the pool that a request counts against: that of its direction, or of its hardware queue.
    pub(crate) fn share(&self, op: Operation, cpu: u16) -> usize {
        match Self::LAYER {
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
            sector: about.sector,
            sectors: about.sectors,
            span,
        }
    }

    /// An event of a piece of I/O.
    pub(crate) fn of_piece(&self, stage: IoStage, request: RequestId, io: &Io, span: Span) -> IoEvent {
        IoEvent {
            disk: self.disk,
            stage,
            op: io.op,
            sync: io.sync,
            request,
            survivor: request,
            submitter: io.submitter,
            sector: io.sector,
            sectors: io.sectors,
            span,
        }
    }
}

/// `nr_requests` by default: 128 per direction; in blk-mq, for each hardware queue, twice its depth but at most 256.
fn usual_requests(facts: &QueueFacts, layer: Layer) -> u32 {
    let queues = u32::from(facts.queues);
    match layer {
        Layer::Legacy => LEGACY_REQUESTS,
        Layer::MultiQueue => queues * 2 * (facts.depth / queues).clamp(1, 128),
    }
}

impl<E: RegisteredElevator> Disk for Queue<E> {
    fn submit(&mut self, now: Time, ios: &[Io], out: &mut Out) {
        let mut sleeps = false;
        for io in ios {
            let is_accepted = self.accept(now, io, sleeps, out);
            if !is_accepted && !sleeps {
                sleeps = true;
                // Whoever goes to sleep hands over what his plug holds, and takes off that of the queue.
                self.flush_plug(now, out);
                self.unplug(now, out);
            }
            if Self::LAYER == Layer::Legacy && io.op == Operation::Write && io.sync {
                self.unplug(now, out);
            }
        }
        if Self::LAYER == Layer::MultiQueue {
            self.flush_plug(now, out);
            self.admit(now, out);
            self.run(now, out);
        }
    }

    fn unplug(&mut self, now: Time, out: &mut Out) {
        if self.plug.is_on() {
            self.run(now, out);
        }
    }

    fn next_event(&self) -> Time {
        let timer = self.elevator.next_timer().unwrap_or(Time::NEVER);
        self.device.next_event().min(timer).min(self.plug.until())
    }

    fn advance(&mut self, now: Time, out: &mut Out) {
        let mut runs = self.plug.until() <= now;
        if self.device.next_event() <= now {
            let mut done = std::mem::take(&mut self.done);
            self.device.advance(now, &mut done);
            runs |= !done.is_empty();
            for request in done.drain(..) {
                self.complete(now, request, out);
            }
            self.done = done;
        }
        if self.elevator.next_timer().is_some_and(|at| at <= now) {
            self.elevator.timer(context!(self, now));
            runs = true;
        }
        if runs {
            self.admit(now, out);
            self.run(now, out);
        }
    }

    fn exit(&mut self, now: Time, submitter: Submitter, out: &mut Out) {
        self.elevator.exit(context!(self, now), submitter);
        if !self.plug.is_on() {
            self.run(now, out);
        }
    }

    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    fn waiting(&self) -> u32 {
        self.queued + self.in_lanes
    }

    fn facts(&self) -> &QueueFacts {
        &self.facts
    }

    fn elevator(&self) -> &'static str {
        E::ABOUT.name
    }

    fn pieces(&self, request: RequestId, each: &mut dyn FnMut(&Io)) {
        let mut piece = self.pieces.first(request);
        while piece != NONE {
            each(&self.pieces[piece].io);
            piece = self.pieces.next(piece);
        }
    }
}
