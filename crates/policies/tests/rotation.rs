//! RSDL and SD in the simulator: the checks of specs section 4.

mod harness;

use goodness_core::*;
use goodness_policies::rsdl::Rsdl;
use goodness_policies::sd::Sd;
use harness::*;

fn used<P: Registered>(tasks: Vec<TaskSpec>, until: Span) -> Vec<Span> {
    let count = tasks.len() as u32;
    let history = run::<P>(&one_cpu(1000), &[], tasks, until);
    (0..count).map(|task| cpu_time(&history, until, task)).collect()
}

/// specs/cpu-schedulers.md 4 (1): equal hogs at one nice get equal shares in each rotation
#[test]
fn equal_hogs_have_equal_shares_of_every_rotation() {
    // Three hogs of nice 0: 20 levels of 6 ms each, so a rotation takes 360 ms.
    for rotations in 1..=4 {
        let hogs = || (0..3).map(|_| hog()).collect();
        assert_eq!(used::<Rsdl>(hogs(), MS(360 * rotations)), [MS(120 * rotations); 3]);
        assert_eq!(used::<Sd>(hogs(), MS(360 * rotations)), [MS(120 * rotations); 3]);
    }
}

/// specs/cpu-schedulers.md 4 (2): who sleeps and returns within one rotation gets no extra quota
#[test]
fn sleeping_within_a_rotation_earns_nothing() {
    fn held<P: Registered>() {
        // It asks for more than its 120 ms of a rotation of 240 ms, and sleeps a little all the time.
        let sleeper = cycle(&[Step::Compute(MS(4)), Step::Sleep(MS(1))]);
        let until = MS(240 * 20);
        let shares = used::<P>(vec![sleeper, hog()], until);
        assert!(shares[0] <= MS(120 * 20) + MS(6), "{shares:?}");
        assert!(shares[1] >= MS(120 * 20) - MS(6), "{shares:?}");
    }
    held::<Rsdl>();
    held::<Sd>();
}

/// The longest time that any of these tasks waited for a CPU.
fn longest_wait<P: Registered>(tasks: Vec<TaskSpec>, until: Span) -> Span {
    let history = run::<P>(&one_cpu(1000), &[], tasks, until);
    let mut left = std::collections::BTreeMap::new();
    let mut longest = Span::ZERO;
    for (from, _, task, to) in stretches(&history, until) {
        longest = longest.max(from.since(left.insert(task, to).unwrap_or(Time::ZERO)));
    }
    longest
}

/// specs/cpu-schedulers.md 4 (3): no task waits longer than a rotation, the sum of all quotas
#[test]
fn nobody_waits_longer_than_the_sum_of_all_quotas() {
    let nices = [-10, -3, 0, 0, 7, 19];
    let quotas: i64 = nices.iter().map(|n| (20 - n) * 6).sum();
    let hogs = || nices.iter().map(|n| nice(*n, hog())).collect();
    for longest in [longest_wait::<Rsdl>(hogs(), Span::from_s(10)), longest_wait::<Sd>(hogs(), Span::from_s(10))] {
        assert!(longest <= MS(quotas as u64), "{longest} for {quotas} ms");
    }
    // RSDL keeps nice 19 waiting for most of it; SD's does too, since its only level is the last.
    let alone = || vec![hog(), hog(), nice(10, hog())];
    let (rsdl, sd) = (longest_wait::<Rsdl>(alone(), Span::from_s(3)), longest_wait::<Sd>(alone(), Span::from_s(3)));
    assert!(sd < rsdl, "spread levels shorten the waits of little weight: {sd} and {rsdl}");
}

/// specs/cpu-schedulers.md 4 (4): nice 0 to nice 19 is 20:1 ± 1 quota
#[test]
fn nice_0_gets_20_times_what_nice_19_gets() {
    let hogs = || vec![hog(), nice(19, hog())];
    assert_eq!(used::<Rsdl>(hogs(), MS(126 * 10)), [MS(120 * 10), MS(6 * 10)]);
    assert_eq!(used::<Sd>(hogs(), MS(126 * 10)), [MS(120 * 10), MS(6 * 10)]);
}

/// specs/cpu-schedulers.md 4 "rr_interval": 6 ms in 0.48, 10 ms in 1.00, doubled on two CPUs
#[test]
fn the_quota_grows_with_version_and_cpus() {
    let first = |cpus: u32, settings: &[(&str, &str)]| {
        let machine = Machine::flat(cpus, 1000).unwrap();
        let history = run::<Sd>(&machine, settings, (0..2 * cpus).map(|_| hog()).collect(), MS(200));
        let stretch = stretches(&history, MS(200))[0];
        stretch.3 - stretch.0
    };
    assert_eq!(first(1, &[]), MS(6));
    assert_eq!(first(1, &[("version", "1.00")]), MS(10));
    assert_eq!(first(2, &[("version", "1.00")]), MS(20));
    assert_eq!(first(4, &[]), MS(18));
}

/// specs/cpu-schedulers.md 4 "Preempt": a strictly better level; "Wake": old level and rest within the rotation
#[test]
fn who_wakes_on_a_better_level_preempts_and_goes_on_with_its_rest() {
    let woken_at = |at: u64| {
        let brief = task(&[Step::Compute(MS(2)), Step::Sleep(MS(at - 2)), Step::Compute(MS(5))]);
        schedule::<Rsdl>(1000, &[], vec![brief, hog()], MS(at + 12))
    };
    // At 10 the hog is one level down; a has 4 of 6 ms left, then goes behind it.
    assert_eq!(woken_at(10), "a 0..2  b 2..10  a 10..14  b 14..18  a 18..19  b 19..22");
    // At 5 both are on the first level: no preemption.
    assert_eq!(woken_at(5), "a 0..2  b 2..8  a 8..12  b 12..17");
}

/// specs/cpu-schedulers.md 4 "Wake": who has used all quotas of a rotation waits for the next, in the second, too
#[test]
fn who_wakes_without_quota_does_not_preempt() {
    let second = |ms: u64, spec: TaskSpec| starting(Start::At(Time(ms * 1_000_000)), spec);
    let opener = nice(19, task(&[Step::Compute(MS(7))]));
    let spender = nice(18, task(&[Step::Compute(MS(12)), Step::Sleep(MS(1)), Step::Compute(MS(5))]));
    let tasks = vec![opener, second(8, spender), second(19, nice(19, hog()))];
    let shown = schedule::<Rsdl>(1000, &[], tasks, MS(32));
    assert_eq!(shown, "a 0..7  b 8..20  c 20..26  b 26..31  c 31..32");
}

/// specs/cpu-schedulers.md 4 "Yield": to the expired array
#[test]
fn a_yielder_waits_for_the_next_rotation() {
    let yielder = task(&[Step::Compute(MS(1)), Step::Yield, Step::Compute(MS(3))]);
    let shown = "a 0..1  b 1..121  a 121..124  b 124..130";
    assert_eq!(schedule::<Rsdl>(1000, &[], vec![yielder, hog()], MS(130)), shown);
}

/// specs/cpu-schedulers.md 4 "RSDL rule": when a level's quota is used up everybody still on it goes down
#[test]
fn a_level_ends_for_all_when_its_quota_is_used_up() {
    // Each switch costs 1 ms, which the levels' quotas of 12 ms have to bear: a has run 7 ms of them, so b gets 5.
    let mut machine = one_cpu(1000);
    machine.costs.switch = MS(1);
    let until = MS(26);
    let history = run::<Rsdl>(&machine, &[], vec![hog(), hog()], until);
    assert_eq!(schedule_of(&history, until), "a 0..7  b 7..13  a 13..20  b 20..26");
    let history = run::<Sd>(&machine, &[], vec![hog(), hog()], until);
    assert_eq!(schedule_of(&history, until), "a 0..7  b 7..14  a 14..21  b 21..26");
}

/// specs/cpu-schedulers.md 4 "Fork": the child takes half of its parent's quota
#[test]
fn a_child_takes_half_of_what_its_parent_has_left() {
    // Half of 4 ms at 2 ms: b has 2 ms on the first level, and a 4 instead of 6 on the second.
    let tasks = || {
        let parent = task(&[Step::Compute(MS(2)), Step::Fork(BehaviourId(1)), Step::Compute(Span::MAX)]);
        vec![parent, starting(Start::Forked, hog())]
    };
    let shown = "a 0..6  b 6..8  a 8..12  b 12..18  a 18..24";
    assert_eq!(schedule::<Rsdl>(1000, &[], tasks(), MS(24)), shown);
    assert_eq!(schedule::<Sd>(1000, &[], tasks(), MS(24)), shown);
}

#[test]
fn real_time_tasks_stand_above_the_rotation() {
    let woken = |ms: u64, spec| starting(Start::WokenAt(Time(ms * 1_000_000)), spec);
    let fifo = woken(2, class(Class::Fifo, 5, task(&[Step::Compute(MS(30))])));
    let other = woken(4, class(Class::RoundRobin, 9, task(&[Step::Compute(MS(3))])));
    let shown = "a 0..2  b 2..4  c 4..7  b 7..35  a 35..40";
    assert_eq!(schedule::<Rsdl>(1000, &[], vec![hog(), fifo, other], MS(40)), shown);
}

#[test]
fn a_cpu_that_runs_dry_steals_a_waiting_task() {
    let mut tasks: Vec<TaskSpec> = vec![hog(), hog(), hog(), task(&[Step::Compute(MS(30))])];
    for (index, spec) in tasks.iter_mut().enumerate() {
        spec.task.first_cpu = CpuId(index as u32 % 2);
    }
    let history = run::<Rsdl>(&Machine::flat(2, 1000).unwrap(), &[], tasks, Span::from_s(1));
    assert!(!history.iter().any(|(_, e)| matches!(e, Event::Switch { next: None, .. })));
}

#[test]
fn the_textbook_schedules_are_as_blessed() {
    golden("rsdl", &schedule::<Rsdl>(1000, &[], textbook(), MS(350)));
    golden("sd", &schedule::<Sd>(1000, &[], textbook(), MS(350)));
}
