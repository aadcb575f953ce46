//! A test bench: an elevator alone, without block layer and device. Requests are inserted one by one, never merged unless
//! a test does so, and complete when the test says so.

use goodness_core::{
    HwQueue, Io, IoContext, QueueFacts, RegisteredElevator, Request, RequestId, RequestTable, Run, Seed, Side, Span,
    Time,
};

/// One elevator, its requests and the time.
pub struct Bench<E> {
    pub elevator: E,
    pub requests: RequestTable,
    pub facts: QueueFacts,
    pub now: Time,
    pub in_flight: u32,
}

/// The queue of a disk at HZ 1000 that takes one command at a time.
pub fn facts() -> QueueFacts {
    QueueFacts { hz: 1000, depth: 1, queues: 1, cpus: 1, rotational: true, sectors: 1 << 31, requests: 128 }
}

impl<E: RegisteredElevator> Bench<E> {
    pub fn new(settings: E::Settings) -> Bench<E> {
        Bench::with(facts(), settings)
    }

    pub fn with(facts: QueueFacts, settings: E::Settings) -> Bench<E> {
        let elevator = E::new(&facts, settings, Seed(1));
        Bench { elevator, requests: RequestTable::default(), facts, now: Time::ZERO, in_flight: 0 }
    }

    /// Calls `verb` with the elevator and its context.
    pub fn call<T>(&mut self, verb: impl FnOnce(&mut E, &IoContext) -> T) -> T {
        let cx = IoContext { now: self.now, requests: &self.requests, facts: &self.facts, in_flight: self.in_flight };
        verb(&mut self.elevator, &cx)
    }

    /// Inserts a request made of `io` alone.
    pub fn insert(&mut self, io: Io) -> RequestId {
        self.insert_told(io).0
    }

    /// Inserts a request and says whether the elevator wants to run at once.
    pub fn insert_told(&mut self, io: Io) -> (RequestId, Run) {
        let request = self.requests.take(Request::of(&io, self.now));
        let run = self.call(|elevator, cx| elevator.insert(cx, request));
        (request, run)
    }

    /// Lets `request` grow by `sectors` at `side`, as the block layer does when it merges.
    pub fn grow(&mut self, request: RequestId, side: Side, sectors: u32) {
        let before = self.requests[request].sector;
        self.requests[request].sectors += sectors;
        if side == Side::Front {
            self.requests[request].sector -= u64::from(sectors);
        }
        self.call(|elevator, cx| elevator.merged(cx, request, side, before));
    }

    /// `survivor` swallows `absorbed`, which begins where it ends, as the block layer lets it.
    pub fn absorb(&mut self, survivor: RequestId, absorbed: RequestId) {
        let Request { sectors, inserted, .. } = self.requests[absorbed];
        let grown = &mut self.requests[survivor];
        grown.sectors += sectors;
        grown.inserted = grown.inserted.min(inserted);
        self.call(|elevator, cx| elevator.absorbed(cx, survivor, absorbed));
        self.requests.give_back(absorbed);
    }

    /// What the device gets next, which is then in flight.
    pub fn dispatch(&mut self) -> Option<RequestId> {
        let request = self.call(|elevator, cx| elevator.dispatch(cx, HwQueue(0)))?;
        self.requests[request].issued = self.now;
        self.in_flight += 1;
        Some(request)
    }

    /// The device completes `request`.
    pub fn complete(&mut self, request: RequestId) {
        self.in_flight -= 1;
        self.call(|elevator, cx| elevator.complete(cx, request));
        self.requests.give_back(request);
    }

    /// Dispatches and completes at once until nothing comes, and says where the requests began.
    pub fn drain(&mut self) -> Vec<u64> {
        let mut sectors = Vec::new();
        while let Some(request) = self.dispatch() {
            sectors.push(self.requests[request].sector);
            self.complete(request);
        }
        sectors
    }

    /// Lets time pass, and the elevator's timers expire on the way.
    pub fn pass(&mut self, span: Span) {
        let until = self.now + span;
        while let Some(at) = self.elevator.next_timer().filter(|at| *at <= until) {
            self.now = at.max(self.now);
            self.call(|elevator, cx| elevator.timer(cx));
        }
        self.now = until;
    }
}
