//! The O(1) scheduler in the simulator: schedules of specs section 2, and placement on several CPUs.

mod harness;

use goodness_core::*;
use goodness_policies::o1::O1;
use harness::*;

/// specs/cpu-schedulers.md 2.8 (1)
#[test]
fn hogs_of_nice_0_and_19_share_102_to_10() {
    let shown = "a 0..102  b 102..112  a 112..214  b 214..224  a 224..300";
    assert_eq!(schedule::<O1>(1000, &[], vec![hog(), nice(19, hog())], MS(300)), shown);
    let history = run::<O1>(&one_cpu(1000), &[], vec![hog(), nice(19, hog())], MS(112 * 50));
    let share = (cpu_time(&history, MS(5600), 0), cpu_time(&history, MS(5600), 1));
    assert_eq!(share, (MS(5100), MS(500)), "91.1 and 8.9 %");
}

#[test]
fn the_later_profile_gives_nice_0_100_ms_and_nice_19_5_ms() {
    let shown = "a 0..100  b 100..105  a 105..205  b 205..210";
    assert_eq!(schedule::<O1>(1000, &[("kernel", "2.6.22")], vec![hog(), nice(19, hog())], MS(210)), shown);
}

/// specs/cpu-schedulers.md 2.5 "Yield": behind every active task
#[test]
fn a_yielder_waits_for_all_active_tasks() {
    let yielder = cycle(&[Step::Compute(MS(1)), Step::Yield]);
    let shown = "a 0..1  b 1..103  c 103..205  a 205..206  b 206..308";
    assert_eq!(schedule::<O1>(1000, &[], vec![yielder, hog(), hog()], MS(308)), shown);
}

/// specs/cpu-schedulers.md 2.5 "Wake"
#[test]
fn a_sleeper_preempts_hogs() {
    let sleeper = cycle(&[Step::Sleep(MS(20)), Step::Compute(MS(1))]);
    let history = run::<O1>(&one_cpu(1000), &[], vec![hog(), hog(), sleeper], Span::from_s(2));
    let late = stretches(&history, Span::from_s(2)).into_iter().filter(|s| s.2.0 == 2 && s.0 > Time(1_000_000_000));
    assert!(late.clone().count() > 40);
    assert!(late.collect::<Vec<_>>().windows(2).all(|w| w[1].0 - w[0].0 == MS(21)), "it never waits");
}

/// specs/cpu-schedulers.md 2.5: FIFO runs on, RR takes turns
#[test]
fn round_robin_tasks_take_turns_by_slice_and_fifo_tasks_do_not() {
    let rr = || class(Class::RoundRobin, 10, hog());
    let shown = "b 0..102  c 102..204  b 204..300";
    assert_eq!(schedule::<O1>(1000, &[], vec![hog(), rr(), rr()], MS(300)), shown);
    let fifo = || class(Class::Fifo, 10, hog());
    assert_eq!(schedule::<O1>(1000, &[], vec![hog(), fifo(), fifo()], MS(300)), "b 0..300");
}

/// specs/cpu-schedulers.md 2.6 "New-idle balance"
#[test]
fn a_cpu_that_runs_dry_pulls_a_waiting_task() {
    let mut tasks: Vec<TaskSpec> = vec![hog(), hog(), hog(), task(&[Step::Compute(MS(30))])];
    for (index, spec) in tasks.iter_mut().enumerate() {
        spec.task.first_cpu = CpuId(index as u32 % 2);
    }
    let machine = Machine::flat(2, 1000).unwrap();
    let history = run::<O1>(&machine, &[], tasks, Span::from_s(1));
    let idle: Vec<_> =
        history.iter().filter(|(_, e)| matches!(e, Event::Switch { next: None, off: Off::Exited, .. })).collect();
    assert!(idle.is_empty(), "{idle:?}");
    for hog in 0..3 {
        assert!(cpu_time(&history, Span::from_s(1), hog) > MS(400), "three hogs share two CPUs");
    }
}

/// Twelve tasks that wake together on one of two CPUs, beside a hog that has the other one.
#[test]
fn balancing_moves_as_many_tasks_as_the_imbalance_says() {
    let mut tasks: Vec<TaskSpec> = (0..13).map(|_| hog()).collect();
    for task in &mut tasks[1..] {
        let woken = Time(50_000_000);
        let steps = [Step::SetAffinity(CpuSet::All), Step::SleepUntil(woken), Step::Compute(Span::MAX)];
        let mut steps = steps.into_iter();
        task.task.affinity = CpuSet::of(&[CpuId(0)]);
        task.behaviour = Box::new(move |_: &mut StepContext| steps.next().unwrap_or(Step::Exit));
    }
    tasks[0].task.affinity = CpuSet::of(&[CpuId(1)]);
    let history = run::<O1>(&Machine::flat(2, 1000).unwrap(), &[], tasks, Span::from_s(2));
    let moved = history.iter().filter(|(_, event)| matches!(event, Event::Migrate { .. })).count();
    assert!((4..=7).contains(&moved), "{moved}");
}

#[test]
fn work_that_fits_leaves_no_cpu_idle_while_a_task_waits() {
    let on = |cpu: u32, mut spec: TaskSpec| {
        spec.task.affinity = CpuSet::of(&[CpuId(cpu)]);
        spec
    };
    // Pinned tasks come and go on CPU 0, where a hog that could move began.
    let mut tasks = vec![hog(), hog()];
    tasks.push(on(0, cycle(&[Step::Sleep(MS(50)), Step::Compute(MS(40))])));
    let machine = Machine::flat(4, 1000).unwrap();
    let history = run::<O1>(&machine, &[], tasks, Span::from_s(1));
    for hog in 0..2 {
        assert!(cpu_time(&history, Span::from_s(1), hog) > MS(990), "{}", cpu_time(&history, Span::from_s(1), hog));
    }
}

#[test]
fn the_textbook_schedule_is_as_blessed() {
    golden("o1", &schedule::<O1>(1000, &[], textbook(), MS(700)));
}
