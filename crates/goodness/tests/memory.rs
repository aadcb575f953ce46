//! Memory a plan keeps per run. The only test in its file, because other tests would allocate in parallel.

use goodness::{Contender, OpenOptions, Plan, PolicySpec, open, unwatched};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn a_run_that_has_ended_leaves_its_values_and_nothing_else() {
    let work = open("hogs:tasks=2,duration=40ms", &OpenOptions::default(), &unwatched).unwrap();
    let kept = |runs: u32| {
        let region = Region::new(ALLOCATOR);
        let found = Plan { runs, ..Plan::of(&work, vec![Contender::policy(PolicySpec::parse("rr").unwrap())]) }
            .run(&unwatched)
            .unwrap();
        let stats = region.change();
        assert_eq!(found.arms[0].values("context_switches").len(), runs as usize);
        stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
    };
    kept(10);
    let (few, many) = (kept(100), kept(1_100));
    let each = (many - few) / 1_000;
    assert!(each < 2_000, "{each} bytes of each run are kept");
}
