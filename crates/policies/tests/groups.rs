//! Task groups under CFS and EEVDF: the checks of docs/specs/groups-locks.md section 7.

mod harness;

use goodness_core::*;
use harness::*;

/// Kernels, policy and profile; from 7.3 on all groups share one timeline.
const KERNELS: [(&str, &str); 7] = [
    ("cfs", "6.1"),
    ("eevdf", "6.6"),
    ("eevdf", "6.12.0"),
    ("eevdf", "6.12"),
    ("eevdf", "6.18"),
    ("eevdf", "7.2"),
    ONE_TIMELINE,
];
const ONE_TIMELINE: (&str, &str) = ("eevdf", "7.3");
/// Kernels with a queue for each group.
fn with_levels() -> impl Iterator<Item = (&'static str, &'static str)> {
    KERNELS.into_iter().filter(|kernel| *kernel != ONE_TIMELINE)
}

fn weight(cpu_weight: u64, name: &str, parent: GroupId) -> Group {
    let weight = Group::weight_of(cpu_weight).expect("a weight");
    Group { weight, ..Group::new(name, parent) }
}

fn within(group: GroupId, mut spec: TaskSpec) -> TaskSpec {
    spec.task.group = group;
    spec
}

fn history(kernel: (&str, &str), machine: &Machine, work: (Groups, Vec<TaskSpec>), until: Span) -> History {
    let policy = goodness_policies::entry(kernel.0).expect("a policy");
    run_in_groups(policy, machine, &[("kernel", kernel.1)], work, until)
}

/// Shares of the CPU time of a CPU in percent, by task, from the second second to the fourth.
fn shares(kernel: (&str, &str), machine: &Machine, work: (Groups, Vec<TaskSpec>)) -> Vec<f64> {
    shares_with(kernel, &[], machine, work)
}

/// The same, under a policy with more settings than its kernel.
fn shares_with(
    kernel: (&str, &str),
    settings: &[(&str, &str)],
    machine: &Machine,
    work: (Groups, Vec<TaskSpec>),
) -> Vec<f64> {
    let (count, end) = (work.1.len() as u32, Span::from_s(5));
    let settings = [&[("kernel", kernel.1)], settings].concat();
    let policy = goodness_policies::entry(kernel.0).expect("a policy");
    let history = run_in_groups(policy, machine, &settings, work, end);
    let used = |until| (0..count).map(|task| cpu_time_until(&history, until, task)).collect::<Vec<_>>();
    let (before, after) = (used(Span::from_s(1)), used(end));
    before.iter().zip(&after).map(|(before, after)| (after.0 - before.0) as f64 / 4e7).collect()
}

fn cpu_time_until(history: &History, until: Span, task: u32) -> Span {
    let before: History = history.iter().filter(|(at, _)| at.0 < until.0).cloned().collect();
    cpu_time(&before, until, task)
}

fn assert_shares(found: &[f64], expected: &[f64], tolerance: f64, of: (&str, &str)) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= tolerance, "{of:?}: {found:.2} is not {expected:.2}");
    }
}

/// The longest time from a wake-up of `task` to its run, the first one aside.
fn longest_wait(history: &History, task: TaskId) -> Span {
    let (mut woken, mut waits) = (Time::ZERO, Vec::new());
    for (at, event) in history {
        match event {
            Event::Wakeup { task: it, .. } if *it == task => woken = *at,
            Event::Switch { next: Some(it), .. } if *it == task && woken > Time::ZERO => {
                waits.push(at.since(woken));
                woken = Time::ZERO;
            }
            _ => {}
        }
    }
    waits.into_iter().max().expect("it was woken")
}

/// T-GRP-3: groups of one and of nine hogs.
#[test]
fn groups_of_equal_weight_get_the_same_however_many_tasks_they_have() {
    for kernel in KERNELS {
        let mut groups = Groups::default();
        let [a, b] = ["a", "b"].map(|name| groups.add(weight(100, name, GroupId::ROOT)));
        let mut tasks = vec![within(a, hog())];
        tasks.extend((0..9).map(|_| within(b, hog())));
        let mut expected = vec![50.0];
        expected.extend([50.0 / 9.0; 9]);
        assert_shares(&shares(kernel, &one_cpu(1000), (groups, tasks)), &expected, 0.5, kernel);
    }
}

/// T-GRP-4: weights 200 and 100; then x and y, 100 and 300, within the former.
#[test]
fn shares_follow_weights_at_each_level() {
    for kernel in KERNELS {
        let mut groups = Groups::default();
        let a = groups.add(weight(200, "a", GroupId::ROOT));
        let b = groups.add(weight(100, "b", GroupId::ROOT));
        let [x, y] = [(100, "x"), (300, "y")].map(|(value, name)| groups.add(weight(value, name, a)));
        let flat = vec![within(a, hog()), within(b, hog())];
        assert_shares(&shares(kernel, &one_cpu(1000), (groups.clone(), flat)), &[66.7, 33.3], 1.0, kernel);
        let nested = vec![within(x, hog()), within(y, hog()), within(b, hog())];
        assert_shares(&shares(kernel, &one_cpu(1000), (groups, nested)), &[16.7, 50.0, 33.3], 1.0, kernel);
    }
}

/// The negative control of the two above: without groups, each task has the same.
#[test]
fn without_groups_tasks_share_alike() {
    for kernel in KERNELS {
        let tasks = (0..10).map(|_| hog()).collect();
        assert_shares(&shares(kernel, &one_cpu(1000), (Groups::default(), tasks)), &[10.0; 10], 0.5, kernel);
    }
}

/// T-GRP-5: a group divides its weight among the CPUs it runs on.
#[test]
fn a_group_on_four_cpus_has_a_quarter_of_its_weight_on_each() {
    for kernel in with_levels() {
        assert_shares(&beside_four(kernel, &[]), &[20.0, 100.0, 100.0, 100.0, 80.0], 1.0, kernel);
    }
}

/// Shares of hogs pinned to four CPUs, in a group, and of one outside it on the first.
fn beside_four(kernel: (&str, &str), settings: &[(&str, &str)]) -> Vec<f64> {
    let mut groups = Groups::default();
    let group = groups.add(weight(100, "g", GroupId::ROOT));
    let mut tasks: Vec<TaskSpec> = (0..4).map(|cpu| pinned(cpu, within(group, hog()))).collect();
    tasks.push(pinned(0, hog()));
    shares_with(kernel, settings, &Machine::flat(4, 1000).unwrap(), (groups, tasks))
}

/// T-GRP-5 on one timeline, by mode; the default may take three of the four tasks for those that want a CPU.
#[test]
fn on_one_timeline_a_group_weighs_as_many_times_its_weight_as_it_has_tasks() {
    let shares = |mode| {
        let found = beside_four(ONE_TIMELINE, &[("cgroup_mode", mode)]);
        assert_shares(&found[1..4], &[100.0; 3], 1.0, ONE_TIMELINE);
        [found[0], found[4]]
    };
    let by_default = beside_four(ONE_TIMELINE, &[]);
    assert!((42.0..=51.0).contains(&by_default[0]), "{by_default:?}");
    for (mode, expected) in [("smp", [20.0, 80.0]), ("up", [50.0, 50.0]), ("max", [50.0, 50.0])] {
        assert_shares(&shares(mode), &expected, 1.0, ONE_TIMELINE);
    }
    assert_eq!(shares("concur"), [by_default[0], by_default[4]]);
}

/// T-GRP-6 on one timeline, and with four tasks: a group has as many times its weight as it has tasks, or once less. On
/// one CPU it has it once, and with `tasks` as often as it has tasks.
#[test]
fn on_one_timeline_tasks_of_a_group_on_one_cpu_add_to_its_weight() {
    let share = |cpus, count, mode| {
        let mut groups = Groups::default();
        let group = groups.add(weight(100, "g", GroupId::ROOT));
        let mut tasks: Vec<TaskSpec> = (0..count).map(|_| pinned(0, within(group, hog()))).collect();
        tasks.push(pinned(0, hog()));
        let machine = Machine::flat(cpus, 1000).unwrap();
        let found = shares_with(ONE_TIMELINE, &[("cgroup_mode", mode)], &machine, (groups, tasks));
        100.0 - found[count]
    };
    let expected = [
        (4, 2, "concur", [50.0, 66.7]),
        (4, 4, "concur", [75.0, 80.0]),
        (1, 3, "concur", [50.0, 50.0]),
        (1, 3, "tasks", [75.0, 75.0]),
        (4, 4, "smp", [50.0, 50.0]),
    ];
    for (cpus, count, mode, allowed) in expected {
        let found = share(cpus, count, mode);
        assert!(allowed.iter().any(|it| (found - it).abs() < 1.0), "{cpus} CPUs, {count} tasks, {mode}: {found}");
    }
}

/// docs/specs/groups-locks.md section 1.2: the CPUs of a group are those that the groups around it leave it.
#[test]
fn on_one_timeline_a_group_within_a_cpuset_has_the_width_of_that() {
    let share = |cpus: CpuSet| {
        let mut groups = Groups::default();
        let outer = groups.add(Group { cpus, ..weight(100, "outer", GroupId::ROOT) });
        let [inner, beside] = ["inner", "beside"].map(|name| groups.add(weight(100, name, outer)));
        let mut tasks: Vec<TaskSpec> = (0..4).map(|_| pinned(0, within(inner, hog()))).collect();
        tasks.push(pinned(0, within(beside, hog())));
        100.0 - shares(ONE_TIMELINE, &Machine::flat(4, 1000).unwrap(), (groups, tasks))[4]
    };
    let narrow = share(CpuSet::of(&[CpuId(0)]));
    assert!((narrow - 50.0).abs() < 1.0 && share(CpuSet::All) > 70.0, "{narrow}");
}

/// T-GRP-6: its two tasks on one CPU have all of its weight there.
#[test]
fn a_group_on_one_of_four_cpus_has_its_whole_weight_there() {
    for kernel in with_levels() {
        let mut groups = Groups::default();
        let group = groups.add(weight(100, "g", GroupId::ROOT));
        let mut tasks: Vec<TaskSpec> = (0..2).map(|_| pinned(0, within(group, hog()))).collect();
        tasks.push(pinned(0, hog()));
        let found = shares(kernel, &Machine::flat(4, 1000).unwrap(), (groups, tasks));
        assert_shares(&found, &[25.0, 25.0, 50.0], 1.0, kernel);
    }
}

/// T-GRP-7: an idle group has 3 of 1027, and a task that wakes elsewhere preempts it at once; under 6.6 as soon as it
/// is eligible, because a small debt of a group without tasks is a large one beside so small a weight. On one timeline
/// the task of the idle group is no idle task: it waits for its slice at most.
#[test]
fn an_idle_group_gets_what_is_left_and_makes_way_at_once() {
    for kernel in KERNELS {
        let mut groups = Groups::default();
        let mut idle = Group::new("idle", GroupId::ROOT);
        idle.set_idle(true);
        let [idle, normal] = [idle, Group::new("normal", GroupId::ROOT)].map(|group| groups.add(group));
        let hogs = vec![within(idle, hog()), within(normal, hog())];
        assert_shares(&shares(kernel, &one_cpu(1000), (groups.clone(), hogs)), &[0.29, 99.71], 0.2, kernel);
        let sleeper = cycle(&[Step::Sleep(Span::from_us(10_300)), Step::Compute(MS(1))]);
        let tasks = vec![within(idle, hog()), within(normal, sleeper)];
        let history = history(kernel, &one_cpu(1000), (groups, tasks), MS(200));
        let bound = if matches!(kernel.1, "6.6" | "7.3") { MS(1) } else { Span::ZERO };
        assert!(longest_wait(&history, TaskId(1)) <= bound, "{kernel:?}");
    }
}

/// T-GRP-8: an autogroup is a child of the root group with the weight of a task of its nice value, so sessions of eight
/// hogs and of one share alike, whatever the nice values within; with autogroup nice 19 the former has 15 of 1039.
#[test]
fn sessions_share_by_the_nice_value_of_their_autogroups_alone() {
    for kernel in KERNELS {
        for (session_weight, task_nice, first) in [(1024, 0, 50.0), (1024, 19, 50.0), (15, 0, 1.44)] {
            let mut groups = Groups::default();
            let session = Group { weight: session_weight, ..Group::new("session 1", GroupId::ROOT) };
            let [one, two] = [session, Group::new("session 2", GroupId::ROOT)].map(|group| groups.add(group));
            let mut tasks: Vec<TaskSpec> = (0..8).map(|_| nice(task_nice, within(one, hog()))).collect();
            tasks.push(within(two, hog()));
            let found = shares(kernel, &one_cpu(1000), (groups, tasks));
            assert_shares(&[found[..8].iter().sum(), found[8]], &[first, 100.0 - first], 1.0, kernel);
        }
    }
}

/// T-GRP-9: autogroups count in the root group alone; in another group sessions share as tasks do, by their own nice.
#[test]
fn sessions_in_one_group_share_task_by_task() {
    for kernel in KERNELS {
        let mut groups = Groups::default();
        let group = groups.add(Group::new("g", GroupId::ROOT));
        let tasks = (0..9).map(|_| within(group, hog())).collect();
        assert_shares(&shares(kernel, &one_cpu(1000), (groups.clone(), tasks)), &[100.0 / 9.0; 9], 0.5, kernel);
        let mut tasks: Vec<TaskSpec> = (0..8).map(|_| nice(19, within(group, hog()))).collect();
        tasks.push(within(group, hog()));
        let found = shares(kernel, &one_cpu(1000), (groups, tasks));
        assert_shares(&found[8..], &[102_400.0 / 1144.0], 1.0, kernel);
    }
}

/// docs/specs/groups-locks.md section 1.4: by the kernel, a SCHED_IDLE task in one group makes way for a wake-up in
/// another at once (6.1), or only if its turn is over (from 6.6).
#[test]
fn idle_tasks_of_another_group_make_way_in_cfs_alone() {
    let waits = |kernel| {
        let mut groups = Groups::default();
        let [a, b] = ["a", "b"].map(|name| groups.add(Group::new(name, GroupId::ROOT)));
        let sleeper = cycle(&[Step::Sleep(Span::from_us(20_300)), Step::Compute(MS(5))]);
        let tasks = vec![within(a, class(Class::Idle, 0, hog())), within(b, sleeper)];
        let history = history(kernel, &one_cpu(250), (groups, tasks), MS(500));
        longest_wait(&history, TaskId(1))
    };
    assert_eq!(waits(("cfs", "6.1")), Span::ZERO);
    assert!(waits(("eevdf", "6.12")) > Span::ZERO);
}

/// A task that moves to another group takes part in that one's share from then on.
#[test]
fn a_task_can_move_to_another_group() {
    for kernel in KERNELS {
        let mut groups = Groups::default();
        let [a, b] = ["a", "b"].map(|name| groups.add(Group::new(name, GroupId::ROOT)));
        let moving = task(&[Step::Compute(MS(200)), Step::SetGroup(b), Step::Compute(Span::MAX)]);
        let tasks = vec![within(a, moving), within(a, hog()), within(b, hog())];
        let found = shares(kernel, &one_cpu(1000), (groups, tasks));
        assert_shares(&found, &[25.0, 50.0, 25.0], 1.0, kernel);
    }
}

/// docs/specs/groups-locks.md section 1.3: the slice of a group is the shortest among its tasks.
#[test]
fn one_task_with_a_short_slice_shortens_that_of_its_group() {
    let turns = |slice: Option<Span>| {
        let mut groups = Groups::default();
        let group = groups.add(Group::new("g", GroupId::ROOT));
        let mut short = within(group, hog());
        short.task.slice = slice;
        let tasks = vec![within(group, hog()), short, hog()];
        let settings = [("kernel", "6.12"), ("base_slice", "10ms")];
        let policy = goodness_policies::entry("eevdf").unwrap();
        let history = run_in_groups(policy, &one_cpu(1000), &settings, (groups, tasks), Span::from_s(1));
        stretches(&history, Span::from_s(1)).iter().filter(|it| it.2 == TaskId(2)).count()
    };
    assert!(turns(Some(MS(1))) > 2 * turns(None), "{} and {}", turns(Some(MS(1))), turns(None));
}

fn limited(quota: u64, period: u64, name: &str, parent: GroupId) -> Group {
    Group { quota: Some(Quota::new(MS(quota), MS(period)).unwrap()), ..Group::new(name, parent) }
}

/// Ends of the runs of all tasks, in ms.
fn ends(history: &History) -> Vec<u64> {
    let exits = history.iter().filter(|(_, event)| matches!(event, Event::Exit { .. }));
    exits.map(|(at, _)| at.0 / 1_000_000).collect()
}

/// T-BW-1, T-BW-8: a hog gets its quota, or that of the group around its own if that is less.
#[test]
fn a_limited_hog_gets_its_quota_in_the_long_run() {
    for kernel in KERNELS {
        for child in [None, Some(80)] {
            let mut groups = Groups::default();
            let mut group = groups.add(limited(50, 100, "limited", GroupId::ROOT));
            if let Some(quota) = child {
                group = groups.add(limited(quota, 100, "child", group));
            }
            let until = Span::from_s(10);
            let history = history(kernel, &one_cpu(1000), (groups, vec![within(group, hog())]), until);
            let used = cpu_time(&history, until, 0).0 as i64;
            // Periods may begin at any time, so the last one may be half over.
            let tolerance = if matches!(kernel.1, "6.1" | "6.6") { 1_000_000 } else { 51_000_000 };
            assert!((used - 5_000_000_000).abs() <= tolerance, "{kernel:?}: {used}");
        }
    }
}

/// The negative control of the above: without a limit a hog never stops.
#[test]
fn a_group_without_limit_is_never_throttled() {
    for kernel in KERNELS {
        let mut groups = Groups::default();
        let group = groups.add(Group::new("free", GroupId::ROOT));
        let history = history(kernel, &one_cpu(1000), (groups, vec![within(group, hog())]), MS(500));
        assert_eq!(cpu_time(&history, MS(500), 0), MS(500));
    }
}

/// docs/specs/groups-locks.md section 2.5 (1): the stops of a hog with 50 of 100 ms, at ticks.
#[test]
fn a_limited_hog_stops_at_the_tick_after_its_quota() {
    let stops = |hz| {
        let mut groups = Groups::default();
        let group = groups.add(limited(50, 100, "limited", GroupId::ROOT));
        let history = history(("cfs", "6.1"), &one_cpu(hz), (groups, vec![within(group, hog())]), MS(400));
        stretches(&history, MS(400)).iter().map(|it| (it.0.0 / 1_000_000, it.3.0 / 1_000_000)).collect::<Vec<_>>()
    };
    assert_eq!(stops(1000), [(0, 51), (100, 150), (200, 250), (300, 350)]);
    assert_eq!(stops(250), [(0, 52), (100, 152), (200, 248), (300, 352)]);
}

/// T-BW-2: eight tasks of 30 ms on eight CPUs with 200 of 100 ms.
#[test]
fn eight_tasks_use_up_a_quota_together_and_end_after_the_refill() {
    let mut groups = Groups::default();
    let group = groups.add(limited(200, 100, "limited", GroupId::ROOT));
    let tasks = (0..8).map(|cpu| pinned(cpu, within(group, task(&[Step::Compute(MS(30))])))).collect();
    let history = history(("cfs", "6.1"), &Machine::flat(8, 1000).unwrap(), (groups, tasks), MS(300));
    let ends = ends(&history);
    assert!(ends.len() == 8 && ends.iter().all(|end| (100..=110).contains(end)), "{ends:?}");
}

/// T-BW-3: a server of 10 ms a request with 20 of 100 ms: two requests a period.
#[test]
fn a_limited_server_answers_two_requests_a_period() {
    let mut groups = Groups::default();
    let group = groups.add(limited(20, 100, "limited", GroupId::ROOT));
    let requests: Vec<Step> = (0..20).flat_map(|_| [Step::Compute(MS(10)), Step::Served(Time::ZERO)]).collect();
    let work = (groups, vec![within(group, task(&requests))]);
    let history = history(("cfs", "6.1"), &one_cpu(1000), work, Span::from_s(2));
    let served: Vec<u64> = history
        .iter()
        .filter(|(_, event)| matches!(event, Event::Served { .. }))
        .map(|(at, _)| at.0 / 1_000_000)
        .collect();
    assert_eq!(served.len(), 20);
    for (number, at) in served.iter().enumerate() {
        let expected = 100 * (number as u64 / 2) + 10 * (1 + number as u64 % 2);
        assert!(at.abs_diff(expected) <= 1, "{served:?}");
    }
}

/// A policy that does not say when a throttled group may run again, or that runs a throttled task rather than nothing.
struct Planted {
    policy: Box<dyn CpuPolicy>,
    runs_throttled: bool,
}

impl CpuPolicy for Planted {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.policy.admit(cx, task, parent)
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        self.policy.select_cpu(cx, task, why)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.policy.enqueue(cx, cpu, task, why)
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.policy.dequeue(cx, cpu, task, why);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let waits = cx.tasks.state(TaskId(0)) == State::Queued;
        let throttled = (self.runs_throttled && waits).then_some(Pick { task: TaskId(0), timeslice: None });
        self.policy.pick_next(cx, cpu).or(throttled)
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.policy.charge(cx, cpu, task, ran, why)
    }

    fn is_throttled(&self, task: TaskId) -> Option<bool> {
        self.policy.is_throttled(task)
    }

    fn next_timer(&self) -> Option<Time> {
        self.policy.next_timer()
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        match self.policy.timer(cx) {
            Resched::Preempt(_) if !self.runs_throttled => Resched::Keep,
            answer => answer,
        }
    }
}

/// The controls of the referee's check of limits, and the policy itself, to which it has no objection.
#[test]
fn a_policy_that_runs_a_throttled_group_or_lets_a_released_one_wait_is_refused() {
    for kernel in KERNELS {
        let refusal = |runs_throttled: Option<bool>| {
            let mut groups = Groups::default();
            let group = groups.add(limited(10, 100, "limited", GroupId::ROOT));
            let (machine, options) = (one_cpu(1000), goodness_sim::Options::default());
            let entry = goodness_policies::entry(kernel.0).expect("a policy");
            let mut made =
                (entry.make)(&machine, &[("kernel".into(), kernel.1.into())], options.seed).expect("settings");
            if let Some(runs_throttled) = runs_throttled {
                made.policy = Box::new(Planted { policy: made.policy, runs_throttled });
            }
            let tasks = vec![within(group, hog())];
            let work = Workload { tasks, groups, horizon: Some(Time(400_000_000)), ..Workload::default() };
            let ran = goodness_sim::simulate_with(&machine, made, work, None, &mut (), options);
            ran.err().map(|why| why.to_string())
        };
        assert_eq!(refusal(None), None);
        let running = refusal(Some(true)).expect("a refusal");
        assert!(running.contains("runs task 0 on cpu 0, whose group is throttled there"), "{running}");
        let waiting = refusal(Some(false)).expect("a refusal");
        assert!(waiting.contains("left cpu 0 idle, where task 0 is queued and not throttled"), "{waiting}");
    }
}

/// A CPU idles while its only group is throttled, and runs what is not in it meanwhile.
#[test]
fn others_run_while_a_group_is_throttled() {
    for kernel in KERNELS {
        let mut groups = Groups::default();
        let group = groups.add(limited(10, 100, "limited", GroupId::ROOT));
        let tasks = vec![within(group, hog()), hog()];
        assert_shares(&shares(kernel, &one_cpu(1000), (groups, tasks)), &[10.0, 90.0], 1.0, kernel);
    }
}
