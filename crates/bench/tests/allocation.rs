//! Once warm, a simulation with metrics and checkers on allocates nothing. This file has one test only: the count is
//! that of the whole process.

use goodness::PolicySpec;
use goodness_bench::{Size, machine_of, pattern};
use goodness_core::{Event, Observer, Seed, Time};
use goodness_observe::{Ending, MetricsAndCheckers, Subject};
use goodness_sim::{Options, simulate_with};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const WARM_UP: u64 = 40_000;

fn allocations() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}

/// Counts memory allocations until the end of the warm-up, and until as many switches again have passed.
struct Count {
    observer: MetricsAndCheckers,
    switches: u64,
    warm: Option<usize>,
    twice: Option<usize>,
}

impl Observer for Count {
    fn observe(&mut self, at: Time, event: &Event) {
        self.observer.observe(at, event);
        self.switches += u64::from(matches!(event, Event::Switch { .. }));
        if self.switches == WARM_UP && self.warm.is_none() {
            self.warm = Some(allocations());
        }
        if self.switches == 2 * WARM_UP && self.twice.is_none() {
            self.twice = Some(allocations());
        }
    }
}

/// Requests of memory in the second [`WARM_UP`] switches under a policy of the registry.
fn allocations_once_warm(policy: &str, size: Size) -> usize {
    let machine = machine_of(size.cpus).unwrap();
    let made = PolicySpec::parse(policy).unwrap().make(&machine, Seed(1));
    let horizon = Time(3 * WARM_UP * pattern::BURST.0 / size.cpus as u64);
    let work = pattern::workload(size.tasks, size.cpus, horizon);
    let observer = MetricsAndCheckers::new(size.cpus, Time::ZERO, &Subject::all(&work));
    let mut count = Count { observer, switches: 0, warm: None, twice: None };
    let outcome = simulate_with(&machine, made, work, None, &mut count, Options::default()).unwrap();
    let (_, checked) = count.observer.finish(outcome.end, Ending::Horizon);
    assert_eq!(checked.violations, []);
    count.twice.expect("the run is long enough") - count.warm.expect("the run is long enough")
}

#[test]
fn a_warm_simulation_allocates_nothing_whatever_the_policy() {
    for about in goodness_policies::ALL {
        for size in [Size { tasks: 100, cpus: 1 }, Size { tasks: 100, cpus: 4 }] {
            let count = allocations_once_warm(about.name, size);
            assert_eq!(count, 0, "{} with {size:?} allocated {count} times in {WARM_UP} decisions", about.name);
        }
    }
}
