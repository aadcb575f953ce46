//! The fair classes on several CPUs: facts of specs/smp.md section 8 and of specs/groups-locks.md, held against runs.

mod harness;

use goodness_core::*;
use harness::{History, hog, run_of};

/// The task begins on `first` alone, and may then run anywhere on `then`.
fn let_go(first: u32, then: CpuSet) -> TaskSpec {
    let mut steps = [Step::SetAffinity(then), Step::Compute(Span::MAX)].into_iter();
    let mut task = hog();
    task.task.affinity = CpuSet::of(&[CpuId(first)]);
    task.behaviour = Box::new(move |_: &mut StepContext| steps.next().unwrap_or(Step::Exit));
    task
}

fn flat(cpus: u32) -> Machine {
    Machine::flat(cpus, 250).expect("a machine")
}

/// Two cores of two threads, which share a cache.
fn threads() -> Machine {
    let cpu = |core| Cpu { core, cache: 0, node: 0, capacity: 1024 };
    Machine::new("threads", vec![cpu(0), cpu(0), cpu(1), cpu(1)], 250).expect("a machine")
}

fn run(policy: &str, machine: &Machine, tasks: Vec<TaskSpec>, seconds: u64) -> History {
    run_for(policy, machine, tasks, Span::from_s(seconds))
}

fn run_for(policy: &str, machine: &Machine, tasks: Vec<TaskSpec>, span: Span) -> History {
    let (name, kernel) = policy.split_once(' ').unwrap_or((policy, ""));
    let settings: &[(&str, &str)] = if kernel.is_empty() { &[] } else { &[("kernel", kernel)] };
    let entry = goodness_policies::entry(name).expect("a policy");
    run_of(entry, machine, settings, tasks, span)
}

fn hogs(count: usize) -> Vec<TaskSpec> {
    (0..count).map(|_| hog()).collect()
}

/// Times of all migrations, in ms.
fn migrations(history: &History) -> Vec<u64> {
    let times = history.iter().filter(|(_, event)| matches!(event, Event::Migrate { .. }));
    times.map(|(at, _)| at.0 / 1_000_000).collect()
}

fn migrations_a_second(history: &History, seconds: u64) -> f64 {
    migrations(history).len() as f64 / seconds as f64
}

/// Share of one CPU of each task, percent.
fn shares(history: &History, tasks: usize, cpus: usize, seconds: u64) -> Vec<f64> {
    let end = Time(seconds * 1_000_000_000);
    let mut used = vec![0; tasks];
    let mut since: Vec<Option<(TaskId, Time)>> = vec![None; cpus];
    let mut ends = |it: Option<(TaskId, Time)>, at: Time| {
        if let Some((task, from)) = it {
            used[task.index()] += at.since(from).0;
        }
    };
    for (at, event) in history {
        if let Event::Switch { cpu, next, .. } = event {
            ends(std::mem::replace(&mut since[cpu.index()], next.map(|task| (task, *at))), *at);
        }
    }
    since.into_iter().for_each(|open| ends(open, end));
    used.iter().map(|ns| 100.0 * *ns as f64 / end.0 as f64).collect()
}

/// T-SMP-7. Measured in a guest of Linux 6.18: 7.5 migrations a second. The negative control is a balancer that goes
/// by the number of tasks alone.
#[test]
fn three_hogs_share_two_cpus_evenly_and_migrate_rarely() {
    for (policy, most) in [("eevdf 6.12", 9.5), ("eevdf 6.18", 9.5), ("cfs 6.1", 13.0)] {
        let history = run(policy, &flat(2), hogs(3), 60);
        let rate = migrations_a_second(&history, 60);
        assert!((6.0..=most).contains(&rate), "{policy}: {rate}");
        let shares = shares(&history, 3, 2, 60);
        assert!(shares.iter().all(|share| (64.0..=69.3).contains(share)), "{policy}: {shares:?}");
    }
    let wrong = migrations_a_second(&run("o1", &flat(2), hogs(3), 60), 60);
    assert!(!(6.0..=9.5).contains(&wrong), "o1: {wrong}");
}

/// T-SMP-8, and the table of section 3.9: migrations a second of n + 1 and more hogs, from a simulation of the rules
/// tick by tick. Measured: 12 for five hogs on four CPUs,
/// 16 for nine on two.
#[test]
fn hogs_migrate_as_often_as_the_rules_say() {
    let cells =
        [(5, 4, 13.1), (9, 8, 11.7), (17, 16, 11.6), (4, 3, 9.5), (5, 2, 17.2), (6, 4, 9.7), (7, 4, 4.0), (9, 2, 16.0)];
    for (tasks, cpus, expected) in cells {
        let rate = migrations_a_second(&run("eevdf 6.18", &flat(cpus), hogs(tasks), 30), 30);
        assert!((expected / 1.3..=expected * 1.3).contains(&rate), "{tasks} on {cpus}: {rate}, not {expected}");
    }
}

/// T-SMP-9.
#[test]
fn as_many_hogs_as_cpus_stay_where_they_are() {
    for policy in ["eevdf 6.12", "eevdf 6.18", "cfs 6.1"] {
        for tasks in [1, 4] {
            let moved = migrations(&run(policy, &flat(4), hogs(tasks), 20));
            assert!(moved.iter().all(|ms| *ms < 100), "{policy}, {tasks} hogs: {moved:?}");
        }
    }
}

/// T-SMP-10.
#[test]
fn one_of_two_hogs_on_a_cpu_moves_to_the_idle_one_within_six_ticks() {
    let moved = migrations(&run("eevdf 6.18", &flat(2), vec![let_go(0, CpuSet::All), let_go(0, CpuSet::All)], 5));
    assert!(moved.len() == 1 && moved[0] <= 24, "{moved:?}");
}

/// T-SMP-11.
#[test]
fn pinned_hogs_stay() {
    let pinned = || let_go(0, CpuSet::of(&[CpuId(0)]));
    assert_eq!(migrations(&run("eevdf 6.18", &flat(2), vec![pinned(), pinned()], 5)), []);
}

/// specs/smp.md section 3.9: after one pass a CPU has its part of the load; T-SMP-11: one pass takes up to 32 tasks. On
/// two CPUs with twenty tasks, one of which is worth the others and ends.
#[test]
fn a_pass_moves_as_many_tasks_as_the_imbalance_says() {
    let mut tasks = vec![harness::nice(-20, harness::task(&[Step::Compute(Span::from_ms(300))]))];
    tasks.extend((0..19).map(|_| let_go(0, CpuSet::All)));
    let history = run("eevdf 6.18", &flat(2), tasks, 5);
    let moved: Vec<Time> = history
        .iter()
        .filter_map(|(at, event)| if let Event::Migrate { .. } = event { Some(*at) } else { None })
        .collect();
    let at_once = moved.chunk_by(|a, b| a == b).map(<[Time]>::len).max();
    assert!(at_once >= Some(6), "{at_once:?} of {}", moved.len());
}

/// specs/smp.md section 3.5: a fair task that waits behind a lone real-time task is pulled by an idle CPU, and one that
/// has half of its CPU moves to a whole one. The fair server alone would give it a twentieth.
#[test]
fn fair_tasks_leave_cpus_that_real_time_tasks_use() {
    let pinned = |mut task: TaskSpec| {
        task.task.affinity = CpuSet::of(&[CpuId(0)]);
        harness::starting(Start::At(Time(20_000_000)), harness::class(Class::Fifo, 50, task))
    };
    let half = harness::cycle(&[Step::Compute(Span::from_ms(5)), Step::Sleep(Span::from_ms(5))]);
    for urgent in [pinned(hog()), pinned(half)] {
        let history = run("eevdf 6.18", &flat(2), vec![let_go(0, CpuSet::of(&[CpuId(0)])), urgent], 2);
        let share = shares(&history, 2, 2, 2)[0];
        assert!(share < 60.0, "pinned: {share}");
    }
    for (urgent, least) in [
        (pinned(hog()), 97.0),
        (pinned(harness::cycle(&[Step::Compute(Span::from_ms(5)), Step::Sleep(Span::from_ms(5))])), 90.0),
    ] {
        let mut fair = hog();
        fair.task.first_cpu = CpuId(0);
        let history = run("eevdf 6.18", &flat(2), vec![fair, urgent], 2);
        let share = shares(&history, 2, 2, 2)[0];
        assert!(share > least, "{share}");
        assert_eq!(migrations(&history).len(), 1);
    }
}

/// T-SMP-20.
#[test]
fn new_tasks_go_to_idle_cpus() {
    let history = run("eevdf 6.18", &flat(4), hogs(4), 1);
    let shares = shares(&history, 4, 4, 1);
    assert!(shares.iter().all(|share| *share > 99.0), "{shares:?}");
}

/// T-SMP-23: two hogs on the threads of one core; the other core is idle.
#[test]
fn a_hog_that_shares_its_core_moves_to_an_idle_core_once() {
    for policy in ["eevdf 6.12", "eevdf 6.18", "cfs 6.1"] {
        let tasks = vec![let_go(0, CpuSet::All), let_go(1, CpuSet::All)];
        let history = run(policy, &threads(), tasks, 5);
        let moved: Vec<u32> = history
            .iter()
            .filter_map(|(_, event)| if let Event::Migrate { to, .. } = event { Some(to.0) } else { None })
            .collect();
        assert!(moved.len() == 1 && moved[0] >= 2, "{policy}: {moved:?}");
    }
}

/// T-PRE-1: a hog runs on CPU 1; a task of CPU 0 wakes one there that goes first.
#[test]
fn a_lazy_kernel_preempts_on_another_cpu_at_its_tick() {
    let delay = |preempt: &str| {
        let entry = goodness_policies::entry("eevdf").expect("a policy");
        let on = |cpu: u32, mut task: TaskSpec| {
            task.task.affinity = CpuSet::of(&[CpuId(cpu)]);
            task
        };
        let channel = Channel(0);
        let waker = on(
            0,
            harness::cycle(&[Step::Sleep(Span::from_us(7_300)), Step::Compute(Span::from_us(10)), Step::Wake(channel)]),
        );
        let woken = on(1, harness::cycle(&[Step::Wait(channel), Step::Compute(Span::from_us(100))]));
        let settings = [("kernel", "6.18"), ("preempt", preempt)];
        let history = run_of(entry, &flat(2), &settings, vec![waker, woken, on(1, hog())], Span::from_s(10));
        let mut since = None;
        let (mut sum, mut count) = (0, 0);
        for (at, event) in &history {
            match event {
                Event::Wakeup { task: TaskId(1), .. } => since = Some(*at),
                Event::Switch { next: Some(TaskId(1)), .. } => {
                    sum += since.take().map_or(0, |since| at.since(since).0);
                    count += 1;
                }
                _ => {}
            }
        }
        sum / count / 1000
    };
    assert!(delay("full") < 100, "µs: {}", delay("full"));
    assert!((1_500..=2_500).contains(&delay("lazy")), "half a tick is 2000 µs: {}", delay("lazy"));
}

/// Cores with a busy thread at the end of `history`, of two threads each.
fn busy_cores(history: &History) -> Vec<u32> {
    let mut busy = std::collections::BTreeSet::new();
    for (_, event) in history {
        if let Event::Switch { cpu, next, .. } = event {
            if next.is_some() {
                busy.insert(cpu.0)
            } else {
                busy.remove(&cpu.0)
            };
        }
    }
    let mut cores: Vec<u32> = busy.iter().map(|cpu| cpu / 2).collect();
    cores.dedup();
    cores
}

/// specs/smp.md sections 3.4 and 4.6: as many tasks as cores have a core each, from the start, as children, or, where
/// they begin on two cores, by balancing. The control is a policy that knows no cores.
#[test]
fn as_many_tasks_as_cores_have_a_core_each() {
    let cpu = |it: u32| Cpu { core: it / 2, cache: 0, node: 0, capacity: 1024 };
    let machine = Machine::new("cores", (0..8).map(cpu).collect(), 250).expect("a machine");
    let crowded = || (0..4).map(|cpu| let_go(cpu, CpuSet::All)).collect::<Vec<_>>();
    for policy in ["eevdf 6.12", "eevdf 6.18", "cfs 6.1"] {
        assert_eq!(busy_cores(&run(policy, &machine, hogs(4), 2)), [0, 1, 2, 3], "{policy}");
        assert_eq!(busy_cores(&run(policy, &machine, crowded(), 2)), [0, 1, 2, 3], "{policy}, crowded");
    }
    assert_ne!(busy_cores(&run("o1", &machine, crowded(), 2)), [0, 1, 2, 3]);
}

/// A task that begins on CPU 0 alone, does `steps` there at once, and then computes for ever.
fn on_first(steps: &[Step]) -> TaskSpec {
    let mut task = harness::task(&[steps, &[Step::Compute(Span::MAX)]].concat());
    task.task.affinity = only(0);
    task
}

/// The time at which task 0 first left its CPU, in ms; `None` if it never did within 200 ms.
fn first_move(policy: &str, machine: &Machine, tasks: Vec<TaskSpec>) -> Option<u64> {
    let history = run_for(policy, machine, tasks, Span::from_ms(200));
    let moved = |event: &Event| matches!(event, Event::Migrate { task: TaskId(0), .. });
    history.iter().find(|(_, event)| moved(event)).map(|(at, _)| at.0 / 1_000_000)
}

const ANYWHERE_AND_EXEC: [Step; 3] = [Step::Compute(Span::from_ms(50)), Step::SetAffinity(CpuSet::All), Step::Exec];

/// T-SMP-26: exec goes the way of a fork, and the stopper thread migrates the task at once. Controls:
/// without exec the hog leaves by balancing, later; `o1` ignores exec, which shows.
#[test]
fn a_task_that_execs_beside_another_goes_to_an_idle_cpu_at_once() {
    let beside = || on_first(&[]);
    for policy in ["eevdf 6.12", "eevdf 6.18", "cfs 6.1"] {
        // At 50 ms of its own CPU time, of which the two hogs have half each.
        let at_exec = first_move(policy, &flat(2), vec![on_first(&ANYWHERE_AND_EXEC), beside()]);
        let by_balance = first_move(policy, &flat(2), vec![on_first(&ANYWHERE_AND_EXEC[..2]), beside()]);
        assert!(at_exec.is_some() && at_exec < by_balance, "{policy}: {at_exec:?}, by balance {by_balance:?}");
    }
    let moves = |steps| first_move("o1", &flat(2), vec![on_first(steps), beside()]);
    assert_eq!(moves(&ANYWHERE_AND_EXEC), moves(&ANYWHERE_AND_EXEC[..2]), "o1 ignores exec");
}

/// T-SMP-26: the task itself is counted out, so that its own CPU is as idle as another one. The control
/// is a fork at the same place, for which the parent counts: the child goes to the idle CPU (T-SMP-20).
#[test]
fn a_task_that_execs_alone_on_its_cpu_stays_though_another_one_idles() {
    for policy in ["eevdf 6.12", "eevdf 6.18", "cfs 6.1"] {
        assert_eq!(first_move(policy, &flat(2), vec![on_first(&ANYWHERE_AND_EXEC)]), None, "{policy}");
        let full = vec![on_first(&ANYWHERE_AND_EXEC), let_go(1, CpuSet::All)];
        assert_eq!(first_move(policy, &flat(2), full), None, "{policy}: a hog on each CPU");
        let mut child = hog();
        child.start = Start::Forked;
        let forks = [Step::Compute(Span::from_ms(50)), Step::Fork(BehaviourId(1))];
        let history = run_for(policy, &flat(2), vec![on_first(&forks), child], Span::from_ms(60));
        let placed = |event: &Event| matches!(event, Event::Wakeup { task: TaskId(1), cpu: CpuId(1), .. });
        assert!(history.iter().any(|(_, event)| placed(event)), "{policy}: {history:?}");
    }
}

/// T-SMP-26: its own weight is no reason to leave. Beside one hog it is as well off as beside the hog of
/// the other CPU, and balancing moves it when it would have without exec. The control is a fork there: it leaves.
#[test]
fn a_task_that_execs_does_not_flee_itself() {
    for policy in ["eevdf 6.12", "eevdf 6.18", "cfs 6.1"] {
        let tasks = |steps: &[Step]| vec![on_first(steps), let_go(0, only(0)), let_go(1, only(1))];
        // One that slept has next to no utilisation to count out, but is one of the tasks, and may have a high load.
        let (ran, slept) = (Step::Compute(Span::from_ms(50)), Step::Sleep(Span::from_ms(100)));
        for (nice, before) in [(0, ran), (0, slept.clone()), (-15, slept)] {
            let steps = [before, Step::SetAffinity(CpuSet::All), Step::Exec];
            let [with, without] = [3, 2].map(|count| {
                let mut all = tasks(&steps[..count]);
                all[0].task.nice = Nice::new(nice).expect("a nice");
                first_move(policy, &flat(2), all)
            });
            assert_eq!(with, without, "{policy}, nice {nice}, {steps:?}");
        }
        let mut child = hog();
        child.start = Start::Forked;
        let forks = [Step::Compute(Span::from_ms(50)), Step::Fork(BehaviourId(3))];
        let all = tasks(&forks).into_iter().chain([child]).collect();
        let history = run_for(policy, &flat(2), all, Span::from_ms(130));
        let placed = |event: &Event| matches!(event, Event::Wakeup { task: TaskId(3), cpu: CpuId(1), .. });
        assert!(history.iter().any(|(_, event)| placed(event)), "{policy}");
    }
}

fn only(cpu: u32) -> CpuSet {
    CpuSet::of(&[CpuId(cpu)])
}

/// T-SMP-26: exec does not move them.
#[test]
fn a_realtime_task_that_execs_stays() {
    let urgent = || harness::class(Class::Fifo, 10, on_first(&ANYWHERE_AND_EXEC));
    for policy in ["eevdf 6.18", "cfs 6.1"] {
        assert_eq!(first_move(policy, &flat(2), vec![urgent(), on_first(&[])]), None, "{policy}");
    }
}
