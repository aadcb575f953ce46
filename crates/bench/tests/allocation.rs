//! Once warm, a simulation with metrics and checkers on allocates nothing. This file has one test only: the count is
//! that of the whole process.

use goodness::PolicySpec;
use goodness_bench::{Size, machine_of, pattern};
use goodness_core::{Event, Group, GroupId, Groups, Machine, Observer, Quota, Seed, Span, Time, Workload};
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
    let horizon = Time(3 * WARM_UP * pattern::BURST.0 / size.cpus as u64);
    let work = pattern::workload(size.tasks, size.cpus, horizon);
    allocations_by(policy, &machine_of(size.cpus).unwrap(), work)
}

fn allocations_by(policy: &str, machine: &Machine, work: Workload) -> usize {
    let made = PolicySpec::parse(policy).unwrap().make(machine, Seed(1));
    let observer = MetricsAndCheckers::new(machine.cpu_count(), Time::ZERO, &Subject::all(&work));
    let mut count = Count { observer, switches: 0, warm: None, twice: None };
    let outcome = simulate_with(machine, made, work, None, &mut count, Options::default()).unwrap();
    let (_, checked) = count.observer.finish(outcome.end, Ending::Horizon);
    assert_eq!(checked.violations, []);
    count.twice.expect("the run is long enough") - count.warm.expect("the run is long enough")
}

/// The work of the benchmark on four CPUs, in nested groups half of which have a limit of their own. Tasks ask for many
/// different slices, so that some queue sees more of them together than ever before late in the run.
fn work_in_groups() -> Workload {
    let size = Size { tasks: 100, cpus: 4 };
    let horizon = Time(8 * WARM_UP * pattern::BURST.0 / size.cpus as u64);
    let mut groups = Groups::default();
    for number in 0..8 {
        let mut group = Group::new(&number.to_string(), GroupId(number / 2));
        if number % 2 == 1 {
            group.quota = Some(Quota::new(Span::from_ms(5 + u64::from(number)), Span::from_ms(10)).unwrap());
        }
        groups.add(group);
    }
    let mut work = pattern::workload(size.tasks, size.cpus, horizon);
    for (index, spec) in work.tasks.iter_mut().enumerate() {
        spec.task.group = GroupId(index as u32 % groups.count() as u32);
        spec.task.slice = (index % 3 > 0).then(|| Span::from_us(100 * (1 + index as u64)));
    }
    Workload { groups, ..work }
}

#[test]
fn a_warm_simulation_allocates_nothing_whatever_the_policy() {
    for about in goodness_policies::ALL {
        for size in [Size { tasks: 100, cpus: 1 }, Size { tasks: 100, cpus: 4 }] {
            let count = allocations_once_warm(about.name, size);
            assert_eq!(count, 0, "{} with {size:?} allocated {count} times in {WARM_UP} decisions", about.name);
        }
    }
    for policy in ["cfs", "eevdf:kernel=6.6", "eevdf:kernel=6.12", "eevdf:kernel=6.18"] {
        let count = allocations_by(policy, &machine_of(4).unwrap(), work_in_groups());
        assert_eq!(count, 0, "{policy} with groups allocated {count} times in {WARM_UP} decisions");
    }
}
