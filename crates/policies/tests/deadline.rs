//! SCHED_DEADLINE in the simulator: the server rules of specs section 11.

mod harness;

use goodness_core::*;
use goodness_policies::deadline::Deadline;
use goodness_sim::{Options, simulate};
use harness::*;

fn us(runtime: u64, deadline: u64, period: u64) -> Reservation {
    Reservation { runtime: Span::from_us(runtime), deadline: Span::from_us(deadline), period: Span::from_us(period) }
}

/// `runtime` of each `period`, in ms.
fn reserving(runtime: u64, period: u64, mut spec: TaskSpec) -> TaskSpec {
    spec.task.class = Class::Deadline;
    spec.task.reservation = Some(us(runtime * 1000, period * 1000, period * 1000));
    spec
}

/// specs/cpu-schedulers.md 11 "Check": a hog with Q = 10, P = 100 receives 10 % ± one tick beside ordinary tasks
#[test]
fn a_hog_with_10_of_100_ms_gets_a_tenth_beside_ordinary_tasks() {
    let until = Span::from_s(10);
    let tasks = vec![reserving(10, 100, hog()), hog(), hog()];
    let history = run::<Deadline>(&one_cpu(1000), &[], tasks, until);
    for k in 0..100 {
        let got = between(&history, until, 0, 100 * k, 100 * (k + 1));
        assert!(got.abs_diff(10_000_000) <= 1_000_000, "period {k}: {got} ns");
    }
    let rest = [1, 2].map(|task| cpu_time(&history, until, task).0);
    assert!(rest[0].abs_diff(rest[1]) <= 10_000_000, "the others share the rest in turns: {rest:?}");
}

/// specs/cpu-schedulers.md 11 "Check": an overrun never harms another server
#[test]
fn servers_that_overrun_harm_no_other() {
    let until = Span::from_s(12);
    let overrunning = [reserving(10, 100, hog()), reserving(20, 80, hog()), reserving(3, 30, hog())];
    let kept = [(5, 20), (4, 30)];
    let tasks = overrunning.into_iter().chain(kept.iter().map(|(q, p)| reserving(*q, *p, periodic(*q, *p))));
    let history = run::<Deadline>(&one_cpu(1000), &[], tasks.chain([hog()]).collect(), until);
    for (task, (runtime, period)) in (3..).zip(kept) {
        assert_eq!(missed(&history, until, task, runtime, period), 0, "{runtime} of {period}");
    }
    // No task gets more than its reservation either.
    for (task, (runtime, period)) in (0..).zip([(10, 100), (20, 80), (3, 30)]) {
        let promised = until.0 / period * runtime;
        assert!(cpu_time(&history, until, task).0 <= promised + runtime * 1_000_000);
    }
}

/// specs/cpu-schedulers.md 11 "Wake rule": a new deadline and budget if q ≥ (d − t)·Q/P, else the old ones
#[test]
fn a_server_keeps_budget_and_deadline_unless_they_exceed_its_bandwidth() {
    let after_sleep = |sleep: u64| {
        let work = task(&[Step::Compute(MS(1)), Step::Sleep(MS(sleep)), Step::Compute(MS(30))]);
        schedule::<Deadline>(1000, &[], vec![reserving(4, 10, work), hog()], MS(16))
    };
    // At 2 ms 3 < (10 − 2)·0.4: what is left of the budget, then throttled until 10.
    assert_eq!(after_sleep(1), "a 0..1  b 1..2  a 2..5  b 5..10  a 10..14  b 14..16");
    // At 5 ms 3 ≥ (10 − 5)·0.4: a whole budget until 15.
    assert_eq!(after_sleep(4), "a 0..1  b 1..5  a 5..9  b 9..15  a 15..16");
}

/// Reason for which the first refused of these tasks is refused.
fn refusal(cpus: u32, reservations: &[Reservation]) -> Option<String> {
    let machine = Machine::flat(cpus, 1000).unwrap();
    let admitted = reservations.iter().map(|reservation| {
        let mut spec = task(&[Step::Compute(Span::from_us(1))]);
        (spec.task.class, spec.task.reservation) = (Class::Deadline, Some(*reservation));
        spec
    });
    let work = Workload { tasks: admitted.collect(), horizon: Some(Time(1_000_000)), ..Workload::default() };
    let settings = goodness_policies::deadline::Settings::default();
    simulate::<Deadline>(&machine, settings, work, &mut History::new(), Options::default()).err().map(|f| f.to_string())
}

/// specs/cpu-schedulers.md 11 "Admission": Σ Q/P ≤ M · 0.95
#[test]
fn no_more_than_95_percent_of_the_machine_is_promised() {
    let twentieth = us(5_000, 100_000, 100_000);
    assert_eq!(refusal(1, &[twentieth; 19]), None);
    assert!(refusal(1, &[twentieth; 20]).unwrap().contains("94 % of the 95 % that 1 CPU(s) may promise are taken"));
    let half = us(50_000, 100_000, 100_000);
    assert!(refusal(1, &[half; 2]).is_some());
    assert_eq!(refusal(2, &[half; 3]), None);
}

/// specs/cpu-schedulers.md 11: minimum runtime 1.024 µs; periods 100 µs .. 2^22 µs
#[test]
fn reservations_outside_the_limits_are_refused() {
    let short = Reservation { runtime: Span(1023), ..us(1, 1_000, 1_000) };
    assert!(refusal(1, &[short]).unwrap().contains("too short"));
    assert_eq!(refusal(1, &[Reservation { runtime: Span(1024), ..short }]), None);
    assert!(refusal(1, &[us(10, 99, 99)]).unwrap().contains("outside"));
    assert_eq!(refusal(1, &[us(10, 100, 100)]), None);
    assert_eq!(refusal(1, &[us(10, 1 << 22, 1 << 22)]), None);
    assert!(refusal(1, &[us(10, 1 << 22, (1 << 22) + 1)]).unwrap().contains("outside"));
    assert!(refusal(1, &[us(20, 10, 100)]).unwrap().contains("does not hold"));
}

/// specs/cpu-schedulers.md 11 "GRUB": what nobody uses is reclaimed, up to 95 %, and no server is harmed
#[test]
fn grub_gives_a_hog_what_others_leave() {
    let until = Span::from_s(12);
    let share = |reclaim: &str, more: Vec<TaskSpec>| {
        let tasks = [reserving(10, 100, hog()), hog()].into_iter().chain(more).collect();
        let history = run::<Deadline>(&one_cpu(1000), &[("reclaim", reclaim)], tasks, until);
        let share = cpu_time(&history, until, 0).0 as f64 / until.0 as f64;
        (share, missed(&history, until, 2, 8, 20))
    };
    assert!((share("off", vec![]).0 - 0.1).abs() < 0.002);
    assert!((share("on", vec![]).0 - 0.95).abs() < 0.002, "{}", share("on", vec![]).0);
    let beside = share("on", vec![reserving(8, 20, periodic(8, 20))]);
    assert_eq!(beside.1, 0, "the other server keeps its 8 of 20 ms");
    assert!(beside.0 > 0.1 && beside.0 < 0.55, "{}", beside.0);
}

/// specs/cpu-schedulers.md 11 "GRUB", on two CPUs: a hog takes up to 95 % of one, and the server beside it keeps its
/// budget
#[test]
fn grub_on_two_cpus_gives_each_hog_a_cpu_and_harms_no_server() {
    let until = Span::from_s(12);
    let machine = Machine::flat(2, 1000).unwrap();
    let run_of = |reclaim: &str, tasks: Vec<TaskSpec>| run::<Deadline>(&machine, &[("reclaim", reclaim)], tasks, until);
    let share = |history: &History, task: u32| cpu_time(history, until, task).0 as f64 / until.0 as f64;
    let hogs = || vec![reserving(10, 100, hog()), reserving(10, 100, hog()), hog(), hog()];
    let (off, on) = (run_of("off", hogs()), run_of("on", hogs()));
    for task in [0, 1] {
        assert!((share(&off, task) - 0.1).abs() < 0.002, "without it a tenth: {}", share(&off, task));
        assert!((share(&on, task) - 0.95).abs() < 0.01, "with it a CPU less 5 %: {}", share(&on, task));
    }
    let rest = share(&on, 2) + share(&on, 3);
    assert!((rest - 0.1).abs() < 0.02, "the ordinary tasks keep 5 % of each CPU: {rest}");
    let servers = vec![reserving(10, 100, hog()), reserving(10, 100, hog()), reserving(8, 20, periodic(8, 20))];
    let beside = run_of("on", servers);
    assert_eq!(missed(&beside, until, 2, 8, 20), 0, "the other server keeps its 8 of 20 ms");
    assert!(share(&beside, 0) > 0.1 && share(&beside, 1) > 0.1);
}

#[test]
fn deadline_stands_above_real_time_and_real_time_above_ordinary_tasks() {
    let woken = |ms: u64, spec| starting(Start::WokenAt(Time(ms * 1_000_000)), spec);
    let fifo = woken(2, class(Class::Fifo, 99, task(&[Step::Compute(MS(8))])));
    let served = woken(4, reserving(3, 10, task(&[Step::Compute(MS(4))])));
    let shown = "a 0..2  b 2..4  c 4..7  b 7..13  a 13..14  c 14..15  a 15..20";
    assert_eq!(schedule::<Deadline>(1000, &[], vec![hog(), fifo, served], MS(20)), shown);
    let low = woken(1, class(Class::RoundRobin, 3, task(&[Step::Compute(MS(4))])));
    let high = woken(2, class(Class::Fifo, 7, task(&[Step::Compute(MS(2))])));
    assert_eq!(
        schedule::<Deadline>(1000, &[], vec![hog(), low, high], MS(8)),
        "a 0..1  b 1..2  c 2..4  b 4..7  a 7..8"
    );
}

#[test]
fn a_deadline_task_that_yields_waits_for_its_next_period() {
    let work = task(&[Step::Compute(MS(1)), Step::Yield, Step::Compute(MS(2))]);
    let shown = "a 0..1  b 1..10  a 10..12  b 12..15";
    assert_eq!(schedule::<Deadline>(1000, &[], vec![reserving(4, 10, work), hog()], MS(15)), shown);
}

#[test]
fn a_task_that_wakes_between_deadline_and_period_waits_for_the_period() {
    let mut work = task(&[Step::Compute(MS(1)), Step::Sleep(MS(6)), Step::Compute(MS(1))]);
    work.task.reservation = Some(us(2_000, 5_000, 20_000));
    let shown = "a 0..1  b 1..20  a 20..21  b 21..25";
    assert_eq!(schedule::<Deadline>(1000, &[], vec![work, hog()], MS(25)), shown);
}

#[test]
fn a_throttled_task_leaves_the_cpu_idle_and_wakes_it_again() {
    let shown = "a 0..3  a 10..13  a 20..23";
    assert_eq!(schedule::<Deadline>(1000, &[], vec![reserving(3, 10, hog())], MS(25)), shown);
}

#[test]
fn two_cpus_serve_the_two_nearest_deadlines() {
    let until = Span::from_s(6);
    let kept = [(6, 20), (9, 30), (12, 40), (15, 60)];
    let tasks = kept.iter().map(|(q, p)| reserving(*q, *p, periodic(*q, *p)));
    let tasks = tasks.chain([reserving(10, 50, hog()), hog(), hog()]).collect();
    let history = run::<Deadline>(&Machine::flat(2, 1000).unwrap(), &[], tasks, until);
    for (task, (runtime, period)) in (0..).zip(kept) {
        assert_eq!(missed(&history, until, task, runtime, period), 0, "{runtime} of {period}");
    }
    let hog = cpu_time(&history, until, 4).0 as f64 / until.0 as f64;
    assert!((hog - 0.2).abs() < 0.005, "{hog}");
}

#[test]
fn the_textbook_schedule_is_as_blessed() {
    let tasks = vec![reserving(3, 10, hog()), reserving(2, 5, periodic(1, 5)), hog(), hog()];
    golden("deadline", &schedule::<Deadline>(1000, &[("timeslice", "2ms")], tasks, MS(30)));
}
