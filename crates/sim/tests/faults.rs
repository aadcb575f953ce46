//! Faults of the machine: stolen CPUs and lost ticks.

mod lab;

use goodness_core::*;
use goodness_policies::{fifo::Fifo, o1::O1, rr::RoundRobin};
use goodness_sim::{Options, simulate};
use lab::{MS, computing, faulty, one_cpu, run, schedule, task};

fn fault(kind: FaultKind, at: u64, span: u64, cpu: Option<u32>) -> MachineFault {
    MachineFault { kind, at: Time::ZERO + MS(at), span: MS(span), cpu: cpu.map(CpuId) }
}

#[test]
fn a_task_on_a_stolen_cpu_goes_on_when_it_is_back_and_the_others_do_not_wait() {
    let machine = Machine::flat(2, 1000).unwrap();
    let faults = vec![fault(FaultKind::Stolen, 2, 5, Some(0))];
    let (events, _) = run::<Fifo>(&machine, Default::default(), faulty(faults, vec![computing(10), computing(10)]));
    assert_eq!(schedule(&events), "a 0..15  b@1 0..10");
    let (events, _) = run::<Fifo>(&machine, Default::default(), faulty(vec![], vec![computing(10), computing(10)]));
    assert_eq!(schedule(&events), "a 0..10  b@1 0..10", "without it");
}

#[test]
fn time_jumps_for_all_cpus_of_a_stopped_machine() {
    let machine = Machine::flat(2, 1000).unwrap();
    let faults = vec![fault(FaultKind::Stolen, 2, 5, None)];
    let (events, _) = run::<Fifo>(&machine, Default::default(), faulty(faults, vec![computing(10), computing(10)]));
    assert_eq!(schedule(&events), "a 0..15  b@1 0..15");
}

#[test]
fn overlapping_spans_are_stolen_once() {
    let faults = vec![fault(FaultKind::Stolen, 2, 5, None), fault(FaultKind::Stolen, 4, 6, Some(0))];
    let (events, _) = run::<Fifo>(&one_cpu(), Default::default(), faulty(faults, vec![computing(10)]));
    assert_eq!(schedule(&events), "a 0..18");
}

#[test]
fn a_slice_that_ends_while_the_cpu_is_stolen_ends_when_it_is_back() {
    let settings = || goodness_policies::rr::Settings { timeslice: MS(4) };
    let tasks = || vec![computing(6), computing(6)];
    let faults = vec![fault(FaultKind::Stolen, 2, 5, None)];
    let (events, _) = run::<RoundRobin>(&one_cpu(), settings(), faulty(faults, tasks()));
    assert_eq!(schedule(&events), "a 0..7  b 7..11  a 11..15  b 15..17");
}

#[test]
fn an_idle_stolen_cpu_begins_when_it_is_back() {
    let faults = vec![fault(FaultKind::Stolen, 2, 5, None)];
    let tasks = vec![task(&[Step::Sleep(MS(3)), Step::Compute(MS(1))])];
    let (events, outcome) = run::<Fifo>(&one_cpu(), Default::default(), faulty(faults, tasks));
    assert_eq!(schedule(&events).split("  ").last(), Some("a 7..8"));
    assert_eq!(outcome.end, Time::ZERO + MS(8));
}

/// The time slice of the O(1) scheduler is counted in ticks: without them nobody is preempted.
#[test]
fn without_ticks_a_slice_of_ticks_does_not_end() {
    let first_switch = |faults: Vec<MachineFault>| {
        let work = faulty(faults, vec![computing(2_000), computing(2_000)]);
        let (events, _) = run::<O1>(&one_cpu(), Default::default(), work);
        let left = events.iter().find_map(|(at, event)| match event {
            Event::Switch { prev: Some(_), .. } => Some(*at),
            _ => None,
        });
        left.expect("they take turns")
    };
    let usual = first_switch(vec![]);
    let late = first_switch(vec![fault(FaultKind::LostTicks, 10, 50, Some(0))]);
    assert_eq!(late, usual + MS(50), "by as many ticks as were lost");
}

#[test]
fn a_fault_of_a_cpu_that_does_not_exist_is_refused() {
    let work = faulty(vec![fault(FaultKind::Stolen, 1, 1, Some(7))], vec![computing(1)]);
    let refused = simulate::<Fifo>(&one_cpu(), Default::default(), work, &mut (), Options::default());
    let sentence = refused.expect_err("there is no CPU 7").to_string();
    assert!(sentence.contains("cpu 7, but the machine's last is cpu 0"), "{sentence}");
}
