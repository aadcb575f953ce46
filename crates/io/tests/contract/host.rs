//! A block layer and a device by chance: what they may do is what the elevator's contract allows them.

use goodness_core::{
    Allocate, HwQueue, Io, IoClass, IoContext, IoPriority, Layer, Merges, Operation, QueueFacts, RegisteredElevator,
    Request, RequestId, RequestTable, Rng, Seed, Side, Span, Submitter, Time,
};

/// Processes that submit at the same time.
const PROCESSES: u64 = 5;
/// Timers that may expire at one instant before the elevator is said to hang.
const TIMERS_AT_ONCE: u32 = 1000;

/// Where a slot of the table is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Free,
    Waiting,
    InFlight,
}

/// One dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dispatched {
    pub at: Time,
    pub request: RequestId,
    pub sector: u64,
    pub inserted: Time,
}

/// An elevator, its requests, and chance.
pub struct Host<'a, E> {
    name: &'a str,
    pub elevator: E,
    requests: RequestTable,
    facts: QueueFacts,
    now: Time,
    places: Vec<Place>,
    processes: Vec<Submitter>,
    rng: Rng,
    /// Inserted or merged last: with [`Merges::LastOnly`] only this one grows.
    last: Option<RequestId>,
    pub dispatched: Vec<Dispatched>,
}

impl<'a, E: RegisteredElevator> Host<'a, E> {
    pub fn new(name: &'a str, settings: E::Settings, seed: u64) -> Self {
        let mut rng = Seed(seed).stream("contract", 0).rng();
        let pick = |rng: &mut Rng, of: &[u64]| of[rng.below(of.len() as u64) as usize];
        let queues = if E::ABOUT.layer == Layer::Legacy { 1 } else { pick(&mut rng, &[1, 2]) as u16 };
        let depth = pick(&mut rng, &[1, 4, 32]) as u32;
        let mut facts = QueueFacts {
            hz: pick(&mut rng, &[100, 250, 1000]) as u32,
            depth,
            queues,
            cpus: pick(&mut rng, &[2, 4]) as u16,
            rotational: rng.below(2) == 0,
            sectors: 1 << 12,
            requests: 128,
        };
        facts.requests = E::requests(&settings, &facts);
        Host {
            name,
            elevator: E::new(&facts, settings, Seed(seed)),
            requests: RequestTable::default(),
            facts,
            now: Time::ZERO,
            places: Vec::new(),
            processes: (0..PROCESSES as u32).map(Submitter).collect(),
            rng,
            last: None,
            dispatched: Vec::new(),
        }
    }

    /// One event by chance, and what follows from it.
    pub fn step(&mut self) {
        match self.rng.below(12) {
            0..5 => {
                self.submit();
                // Else the queue is plugged.
                if self.rng.below(2) == 0 {
                    self.run_queue();
                }
            }
            5..8 => {
                if let Some(request) = self.any(Place::InFlight) {
                    self.complete(request);
                    self.run_queue();
                }
            }
            8 => self.run_queue(),
            9..11 => self.pass_randomly(),
            _ => self.replace_process(),
        }
    }

    /// Everything is dispatched and completed, timers expiring on the way.
    pub fn finish(&mut self) {
        loop {
            self.serve_all();
            if self.count(Place::Waiting) == 0 {
                break;
            }
            let next = self.elevator.next_timer();
            let next = next.unwrap_or_else(|| self.fail("requests wait, nothing is in flight and no timer is set"));
            self.pass_until(next.max(self.now));
        }
        assert!(!self.elevator.has_work(), "{}: nothing waits, has_work says otherwise", self.name);
    }

    /// A piece of I/O arrives: it joins a request, or becomes one if the elevator lets it.
    pub fn submit(&mut self) {
        let io = self.random_io();
        if self.join(&io) {
            return;
        }
        let is_legacy = E::ABOUT.layer == Layer::Legacy;
        let queue = self.queue_of(io.cpu);
        let is_alike = |request: &Request| match is_legacy {
            true => request.op.direction() == io.op.direction(),
            false => request.queue == queue,
        };
        let used = self.ids().filter(|id| self.places[id.index()] != Place::Free && is_alike(&self.requests[*id]));
        let used = used.count() as u32;
        match self.call(|e, cx| e.may_allocate(cx, &io, used)) {
            Allocate::AsUsual if used >= self.facts.requests_each() => {}
            Allocate::AsUsual | Allocate::Always => self.insert(&io),
            Allocate::Wait if used == 0 => {
                self.fail("refused a slot although none is taken: nobody will wake the asker")
            }
            Allocate::Wait => {}
        }
    }

    /// The device serves all it can get, at no time.
    pub fn serve_all(&mut self) {
        self.run_queue();
        while let Some(request) = self.any(Place::InFlight) {
            self.complete(request);
            self.run_queue();
        }
    }

    /// Time passes: little or much.
    pub fn pass_randomly(&mut self) {
        let scale = [10_000, 1_000_000, 50_000_000, 3_000_000_000][self.rng.below(4) as usize];
        let span = Span(self.rng.below(scale));
        self.pass_until(self.now + span);
    }

    fn pass_until(&mut self, until: Time) {
        let mut at_once = 0;
        while let Some(at) = self.elevator.next_timer().filter(|at| *at <= until) {
            at_once = if at > self.now { 0 } else { at_once + 1 };
            if at_once > TIMERS_AT_ONCE {
                self.fail("the timer is set again and again for the same instant");
            }
            self.now = at.max(self.now);
            self.call(|e, cx| e.timer(cx));
            self.run_queue();
        }
        self.now = until;
    }

    /// Dispatches until the device is full or nothing more comes.
    fn run_queue(&mut self) {
        for queue in (0..self.facts.queues).map(HwQueue) {
            while self.count(Place::InFlight) < self.facts.depth as usize {
                let Some(request) = self.call(|e, cx| e.dispatch(cx, queue)) else { break };
                if self.places.get(request.index()) != Some(&Place::Waiting) {
                    self.fail(&format!("dispatched {request:?}, which does not wait"));
                }
                let taken = &mut self.requests[request];
                taken.issued = self.now;
                let (sector, inserted) = (taken.sector, taken.inserted);
                self.places[request.index()] = Place::InFlight;
                self.dispatched.push(Dispatched { at: self.now, request, sector, inserted });
                self.check();
            }
        }
    }

    fn complete(&mut self, request: RequestId) {
        self.places[request.index()] = Place::Free;
        self.call(|e, cx| e.complete(cx, request));
        self.requests.give_back(request);
        self.check();
    }

    /// A process exits, and another one starts. What it asked for may still wait.
    fn replace_process(&mut self) {
        let next = Submitter(self.processes.iter().map(|p| p.0).max().unwrap_or(0) + 1);
        let which = self.rng.below(PROCESSES) as usize;
        let gone = std::mem::replace(&mut self.processes[which], next);
        self.call(|e, cx| e.exit(cx, gone));
        self.run_queue();
        self.check();
    }

    fn random_io(&mut self) -> Io {
        let rng = &mut self.rng;
        let submitter = self.processes[rng.below(PROCESSES) as usize];
        // A process has a region, so that streams are found and requests touch.
        let sector = u64::from(submitter.0 % 4) * 1024 + rng.below(128) * 8;
        let (op, sync) = match rng.below(20) {
            0..2 => (Operation::Discard, false),
            2..5 => (Operation::Write, true),
            5..10 => (Operation::Write, false),
            _ => (Operation::Read, true),
        };
        let class = match rng.below(10) {
            0 => IoClass::RealTime,
            1 => IoClass::Idle,
            _ => IoClass::BestEffort,
        };
        Io {
            op,
            sync,
            mergeable: matches!(op, Operation::Read | Operation::Write),
            priority: IoPriority { class, level: rng.below(8) as u8 },
            cpu: rng.below(u64::from(self.facts.cpus)) as u16,
            ..Io::read(submitter, sector, 8)
        }
    }

    fn insert(&mut self, io: &Io) {
        let request = self.requests.take(Request { queue: self.queue_of(io.cpu), ..Request::of(io, self.now) });
        self.places.resize(self.requests.slots(), Place::Free);
        self.places[request.index()] = Place::Waiting;
        self.last = Some(request);
        let _ = self.call(|e, cx| e.insert(cx, request));
        self.check();
    }

    /// The hardware queue of a CPU.
    fn queue_of(&self, cpu: u16) -> HwQueue {
        HwQueue(cpu % self.facts.queues)
    }

    /// Merges `io` into a waiting request where elevator and place allow it, and the grown one with its neighbour.
    fn join(&mut self, io: &Io) -> bool {
        let merges = self.elevator.merges();
        if !io.mergeable {
            return false;
        }
        for id in self.ids().collect::<Vec<_>>() {
            let request = self.requests[id];
            if self.places[id.index()] != Place::Waiting || !request.mergeable || request.op != io.op {
                continue;
            }
            if merges == Merges::LastOnly && self.last != Some(id) {
                continue;
            }
            let side = match io {
                _ if request.end() == io.sector => Side::Back,
                _ if io.end() == request.sector && matches!(merges, Merges::Newest | Merges::All) => Side::Front,
                _ => continue,
            };
            if self.call(|e, cx| e.allows_merge(cx, id, io)) {
                self.grow(id, io, side);
                if merges == Merges::All {
                    self.absorb_neighbour(id);
                }
                return true;
            }
        }
        false
    }

    fn grow(&mut self, id: RequestId, io: &Io, side: Side) {
        let request = &mut self.requests[id];
        let before = request.sector;
        request.sector = before.min(io.sector);
        request.sectors += io.sectors;
        request.segments += 1;
        self.last = Some(id);
        self.call(|e, cx| e.merged(cx, id, side, before));
        self.check();
    }

    /// Two waiting requests that touch become one, the lower one, if the elevator allows it.
    fn absorb_neighbour(&mut self, id: RequestId) {
        let touching = |a: RequestId, b: RequestId| {
            let [first, second] = [a, b].map(|id| &self.requests[id]);
            first.end() == second.sector && first.op == second.op && first.submitter == second.submitter
        };
        let waits = |other: RequestId| {
            other != id && self.places[other.index()] == Place::Waiting && self.requests[other].mergeable
        };
        let mut others = self.ids().filter(|other| waits(*other));
        let pair = others.find_map(|other| match () {
            () if touching(id, other) => Some((id, other)),
            () if touching(other, id) => Some((other, id)),
            () => None,
        });
        let Some((survivor, absorbed)) = pair else { return };
        let is_allowed = self.call(|e, cx| e.allows_absorb(cx, survivor, absorbed));
        if !is_allowed {
            return;
        }
        let Request { sectors, segments, inserted, .. } = self.requests[absorbed];
        let grown = &mut self.requests[survivor];
        grown.sectors += sectors;
        grown.segments += segments;
        grown.inserted = grown.inserted.min(inserted);
        self.places[absorbed.index()] = Place::Free;
        self.call(|e, cx| e.absorbed(cx, survivor, absorbed));
        self.requests.give_back(absorbed);
        self.check();
    }

    fn call<T>(&mut self, verb: impl FnOnce(&mut E, &IoContext) -> T) -> T {
        let in_flight = self.count(Place::InFlight) as u32;
        let cx = IoContext { now: self.now, requests: &self.requests, facts: &self.facts, in_flight };
        verb(&mut self.elevator, &cx)
    }

    /// `has_work` is true exactly while something waits.
    fn check(&self) {
        let waits = self.count(Place::Waiting);
        if self.elevator.has_work() != (waits > 0) {
            self.fail(&format!("{waits} requests wait, has_work says {}", self.elevator.has_work()));
        }
    }

    fn ids(&self) -> impl Iterator<Item = RequestId> + use<E> {
        (0..self.requests.slots() as u32).map(RequestId)
    }

    fn count(&self, place: Place) -> usize {
        self.places.iter().filter(|at| **at == place).count()
    }

    /// A request at that place, by chance.
    fn any(&mut self, place: Place) -> Option<RequestId> {
        let there = self.count(place) as u64;
        let which = self.rng.below(there.max(1)) as usize;
        self.ids().filter(|id| self.places[id.index()] == place).nth(which)
    }

    fn fail(&self, what: &str) -> ! {
        panic!("{}: {what}, at {}", self.name, self.now)
    }
}
