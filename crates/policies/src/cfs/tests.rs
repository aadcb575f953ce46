//! Defaults, slices and places of CFS, call by call.

use super::*;
use goodness_core::TaskTable;

fn rules(kernel: Kernel, cpus: u32) -> Rules {
    Rules::new(&Machine::flat(cpus, 1000).unwrap(), &Settings { kernel, ..Settings::default() })
}

/// Specs section 5.1, table of defaults and their scaling.
#[test]
fn defaults_are_the_kernels_and_grow_with_the_cpus() {
    let us = |ns: u64| ns / 1_000;
    let of = |r: Rules| (us(r.latency), us(r.min_granularity), us(r.wakeup_granularity), r.latency_tasks);
    assert_eq!(of(rules(Kernel::V2_6_24, 1)), (20_000, 4_000, 10_000, 5));
    assert_eq!(of(rules(Kernel::V6_1, 1)), (6_000, 750, 1_000, 8));
    assert_eq!(of(rules(Kernel::V6_1, 8)), (24_000, 3_000, 4_000, 8));
}

/// Specs section 5.1: 3 ms each for two, 0.75 ms each for ten in a period of 7.5 ms.
#[test]
fn slices_divide_the_period_and_the_period_stretches() {
    let slice = |kernel, count| rules(kernel, 1).slice(Weight::default(), count * UNIT, count).div_ceil(10_000);
    assert_eq!((slice(Kernel::V6_1, 2), slice(Kernel::V6_1, 8), slice(Kernel::V6_1, 10)), (300, 75, 75));
    assert_eq!((slice(Kernel::V2_6_24, 2), slice(Kernel::V2_6_24, 10)), (1_000, 400));
}

/// Specs section 5.1: a long sleeper resumes 3 ms behind the others on 1 CPU, 12 ms on 8.
#[test]
fn a_long_sleeper_resumes_half_a_latency_behind() {
    for (cpus, credit) in [(1, 3_000_000), (8, 12_000_000)] {
        let machine = Machine::flat(cpus, 1000).unwrap();
        let mut order = VirtualRuntimes::new(&machine, &Settings::default());
        order.entities.admit(EntityId(0));
        order.queues[0].least = 50_000_000;
        order.place_woken(QueueId(0), EntityId(0));
        assert_eq!(50_000_000 - order.entities[EntityId(0)].runtime, credit);
    }
}

/// T-SMP-22: 5 ms ahead of one queue is 5 ms ahead of another. The control is a task that slept: it is placed anew.
#[test]
fn a_task_that_moves_keeps_its_lead() {
    let machine = Machine::flat(2, 1000).unwrap();
    let cx = Context::new(machine, TaskTable::default());
    for (how, lead) in [(Arrival::Move, 5_000_000), (Arrival::Wake, -6_000_000)] {
        let mut order = VirtualRuntimes::new(&cx.machine, &Settings::default());
        (0..2).for_each(|it| order.admit(EntityId(it)));
        let traits = Traits { weight: Weight::default(), is_idle: false, slice: None };
        order.enqueue(&cx, (QueueId(0), 0), EntityId(0), traits, Arrival::Move);
        order.enqueue(&cx, (QueueId(0), 1), EntityId(1), traits, Arrival::Move);
        order.queues[1].least = 100_000_000;
        if how == Arrival::Move {
            order.entities[EntityId(1)].runtime = 5_000_000;
            order.dequeue(&cx, QueueId(0), EntityId(1), Departure::Move);
        } else {
            order.dequeue(&cx, QueueId(0), EntityId(1), Departure::Sleep);
            order.entities[EntityId(1)].runtime = -50_000_000;
        }
        order.enqueue(&cx, (QueueId(1), 0), EntityId(1), traits, how);
        assert_eq!(order.entities[EntityId(1)].runtime - order.queues[1].least, lead, "{how:?}");
    }
}
