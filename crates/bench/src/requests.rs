//! Requests per second through the block layer and an elevator, on a device that takes no time to simulate.

use crate::clock::cpu_time;
use goodness::ElevatorSpec;
use goodness_block::{Arrival, Drive, Outcome, QueueOptions, Source, Storage, by_name};
use goodness_core::{Event, Io, Observer, Rng, Seed, Submitter, Time, VolumeId};

/// Queue depth of the device; further requests wait in the elevator.
pub const DEPTH: u32 = 16;
/// I/Os submitted together.
const PLUG: u64 = 16;

/// Cost of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// CPU time of a request from submission to completion, in ns.
    pub request_ns: f64,
    /// Cost with an observer that gets every event, ns.
    pub watched_ns: f64,
}

/// Sends `count` random 4 KiB requests of eight submitters, half of them reads, through the layer of `elevator`, with
/// about `waiting` of them waiting. Returns the fastest of three runs, as other work can only slow a run down.
///
/// # Errors
/// An invalid setting, or work that makes no progress.
pub fn speed(elevator: &ElevatorSpec, waiting: u32, count: u64) -> Result<Speed, String> {
    let best = |is_watched| {
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            best = best.min(once(elevator, waiting, count, is_watched)?);
        }
        Ok::<f64, String>(best)
    };
    Ok(Speed { request_ns: best(false)?, watched_ns: best(true)? })
}

/// One run: CPU time per request in ns.
///
/// # Errors
/// As [`speed`].
pub fn once(elevator: &ElevatorSpec, waiting: u32, count: u64, is_watched: bool) -> Result<f64, String> {
    let device = goodness_device::by_name(&format!("null:depth={DEPTH},latency=10us"), Seed(1))?;
    let outstanding = waiting.saturating_add(DEPTH);
    // No request waits for a slot: that cost is not measured here.
    let options = QueueOptions { requests: Some(outstanding.saturating_mul(2)), ..QueueOptions::default() };
    let mut storage = Storage::single(by_name(&elevator.to_string(), &options, device)?);
    let sectors = storage.sectors(VolumeId(0));
    let outstanding = u64::from(outstanding).max(PLUG);
    let mut source = Random { rng: Seed(7).rng(), sectors, outstanding, under_way: 0, left: count, now: Time::ZERO };
    let mut seen = Count(0);
    let mut drive = Drive::new(&mut storage);
    if is_watched {
        drive = drive.observed(&mut seen);
    }
    let began = cpu_time();
    let driven = drive.run(&mut source, Time::NEVER).map_err(|fault| fault.to_string())?;
    let took = cpu_time() - began;
    if driven.done != count || is_watched != (seen.0 > 0) {
        return Err(format!("{} of {count} requests were done", driven.done));
    }
    Ok(took.as_nanos() as f64 / count.max(1) as f64)
}

/// A source that keeps this many random 4 KiB reads and writes in flight.
struct Random {
    rng: Rng,
    sectors: u64,
    outstanding: u64,
    under_way: u64,
    left: u64,
    now: Time,
}

/// A random 4 KiB read or write of one of eight submitters, below `sectors`.
#[inline]
pub(crate) fn random(rng: &mut Rng, sectors: u64) -> Io {
    let bits = rng.bits();
    let sector = (bits >> 8) % (sectors / 8) * 8;
    let submitter = Submitter((bits & 7) as u32);
    if bits & 128 == 0 { Io::read(submitter, sector, 8) } else { Io::write(submitter, sector, 8) }
}

impl Source for Random {
    fn next_arrival(&self) -> Time {
        if self.left > 0 && self.under_way + PLUG <= self.outstanding { self.now } else { Time::NEVER }
    }

    fn arrive(&mut self, _: Time, ios: &mut Vec<Io>) -> Arrival {
        ios.extend((0..PLUG.min(self.left)).map(|_| random(&mut self.rng, self.sectors)));
        self.under_way += ios.len() as u64;
        self.left -= ios.len() as u64;
        Arrival { volume: VolumeId(0), waits: true }
    }

    fn told(&mut self, now: Time, outcome: Outcome) {
        if matches!(outcome, Outcome::Done { .. }) {
            self.under_way -= 1;
            self.now = now;
        }
    }
}

/// Counts, so that events are looked at.
struct Count(u64);

impl Observer for Count {
    fn observe(&mut self, _: Time, _: &Event) {
        self.0 += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_elevator_serves_all_requests_whether_watched_or_not() {
        for about in goodness_elevators::ALL {
            let elevator = ElevatorSpec::parse(about.name).unwrap();
            let speed = speed(&elevator, 100, 2_000).unwrap_or_else(|why| panic!("{elevator}: {why}"));
            assert!(speed.request_ns > 0.0 && speed.watched_ns > 0.0, "{elevator}: {speed:?}");
        }
    }
}
