//! Tests of the adapter for live policies against a fake kernel, without root and sched_ext.

mod fake_kernel;

use fake_kernel::{FakeKernel, Work, host};
use goodness_core::Span;
use goodness_sched_ext::{Input, KernelEvent, Kind, Order, flag};

const SLEEPER: Work = Work { nice: 0, burst: 3_000_000, sleep: 7_000_000 };

#[test]
fn round_robin_shares_a_cpu_equally_in_slices() {
    let mut kernel = FakeKernel::new("rr", 1, &[Work::HOG; 3]);
    kernel.run(Span::from_s(3));
    for key in 0..3 {
        assert!(kernel.ran(key).0.abs_diff(1_000_000_000) <= 10_000_000, "{}", kernel.ran(key));
    }
    let grants = kernel.commands.iter().filter(|c| matches!(c.order, Order::Grant { .. })).count();
    assert_eq!(grants, 301);
    assert_eq!(kernel.host.strays(), 0);
}

#[test]
fn a_cpu_that_runs_dry_is_granted_to_the_next_that_wakes() {
    let mut kernel = FakeKernel::new("rr", 2, &[SLEEPER; 2]);
    kernel.run(Span::from_ms(100));
    assert_eq!((kernel.ran(0), kernel.ran(1)), (Span::from_ms(30), Span::from_ms(30)));
}

#[test]
fn a_yield_ends_the_turn_and_the_next_in_the_queue_runs() {
    let mut kernel = FakeKernel::new("rr", 1, &[Work::HOG; 2]);
    assert_eq!(kernel.running(0), Some(0));
    kernel.end_turn(0, flag::YIELDED);
    assert_eq!(kernel.running(0), Some(1));
}

// Staircase 7.G, checkable behaviour 3: 200 ms against 10 ms a round.
#[test]
fn staircase_gives_nice_0_twenty_times_what_nice_19_gets() {
    let works = [Work::HOG, Work { nice: 19, ..Work::HOG }];
    let mut kernel = FakeKernel::with("staircase", &[("version", "7.G")], 1, &works);
    kernel.run(Span::from_s(21));
    let ratio = kernel.ran(0).0 / (kernel.ran(1).0 / 100);
    assert!((1800..=2200).contains(&ratio), "{ratio} / 100");
}

#[test]
fn a_change_of_nice_reaches_the_policy_and_keeps_the_turn_on_the_cpu() {
    let mut kernel = FakeKernel::new("staircase", 1, &[Work::HOG; 2]);
    kernel.run(Span::from_ms(50));
    let runs = kernel.running(0).expect("somebody runs");
    kernel.renice(runs, 19);
    kernel.run(Span::from_s(10));
    assert!(kernel.ran(1 - runs).0 > 8 * kernel.ran(runs).0);
    assert_eq!(kernel.host.strays(), 0);
}

/// Runs mixed work under `policy`, and replays its log through a fresh policy. Returns the total CPU time in ns.
fn mixed_work(policy: &str) -> u64 {
    let nice = |nice| Work { nice, ..Work::HOG };
    let works = [Work::HOG, nice(5), SLEEPER, nice(-3), SLEEPER, Work { nice: 10, ..SLEEPER }];
    let mut kernel = FakeKernel::new(policy, 3, &works);
    kernel.run(Span::from_s(1));
    kernel.renice(0, 7);
    kernel.run(Span::from_s(1));
    let mut again = host(kernel.host.setting().clone(), policy, &[]);
    let mut commands = Vec::new();
    for input in &kernel.inputs {
        commands.extend_from_slice(again.take(input, &mut ()).expect("it was right the first time"));
    }
    assert_eq!(commands, kernel.commands, "{policy}: the same input, other decisions");
    assert_eq!(kernel.host.strays(), 0, "{policy}");
    (0..works.len() as u32).map(|key| kernel.ran(key).0).sum()
}

#[test]
fn every_registered_policy_runs_and_decides_the_same_again() {
    for about in goodness_policies::ALL {
        let ran = mixed_work(about.name);
        assert!(ran > 3_500_000_000, "{} left CPUs idle: {}", about.name, Span(ran));
    }
}

/// The running task changes its class while the others continue. Returns its CPU time after that, and that of all
/// others.
fn deserted(policy: &str) -> [u64; 2] {
    let mut kernel = FakeKernel::new(policy, 1, &[Work::HOG; 3]);
    kernel.run(Span::from_ms(100));
    let gone = kernel.running(0).expect("somebody runs");
    let before = kernel.ran(gone).0;
    kernel.change_class(0);
    kernel.run(Span::from_s(1));
    let others = (0..3).filter(|key| *key != gone).map(|key| kernel.ran(key).0).sum::<u64>();
    [kernel.ran(gone).0 - before, others + before]
}

#[test]
fn a_running_task_that_goes_over_to_another_class_is_forgotten_by_every_policy() {
    for about in goodness_policies::ALL {
        let [gone, others] = deserted(about.name);
        assert_eq!(gone, 0, "{}", about.name);
        assert!(others > 900_000_000, "{} left the CPU idle: {}", about.name, Span(others));
    }
}

/// A corrupt log with an impossible thread number does not allocate room for four thousand million threads.
#[test]
fn a_thread_of_an_impossible_number_ends_the_run() {
    let mut kernel = FakeKernel::new("rr", 1, &[Work::HOG]);
    let event = KernelEvent { key: u32::MAX, ..kernel.event(Kind::Created, 0, 0, 0) };
    let fault = kernel.host.take(&Input::Kernel(event), &mut ()).expect_err("no such thread");
    assert!(fault.to_string().contains("a thread numbered 4294967295"), "{fault}");
}
