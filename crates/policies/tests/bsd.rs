//! FreeBSD's schedulers in the simulator: schedules of specs section 9.

mod harness;

use goodness_core::*;
use goodness_policies::bsd4::Bsd4;
use goodness_policies::ule::Ule;
use harness::*;

/// specs/cpu-schedulers.md 9.1, checks: equal hogs alternate at 100 ms
#[test]
fn equal_hogs_under_4bsd_alternate_at_100_ms() {
    let shown = schedule::<Bsd4>(1000, &[], vec![hog(), hog()], MS(400));
    assert_eq!(shown, "a 0..100  b 100..200  a 200..300  b 300..400");
}

/// specs/cpu-schedulers.md 9.1 "preempt on better priority class": four priorities make a list
#[test]
fn under_4bsd_a_woken_task_preempts_from_a_better_list_only() {
    let woken = |value, spec| starting(Start::WokenAt(Time(10_500_000)), nice(value, spec));
    let brief = || task(&[Step::Compute(MS(2))]);
    let shown = schedule::<Bsd4>(1000, &[], vec![hog(), woken(-4, brief())], MS(120));
    assert_eq!(shown, "a 0..10.5  b 10.5..12.5  a 12.5..120");
    let shown = schedule::<Bsd4>(1000, &[], vec![nice(3, hog()), woken(0, brief())], MS(120));
    assert_eq!(shown, "a 0..100  b 100..102  a 102..120", "108 and 111 share a list");
}

/// specs/cpu-schedulers.md 9.1: use costs priority, an eighth of a point for each statistics tick
#[test]
fn under_4bsd_a_sleeper_comes_to_preempt_a_hog_that_used_250_ms() {
    let sleeper = cycle(&[Step::Compute(MS(1)), Step::Sleep(MS(49))]);
    let settings = [("load_average", "1")];
    let history = run::<Bsd4>(&one_cpu(1000), &settings, vec![hog(), sleeper], MS(900));
    let waits: Vec<u64> = stretches(&history, MS(900)).windows(2).filter(|w| w[1].2.0 == 1).map(|w| w[1].0.0).collect();
    assert_eq!(waits[0], 100_000_000, "first behind the whole turn of an equal");
    let late = waits.iter().filter(|at| **at > 300_000_000);
    assert!(late.clone().count() >= 11, "{waits:?}");
    let next = waits.windows(2).filter(|w| w[0] > 300_000_000).map(|w| w[1] - w[0]);
    assert!(next.into_iter().all(|gap| gap == 50_000_000), "then at once: {waits:?}");
}

/// specs/cpu-schedulers.md 9.1 "Fixed real-time class"
#[test]
fn under_4bsd_real_time_preempts_all_and_idle_waits_for_all() {
    let fifo = class(Class::Fifo, 5, starting(Start::WokenAt(Time(7_000_000)), task(&[Step::Compute(MS(150))])));
    let shown =
        schedule::<Bsd4>(1000, &[], vec![task(&[Step::Compute(MS(20))]), class(Class::Idle, 0, hog()), fifo], MS(300));
    assert_eq!(shown, "a 0..7  c 7..157  a 157..170  b 170..300");
}

#[test]
fn the_textbook_schedule_of_4bsd_is_as_blessed() {
    golden("bsd4", &schedule::<Bsd4>(1000, &[], textbook(), MS(1600)));
}

/// specs/cpu-schedulers.md 9.2, checks: equal hogs switch each 94 ms as a pair and each 16 ms from 6 runnable on
#[test]
fn equal_hogs_under_ule_switch_each_94_ms_as_a_pair_and_each_16_ms_among_seven() {
    let longest = |count: usize| {
        let hogs = (0..count).map(|_| hog()).collect();
        let history = run::<Ule>(&one_cpu(127), &[], hogs, Span::from_s(20));
        // The first second, in which hogs pass for interactive, is left out.
        let stretches = stretches(&history, Span::from_s(20));
        let full = stretches.iter().filter(|s| s.0 > Time(2_000_000_000) && s.3 < Time(19_000_000_000));
        let lengths: std::collections::BTreeSet<u64> = full.map(|s| (s.3 - s.0).0 / 1_000_000).collect();
        lengths.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(longest(2), [94]);
    assert_eq!(longest(6), [15], "12 / 5 = 2 ticks of 7.87 ms");
    assert_eq!(longest(7), [15]);
}

/// specs/cpu-schedulers.md 9.2 "Preempt threshold: lesser differences wait"
#[test]
fn under_ule_an_interactive_thread_preempts_a_batch_one_and_a_batch_one_waits() {
    let at = |spec| starting(Start::WokenAt(Time(2_000_000_000)), spec);
    let history = run::<Ule>(&one_cpu(1000), &[], vec![hog(), at(task(&[Step::Compute(MS(5))]))], MS(2100));
    let first = |history: &History| stretches(history, MS(2200)).iter().find(|s| s.2.0 == 1).unwrap().0;
    assert_eq!(first(&history), Time(2_000_000_000));
    let history = run::<Ule>(
        &one_cpu(1000),
        &[("interact", "0")],
        vec![hog(), at(nice(-10, task(&[Step::Compute(MS(5))])))],
        MS(2200),
    );
    assert!(first(&history) > Time(2_000_000_000), "though its priority is better");
}

/// specs/cpu-schedulers.md 9.2 "2005 version: curr/next queues, slice 1–10 ticks"
#[test]
fn under_ule_of_2005_slices_run_from_10_ticks_to_1() {
    let lengths = |value| {
        let hogs = vec![nice(value, hog()), nice(value, hog())];
        let history = run::<Ule>(&one_cpu(127), &[("version", "2005")], hogs, Span::from_s(4));
        let stretches = stretches(&history, Span::from_s(4));
        let last = stretches[stretches.len() - 2];
        ((last.3 - last.0).0 as f64 * 127.0 / 1e9).round() as u64
    };
    assert_eq!([lengths(-20), lengths(0), lengths(19)], [10, 5, 1]);
}

#[test]
fn under_ule_an_idle_cpu_steals() {
    let mut tasks: Vec<TaskSpec> = vec![hog(), hog(), hog(), task(&[Step::Compute(MS(30))])];
    for spec in &mut tasks {
        spec.task.affinity = CpuSet::All;
    }
    let history = run::<Ule>(&Machine::flat(2, 1000).unwrap(), &[], tasks, Span::from_s(2));
    assert!(!history.iter().any(|(_, e)| matches!(e, Event::Switch { next: None, .. })));
    let times = (0..3).map(|task| cpu_time(&history, Span::from_s(2), task).0 / 1_000_000);
    assert!(times.clone().all(|ms| ms > 800), "{:?}", times.collect::<Vec<_>>());
}

#[test]
fn the_textbook_schedule_of_ule_is_as_blessed() {
    golden("ule", &schedule::<Ule>(1000, &[], textbook(), MS(700)));
}
