//! Real and virtual deadlines in the simulator: `edf`, `rm`, `bfs` and `muqss` as in specs sections 6 and 11.

mod harness;

use goodness_core::*;
use goodness_policies::bfs::Bfs;
use goodness_policies::edf::Edf;
use goodness_policies::muqss::Muqss;
use goodness_policies::rm::Rm;
use harness::*;

/// A task that needs `runtime` ms in each period of as many ms, and its reservation.
fn reserving(runtime: u64, period: u64) -> TaskSpec {
    let mut spec = periodic(runtime, period);
    spec.task.reservation = Some(Reservation { runtime: MS(runtime), deadline: MS(period), period: MS(period) });
    spec
}

/// Number of periods up to `until` that ended before the runtime was served.
fn unserved(history: &History, until: Span, task: u32, runtime: u64, period: u64) -> usize {
    let stretches = stretches(history, until);
    let served = |by: u64| -> u64 {
        stretches.iter().filter(|s| s.2.0 == task && s.0.0 < by).map(|s| s.3.0.min(by) - s.0.0).sum()
    };
    let (runtime, period) = (runtime * 1_000_000, period * 1_000_000);
    (1..=until.0 / period).filter(|k| served(k * period) < k * runtime).count()
}

const TIGHT: [(u64, u64); 3] = [(1, 4), (2, 6), (3, 8)];

fn misses<P: Registered>(set: &[(u64, u64)], more: Vec<TaskSpec>) -> usize {
    let until = MS(4_800);
    let tasks = set.iter().map(|(c, t)| reserving(*c, *t)).chain(more).collect();
    let history = run::<P>(&one_cpu(1000), &[], tasks, until);
    set.iter().enumerate().map(|(task, (c, t))| unserved(&history, until, task as u32, *c, *t)).sum()
}

/// specs/cpu-schedulers.md 11 "EDF": (1,4), (2,6), (3,8) with U = 0.958 meets all deadlines
#[test]
fn edf_meets_all_deadlines_of_a_set_that_uses_958_of_1000() {
    assert_eq!(misses::<Edf>(&TIGHT, vec![]), 0);
    assert_eq!(misses::<Edf>(&TIGHT, vec![hog(), hog()]), 0, "with others in the background");
}

/// specs/cpu-schedulers.md 11 "EDF": feasible when Σ C/T ≤ 1, and only then
#[test]
fn edf_uses_a_cpu_to_the_last_and_no_further() {
    assert_eq!(misses::<Edf>(&[(2, 4), (3, 6)], vec![]), 0);
    assert!(misses::<Edf>(&[(2, 4), (4, 6)], vec![]) > 0);
}

/// specs/cpu-schedulers.md 11: rate-monotonic would be tested by its bound 0.780 for n = 3
#[test]
fn rm_misses_deadlines_of_that_set_but_none_below_its_bound() {
    assert!(misses::<Rm>(&TIGHT, vec![]) > 0);
    let bound = 3.0 * (2f64.powf(1.0 / 3.0) - 1.0);
    assert!((bound - 0.780f64).abs() < 0.0005);
    let mut rng = Seed(1).rng();
    let mut checked = 0;
    while checked < 25 {
        let set: Vec<(u64, u64)> = (0..3).map(|_| (rng.within(1, 6), rng.within(4, 24))).collect();
        let load: f64 = set.iter().map(|(c, t)| *c as f64 / *t as f64).sum();
        if load <= bound && load > 0.6 {
            assert_eq!(misses::<Rm>(&set, vec![hog()]), 0, "{set:?}");
            checked += 1;
        }
    }
}

#[test]
fn rm_runs_the_shortest_period_and_edf_the_nearest_deadline() {
    // b is released at 3 with deadline 11; a's deadline is 10, but b's period is shorter.
    let late = |spec| starting(Start::WokenAt(Time(3_000_000)), spec);
    let once = |runtime: u64, period: u64| {
        let mut spec = task(&[Step::Compute(MS(runtime))]);
        spec.task.reservation = Some(Reservation { runtime: MS(runtime), deadline: MS(period), period: MS(period) });
        spec
    };
    let set = || vec![once(5, 10), late(once(2, 8))];
    assert_eq!(schedule::<Edf>(1000, &[], set(), MS(7)), "a 0..5  b 5..7");
    assert_eq!(schedule::<Rm>(1000, &[], set(), MS(7)), "a 0..3  b 3..5  a 5..7");
}

#[test]
fn the_two_nearest_deadlines_run_on_two_cpus() {
    let until = MS(4_800);
    let set = [(3, 6), (4, 8), (5, 10), (4, 12)];
    let tasks = set.iter().map(|(c, t)| reserving(*c, *t)).chain([hog()]).collect();
    let history = run::<Edf>(&Machine::flat(2, 1000).unwrap(), &[], tasks, until);
    let late: usize = set.iter().enumerate().map(|(i, (c, t))| unserved(&history, until, i as u32, *c, *t)).sum();
    assert_eq!(late, 0);
}

/// specs/cpu-schedulers.md 6.1: two equal hogs alternate every 6 ms; 6.2: a "ms" is 2^20 ns
#[test]
fn two_equal_hogs_alternate_every_6_ms() {
    assert_eq!(schedule::<Bfs>(1000, &[], vec![hog(), hog()], MS(24)), "a 0..6  b 6..12  a 12..18  b 18..24");
    let shown = schedule::<Muqss>(1000, &[], vec![hog(), hog()], MS(13));
    assert_eq!(shown, "a 0..6.291456  b 6.291456..12.582912  a 12.582912..13");
}

/// specs/cpu-schedulers.md 6.1: a waking task with an old deadline preempts; an equal of later deadline does not
#[test]
fn a_sleeper_comes_back_with_its_old_deadline() {
    fn told<P: Registered>() -> String {
        let sleeper = || task(&[Step::Compute(MS(1)), Step::Sleep(MS(8)), Step::Compute(MS(3))]);
        let fresh = starting(Start::At(Time(10_000_000)), task(&[Step::Compute(MS(2))]));
        schedule::<P>(1000, &[], vec![sleeper(), hog(), fresh], MS(12))
    }
    // b renews its deadline at 7; a's of time 0 is earlier at 9. c, new at 10, has the latest and waits.
    assert_eq!(told::<Bfs>(), "a 0..1  b 1..9  a 9..12");
    assert_eq!(told::<Muqss>(), "a 0..1  b 1..9  a 9..12");
}

/// specs/cpu-schedulers.md 6.1: else the CPU that runs the latest deadline, if the woken task's is earlier
#[test]
fn the_cpu_with_the_latest_deadline_is_preempted() {
    fn told<P: Registered>(settings: &[(&str, &str)]) -> bool {
        let machine = Machine::flat(3, 1000).unwrap();
        let woken = |ms: u64, spec| starting(Start::WokenAt(Time(ms * 1_000_000)), spec);
        let hogs = [nice(0, hog()), nice(10, hog()), nice(5, hog())];
        let tasks = hogs.into_iter().chain([woken(2, nice(0, task(&[Step::Compute(MS(1))])))]).collect();
        let until = MS(4);
        let history = run::<P>(&machine, settings, tasks, until);
        let ran = stretches(&history, until);
        let victim = ran.iter().find(|s| s.2.0 == 1).expect("the nice-10 hog runs").1;
        ran.iter().any(|s| s.2.0 == 3 && s.1 == victim && s.0 == Time(2_000_000))
    }
    assert!(told::<Bfs>(&[]));
    assert!(told::<Muqss>(&[]));
}

/// CPU time of nice 0 as a multiple of that of nice 10, with `each` hogs of both.
fn nice_ratio(each: usize) -> f64 {
    let until = Span::from_s(60);
    let hogs = (0..each).flat_map(|_| [hog(), nice(10, hog())]).collect();
    let history = run::<Bfs>(&one_cpu(1000), &[], hogs, until);
    let sum = |odd: u32| (0..each as u32).map(|k| cpu_time(&history, until, 2 * k + odd).0).sum::<u64>() as f64;
    sum(0) / sum(1)
}

/// specs/cpu-schedulers.md 6.1: shares are about the square of the ratio 1.1^10 = 2.59, that is 6.7. The
/// rule as built gives (D10 − D0)/rr + 1 = 11 to two hogs alone and less to more: 6.7 lies between one and two of each.
#[test]
fn nice_0_and_10_are_about_the_square_of_the_deadline_ratio_apart() {
    let ratios: Vec<f64> = [1, 2, 3].into_iter().map(nice_ratio).collect();
    assert!((ratios[0] - 11.0).abs() < 0.2, "{ratios:?}");
    assert!(ratios[1] < 6.7 && ratios[1] > 5.0, "{ratios:?}");
    assert!(ratios[2] < ratios[1] && ratios[2] > 2.59, "{ratios:?}");
}

/// specs/cpu-schedulers.md 6.1: the longest wait is (tasks − CPUs + 1) slices for equal tasks
#[test]
fn equal_hogs_wait_no_longer_than_tasks_less_cpus_plus_one_slices() {
    fn longest<P: Registered>(cpus: u32, tasks: u64) -> Span {
        let until = Span::from_s(5);
        let history = run::<P>(&Machine::flat(cpus, 1000).unwrap(), &[], (0..tasks).map(|_| hog()).collect(), until);
        let mut left = vec![Time::ZERO; tasks as usize];
        let mut longest = Span::ZERO;
        for (from, _, task, to) in stretches(&history, until) {
            longest = longest.max(from.since(left[task.index()]));
            left[task.index()] = to;
        }
        longest
    }
    assert!(longest::<Bfs>(1, 9) <= MS(6) * 9);
    assert!(longest::<Bfs>(2, 9) <= MS(12) * 8);
    let slice = Span(6 << 20);
    assert!(longest::<Muqss>(1, 9) <= slice * 9);
    assert!(longest::<Muqss>(4, 9) <= slice * 6);
}

/// specs/cpu-schedulers.md 6.1: unprivileged pseudo real time, at most 70 % over 5 s, then as normal
#[test]
fn an_iso_hog_goes_first_until_it_used_70_percent_of_5_s() {
    fn share<P: Registered>(settings: &[(&str, &str)], kind: Class) -> f64 {
        let until = Span::from_s(60);
        let hogs = vec![class(kind, 1, hog()), hog()];
        let history = run::<P>(&one_cpu(1000), settings, hogs, until);
        cpu_time(&history, until, 0).0 as f64 / until.0 as f64
    }
    for share in [share::<Bfs>(&[], Class::Iso), share::<Muqss>(&[("iso", "on")], Class::Fifo)] {
        assert!((0.6..0.75).contains(&share), "{share}");
    }
    assert!(share::<Bfs>(&[("iso_cpu", "100")], Class::Iso) > 0.95);
    let iso = starting(Start::WokenAt(Time(3_000_000)), class(Class::Iso, 0, task(&[Step::Compute(MS(9))])));
    assert_eq!(schedule::<Bfs>(1000, &[], vec![hog(), iso], MS(15)), "a 0..3  b 3..12  a 12..15");
}

/// specs/cpu-schedulers.md 6.1 "Fork": the child shares its parent's slice and deadline
#[test]
fn a_child_of_bfs_takes_half_of_the_slice_and_the_deadline() {
    let parent = task(&[Step::Compute(MS(2)), Step::Fork(BehaviourId(1)), Step::Compute(Span::MAX)]);
    let tasks = vec![parent, starting(Start::Forked, hog())];
    assert_eq!(schedule::<Bfs>(1000, &[], tasks, MS(18)), "a 0..6  b 6..8  a 8..12  b 12..18");
}

/// specs/cpu-schedulers.md 6.1 "Fork": a child's half of 100 us is still a slice;
/// with less it gets a whole one
#[test]
fn a_child_of_bfs_keeps_a_half_of_100_us_and_renews_a_smaller_one() {
    let shown = |us: u64| {
        let parent = task(&[Step::Compute(Span::from_us(us)), Step::Fork(BehaviourId(1)), Step::Compute(Span::MAX)]);
        schedule::<Bfs>(1000, &[], vec![parent, starting(Start::Forked, hog())], MS(8))
    };
    assert_eq!(shown(5_800), "a 0..6  b 6..6.1  a 6.1..8");
    assert_eq!(shown(5_802), "a 0..6  b 6..8");
}

/// specs/cpu-schedulers.md 6.1 "Cache bias": a deadline counts four times as far for who ran on another node
#[test]
fn a_cpu_prefers_the_later_deadline_of_its_own_node() {
    let first_after_10_ms = |nodes: [u32; 2]| {
        let cpus = (0..2).map(|i| Cpu { core: i, cache: i, node: nodes[i as usize], capacity: 1024 }).collect();
        let machine = Machine::new("two", cpus, 1000).unwrap();
        let pinned = |cpu: u32, mut spec: TaskSpec| {
            (spec.task.affinity, spec.task.first_cpu) = (CpuSet::of(&[CpuId(cpu)]), CpuId(cpu));
            class(Class::Fifo, 1, spec)
        };
        let waiting = |cpu: u32, value: i64| {
            let mut spec = starting(Start::WokenAt(Time(1_000_000)), nice(value, hog()));
            spec.task.first_cpu = CpuId(cpu);
            spec
        };
        // At 10 ms some 29 ms are left until c's deadline and 53 until d's.
        let tasks = vec![pinned(0, task(&[Step::Compute(MS(10))])), pinned(1, hog()), waiting(1, 0), waiting(0, 5)];
        let history = run::<Bfs>(&machine, &[("rr_interval", "6ms")], tasks, MS(12));
        stretches(&history, MS(12)).iter().find(|s| s.0 == Time(10_000_000)).expect("somebody follows").2
    };
    assert_eq!(first_after_10_ms([0, 1]), TaskId(3), "four times 29 is more than 53");
    assert_eq!(first_after_10_ms([0, 0]), TaskId(3), "and so is twice 29");
}

/// specs/cpu-schedulers.md 6.1: IDLEPRIO only when nothing else
#[test]
fn idle_tasks_run_only_when_nothing_else_does() {
    let tasks = || vec![class(Class::Idle, 0, hog()), nice(19, task(&[Step::Compute(MS(300))]))];
    assert_eq!(schedule::<Bfs>(1000, &[], tasks(), MS(400)), "b 0..300  a 300..400");
    assert_eq!(schedule::<Muqss>(1000, &[], tasks(), MS(400)), "b 0..300  a 300..400");
}

#[test]
fn real_time_tasks_stand_above_all_others_in_their_order() {
    fn told<P: Registered>() -> String {
        let woken = |ms: u64, spec| starting(Start::WokenAt(Time(ms * 1_000_000)), spec);
        let low = woken(2, class(Class::Fifo, 5, task(&[Step::Compute(MS(10))])));
        let high = woken(4, class(Class::Fifo, 9, task(&[Step::Compute(MS(3))])));
        let equal = woken(5, class(Class::Fifo, 5, task(&[Step::Compute(MS(2))])));
        schedule::<P>(1000, &[], vec![hog(), low, high, equal], MS(20))
    }
    let shown = "a 0..2  b 2..4  c 4..7  b 7..15  d 15..17  a 17..20";
    assert_eq!(told::<Bfs>(), shown);
    assert_eq!(told::<Muqss>(), shown, "a preempted FIFO task stays ahead of its equals");
}

/// specs/cpu-schedulers.md 6.2 "yield_type"
#[test]
fn yielding_does_nothing_lets_the_better_run_or_expires_the_slice() {
    let tasks = || vec![task(&[Step::Compute(MS(1)), Step::Yield, Step::Compute(MS(3))]), hog()];
    let yield_type = |kind: &str| schedule::<Muqss>(1000, &[("yield_type", kind)], tasks(), MS(5));
    assert_eq!(yield_type("0"), "a 0..4  b 4..5");
    assert_eq!(yield_type("2"), "a 0..1  b 1..5");
    // Both deadlines are of time 0: among equals, the task that waited longer goes first.
    assert_eq!(yield_type("1"), "a 0..1  b 1..5");
    let later = vec![tasks().remove(0), nice(5, hog())];
    assert_eq!(schedule::<Muqss>(1000, &[], later, MS(5)), "a 0..4  b 4..5", "nobody better waits");
}

/// The candidates looked at in a run of `until`.
fn searched<P: Registered>(settings: &[(&str, &str)], cpus: u32, hogs: usize, kind: Overhead) -> u64 {
    let mut machine = Machine::flat(cpus, 1000).unwrap();
    machine.costs.effort = [Span(1); 4];
    let until = Span::from_s(3);
    let history = run::<P>(&machine, settings, (0..hogs).map(|_| hog()).collect(), until);
    let spans = history.iter().filter_map(|(_, event)| match event {
        Event::Overhead { kind: what, span, .. } if *what == kind => Some(span.0),
        _ => None,
    });
    let (mut count, mut sum) = (0, 0);
    spans.skip(hogs).for_each(|span| (count, sum) = (count + 1, sum + span));
    sum / count.max(1)
}

/// specs/cpu-schedulers.md 6.1 and 6.2: a linear scan against an ordered insertion
#[test]
fn bfs_looks_at_everybody_and_muqss_at_a_tree() {
    // With so few tasks no deadline passes early, so the scan visits all of them.
    assert_eq!(searched::<Bfs>(&[], 1, 4, Overhead::Search), 4);
    assert_eq!(searched::<Muqss>(&[], 1, 200, Overhead::Search), 1);
    let levels = searched::<Muqss>(&[], 1, 200, Overhead::Insert);
    assert!((10..=40).contains(&levels), "insertion and removal visit {levels} levels");
}

/// specs/cpu-schedulers.md 6.2: pick compares all CPUs' first keys (interactive) or only its own
#[test]
fn interactive_muqss_compares_every_queue() {
    let own = [("rqshare", "none"), ("interactive", "off")];
    assert_eq!(searched::<Muqss>(&[("rqshare", "none")], 8, 64, Overhead::Search), 8);
    assert_eq!(searched::<Muqss>(&own, 8, 64, Overhead::Search), 1);
    assert_eq!(searched::<Muqss>(&[("rqshare", "smp")], 8, 64, Overhead::Search), 1);
}

#[test]
fn the_textbook_schedules_are_as_blessed() {
    let set = || TIGHT.iter().map(|(c, t)| reserving(*c, *t)).chain([hog()]).collect();
    golden("edf", &schedule::<Edf>(1000, &[], set(), MS(24)));
    golden("rm", &schedule::<Rm>(1000, &[], set(), MS(24)));
    golden("bfs", &schedule::<Bfs>(1000, &[], textbook(), MS(300)));
    golden("muqss", &schedule::<Muqss>(1000, &[], textbook(), MS(300)));
}
