//! A test driver: calls an elevator behind its referee, without block layer and device. Requests are inserted one by
//! one and merge or complete only when the test says so. An invalid answer fails the test.

use goodness_core::{HwQueue, Io, QueueFacts, RegisteredElevator, Request, RequestId, Run, Seed, Span, Time};
use goodness_referee::ElevatorReferee;
use std::ops::{Deref, DerefMut};

/// One elevator behind its referee; dereferences to the referee.
pub struct VerbDriver<E>(ElevatorReferee<E>);

/// The queue of a disk at HZ 1000 with depth 1.
pub fn facts() -> QueueFacts {
    QueueFacts { hz: 1000, depth: 1, queues: 1, cpus: 1, rotational: true, sectors: 1 << 31, requests: 128 }
}

impl<E> Deref for VerbDriver<E> {
    type Target = ElevatorReferee<E>;
    fn deref(&self) -> &ElevatorReferee<E> {
        &self.0
    }
}

impl<E> DerefMut for VerbDriver<E> {
    fn deref_mut(&mut self) -> &mut ElevatorReferee<E> {
        &mut self.0
    }
}

impl<E: RegisteredElevator> VerbDriver<E> {
    pub fn new(settings: E::Settings) -> VerbDriver<E> {
        VerbDriver::with(facts(), settings)
    }

    pub fn with(facts: QueueFacts, settings: E::Settings) -> VerbDriver<E> {
        let elevator = Box::new(E::new(&facts, settings, Seed(1)));
        VerbDriver(ElevatorReferee::of(&E::ABOUT, facts, elevator, 0))
    }

    /// The referee, whose methods of the same name are hidden by those here.
    pub fn referee(&mut self) -> &mut ElevatorReferee<E> {
        &mut self.0
    }

    /// Inserts a request for `io` alone.
    pub fn insert(&mut self, io: Io) -> RequestId {
        self.insert_told(io).0
    }

    /// Inserts a request. Returns whether the elevator wants to run at once.
    pub fn insert_told(&mut self, io: Io) -> (RequestId, Run) {
        let request = Request::of(&io, self.now());
        let request = self.0.take(request);
        let run = self.0.insert(request);
        (request, run)
    }

    /// The request that the device gets next, which is then in flight.
    pub fn dispatch(&mut self) -> Option<RequestId> {
        let request = self.0.dispatch(HwQueue(0));
        self.expect_no_refusal();
        request
    }

    /// The device completes `request`.
    pub fn complete(&mut self, request: RequestId) {
        let _ = self.0.complete(request);
    }

    /// Fails the test if the referee refused an answer.
    pub fn expect_no_refusal(&self) {
        if let Some(refusal) = self.refusal() {
            panic!("{}, at {}", refusal.sentence, refusal.at);
        }
    }

    /// Dispatches and completes until nothing is left. Returns the first sectors.
    pub fn drain(&mut self) -> Vec<u64> {
        let mut sectors = Vec::new();
        while let Some(request) = self.dispatch() {
            sectors.push(self.requests()[request].sector);
            self.complete(request);
        }
        sectors
    }

    /// Advances the time; the elevator's timers expire on the way.
    pub fn pass(&mut self, span: Span) {
        self.pass_until(self.now() + span);
    }

    fn pass_until(&mut self, until: Time) {
        while let Some(at) = self.next_timer().filter(|at| *at <= until) {
            let now = at.max(self.now());
            self.set_now(now);
            self.expire();
            self.expect_no_refusal();
        }
        self.set_now(until);
    }
}
