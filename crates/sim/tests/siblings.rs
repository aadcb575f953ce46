//! Threads of one core slow each other while both are busy.

mod lab;

use goodness_core::*;
use goodness_policies::fifo::Fifo;
use lab::{MS, run, schedule, task, workload};

/// Two cores of `threads` threads; two busy ones do 1.25 times the work of one.
fn machine(threads: u32) -> Machine {
    let cpu = |it: u32| Cpu { core: it / threads, cache: 0, node: 0, capacity: 1024 };
    let mut machine = Machine::new("cores", (0..2 * threads).map(cpu).collect(), 100).unwrap();
    machine.sibling_speed = 640;
    machine
}

/// Each task computes for so long and is bound to its CPU.
fn told(machine: &Machine, tasks: &[(u32, &[Step])]) -> String {
    let pinned = |(cpu, steps): &(u32, &[Step])| {
        let mut spec = task(steps);
        spec.task.affinity = CpuSet::of(&[CpuId(*cpu)]);
        spec.task.first_cpu = CpuId(*cpu);
        spec
    };
    let (events, _) = run::<Fifo>(machine, Default::default(), workload(tasks.iter().map(pinned).collect(), &[], 0));
    schedule(&events)
}

#[test]
fn two_threads_of_a_core_do_a_quarter_more_than_one() {
    let five: &[Step] = &[Step::Compute(MS(5))];
    assert_eq!(told(&machine(2), &[(0, five), (1, five)]), "a 0..8  b@1 0..8");
    // The controls: two cores, and threads that do not slow each other.
    assert_eq!(told(&machine(2), &[(0, five), (2, five)]), "a 0..5  b@2 0..5");
    let mut free = machine(2);
    free.sibling_speed = 1024;
    assert_eq!(told(&free, &[(0, five), (1, five)]), "a 0..5  b@1 0..5");
}

/// `a` needs 10 ms. While `b` runs, from 2 to 10 ms, it does 5 of them, and alone 2 before and 3 after.
#[test]
fn a_task_is_slower_only_while_its_sibling_is_busy() {
    let late: &[Step] = &[Step::Sleep(MS(2)), Step::Compute(MS(5))];
    assert_eq!(told(&machine(2), &[(0, &[Step::Compute(MS(10))]), (1, late)]), "a 0..13  b@1 0..0  b@1 2..10");
}

#[test]
fn four_threads_of_a_core_share_what_two_do() {
    let five: &[Step] = &[Step::Compute(MS(5))];
    let all: Vec<_> = (0..4).map(|cpu| (cpu, five)).collect();
    assert_eq!(told(&machine(4), &all), "a 0..16  b@1 0..16  c@2 0..16  d@3 0..16");
}

/// The control: with a speed of 1024, threads are CPUs of their own, however many a core has.
#[test]
fn four_threads_that_do_not_slow_each_other_are_four_cpus() {
    let five: &[Step] = &[Step::Compute(MS(5))];
    let all: Vec<_> = (0..4).map(|cpu| (cpu, five)).collect();
    let mut free = machine(4);
    free.sibling_speed = 1024;
    assert_eq!(told(&free, &all), "a 0..5  b@1 0..5  c@2 0..5  d@3 0..5");
}
