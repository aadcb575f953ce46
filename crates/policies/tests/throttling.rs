//! Tasks of groups out of quota: stopped one by one at their return to user mode from Linux 6.18, with their whole
//! queue before (docs/specs/groups-locks.md section 2.3).

mod harness;

use goodness_core::*;
use harness::*;

/// Kernels that throttle whole queues: the controls.
const QUEUES: [&str; 3] = ["6.6", "6.12", "6.15"];
const TASKS: &str = "6.18";

const LIMIT: Span = Span::from_ms(10);
const PERIOD: Span = Span::from_ms(100);

/// One CPU at 1000 Hz on which these tasks share one group with 10 of 100 ms, and the locks they name.
fn history(kernel: &str, tasks: Vec<TaskSpec>, others: Vec<TaskSpec>) -> History {
    let mut groups = Groups::default();
    let quota = Some(Quota::new(LIMIT, PERIOD).unwrap());
    let group = groups.add(Group { quota, ..Group::new("limited", GroupId::ROOT) });
    let within = |mut spec: TaskSpec| {
        spec.task.group = group;
        spec
    };
    let tasks = tasks.into_iter().map(within).chain(others).collect();
    let machine = one_cpu(1000);
    let settings = [("kernel".to_string(), kernel.to_string())];
    let made = (goodness_policies::entry("eevdf").expect("a policy").make)(&machine, &settings, Seed(1)).unwrap();
    let work = Workload {
        tasks,
        groups,
        locks: vec![LockKind::Kernel],
        horizon: Some(Time(1_000_000_000)),
        ..Workload::default()
    };
    let mut history = History::new();
    goodness_sim::simulate_with(&machine, made, work, None, &mut history, goodness_sim::Options::default())
        .expect("the run is sound");
    history
}

/// Longest times from a wake-up of `task` to its switch-in, and to its first run that takes time.
fn waits(history: &History, task: TaskId) -> (Span, Span) {
    let (mut woken, mut came, mut longest) = (None, None, (Span::ZERO, Span::ZERO));
    for (at, event) in history {
        match event {
            Event::Wakeup { task: it, .. } if *it == task => woken = Some((*at, false)),
            Event::Switch { next, prev, .. } => {
                if let (Some(begun), Some((since, _)), true) = (came, woken, *prev == Some(task))
                    && *at > begun
                {
                    longest.1 = longest.1.max(begun.since(since));
                    woken = None;
                }
                came = (*next == Some(task)).then_some(*at);
                if let (Some(_), Some((since, seen))) = (came, &mut woken)
                    && !std::mem::replace(seen, true)
                {
                    longest.0 = longest.0.max(at.since(*since));
                }
            }
            _ => {}
        }
    }
    longest
}

/// Section 2.3: what wakes in a group out of quota is picked once, and stopped before it runs in user mode.
#[test]
fn a_woken_task_of_a_group_out_of_quota_has_the_cpu_at_once_but_does_nothing() {
    let tasks = || vec![hog(), cycle(&[Step::Compute(Span::from_us(100)), Step::Sleep(MS(7))])];
    let (seen, ran) = waits(&history(TASKS, tasks(), vec![]), TaskId(1));
    assert!(seen <= MS(1), "switched in after {seen}");
    assert!(ran > MS(50), "worked after {ran}");
    for kernel in QUEUES {
        let (seen, _) = waits(&history(kernel, tasks(), vec![]), TaskId(1));
        assert!(seen > MS(50), "{kernel}: switched in after {seen}");
    }
}

/// Both kinds of kernel give the group its quota, and no more.
#[test]
fn the_quota_is_the_same_however_it_is_enforced() {
    for kernel in QUEUES.into_iter().chain([TASKS]) {
        let history = history(kernel, vec![hog(), hog(), hog()], vec![hog()]);
        let used: u64 = (0..3).map(|task| cpu_time(&history, MS(1_000), task).0).sum();
        assert!((90_000_000..=111_000_000).contains(&used), "{kernel}: {used} ns");
    }
}

/// T-BW-9: the time until a task outside has the kernel's mutex, which one in an exhausted group holds for 12 ms.
#[test]
fn a_lock_holder_in_the_kernel_goes_on_until_its_return_to_user_mode() {
    let longest = |kernel: &str| {
        let lock = LockId(0);
        let holder = cycle(&[Step::Compute(MS(4)), Step::Lock(lock), Step::Kernel(MS(12)), Step::Unlock(lock)]);
        let other = cycle(&[
            Step::Sleep(MS(1)),
            Step::Lock(lock),
            Step::Compute(Span::from_us(10)),
            Step::Unlock(lock),
            Step::Served(Time::ZERO),
        ]);
        let history = history(kernel, vec![holder], vec![other]);
        let served: Vec<Time> =
            history.iter().filter(|(_, event)| matches!(event, Event::Served { .. })).map(|(at, _)| *at).collect();
        served.windows(2).map(|pair| pair[1].since(pair[0])).max().expect("it was served")
    };
    let stall = longest(TASKS);
    assert!(stall <= MS(2 * 12 + 2), "stalled for {stall}");
    for kernel in QUEUES {
        let stall = longest(kernel);
        assert!(stall > MS(60), "{kernel}: stalled for {stall}");
    }
}

/// What a task runs in the kernel after the last tick counts before its group's quota is refilled. With 4 of 100 ms the
/// group owes about 1.5 ms at the tick of 77 ms, and 10 ms when it is refilled at 85.9 ms: too much to be released.
#[test]
fn time_in_the_kernel_since_the_last_tick_is_owed_before_a_refill() {
    let mut groups = Groups::default();
    let quota = Some(Quota::new(MS(4), PERIOD).unwrap());
    let group = groups.add(Group { quota, ..Group::new("limited", GroupId::ROOT) });
    let within = |cpu: u32, mut spec: TaskSpec| {
        (spec.task.group, spec.task.affinity, spec.task.first_cpu) = (group, CpuSet::of(&[CpuId(cpu)]), CpuId(cpu));
        spec
    };
    let begins = task(&[Step::Compute(MS(1))]);
    let steps = [Step::Compute(Span::from_us(500)), Step::Kernel(MS(13)), Step::Compute(MS(50))];
    let owes = starting(Start::At(Time(73_000_000)), task(&steps));
    let mut machine = Machine::flat(2, 100).unwrap();
    machine.first_tick = MS(7);
    let entry = goodness_policies::entry("eevdf").expect("a policy");
    let work = (groups, vec![within(0, begins), within(1, owes)]);
    let history = run_in_groups(entry, &machine, &[("kernel", TASKS)], work, MS(100));
    assert_eq!(schedule_of(&history, MS(100)), "a 0..1  b@1 73..86.5", "and not on to the tick of 87 ms");
}
