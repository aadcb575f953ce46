//! Contract of every registered device under random loads: each request completes exactly once and not before its
//! start, the next event is never in the past, and all randomness comes from the seed.

mod rig;

use goodness_core::{Device, HwQueue, Operation, Request, Rng, Seed, Span, Time};
use goodness_device::{DEVICES, by_name};
use rig::{Record, closed_loop, request};

/// Requests of one stream.
const COUNT: u64 = 3000;

/// A random request anywhere on the device, aligned or not; mostly small, sometimes of the largest size.
fn any(rng: &mut Rng, device: &dyn Device) -> Request {
    let facts = device.facts();
    let op = match rng.below(20) {
        0 => return request(Operation::Flush, 0, 0),
        1 => Operation::Discard,
        2..8 => Operation::Write,
        _ => Operation::Read,
    };
    let most = match rng.below(10) {
        0 => u64::from(facts.sectors_max),
        1..4 => 64,
        _ => 8,
    };
    let sectors = rng.within(1, most.min(facts.sectors));
    // Half of the stream lies in a hundredth of the device, so that requests meet.
    let space = if rng.below(2) == 0 { facts.sectors / 100 } else { facts.sectors };
    let sector = rng.below(space.max(sectors) - sectors + 1);
    let queue = HwQueue(rng.below(u64::from(facts.queues)) as u16);
    Request { durable: rng.below(30) == 0, queue, ..request(op, sector, sectors as u32) }
}

fn stream(name: &str, seed: u64, depth: u32) -> Vec<Record> {
    let mut device = by_name(name, Seed(seed)).unwrap();
    let facts = device.facts();
    let shape = by_name(name, Seed(seed)).unwrap();
    let mut rng = Seed(seed).stream("requests", 0).rng();
    let records =
        closed_loop(&mut *device, Time(seed), depth.min(facts.depth), |n| (n < COUNT).then(|| any(&mut rng, &*shape)));
    assert_eq!(device.facts(), facts, "{name}: the facts changed");
    records
}

#[test]
fn every_request_completes_exactly_once_and_never_before_its_start() {
    for kind in DEVICES {
        for (seed, depth) in [(1, 1), (2, 2), (3, 7), (4, 32), (5, u32::MAX)] {
            // The rig panics on a second completion, on one without a request, on a stop, and on an event in the past.
            let records = stream(kind.name, seed, depth.min(256));
            assert_eq!(records.len() as u64, COUNT, "{} at depth {depth}", kind.name);
            assert!(
                records.iter().all(|r| r.done >= r.request.issued && r.latency() < Span::from_s(60)),
                "{}",
                kind.name
            );
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_completions() {
    for kind in DEVICES {
        assert!(stream(kind.name, 11, 16) == stream(kind.name, 11, 16), "{}", kind.name);
    }
}

#[test]
fn a_device_without_work_comes_to_rest_and_serves_again_after_a_pause() {
    for kind in DEVICES {
        let mut device = by_name(kind.name, Seed(1)).unwrap();
        let mut now = Time::ZERO;
        for round in 0..20 {
            let depth = device.facts().depth.min(4);
            let records = closed_loop(&mut *device, now, depth, |n| {
                (n < 50).then(|| request(Operation::Write, (round * 50 + n) * 16, 16))
            });
            assert_eq!(records.len(), 50, "{}", kind.name);
            now = records.last().unwrap().done;
            // The device's own work after the last completion must end.
            let (mut done, mut steps) = (Vec::new(), 0);
            while device.next_event() != Time::NEVER {
                assert!(device.next_event() >= now, "{}: an event in the past", kind.name);
                now = device.next_event();
                device.advance(now, &mut done);
                steps += 1;
                assert!(steps < 1_000_000 && done.is_empty(), "{} does not come to rest", kind.name);
            }
            now += Span::from_ms(1 << round);
        }
    }
}

#[test]
fn work_ahead_of_time_changes_nothing() {
    // The block layer may call advance when nothing is due.
    for kind in DEVICES {
        let mut device = by_name(kind.name, Seed(1)).unwrap();
        let mut done = Vec::new();
        device.advance(Time(10), &mut done);
        device.start(Time(10), goodness_core::RequestId(0), &request(Operation::Read, 8, 8));
        let at = device.next_event();
        assert!(at >= Time(10), "{}", kind.name);
        if at > Time(10) {
            device.advance(Time(10), &mut done);
            assert!(done.is_empty() && device.next_event() == at, "{}", kind.name);
        }
    }
}
