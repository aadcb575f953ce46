//! CPUs that go offline and come back.

mod lab;

use goodness_core::*;
use goodness_policies::{fifo::Fifo, rr::RoundRobin};
use goodness_sim::{Fault, Options, simulate};
use lab::{MS, computing, faulty, run, schedule, task};

/// `cpu` is offline from `at` for `span`, in ms.
fn offline(cpu: u32, at: u64, span: u64) -> MachineFault {
    MachineFault { kind: FaultKind::Offline, at: Time::ZERO + MS(at), span: MS(span), cpu: Some(CpuId(cpu)) }
}

fn two_cpus() -> Machine {
    Machine::flat(2, 1000).unwrap()
}

fn on(cpus: &[u32], mut spec: TaskSpec) -> TaskSpec {
    spec.task.affinity = CpuSet::of(&cpus.iter().copied().map(CpuId).collect::<Vec<_>>());
    spec
}

fn refused(machine: &Machine, faults: Vec<MachineFault>) -> Option<Fault> {
    let work = faulty(faults, vec![computing(30)]);
    simulate::<Fifo>(machine, Default::default(), work, &mut (), Options::default()).err()
}

#[test]
fn the_task_on_a_cpu_that_goes_offline_waits_for_another_one_and_the_cpu_works_again_later() {
    let tasks = || vec![computing(10), computing(10), computing(10)];
    let (events, outcome) = run::<Fifo>(&two_cpus(), Default::default(), faulty(vec![offline(1, 2, 5)], tasks()));
    assert_eq!(schedule(&events), "a 0..10  b@1 0..2  c@1 7..17  b 10..18");
    assert_eq!(outcome.set_free, []);
    let (events, _) = run::<Fifo>(&two_cpus(), Default::default(), faulty(vec![], tasks()));
    assert_eq!(schedule(&events), "a 0..10  b@1 0..10  c 10..20", "without it");
}

#[test]
fn a_task_of_a_cpu_that_goes_offline_may_use_any_other_for_good_which_is_told() {
    let tasks = vec![on(&[1], task(&[Step::Compute(MS(6)), Step::Sleep(MS(4)), Step::Compute(MS(6))]))];
    let (events, outcome) = run::<Fifo>(&two_cpus(), Default::default(), faulty(vec![offline(1, 2, 3)], tasks));
    assert_eq!(schedule(&events), "a@1 0..2  a 2..6  a 10..16", "it stays there when its CPU is back");
    assert_eq!(outcome.set_free, [(TaskId(0), Time::ZERO + MS(2))]);
}

#[test]
fn a_task_that_sleeps_meanwhile_keeps_its_cpu() {
    let tasks = vec![on(&[1], task(&[Step::Compute(MS(1)), Step::Sleep(MS(5)), Step::Compute(MS(2))]))];
    let (events, outcome) = run::<Fifo>(&two_cpus(), Default::default(), faulty(vec![offline(1, 2, 3)], tasks));
    assert_eq!((schedule(&events).as_str(), outcome.set_free), ("a@1 0..1  a@1 6..8", vec![]));
}

#[test]
fn a_task_of_two_cpus_keeps_to_them_when_one_is_offline_and_when_it_is_back() {
    let machine = Machine::flat(3, 1000).unwrap();
    let tasks = vec![on(&[1, 2], computing(9)), on(&[1, 2], computing(9))];
    let settings = goodness_policies::rr::Settings { timeslice: MS(1) };
    let (events, outcome) = run::<RoundRobin>(&machine, settings, faulty(vec![offline(2, 2, 4)], tasks));
    let text = schedule(&events);
    assert!(text.split("  ").all(|it| it.contains("@1") || it.contains("@2")), "CPU 0 is not theirs: {text}");
    assert!(text.contains("@2 6.."), "both are used again: {text}");
    assert_eq!((outcome.end, outcome.set_free), (Time::ZERO + MS(11), vec![]), "4 ms of 2 CPUs were lost");
}

#[test]
fn a_timer_of_an_offline_cpu_reaches_another_one() {
    let tasks = vec![computing(1), task(&[Step::Compute(MS(1)), Step::Sleep(MS(3)), Step::Compute(MS(1))])];
    let (events, _) = run::<Fifo>(&two_cpus(), Default::default(), faulty(vec![offline(1, 2, 9)], tasks));
    assert_eq!(schedule(&events), "a 0..1  b@1 0..1  b 4..5");
}

#[test]
fn spans_that_overlap_or_follow_each_other_are_one() {
    let tasks = || vec![computing(20), computing(2), on(&[1], computing(2))];
    let faults = vec![offline(1, 1, 4), offline(1, 3, 4), offline(1, 7, 2)];
    let (events, outcome) = run::<Fifo>(&two_cpus(), Default::default(), faulty(faults, tasks()));
    let (at_once, _) = run::<Fifo>(&two_cpus(), Default::default(), faulty(vec![offline(1, 1, 8)], tasks()));
    assert_eq!(schedule(&events), schedule(&at_once));
    assert_eq!(outcome.set_free.len(), 1);
}

/// Numbers above 63 are in the larger representation of sets.
#[test]
fn cpus_of_a_large_machine_go_offline_too() {
    let machine = Machine::flat(70, 1000).unwrap();
    let tasks = (0..70).map(|_| computing(10)).collect();
    let (events, outcome) = run::<Fifo>(&machine, Default::default(), faulty(vec![offline(69, 2, 3)], tasks));
    assert_eq!(outcome.end, Time::ZERO + MS(13), "its task goes on when it is back");
    assert!(schedule(&events).contains("@69 0..2") && schedule(&events).contains("@69 5..13"));
}

#[test]
fn the_last_cpu_never_goes_offline() {
    let sentence = |machine, faults| refused(&machine, faults).map(|it| it.to_string()).unwrap_or_default();
    let said = sentence(two_cpus(), vec![offline(0, 1, 5), offline(1, 2, 1)]);
    assert!(said.contains("takes cpu 1 offline, the last CPU that is online"), "{said}");
    assert_eq!(sentence(two_cpus(), vec![offline(0, 1, 5), offline(1, 6, 5), offline(0, 11, 5)]), "", "one at a time");
    assert!(!sentence(Machine::flat(1, 1000).unwrap(), vec![offline(0, 1, 1)]).is_empty());
}
