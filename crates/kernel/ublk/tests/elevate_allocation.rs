//! Elevating a disk allocates nothing per request, once as many requests were in flight before.

use goodness_block::QueueOptions;
use goodness_core::{DeviceFacts, Io, RequestId, Rng, Seed, Submitter, Time};
use goodness_ublk::host::Host;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const TAGS: u64 = 64;
const SECTORS: u64 = 1 << 16;

/// Keeps all tags busy; the backing finishes the oldest first.
struct Load {
    host: Host,
    rng: Rng,
    now: Time,
    free: Vec<u64>,
    ios: Vec<Io>,
    under_way: Vec<RequestId>,
    answered: u64,
}

impl Load {
    fn run(&mut self, rounds: u32) {
        for _ in 0..rounds {
            self.now = Time(self.now.0 + 100_000);
            self.ios.clear();
            while let Some(tag) = self.free.pop() {
                let sector = self.rng.below(SECTORS / 8) * 8;
                let io = if self.rng.below(2) == 0 { Io::read } else { Io::write }(Submitter(0), sector, 8);
                self.ios.push(Io { tag, ..io });
            }
            self.host.arrive(self.now, &self.ios);
            for request in self.under_way.drain(..) {
                self.host.complete(request, Ok(()));
            }
            self.host.advance(self.now);
            let under_way = &mut self.under_way;
            self.host.hand_out(|transfer| under_way.push(transfer.request));
            for answer in self.host.answers() {
                self.free.push(answer.tag);
                self.answered += 1;
            }
        }
    }
}

#[test]
fn after_warming_up_no_elevator_before_a_real_disk_allocates() {
    let facts = DeviceFacts {
        sectors: SECTORS,
        depth: 16,
        queues: 1,
        rotational: true,
        sectors_max: 1024,
        volatile_cache: true,
        age_limit: None,
    };
    for about in goodness_elevators::ALL {
        let host = Host::new(about.name, facts, &QueueOptions::default(), TAGS as usize).unwrap();
        let (rng, free) = (Seed(5).rng(), (0..TAGS).collect());
        let (ios, under_way) = (Vec::with_capacity(TAGS as usize), Vec::with_capacity(TAGS as usize));
        let mut load = Load { host, rng, now: Time::ZERO, free, ios, under_way, answered: 0 };
        load.run(5000);
        let region = Region::new(ALLOCATOR);
        let before = load.answered;
        load.run(5000);
        let change = region.change();
        assert_eq!((change.allocations, change.reallocations), (0, 0), "{}", about.name);
        assert!(load.answered > before + 1000, "{}: {} answers", about.name, load.answered - before);
    }
}
