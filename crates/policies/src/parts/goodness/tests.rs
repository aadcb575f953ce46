use super::*;
use crate::linux_2_0::Kernel20;
use crate::linux_2_2::Kernel22;
use crate::linux_2_4::Kernel24;
use goodness_core::{Nice, TaskTable};

fn table<K: Kernel, const N: usize>(hz: u32, nices: [i64; N]) -> [i64; N] {
    let machine = Machine::flat(1, hz).unwrap();
    let switches = Switches::of::<K>(&machine, &Settings::default());
    nices.map(|nice| switches.ticks_of(&Task { nice: Nice::new(nice).unwrap(), ..Task::default() }))
}

/// specs/cpu-schedulers.md 1.2, slice table
#[test]
fn slices_by_nice_are_those_of_the_kernels() {
    assert_eq!(table::<Kernel22, _>(100, [-20, -10, 0, 10, 19]), [40, 30, 20, 10, 1]);
    assert_eq!(table::<Kernel20, _>(1024, [-20, -10, 0, 10, 19]), [408, 306, 204, 102, 10]);
    assert_eq!(table::<Kernel24, _>(100, [-20, 0, 19]), [11, 6, 1]);
    assert_eq!(table::<Kernel24, _>(1024, [0]), [41]);
}

/// Counters of a task that sleeps through six recalculations.
fn collected<K: Kernel>() -> Vec<i64> {
    let machine = Machine::flat(1, 100).unwrap();
    let mut policy = Goodness::<K>::new(&machine, Settings::default(), Seed(1));
    let mut cx = Context::new(machine, TaskTable::default());
    let sleeper = cx.tasks.push(Task::default());
    policy.admit(&cx, sleeper, None).unwrap();
    let mut seen = vec![policy.entities[sleeper].counter];
    seen.extend((0..6).map(|_| {
        policy.recalculate(&cx);
        policy.entities[sleeper].counter
    }));
    seen
}

/// specs/cpu-schedulers.md 1.7 (1)
#[test]
fn a_sleeper_collects_at_most_twice_its_slice_less_one() {
    assert_eq!(collected::<Kernel22>(), [20, 30, 35, 37, 38, 39, 39]);
    assert_eq!(collected::<Kernel24>(), [6, 9, 10, 11, 11, 11, 11]);
}
