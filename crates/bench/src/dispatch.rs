//! The cost of an elevator alone, by the number of waiting requests.

use crate::clock::{Fastest, fastest};
use crate::requests::random;
use goodness::ElevatorSpec;
use goodness_core::{
    Elevator, ElevatorAbout, HwQueue, IoContext, Layer, MadeElevator, QueueFacts, Request, RequestId, Rng, Run, Seed,
    Span, Time,
};
use goodness_referee::ElevatorReferee;
use std::time::Duration;

/// Service time of the device.
const SERVICE: Span = Span::from_us(10);

/// Times `elevator` with `waiting` requests for about `budget`. Returns ns per request (chosen, completed and replaced
/// by another of its submitter), without the driver's own cost.
///
/// # Errors
/// No request waits, or the elevator holds requests back forever.
pub fn cost(elevator: &ElevatorSpec, waiting: u32, budget: Duration) -> Result<f64, String> {
    if waiting == 0 {
        return Err("at least one request must wait".into());
    }
    let timed = Driver::new(made(elevator.name, &elevator.settings, waiting)?, waiting).time(budget)?;
    let own = Driver::new(Counting::made(waiting), waiting).time(budget / 4)?;
    Ok((timed.each_ns - own.each_ns).max(0.0))
}

/// The elevator of this name and these settings, for [`facts`].
///
/// # Errors
/// There is no such elevator or setting.
pub fn made(name: &str, settings: &[(String, String)], waiting: u32) -> Result<MadeElevator, String> {
    let (entry, facts) = (goodness_elevators::parse(name)?.0, facts(waiting));
    (entry.make)(facts, Some(facts.requests), settings, Seed(1)).map_err(|why| format!("elevator {name}: {why}"))
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

/// Drives one elevator without block layer and device. One request is in flight at a time; when it completes, its
/// submitter requests another random place.
pub struct Driver {
    referee: ElevatorReferee,
    rng: Rng,
}

impl Driver {
    /// With `waiting` requests of eight submitters.
    #[must_use]
    pub fn new(elevator: MadeElevator, waiting: u32) -> Driver {
        let mut driver = Driver { referee: ElevatorReferee::new(elevator, waiting as usize), rng: Seed(7).rng() };
        driver.referee.set_now(Time(1));
        for _ in 0..waiting {
            driver.insert(None);
        }
        driver
    }

    #[inline]
    fn insert(&mut self, before: Option<Request>) {
        let mut io = random(&mut self.rng, self.referee.facts().sectors);
        if let Some(before) = before {
            (io.op, io.sync, io.submitter) = (before.op, before.sync, before.submitter);
        }
        let request = self.referee.take(Request::of(&io, self.referee.now()));
        // The driver asks again in any case.
        let (Run::Now | Run::WhenUnplugged) = self.referee.insert(request);
    }

    /// `count` requests chosen, served and replaced.
    ///
    /// # Errors
    /// The elevator holds back what waits and names no time.
    pub fn batch(&mut self, count: u64) -> Result<(), String> {
        for _ in 0..count {
            let request = self.choose()?;
            self.referee.set_now(self.referee.now() + SERVICE);
            let served = self.referee.complete(request);
            self.insert(Some(served));
        }
        Ok(())
    }

    /// The next request; time passes while the elevator would rather wait.
    #[inline]
    fn choose(&mut self) -> Result<RequestId, String> {
        loop {
            if let Some(request) = self.referee.dispatch(HwQueue(0)) {
                return Ok(request);
            }
            if self.referee.goes_on()
                && let Some(at) = self.referee.next_timer()
            {
                self.referee.set_now(at.max(self.referee.now()));
                self.referee.expire();
            }
            if let Some(refusal) = self.referee.refusal() {
                return Err(refusal.sentence.clone());
            }
        }
    }

    /// Warms up, then runs batches until the budget is spent.
    fn time(&mut self, budget: Duration) -> Result<Fastest, String> {
        self.batch(self.referee.requests().len() as u64)?;
        fastest(budget, |count| self.batch(count))
    }
}

/// The empty elevator: chooses requests in queue order, but by counting.
struct Counting {
    next: u32,
    waiting: u32,
}

impl Counting {
    const ABOUT: ElevatorAbout =
        ElevatorAbout { name: "counting", summary: "Counts.", source: "None", layer: Layer::Legacy };

    fn made(waiting: u32) -> MadeElevator {
        let elevator = Box::new(Counting { next: 0, waiting });
        MadeElevator { about: &Counting::ABOUT, facts: facts(waiting), elevator }
    }
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

    #[test]
    fn every_elevator_goes_on_and_as_many_wait_as_before() {
        for about in goodness_elevators::ALL {
            for waiting in [1, 300] {
                let mut driver = Driver::new(made(about.name, &[], waiting).unwrap(), waiting);
                driver.batch(5_000).unwrap();
                driver.referee.verify_has_work();
                let found = (driver.referee.waiting(), driver.referee.refusal());
                assert_eq!(found, (waiting, None), "{}", about.name);
            }
        }
    }

    #[test]
    fn the_empty_elevator_chooses_every_request_once_a_round() {
        let mut driver = Driver::new(Counting::made(5), 5);
        let mut serve = || {
            let request = driver.choose().unwrap();
            let served = driver.referee.complete(request);
            driver.insert(Some(served));
            request.0
        };
        assert_eq!([(); 6].map(|()| serve()), [0, 1, 2, 3, 4, 0]);
        driver.batch(12).unwrap();
        assert_eq!(
            (driver.referee.requests().len(), driver.referee.requests().slots()),
            (5, 5),
            "a slot is used again at once"
        );
    }

    #[test]
    fn an_elevator_without_requests_is_refused() {
        let none = ElevatorSpec::parse("noop").unwrap();
        assert!(cost(&none, 0, Duration::from_millis(5)).unwrap_err().contains("at least one"));
    }
}
