//! Staircase in the simulator: schedules of specs section 3.

mod harness;

use goodness_core::*;
use goodness_policies::staircase::Staircase;
use harness::*;

/// specs/cpu-schedulers.md 3.10 (3)
#[test]
fn hogs_of_nice_0_and_19_share_20_to_1() {
    for version in ["7.G", "10.5"] {
        let hogs = vec![hog(), nice(19, hog())];
        let history = run::<Staircase>(&one_cpu(1000), &[("version", version)], hogs, MS(2100));
        assert_eq!(
            (cpu_time(&history, MS(2100), 0), cpu_time(&history, MS(2100), 1)),
            (MS(2000), MS(100)),
            "{version}"
        );
    }
}

#[test]
fn equal_hogs_descend_together() {
    let shown = "a 0..10  b 10..20  a 20..30  b 30..40  a 40..50";
    for version in ["7.G", "10.5"] {
        assert_eq!(schedule::<Staircase>(1000, &[("version", version)], vec![hog(), hog()], MS(50)), shown);
    }
    let shown = "a 0..5  b 5..10  a 10..15";
    assert_eq!(schedule::<Staircase>(1000, &[("version", "13")], vec![hog(), hog()], MS(15)), shown);
}

/// specs/cpu-schedulers.md 3.8 (a): slices of 10.5 end by their own timer, not at a tick
#[test]
fn slices_of_10_5_do_not_wait_for_the_tick() {
    let tasks = || vec![task(&[Step::Compute(Span::from_us(300))]), hog(), hog()];
    let shown = "a 0..0.3  b 0.3..10.3  c 10.3..20.3  b 20.3..21";
    assert_eq!(schedule::<Staircase>(1000, &[("version", "10.5")], tasks(), MS(21)), shown);
    let shown = "a 0..0.3  b 0.3..10  c 10..20  b 20..21";
    assert_eq!(schedule::<Staircase>(1000, &[], tasks(), MS(21)), shown);
}

fn woken(ms: u64, spec: TaskSpec) -> TaskSpec {
    starting(Start::WokenAt(Time(ms * 1_000_000)), spec)
}

/// specs/cpu-schedulers.md 3.10 (5): in compute mode a better task waits up to 10 ms of the current's run
#[test]
fn compute_mode_delays_preemption_by_what_is_missing_to_10_ms() {
    let better = |ms: u64| vec![hog(), woken(ms, nice(-5, task(&[Step::Compute(MS(3))])))];
    assert_eq!(schedule::<Staircase>(1000, &[], better(4), MS(20)), "a 0..4  b 4..7  a 7..20");
    let compute = [("compute", "on")];
    assert_eq!(schedule::<Staircase>(1000, &compute, better(4), MS(20)), "a 0..10  b 10..13  a 13..20");
    assert_eq!(schedule::<Staircase>(1000, &compute, better(15), MS(20)), "a 0..15  b 15..18  a 18..20");
}

/// specs/cpu-schedulers.md 3.10 (7)
#[test]
fn a_batch_task_gets_nothing_beside_a_normal_one() {
    for low in [Class::Batch, Class::Idle] {
        let shown = "b 0..300  a 300..400";
        let tasks = vec![class(low, 0, hog()), nice(19, task(&[Step::Compute(MS(300))]))];
        let history = schedule::<Staircase>(1000, &[], tasks, MS(400));
        assert_eq!(history, shown);
    }
}

/// specs/cpu-schedulers.md 3.10 (8)
#[test]
fn a_yielder_waits_until_the_hog_queues_behind_it_at_the_bottom() {
    let yielder = || task(&[Step::Compute(MS(1)), Step::Yield, Step::Compute(MS(5)), Step::Sleep(MS(900))]);
    // b begins at 1 ms; its stair of 10 ms is counted from there; after 190 ms it is at 139 behind a.
    let history = schedule::<Staircase>(1000, &[("interactive", "off")], vec![yielder(), hog()], MS(300));
    assert_eq!(history, "a 0..1  b 1..191  a 191..196  b 196..300");
    let brief = task(&[Step::Compute(MS(30)), Step::Sleep(MS(900))]);
    let history = schedule::<Staircase>(1000, &[], vec![yielder(), brief], MS(300));
    assert_eq!(history, "a 0..1  b 1..31  a 31..36", "or until the hog blocks");
}

/// specs/cpu-schedulers.md 3.3 "Preempt check": an equal preempts only with a full slice
#[test]
fn an_equal_with_a_full_slice_preempts_except_in_13() {
    let equal = || vec![hog(), woken(4, task(&[Step::Compute(MS(3))]))];
    assert_eq!(schedule::<Staircase>(1000, &[], equal(), MS(12)), "a 0..4  b 4..7  a 7..12");
    assert_eq!(
        schedule::<Staircase>(1000, &[("version", "13"), ("interactive", "off")], equal(), MS(12)),
        "a 0..5  b 5..8  a 8..12"
    );
}

/// specs/cpu-schedulers.md 3.9: new tasks on the top stair starve those at the bottom
#[test]
fn a_stream_of_new_tasks_starves_the_bottom() {
    let mut tasks = vec![hog()];
    tasks.extend(
        (0..20).map(|k| starting(Start::At(Time(200_000_000 + k * 10_000_000)), task(&[Step::Compute(MS(10))]))),
    );
    let history = run::<Staircase>(&one_cpu(1000), &[], tasks, MS(420));
    let gap = stretches(&history, MS(420)).windows(2).filter(|w| w[0].2.0 != 0 && w[1].2.0 != 0).count();
    assert!(gap >= 10, "{}", schedule_of(&history, MS(420)));
}

#[test]
fn real_time_tasks_go_before_all_others() {
    let fifo = class(Class::Fifo, 5, woken(7, task(&[Step::Compute(MS(50))])));
    assert_eq!(schedule::<Staircase>(1000, &[], vec![hog(), fifo], MS(60)), "a 0..7  b 7..57  a 57..60");
    let rr = || class(Class::RoundRobin, 5, hog());
    assert_eq!(schedule::<Staircase>(1000, &[], vec![rr(), rr(), hog()], MS(30)), "a 0..10  b 10..20  a 20..30");
}

#[test]
fn a_cpu_that_runs_dry_pulls_a_waiting_task() {
    let mut tasks: Vec<TaskSpec> = vec![hog(), hog(), hog(), task(&[Step::Compute(MS(30))])];
    for (index, spec) in tasks.iter_mut().enumerate() {
        spec.task.first_cpu = CpuId(index as u32 % 2);
    }
    let history = run::<Staircase>(&Machine::flat(2, 1000).unwrap(), &[], tasks, Span::from_s(1));
    assert!(!history.iter().any(|(_, e)| matches!(e, Event::Switch { next: None, .. })));
}

#[test]
fn the_textbook_schedule_is_as_blessed() {
    golden("staircase", &schedule::<Staircase>(1000, &[], textbook(), MS(450)));
}

/// Two cores with two hardware threads each: CPUs 0 and 1, 2 and 3.
fn two_cores() -> Machine {
    let cpu = |i: u32| Cpu { core: i / 2, cache: 0, node: 0, capacity: 1024 };
    Machine::new("smt", (0..4).map(cpu).collect(), 1000).unwrap()
}

fn pinned(cpu: u32, mut spec: TaskSpec) -> TaskSpec {
    spec.task.affinity = CpuSet::of(&[CpuId(cpu)]);
    spec
}

fn on_two_cores(tasks: Vec<TaskSpec>) -> String {
    schedule_of(&run::<Staircase>(&two_cores(), &[], tasks, MS(20)), MS(20))
}

/// specs/cpu-schedulers.md 3.4: "SMT: not placed beside a busy normal sibling"
#[test]
fn a_batch_task_is_not_placed_beside_a_busy_normal_sibling() {
    let beside = |class_| on_two_cores(vec![pinned(0, hog()), class(class_, 0, hog())]);
    assert_eq!(beside(Class::Normal), "a 0..20  b@1 0..20");
    assert_eq!(beside(Class::Batch), "a 0..20  b@2 0..20");
    let batch = || class(Class::Batch, 0, hog());
    assert_eq!(on_two_cores(vec![pinned(0, batch()), batch()]), "a 0..20  b@1 0..20", "another batch task is no harm");
}

/// specs/cpu-schedulers.md 3.4: "SMT: not placed beside a busy normal sibling"
#[test]
fn a_batch_task_waits_rather_than_slow_down_a_sibling_and_is_not_moved_there() {
    let brief = || task(&[Step::Compute(MS(10))]);
    let shared = vec![pinned(0, brief()), pinned(2, hog()), class(Class::Batch, 0, hog())];
    assert_eq!(on_two_cores(shared), "a 0..10  b@2 0..20  c 10..20");
    let normal = vec![pinned(0, brief()), pinned(2, hog()), hog()];
    assert_eq!(on_two_cores(normal), "a 0..10  c@1 0..20  b@2 0..20");
}

#[test]
fn a_batch_task_that_may_run_nowhere_else_runs_beside_a_busy_sibling() {
    let tasks = vec![pinned(0, hog()), pinned(1, class(Class::Batch, 0, hog()))];
    assert_eq!(on_two_cores(tasks), "a 0..20  b@1 0..20");
}
