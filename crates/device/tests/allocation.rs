//! Once warm, no device allocates for a request. This file has one test only: the count is that of the whole process.

#[path = "rig/request.rs"]
mod request;

use goodness_core::{Device, Operation, Request, RequestId, Rng, Seed, Time};
use goodness_device::{DEVICES, by_name};
use request::request;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn allocations() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}

fn any(rng: &mut Rng, sectors: u64) -> Request {
    let op = match rng.below(20) {
        0 => return request(Operation::Flush, 0, 0),
        1..10 => Operation::Write,
        _ => Operation::Read,
    };
    request(op, rng.below(sectors / 8) * 8, 8)
}

/// Completes `count` requests with a full queue, at most 32 in flight.
fn run(device: &mut dyn Device, rng: &mut Rng, now: &mut Time, done: &mut Vec<RequestId>, count: u64) {
    let sectors = device.facts().sectors;
    let mut completed = 0;
    while completed < count {
        for id in done.drain(..) {
            let request = any(rng, sectors);
            device.start(*now, id, &request);
        }
        *now = device.next_event();
        device.advance(*now, done);
        completed += done.len() as u64;
    }
}

#[test]
fn a_device_that_is_warm_serves_requests_without_allocating() {
    // The aged drive collects from the first row on.
    for name in DEVICES.iter().map(|kind| kind.name).chain(["nvme:fold=8,start=aged"]) {
        let mut device = by_name(name, Seed(1)).unwrap();
        let mut rng = Seed(1).rng();
        let mut now = Time::ZERO;
        let mut done: Vec<RequestId> = Vec::with_capacity(64);
        done.extend((0..device.facts().depth.min(32)).map(RequestId));
        run(&mut *device, &mut rng, &mut now, &mut done, 50_000);
        let warm = allocations();
        run(&mut *device, &mut rng, &mut now, &mut done, 20_000);
        assert_eq!(allocations() - warm, 0, "{name} allocates");
    }
}
