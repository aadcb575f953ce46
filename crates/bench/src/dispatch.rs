//! The cost of an elevator's verbs alone, by how many requests wait.

use crate::clock::{Fastest, fastest};
use crate::requests::random;
use goodness_core::{
    Elevator, ElevatorVisitor, HwQueue, IoContext, QueueFacts, RegisteredElevator, Request, RequestId, RequestTable,
    Rng, Run, Seed, Span, Time,
};
use goodness_lab::ElevatorSpec;
use std::time::Duration;

/// Time that the device takes for a request.
const SERVICE: Span = Span::from_us(10);

/// Times `elevator` with `waiting` requests for about `budget`: one request chosen, completed, and another one of its
/// submitter inserted, in ns, without the driver's own.
///
/// # Errors
/// No request waits, or the elevator holds back what waits for ever.
pub fn cost(elevator: &ElevatorSpec, waiting: u32, budget: Duration) -> Result<f64, String> {
    if waiting == 0 {
        return Err("at least one request must wait".into());
    }
    elevator.with(Timing { elevator, waiting, budget })
}

struct Timing<'a> {
    elevator: &'a ElevatorSpec,
    waiting: u32,
    budget: Duration,
}

impl ElevatorVisitor for Timing<'_> {
    type Output = Result<f64, String>;

    fn visit<E: RegisteredElevator + 'static>(self) -> Self::Output {
        let Timing { elevator, waiting, budget } = self;
        let made = E::new(&facts(waiting), elevator.settings_of::<E>(), Seed(1));
        let timed = Driver::new(made, waiting).time(budget)?;
        let own = Driver::new(Counting { next: 0, waiting }, waiting).time(budget / 4)?;
        Ok((timed.each_ns - own.each_ns).max(0.0))
    }
}

/// The queue of a rotating disk at HZ 1000 that takes one command at a time and has room for these requests.
#[must_use]
pub fn facts(waiting: u32) -> QueueFacts {
    QueueFacts {
        hz: 1000,
        depth: 1,
        queues: 1,
        cpus: 1,
        rotational: true,
        sectors: 1 << 31,
        requests: waiting.max(128),
    }
}

/// Drives one elevator without block layer and device: one request is in flight at a time, and whoever it was for asks
/// for another one at a random place as soon as it completes.
pub struct Driver<E> {
    elevator: E,
    requests: RequestTable,
    facts: QueueFacts,
    now: Time,
    rng: Rng,
}

impl<E: Elevator> Driver<E> {
    /// With `waiting` requests of eight submitters.
    #[must_use]
    pub fn new(elevator: E, waiting: u32) -> Driver<E> {
        let (requests, facts) = (RequestTable::with_capacity(waiting as usize), facts(waiting));
        let mut driver = Driver { elevator, requests, facts, now: Time(1), rng: Seed(7).rng() };
        for _ in 0..waiting {
            driver.insert(None);
        }
        driver
    }

    #[inline]
    fn call<T>(&mut self, in_flight: u32, verb: impl FnOnce(&mut E, &IoContext) -> T) -> T {
        let cx = IoContext { now: self.now, requests: &self.requests, facts: &self.facts, in_flight };
        verb(&mut self.elevator, &cx)
    }

    #[inline]
    fn insert(&mut self, before: Option<Request>) {
        let mut io = random(&mut self.rng, self.facts.sectors);
        if let Some(before) = before {
            (io.op, io.sync, io.submitter) = (before.op, before.sync, before.submitter);
        }
        let request = self.requests.take(Request::of(&io, self.now));
        // The driver asks again in any case.
        let (Run::Now | Run::WhenUnplugged) = self.call(0, |e, cx| e.insert(cx, request));
    }

    /// `count` requests chosen, served and replaced.
    ///
    /// # Errors
    /// The elevator holds back what waits and names no time.
    pub fn batch(&mut self, count: u64) -> Result<(), String> {
        for _ in 0..count {
            let request = self.choose()?;
            let served = self.requests[request];
            self.requests[request].issued = self.now;
            self.now += SERVICE;
            self.call(0, |e, cx| e.complete(cx, request));
            self.requests.give_back(request);
            self.insert(Some(served));
        }
        Ok(())
    }

    /// The next request; time passes while the elevator would rather wait.
    #[inline]
    fn choose(&mut self) -> Result<RequestId, String> {
        loop {
            if let Some(request) = self.call(0, |e, cx| e.dispatch(cx, HwQueue(0))) {
                return Ok(request);
            }
            let at = self.elevator.next_timer().ok_or("it holds back what waits and names no time")?;
            self.now = at.max(self.now);
            self.call(0, Elevator::timer);
        }
    }

    /// Everything once, then batches until the budget is spent.
    fn time(&mut self, budget: Duration) -> Result<Fastest, String> {
        self.batch(self.requests.len() as u64)?;
        fastest(budget, |count| self.batch(count))
    }
}

/// The empty elevator: chooses requests in the order of a queue, but by counting.
struct Counting {
    next: u32,
    waiting: u32,
}

impl Elevator for Counting {
    fn remove(&mut self, _: &IoContext, _: RequestId) {}

    #[inline]
    fn insert(&mut self, _: &IoContext, _: RequestId) -> Run {
        Run::WhenUnplugged
    }

    #[inline]
    fn dispatch(&mut self, _: &IoContext, _: HwQueue) -> Option<RequestId> {
        let request = self.next;
        self.next = if request + 1 == self.waiting { 0 } else { request + 1 };
        Some(RequestId(request))
    }

    fn has_work(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Turns(u32);

    impl ElevatorVisitor for Turns {
        type Output = Result<usize, String>;

        fn visit<E: RegisteredElevator + 'static>(self) -> Self::Output {
            let elevator = E::new(&facts(self.0), E::Settings::default(), Seed(1));
            let mut driver = Driver::new(elevator, self.0);
            driver.batch(5_000)?;
            assert!(driver.elevator.has_work());
            Ok(driver.requests.len())
        }
    }

    #[test]
    fn every_elevator_goes_on_and_as_many_wait_as_before() {
        for about in goodness_io::ALL {
            for waiting in [1, 300] {
                let left = goodness_io::with_elevator(about.name, Turns(waiting)).expect("what is listed is found");
                assert_eq!(left, Ok(waiting as usize), "{}", about.name);
            }
        }
    }

    #[test]
    fn the_empty_elevator_chooses_every_request_once_a_round() {
        let mut driver = Driver::new(Counting { next: 0, waiting: 5 }, 5);
        let chosen: Vec<u32> = (0..5).map(|_| driver.choose().unwrap().0).collect();
        assert_eq!(chosen, [0, 1, 2, 3, 4]);
        driver.batch(12).unwrap();
        assert_eq!((driver.requests.len(), driver.requests.slots()), (5, 5), "a slot is used again at once");
    }

    #[test]
    fn an_elevator_without_requests_is_refused() {
        let none = ElevatorSpec::parse("noop").unwrap();
        assert!(cost(&none, 0, Duration::from_millis(5)).unwrap_err().contains("at least one"));
    }
}
