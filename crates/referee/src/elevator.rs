//! The referee of an elevator.

use crate::Refusal;
use goodness_core::{
    Allocate, EffortMeter, Elevator, ElevatorAbout, HwQueue, Io, IoContext, MadeElevator, Merges, QueueFacts,
    QueueLock, Request, RequestId, RequestTable, Run, Side, Submitter, Time,
};

/// Limit of timer expirations at one instant without a dispatch. Elevators set one or two; more is a loop.
const TIMERS_AT_ONCE: u32 = 1000;

/// The place of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// No such request.
    Free,
    /// The host has it; the elevator does not know it.
    Held,
    /// It waits in the elevator.
    Waiting,
    /// The elevator dispatched it, and the device has it.
    InFlight,
    /// The host issued it past the elevator, and the device has it.
    Direct,
}

impl Place {
    /// The end of a sentence about a request.
    fn sentence(self) -> &'static str {
        match self {
            Place::Free => "there is no such request",
            Place::Held => "its host has not inserted it",
            Place::Waiting => "it waits",
            Place::InFlight | Place::Direct => "the device has it",
        }
    }
}

/// Checks an elevator for a host. Hosts leave `E` unnamed; tests name it to inspect the elevator.
#[derive(Clone)]
pub struct ElevatorReferee<E: ?Sized = dyn Elevator + Send> {
    about: &'static ElevatorAbout,
    facts: QueueFacts,
    merges: Merges,
    now: Time,
    requests: RequestTable,
    /// By request.
    places: Vec<Place>,
    waiting: u32,
    in_flight: u32,
    /// The request last inserted or grown, while it waits.
    last: Option<RequestId>,
    timers_at_once: u32,
    refusal: Option<Refusal>,
    effort: EffortMeter,
    elevator: Box<E>,
}

/// The elevator's view at this instant. A macro, so that the elevator itself can be borrowed as well.
macro_rules! context {
    ($referee:expr) => {
        &IoContext {
            now: $referee.now,
            requests: &$referee.requests,
            facts: &$referee.facts,
            in_flight: $referee.in_flight,
            effort: &$referee.effort,
        }
    };
}

impl ElevatorReferee {
    /// A referee of an elevator made by name, with room for `room` requests before it allocates.
    #[must_use]
    pub fn new(made: MadeElevator, room: usize) -> ElevatorReferee {
        let MadeElevator { about, facts, elevator } = made;
        ElevatorReferee::of(about, facts, elevator, room)
    }
}

/// State that hosts read.
impl<E: Elevator + ?Sized> ElevatorReferee<E> {
    /// A referee of `elevator`, which was made for a queue of these `facts`.
    #[must_use]
    pub fn of(about: &'static ElevatorAbout, facts: QueueFacts, elevator: Box<E>, room: usize) -> ElevatorReferee<E> {
        ElevatorReferee {
            about,
            facts,
            merges: elevator.merges(),
            now: Time::ZERO,
            requests: RequestTable::with_capacity(room),
            places: Vec::with_capacity(room),
            waiting: 0,
            in_flight: 0,
            last: None,
            timers_at_once: 0,
            refusal: None,
            effort: EffortMeter::default(),
            elevator,
        }
    }

    /// The elevator's own description.
    #[must_use]
    pub fn about(&self) -> &'static ElevatorAbout {
        self.about
    }

    /// The queue the elevator was made for.
    #[inline]
    #[must_use]
    pub fn facts(&self) -> &QueueFacts {
        &self.facts
    }

    /// Merges the elevator supports.
    #[inline]
    #[must_use]
    pub fn merges(&self) -> Merges {
        self.merges
    }

    /// Elements that the elevator examined since the last call, by kind.
    #[inline]
    pub fn take_effort(&mut self) -> [u32; 4] {
        self.effort.take()
    }

    /// The lock under which it works.
    #[inline]
    #[must_use]
    pub fn lock(&self) -> QueueLock {
        self.elevator.lock()
    }

    /// The elevator, to look at its statistics.
    #[must_use]
    pub fn elevator(&self) -> &E {
        &self.elevator
    }

    /// Calls the elevator past the rules, as the test of one of its parts does.
    pub fn call<T>(&mut self, verb: impl FnOnce(&mut E, &IoContext) -> T) -> T {
        verb(&mut self.elevator, context!(self))
    }

    /// Time of the current event.
    #[inline]
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// Sets the time of the current event. It never goes backwards.
    #[inline]
    pub fn set_now(&mut self, now: Time) {
        debug_assert!(now >= self.now, "time goes backwards");
        if now > self.now {
            (self.now, self.timers_at_once) = (now, 0);
        }
    }

    /// All requests of the queue.
    #[inline]
    #[must_use]
    pub fn requests(&self) -> &RequestTable {
        &self.requests
    }

    /// The requests for modification without checks, for tests that age them.
    pub fn requests_mut(&mut self) -> &mut RequestTable {
        &mut self.requests
    }

    /// The place of `request`.
    #[inline]
    #[must_use]
    pub fn place(&self, request: RequestId) -> Place {
        self.places.get(request.index()).copied().unwrap_or(Place::Free)
    }

    /// The requests at `place`, by number.
    pub fn at(&self, place: Place) -> impl Iterator<Item = RequestId> + '_ {
        let there = self.places.iter().enumerate().filter(move |(_, at)| **at == place);
        there.map(|(index, _)| RequestId(index as u32))
    }

    /// Requests that wait in the elevator.
    #[inline]
    #[must_use]
    pub fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Requests that the device has.
    #[inline]
    #[must_use]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// The last request inserted or grown, while it waits and may grow. With [`Merges::LastOnly`], no other may.
    #[inline]
    #[must_use]
    pub fn last(&self) -> Option<RequestId> {
        self.last
    }

    /// First invalid answer, which ends the run.
    #[inline]
    #[must_use]
    pub fn refusal(&self) -> Option<&Refusal> {
        self.refusal.as_ref()
    }

    /// Keeps the first refusal.
    #[cold]
    fn refuse(&mut self, sentence: &str) {
        let (at, name) = (self.now, self.about.name);
        self.refusal.get_or_insert_with(|| Refusal { at, sentence: format!("{name} {sentence}") });
    }
}

/// The life of a request: taken, inserted, dispatched, completed.
impl<E: Elevator + ?Sized> ElevatorReferee<E> {
    /// Asks whether a slot may be taken for `io` while `used` of its share are in use. A waiting submitter is woken by
    /// a completion, so refusing while none is in use is invalid.
    #[inline]
    pub fn may_take(&mut self, io: &Io, used: u32) -> Allocate {
        let answer = self.elevator.may_allocate(context!(self), io, used);
        if answer == Allocate::Wait && used == 0 {
            self.refuse("lets a request wait for a slot although none is taken: no completion will wake it");
        }
        answer
    }

    /// Takes a slot for `request`. The host holds it until it inserts, merges or issues it.
    #[inline]
    pub fn take(&mut self, request: Request) -> RequestId {
        let id = self.requests.take(request);
        if id.index() >= self.places.len() {
            self.places.resize(id.index() + 1, Place::Free);
        }
        self.places[id.index()] = Place::Held;
        id
    }

    /// Inserts a held request into the elevator. Returns whether a plugged queue should run at once.
    #[inline]
    pub fn insert(&mut self, request: RequestId) -> Run {
        self.expect(request, Place::Held, "is inserted");
        self.places[request.index()] = Place::Waiting;
        self.waiting += 1;
        let about = &mut self.requests[request];
        about.inserted = self.now;
        if about.mergeable {
            self.last = Some(request);
        }
        self.elevator.insert(context!(self), request)
    }

    /// Dispatches the next request to `queue` of the device. `None`: nothing now, or the answer was invalid.
    #[inline]
    pub fn dispatch(&mut self, queue: HwQueue) -> Option<RequestId> {
        let request = self.elevator.dispatch(context!(self), queue)?;
        if self.place(request) != Place::Waiting {
            let place = self.place(request).sentence();
            self.refuse(&format!("dispatched request {}, which does not wait: {place}", request.0));
            return None;
        }
        self.waiting -= 1;
        self.forget(request);
        self.send(request, Place::InFlight, queue);
        Some(request)
    }

    /// Issues a held request to the device without the elevator, as for flushes.
    pub fn issue(&mut self, request: RequestId, queue: HwQueue) {
        self.expect(request, Place::Held, "is issued");
        self.send(request, Place::Direct, queue);
    }

    #[inline]
    fn send(&mut self, request: RequestId, place: Place, queue: HwQueue) {
        self.places[request.index()] = place;
        self.in_flight += 1;
        self.timers_at_once = 0;
        let about = &mut self.requests[request];
        (about.issued, about.queue) = (self.now, queue);
    }

    /// Completes `request` in the device and returns it; its slot is free afterwards.
    ///
    /// # Panics
    /// The device does not have it.
    #[inline]
    pub fn complete(&mut self, request: RequestId) -> Request {
        let is_direct = self.place(request) == Place::Direct;
        if !is_direct {
            self.expect(request, Place::InFlight, "is completed by the device");
        }
        self.in_flight -= 1;
        let about = self.requests[request];
        if !is_direct {
            self.elevator.complete(context!(self), request);
        }
        self.free(request);
        about
    }

    /// Takes `request` back from the device unserved. The host holds it and inserts it again.
    pub fn take_back(&mut self, request: RequestId) {
        self.expect(request, Place::InFlight, "is given back by the device");
        self.in_flight -= 1;
        self.places[request.index()] = Place::Held;
    }

    /// A waiting request leaves the elevator otherwise than by its choice: the host has it.
    pub fn withdraw(&mut self, request: RequestId) {
        self.expect(request, Place::Waiting, "is withdrawn");
        self.elevator.remove(context!(self), request);
        self.waiting -= 1;
        self.forget(request);
        self.places[request.index()] = Place::Held;
    }

    /// Panics unless `request` is at `place`. The host or the device is at fault then, not the elevator.
    #[inline]
    fn expect(&self, request: RequestId, place: Place, verb: &str) {
        let found = self.place(request);
        assert!(found == place, "request {} {verb}: {}", request.0, found.sentence());
    }

    #[inline]
    fn free(&mut self, request: RequestId) {
        self.places[request.index()] = Place::Free;
        self.requests.give_back(request);
    }

    #[inline]
    fn forget(&mut self, request: RequestId) {
        if self.last == Some(request) {
            self.last = None;
        }
    }

    /// A process ended; it submits no more.
    pub fn exit(&mut self, submitter: Submitter) {
        self.elevator.exit(context!(self), submitter);
    }
}

/// Merging.
impl<E: Elevator + ?Sized> ElevatorReferee<E> {
    /// The side at which `io` touches `request`, which may be merged and is of the same kind.
    #[inline]
    #[must_use]
    pub fn touches(&self, request: RequestId, io: &Io) -> Option<Side> {
        let about = &self.requests[request];
        // The place first: of the many that are asked, few touch.
        let side = if about.end() == io.sector {
            Side::Back
        } else if about.sector == io.end() {
            Side::Front
        } else {
            return None;
        };
        (about.mergeable && about.op == io.op).then_some(side)
    }

    /// True if the elevator permits merging `io` into `request` at `side`.
    #[inline]
    #[must_use]
    pub fn may_join(&self, request: RequestId, side: Side, io: &Io) -> bool {
        let is_side_taken = side == Side::Back || matches!(self.merges, Merges::Newest | Merges::All);
        let is_found = self.merges != Merges::LastOnly || self.last == Some(request);
        is_side_taken
            && is_found
            && self.place(request) == Place::Waiting
            && self.elevator.allows_merge(context!(self), request, io)
    }

    /// True if the elevator permits merging `absorbed` into `survivor`, which ends where it starts.
    #[must_use]
    pub fn may_absorb(&self, survivor: RequestId, absorbed: RequestId) -> bool {
        let is_waiting = [survivor, absorbed].map(|request| self.place(request) == Place::Waiting);
        let other = &self.requests[absorbed];
        self.merges == Merges::All
            && is_waiting == [true; 2]
            && survivor != absorbed
            && other.mergeable
            && self.touches(survivor, &other.as_io()) == Some(Side::Back)
            && self.elevator.allows_absorb(context!(self), survivor, absorbed)
    }

    /// Merges `sectors` more sectors into `request` at `side`, and tells the elevator if the request waits there.
    #[inline]
    pub fn grow(&mut self, request: RequestId, side: Side, sectors: u32) {
        let about = &mut self.requests[request];
        let before = about.sector;
        about.sectors += sectors;
        about.segments += 1;
        if side == Side::Front {
            about.sector -= u64::from(sectors);
        }
        if self.place(request) == Place::Waiting {
            self.tell_grown(request, side, before);
        }
    }

    #[inline]
    fn tell_grown(&mut self, request: RequestId, side: Side, before: u64) {
        self.last = Some(request);
        self.elevator.merged(context!(self), request, side, before);
    }

    /// Merges a held request into the waiting `survivor`, which ends where it starts. The elevator sees the survivor
    /// grow.
    pub fn join(&mut self, survivor: RequestId, held: RequestId) {
        self.expect(held, Place::Held, "joins another");
        self.expect(survivor, Place::Waiting, "takes in another");
        let before = self.requests[survivor].sector;
        self.unite(survivor, held);
        self.free(held);
        self.tell_grown(survivor, Side::Back, before);
    }

    /// Merges `absorbed` into `survivor`, which ends where it starts. Both wait.
    pub fn absorb(&mut self, survivor: RequestId, absorbed: RequestId) {
        self.expect(absorbed, Place::Waiting, "is absorbed");
        self.expect(survivor, Place::Waiting, "absorbs another");
        self.unite(survivor, absorbed);
        self.last = Some(survivor);
        self.elevator.absorbed(context!(self), survivor, absorbed);
        self.waiting -= 1;
        self.free(absorbed);
    }

    /// Moves the contents of `absorbed` to `survivor`, with the earlier of both times.
    fn unite(&mut self, survivor: RequestId, absorbed: RequestId) {
        let swallowed = self.requests[absorbed];
        let about = &mut self.requests[survivor];
        about.sectors += swallowed.sectors;
        about.segments += swallowed.segments;
        about.allocated = about.allocated.min(swallowed.allocated);
        about.inserted = about.inserted.min(swallowed.inserted);
    }
}

/// Timers, and the remaining rules for elevators.
impl<E: Elevator + ?Sized> ElevatorReferee<E> {
    /// Time at which [`ElevatorReferee::expire`] must be called; check after each call.
    #[inline]
    #[must_use]
    pub fn next_timer(&self) -> Option<Time> {
        self.elevator.next_timer()
    }

    /// Calls the elevator's timer if it is due. Returns whether it was.
    #[inline]
    pub fn expire(&mut self) -> bool {
        if self.refusal.is_some() || self.elevator.next_timer().is_none_or(|at| at > self.now) {
            return false;
        }
        self.timers_at_once += 1;
        if self.timers_at_once > TIMERS_AT_ONCE {
            self.refuse(&format!("asks again and again to be called at {}, and dispatches nothing", self.now));
            return false;
        }
        self.elevator.timer(context!(self));
        true
    }

    /// True if progress is possible while requests wait: the device has one, or a timer is set. Call it after running
    /// the queue. Otherwise the elevator is refused.
    pub fn goes_on(&mut self) -> bool {
        let goes_on = self.waiting == 0 || self.in_flight > 0 || self.elevator.next_timer().is_some();
        if !goes_on {
            let waiting = self.waiting;
            self.refuse(&format!(
                "holds back {waiting} requests for ever: it names no time, and the device has none that could complete"
            ));
        }
        goes_on
    }

    /// Refuses an elevator whose `has_work` is wrong. Tests call it after each call.
    pub fn verify_has_work(&mut self) {
        let (waiting, says) = (self.waiting, self.elevator.has_work());
        if says != (waiting > 0) {
            self.refuse(&format!("says {says} of has_work while {waiting} requests wait"));
        }
    }
}

#[cfg(test)]
mod tests;
