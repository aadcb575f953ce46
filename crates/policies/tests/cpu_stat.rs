//! Figures of the limits of groups (`cpu.stat`): the checks of docs/specs/groups-locks.md section 7.
//!
//! Under 6.1 and 6.6 periods begin at multiples of the period, so the figures are exact.

mod harness;

use goodness_core::*;
use harness::*;

/// Kernels whose periods begin at multiples of the period.
const ALIGNED: [(&str, &str); 2] = [("cfs", "6.1"), ("eevdf", "6.6")];
/// Kernels whose periods begin at any time.
const PHASED: [(&str, &str); 4] = [("eevdf", "6.12"), ("eevdf", "6.18"), ("eevdf", "7.2"), ("eevdf", "7.3")];

fn limit(quota: u64, burst: u64) -> Quota {
    Quota::new(MS(quota), MS(100)).unwrap().with_burst(MS(burst)).unwrap()
}

/// The figures of one group with `limit` and these tasks, one after the other on a CPU of its own.
fn stat(kernel: (&str, &str), limit: Quota, tasks: Vec<TaskSpec>, until: Span) -> CpuStat {
    let mut groups = Groups::default();
    let group = groups.add(Group { quota: Some(limit), ..Group::new("limited", GroupId::ROOT) });
    let machine = Machine::flat(tasks.len() as u32, 1000).unwrap();
    let within = |(cpu, mut spec): (usize, TaskSpec)| {
        let cpu = CpuId(cpu as u32);
        (spec.task.group, spec.task.affinity, spec.task.first_cpu) = (group, CpuSet::of(&[cpu]), cpu);
        spec
    };
    let tasks = tasks.into_iter().enumerate().map(within).collect();
    let policy = goodness_policies::entry(kernel.0).expect("a policy");
    let (_, outcome) = outcome_in_groups(policy, &machine, &[("kernel", kernel.1)], (groups, tasks), until);
    let [(of, stat)] = outcome.cpu_stats[..] else { panic!("one group has a limit: {:?}", outcome.cpu_stats) };
    assert_eq!(of, group);
    stat
}

/// T-BW-1: a hog with 50 of 100 ms for 10 s stops first at 51 ms, then at 150, 250, …; the last period does not end.
#[test]
fn a_limited_hog_is_throttled_in_each_period_for_half_of_it() {
    for kernel in ALIGNED {
        let found = stat(kernel, limit(50, 0), vec![hog()], MS(10_000));
        let throttled = MS(49) + MS(98 * 50);
        let expected = CpuStat { periods: 99, throttled_periods: 99, throttled, ..CpuStat::default() };
        assert_eq!(found, expected, "{kernel:?}");
    }
    for kernel in PHASED {
        let found = stat(kernel, limit(50, 0), vec![hog()], MS(10_000));
        assert!((99..=100).contains(&found.periods), "{kernel:?}: {found:?}");
        assert!(found.periods - found.throttled_periods <= 1, "{kernel:?}: {found:?}");
    }
}

/// T-BW-2: eight tasks of 30 ms with 200 of 100 ms are throttled in one period, on all eight CPUs for about 75 ms.
#[test]
fn a_period_counts_once_on_however_many_cpus_it_is_throttled() {
    for kernel in ALIGNED {
        let tasks = (0..8).map(|_| task(&[Step::Compute(MS(30))])).collect();
        let found = stat(kernel, limit(200, 0), tasks, MS(1_000));
        // The run ends with the tasks, in the second period.
        let expected = CpuStat { periods: 1, throttled_periods: 1, throttled: found.throttled, ..CpuStat::default() };
        assert_eq!(found, expected, "{kernel:?}");
        assert!(found.throttled.0.abs_diff(600_000_000) <= 8_000_000, "{kernel:?}: {found:?}");
    }
}

/// T-BW-3: a server of 10 ms a request with 20 of 100 ms and no pause between them.
#[test]
fn a_limited_server_is_throttled_for_four_fifths_of_each_period() {
    for kernel in ALIGNED {
        let found = stat(kernel, limit(20, 0), vec![cycle(&[Step::Compute(MS(10))])], MS(2_000));
        let throttled = MS(79) + MS(18 * 80);
        let expected = CpuStat { periods: 19, throttled_periods: 19, throttled, ..CpuStat::default() };
        assert_eq!(found, expected, "{kernel:?}");
    }
}

/// A work-alike of the server that never needs more than its quota: no figure but the number of periods.
#[test]
fn a_server_within_its_quota_is_never_throttled() {
    for kernel in ALIGNED.into_iter().chain(PHASED) {
        let server = cycle(&[Step::Compute(MS(2)), Step::Sleep(MS(18))]);
        let found = stat(kernel, limit(20, 10), vec![server], MS(2_000));
        let expected = CpuStat { periods: found.periods, ..CpuStat::default() };
        assert_eq!(found, expected, "{kernel:?}");
        assert!((19..=20).contains(&found.periods), "{kernel:?}: {found:?}");
    }
}

/// T-BW-5: after two idle periods a hog has its burst once: 40 ms in the first period, 20 in the others.
#[test]
fn a_burst_is_counted_once_with_what_was_beyond_the_quota() {
    for kernel in ALIGNED {
        // A task that runs for an instant starts the timer; the pool is filled at 100 and at 200 ms.
        let work = task(&[Step::Compute(MS(1)), Step::Sleep(MS(299) + Span(1)), Step::Compute(Span::MAX)]);
        let found = stat(kernel, limit(20, 20), vec![work], MS(1_000));
        assert_eq!(found.bursts, 1, "{kernel:?}: {found:?}");
        assert!(found.burst.0.abs_diff(20_000_000) <= 1_000_000, "{kernel:?}: {found:?}");
        let without = {
            let work = task(&[Step::Compute(MS(1)), Step::Sleep(MS(299) + Span(1)), Step::Compute(Span::MAX)]);
            stat(kernel, limit(20, 0), vec![work], MS(1_000))
        };
        assert_eq!((without.bursts, without.burst), (0, Span::ZERO), "{kernel:?}");
    }
}

/// Figures are of the time after the warm-up, as all metrics are.
#[test]
fn the_warm_up_is_not_counted() {
    let mut groups = Groups::default();
    let group = groups.add(Group { quota: Some(limit(50, 0)), ..Group::new("limited", GroupId::ROOT) });
    let mut hog = hog();
    hog.task.group = group;
    let work = Workload {
        tasks: vec![hog],
        groups,
        warmup: MS(1_050),
        horizon: Some(Time(3_000_000_000)),
        ..Workload::default()
    };
    let machine = one_cpu(1000);
    let made = MadePolicy::of::<goodness_policies::cfs::Cfs>(&machine, Default::default(), Seed(1));
    let outcome =
        goodness_sim::simulate_with(&machine, made, work, None, &mut (), goodness_sim::Options::default()).unwrap();
    let (_, found) = outcome.cpu_stats[0];
    assert_eq!((found.periods, found.throttled_periods, found.throttled), (19, 19, MS(19 * 50)));
}

/// Policies that ignore groups have no figures, and groups without a limit neither.
#[test]
fn only_limits_that_are_kept_have_figures() {
    for (policy, quota) in [("rr", Some(limit(50, 0))), ("eevdf", None)] {
        let mut groups = Groups::default();
        groups.add(Group { quota, ..Group::new("g", GroupId::ROOT) });
        let entry = goodness_policies::entry(policy).expect("a policy");
        let (_, outcome) = outcome_in_groups(entry, &one_cpu(1000), &[], (groups, vec![hog()]), MS(500));
        assert_eq!(outcome.cpu_stats, [], "{policy}");
    }
}
