//! The sched_ext schedulers in the simulator: schedules of specs section 12.

mod harness;

use goodness_core::*;
use goodness_policies::{scx_bpfland::ScxBpfland, scx_lavd::ScxLavd, scx_rusty::ScxRusty, scx_simple::ScxSimple};
use harness::*;

const S: u64 = 1_000_000_000;

fn weighing(weight: u32, mut spec: TaskSpec) -> TaskSpec {
    spec.task.tickets = Some(weight);
    spec
}

fn on(cpu: u32, mut spec: TaskSpec) -> TaskSpec {
    spec.task.first_cpu = CpuId(cpu);
    spec
}

/// Two pairs of CPUs, each sharing a cache.
fn two_caches() -> Machine {
    let cpus = (0..4).map(|i| Cpu { core: i, cache: i / 2, node: 0, capacity: 1024 }).collect();
    Machine::new("two caches", cpus, 1000).unwrap()
}

/// specs/cpu-schedulers.md 12, scx_simple, check: weights 100 and 300 share 1 : 3
#[test]
fn under_scx_simple_weights_100_and_300_share_1_to_3() {
    let hogs = vec![weighing(100, hog()), weighing(300, hog())];
    let history = run::<ScxSimple>(&one_cpu(1000), &[], hogs, MS(8000));
    let [low, high] = [0, 1].map(|task| cpu_time(&history, MS(8000), task).0 / 1_000_000);
    assert!(low.abs_diff(2000) <= 20 && high.abs_diff(6000) <= 20, "{low} and {high} ms");
}

/// specs/cpu-schedulers.md 12: default slice 20 ms; no preemption; a lag of at most 20 ms; FIFO
#[test]
fn under_scx_simple_a_sleeper_waits_for_the_slice_and_catches_up_by_20_ms_at_most() {
    let hogs = || vec![hog(), starting(Start::WokenAt(Time(510_000_000)), hog())];
    let shown = schedule::<ScxSimple>(1000, &[], hogs(), MS(620));
    assert_eq!(shown, "a 0..520  b 520..560  a 560..580  b 580..600  a 600..620");
    let shown = schedule::<ScxSimple>(1000, &[("fifo", "on")], hogs(), MS(600));
    assert_eq!(shown, "a 0..520  b 520..540  a 540..560  b 560..580  a 580..600");
}

/// specs/cpu-schedulers.md 12: a wake-up with an idle CPU goes to its local queue directly
#[test]
fn under_scx_simple_a_woken_task_takes_an_idle_cpu() {
    let tasks = vec![hog(), hog(), on(0, starting(Start::WokenAt(Time(7_000_000)), task(&[Step::Compute(MS(5))])))];
    let history = run::<ScxSimple>(&Machine::flat(3, 1000).unwrap(), &[], tasks, MS(15));
    assert_eq!(schedule_of(&history, MS(15)), "a 0..15  b@1 0..15  c@2 7..12");
}

/// Real-time tasks preempt, and the preempted task continues its slice.
#[test]
fn real_time_tasks_preempt_and_the_slice_goes_on_after_them() {
    let fifo = class(Class::Fifo, 1, starting(Start::WokenAt(Time(5_000_000)), task(&[Step::Compute(MS(3))])));
    let shown = schedule::<ScxSimple>(1000, &[], vec![hog(), hog(), fifo], MS(60));
    assert_eq!(shown, "a 0..5  c 5..8  a 8..23  b 23..43  a 43..60");
}

/// specs/cpu-schedulers.md 12, scx_bpfland: slice = slice_max · weight / waiting
#[test]
fn under_scx_bpfland_slices_shrink_with_the_queue_and_grow_with_weight() {
    let lengths = |weights: &[u32]| {
        let hogs = weights.iter().map(|weight| weighing(*weight, hog())).collect();
        let history = run::<ScxBpfland>(&one_cpu(1000), &[], hogs, MS(60));
        let stretches = stretches(&history, MS(60));
        let late = stretches.iter().filter(|s| s.0 > Time(10_000_000) && s.3 < Time(60_000_000));
        late.map(|s| (s.2.0, (s.3 - s.0).0)).collect::<std::collections::BTreeSet<_>>()
    };
    assert!(lengths(&[100; 4]).iter().all(|(_, ns)| *ns == 333_333), "three wait: 1 ms / 3");
    let seen = lengths(&[100, 200]);
    assert!(seen.contains(&(0, 1_000_000)) && seen.contains(&(1, 2_000_000)), "{seen:?}");
}

/// specs/cpu-schedulers.md 12, scx_bpfland: who wakes often may lag further, and comes sooner
#[test]
fn under_scx_bpfland_a_frequent_waker_goes_before_hogs() {
    let us = Span::from_us;
    let waker = cycle(&[Step::Compute(us(200)), Step::Sleep(us(4800))]);
    let history = run::<ScxBpfland>(&one_cpu(1000), &[], vec![hog(), hog(), hog(), waker], MS(1000));
    let served = cpu_time(&history, MS(1000), 3);
    // Cycles of 5 ms and the wait for the rest of one slice of at most half a millisecond.
    assert!(served >= MS(35), "{served} in a second, of 40 ms at most");
}

/// specs/cpu-schedulers.md 12, scx_lavd: slices of 0.5 to 5 ms share the target of 10 ms
#[test]
fn under_scx_lavd_slices_follow_the_number_of_runnable_tasks() {
    let longest = |count: usize| {
        let history = run::<ScxLavd>(&one_cpu(1000), &[], (0..count).map(|_| hog()).collect(), MS(400));
        let stretches = stretches(&history, MS(400));
        let late = stretches.iter().filter(|s| s.0 > Time(100_000_000) && s.3 < Time(400_000_000));
        late.map(|s| (s.3 - s.0).0 / 1000).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(longest(4), [2500]);
    assert_eq!(longest(40), [500]);
}

/// specs/cpu-schedulers.md 12, scx_lavd: the middle of a chain is critical and goes before hogs
#[test]
fn under_scx_lavd_a_task_that_waits_and_wakes_goes_before_hogs() {
    let us = Span::from_us;
    let source = cycle(&[Step::Compute(us(100)), Step::Wake(Channel(0)), Step::Sleep(MS(10))]);
    let middle = cycle(&[Step::Wait(Channel(0)), Step::Compute(us(100)), Step::Wake(Channel(1))]);
    let sink = cycle(&[Step::Wait(Channel(1)), Step::Compute(us(100))]);
    let history = run::<ScxLavd>(&one_cpu(1000), &[], vec![hog(), hog(), source, middle, sink], MS(2000));
    let mut woken = None;
    let mut waits = Vec::new();
    for (at, event) in &history {
        match event {
            Event::Wakeup { task, .. } if task.0 == 3 => woken = Some(*at),
            Event::Switch { next: Some(task), .. } if task.0 == 3 => waits.extend(woken.take().map(|w| *at - w)),
            _ => {}
        }
    }
    assert!(waits.len() > 100, "{}", waits.len());
    let late = waits.iter().skip(20).filter(|wait| **wait > MS(5)).count();
    assert_eq!(late, 0, "at most the rest of one slice: {waits:?}");
}

/// specs/cpu-schedulers.md 12, scx_lavd: core compaction
#[test]
fn under_scx_lavd_light_work_gathers_on_the_first_cpus() {
    let tasks = |_| (0..2).map(|k| on(2 + k, cycle(&[Step::Compute(MS(1)), Step::Sleep(MS(9))]))).collect();
    let used = |settings: &[(&str, &str)]| {
        let history = run::<ScxLavd>(&Machine::flat(4, 1000).unwrap(), settings, tasks(()), MS(200));
        let late = stretches(&history, MS(200)).into_iter().filter(|s| s.0 > Time(50_000_000));
        late.map(|s| s.1.0).collect::<std::collections::BTreeSet<_>>().into_iter().collect::<Vec<_>>()
    };
    assert_eq!(used(&[]), [0, 1]);
    assert_eq!(used(&[("core_compaction", "off")]), [2, 3]);
}

/// specs/cpu-schedulers.md 12, scx_rusty: 20 ms under-utilised, 1 ms over-utilised, tuner every 0.1 s
#[test]
fn under_scx_rusty_slices_fall_to_1_ms_at_the_first_tuning_of_a_full_machine() {
    let shown = schedule::<ScxRusty>(1000, &[], vec![hog(), hog()], MS(122));
    assert_eq!(shown, "a 0..20  b 20..40  a 40..60  b 60..80  a 80..100  b 100..120  a 120..121  b 121..122");
}

/// specs/cpu-schedulers.md 12, scx_rusty: idle CPUs steal at once (greedy threshold 1), the balancer comes every 2 s
#[test]
fn under_scx_rusty_idle_cpus_steal_until_the_balancer_has_moved_the_load() {
    let hogs = (0..7).map(|_| on(0, hog())).collect();
    let history = run::<ScxRusty>(&two_caches(), &[], hogs, Span::from_s(4));
    let stretches = stretches(&history, Span::from_s(4));
    let crossings = |from: u64, to: u64| {
        let within = stretches.iter().filter(|s| s.0 > Time(from) && s.0 < Time(to));
        let mut last = [None; 8];
        within.filter(|s| last[s.2.index()].replace(s.1.0 / 2).is_some_and(|cache| cache != s.1.0 / 2)).count()
    };
    let idle = history.iter().filter(|(_, e)| matches!(e, Event::Switch { next: None, .. })).count();
    assert_eq!(idle, 0, "work for all four CPUs from the beginning");
    assert!(crossings(0, 2 * S) > 100, "{}", crossings(0, 2 * S));
    assert_eq!(crossings(2 * S + 10_000_000, 4 * S), 0);
}

#[test]
fn the_textbook_schedules_of_sched_ext_are_as_blessed() {
    golden("scx-simple", &schedule::<ScxSimple>(1000, &[], textbook(), MS(400)));
    golden("scx-bpfland", &schedule::<ScxBpfland>(1000, &[], textbook(), MS(15)));
    golden("scx-lavd", &schedule::<ScxLavd>(1000, &[], textbook(), MS(150)));
    golden("scx-rusty", &schedule::<ScxRusty>(1000, &[], textbook(), MS(160)));
}
