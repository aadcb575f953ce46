//! Nothing is allocated per request once as many were in flight before.

use goodness_block::{Out, Outcome, QueueOptions, Storage, by_name};
use goodness_core::storage::VolumeId;
use goodness_core::{Io, Rng, Seed, Submitter, Time};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Keeps more requests in flight than the pool holds.
struct Load {
    storage: Storage,
    rng: Rng,
    ios: Vec<Io>,
    out: Out,
    under_way: usize,
}

impl Load {
    fn run(&mut self, steps: u32) {
        for _ in 0..steps {
            let now = if self.under_way == 0 { Time::ZERO } else { self.storage.next_event() };
            self.storage.advance(now, &mut self.out);
            self.ios.clear();
            while self.under_way + self.ios.len() < 400 {
                let (submitter, sector) = (Submitter(self.rng.below(8) as u32), self.rng.below(3000) * 8);
                self.ios.push(match self.rng.below(2) {
                    0 => Io::read(submitter, sector, 8),
                    _ => Io::write(submitter, sector, 8),
                });
            }
            self.under_way += self.ios.len();
            self.storage.submit(now, VolumeId(0), &self.ios, &mut self.out);
            self.under_way -= self.out.outcomes.iter().filter(|o| matches!(o, Outcome::Done { .. })).count();
            self.out.clear();
        }
    }
}

#[test]
fn after_warming_up_no_elevator_and_no_layer_allocates() {
    for about in goodness_elevators::ALL {
        let device = goodness_device::by_name("null:depth=16", Seed(1)).unwrap();
        let storage = Storage::single(by_name(about.name, &QueueOptions::default(), device).unwrap());
        let (rng, ios, out) = (Seed(5).rng(), Vec::with_capacity(400), Out::with_events());
        let mut load = Load { storage, rng, ios, out, under_way: 0 };
        load.run(3000);
        let region = Region::new(ALLOCATOR);
        load.run(3000);
        let change = region.change();
        assert_eq!((change.allocations, change.reallocations), (0, 0), "{}", about.name);
    }
}
