//! The counts of tasks in groups, recounted after every call of the policy in drawn runs.

use super::*;
use crate::cfs::VirtualRuntimes;
use crate::eevdf::{Eevdf, Settings, VirtualDeadlines};
use crate::parts::fair::Stack;
use crate::parts::verb_driver::VerbDriver;
use goodness_core::*;
use goodness_sim::{Options, simulate_with};

/// Entities on and off the queues around them, and the tasks that count there.
impl<O: Order> Hierarchy<O> {
    /// The first queue whose state contradicts what is on it.
    fn contradiction(&self, admitted: &[TaskId]) -> Option<String> {
        let mut counts = vec![Node::default(); self.nodes.len()];
        for task in admitted {
            let entity = self.entity(*task);
            let runnable = u32::from(!self.order.is_delayed(entity));
            if self.group_queue(*task).is_some() != self.order.home(entity).is_some() {
                return Some(format!("{task} is in a group's queue or on the order's, not both"));
            }
            let mut next = self.group_queue(*task);
            while let Some(queue) = next {
                counts[queue.index()].queued += 1;
                counts[queue.index()].runnable += runnable;
                next = self.owners[queue.index()].filter(|_| !self.is_shut(queue)).map(|(around, _)| around);
            }
        }
        (0..self.nodes.len() as u32).map(QueueId).find_map(|queue| {
            let (found, counted) = (&self.nodes[queue.index()], &counts[queue.index()]);
            let (group, cpu) = (self.group(queue).0, self.cpu(queue));
            if (found.queued, found.runnable) != (counted.queued, counted.runnable) {
                return Some(format!("group {group} on {cpu} has {counted:?}, not {found:?}"));
            }
            if let Some(timeline) = &self.timeline {
                let below = (0..counts.len() as u32).map(QueueId);
                let below = below.filter(|it| self.owners[it.index()].is_some_and(|(around, _)| around == queue));
                let is_sound = timeline.is_sound(queue, below, found.queued == 0);
                return (!is_sound).then(|| format!("group {group} on {cpu} has a wrong weight, with {counted:?}"));
            }
            let (around, entity) = self.owners[queue.index()]?;
            let (home, is_empty) = (self.order.home(entity), self.order.queued(queue) == 0);
            let may_be_queued = !self.is_shut(queue) && (!is_empty || self.order.is_delayed(entity));
            let must_be_queued = !self.is_shut(queue) && !is_empty;
            let is_wrong =
                home.is_some_and(|home| home != around || !may_be_queued) || home.is_none() && must_be_queued;
            is_wrong.then(|| format!("group {group} on {cpu} is queued at {home:?}, with {counted:?}"))
        })
    }
}

/// A policy whose counts are compared with a recount after each call.
struct Recounted<O>(Stack<O>, Vec<TaskId>);

impl<O: Order> Recounted<O> {
    fn check<T>(&mut self, cx: &Context, verb: impl FnOnce(&mut Stack<O>) -> T) -> T {
        let answer = verb(&mut self.0);
        if let Some(what) = self.0.order.contradiction(&self.1) {
            panic!("at {}: {what}", cx.now);
        }
        answer
    }
}

impl<O: Order> CpuPolicy for Recounted<O> {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.1.push(task);
        self.0.admit(cx, task, parent)
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        self.check(cx, |it| it.select_cpu(cx, task, why))
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.check(cx, |it| it.enqueue(cx, cpu, task, why))
    }

    fn dequeue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Dequeue) {
        self.check(cx, |it| it.dequeue(cx, cpu, task, why));
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        self.check(cx, |it| it.pick_next(cx, cpu))
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.check(cx, |it| it.charge(cx, cpu, task, ran, why))
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        self.check(cx, |it| it.balance(cx, cpu, idle))
    }

    fn balances_later(&self, cpu: CpuId) -> bool {
        self.0.balances_later(cpu)
    }

    fn waiting_realtime(&self) -> Option<u32> {
        self.0.waiting_realtime()
    }

    fn is_closed_to_realtime(&self, cpu: CpuId) -> bool {
        self.0.is_closed_to_realtime(cpu)
    }

    fn is_throttled(&self, task: TaskId) -> Option<bool> {
        self.0.is_throttled(task)
    }

    fn next_timer(&self) -> Option<Time> {
        self.0.next_timer()
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        self.check(cx, |it| it.timer(cx))
    }
}

const MS: u64 = 1_000_000;

/// Up to six groups, nested, most with a limit. Short periods, many of them equal: refills of several groups coincide.
fn drawn_groups(rng: &mut Rng) -> Groups {
    let mut groups = Groups::default();
    for name in ["a", "b", "c", "d", "e", "f"].into_iter().take(rng.within(1, 6) as usize) {
        let mut group = Group::new(name, GroupId(rng.below(groups.count() as u64) as u32));
        group.weight = rng.within(3, 4096);
        if rng.below(4) == 0 {
            group.cpus = CpuSet::of(&[CpuId(0)]);
        }
        if rng.below(4) > 0 {
            let period = [5, 10, 12][rng.below(3) as usize];
            group.quota = Some(Quota::new(Span(rng.within(MS, 8 * MS)), Span(period * MS)).expect("a limit"));
        }
        groups.add(group);
    }
    groups
}

fn drawn_task(rng: &mut Rng, cpus: u64, groups: &Groups) -> TaskSpec {
    let affinity = |rng: &mut Rng| match rng.below(3) {
        0 => CpuSet::of(&[CpuId(rng.below(cpus) as u32)]),
        _ => CpuSet::All,
    };
    let group = |rng: &mut Rng| GroupId(rng.below(groups.count() as u64) as u32);
    let step = |rng: &mut Rng| match rng.below(17) {
        0..=7 => Step::Compute(Span(rng.within(1, 4 * MS))),
        8..=12 => Step::Sleep(Span([rng.within(1, 3 * MS), MS][rng.below(2) as usize])),
        13 => Step::SetGroup(group(rng)),
        14 => Step::SetAffinity(affinity(rng)),
        15 => Step::SetNice(Nice::new(rng.below(40) as i64 - 20).expect("a nice value")),
        _ => Step::SetClass([Class::Normal, Class::Idle, Class::Fifo][rng.below(3) as usize], 5),
    };
    let steps: Vec<Step> = (0..rng.within(1, 6)).map(|_| step(rng)).chain([Step::Compute(Span(MS / 2))]).collect();
    let mut at = 0;
    let behaviour = move |_: &mut StepContext| {
        at += 1;
        steps[(at - 1) % steps.len()].clone()
    };
    let task = Task { group: group(rng), affinity: affinity(rng), address_space: Some(0), ..Task::default() };
    let start = Start::At(Time(rng.below(10) * MS));
    TaskSpec { name: String::new(), start, task, behaviour: Box::new(behaviour), judged: true }
}

/// A drawn run of 60 ms under `O`, on 1 to 4 CPUs. Panics if a count is wrong, or if the referee refuses an answer.
fn run_drawn<O: Order>(seed: u64, settings: &[(String, String)]) {
    let rng = &mut Seed(seed).stream("groups", 0).rng();
    let cpus = rng.within(1, 4);
    let machine = Machine::flat(cpus as u32, [250, 1000][rng.below(2) as usize]).expect("a machine");
    let groups = drawn_groups(rng);
    let tasks = (0..rng.within(2, 10)).map(|_| drawn_task(rng, cpus, &groups)).collect();
    let settings = O::Settings::made(settings).expect("valid settings");
    let policy = Box::new(Recounted(Stack::<O>::new(&machine, settings, Seed(seed)), Vec::new()));
    let work = Workload { tasks, groups, horizon: Some(Time(60 * MS)), ..Workload::default() };
    let made = MadePolicy { about: &O::ABOUT, policy };
    let options = Options { seed: Seed(seed), event_limit: 50_000, ..Options::default() };
    if let Err(why) = simulate_with(&machine, made, work, None, &mut (), options) {
        panic!("seed {seed}: {why}");
    }
}

#[test]
fn groups_count_the_tasks_that_are_on_their_queues_in_drawn_runs() {
    let of = |kernel: &str| [("kernel".to_string(), kernel.to_string())];
    for seed in 0..1_500 {
        run_drawn::<VirtualRuntimes>(seed, &of("6.1"));
        for kernel in ["6.6", "6.12", "6.18"] {
            run_drawn::<VirtualDeadlines>(seed, &of(kernel));
        }
        let mode = ["up", "smp", "concur", "max", "tasks"][seed as usize % 5];
        run_drawn::<VirtualDeadlines>(seed, &[&of("7.3")[..], &[("cgroup_mode".into(), mode.into())]].concat());
    }
}

/// The control: a task counted twice, as by a wake-up between refill and release, is found.
#[test]
fn a_task_that_counts_twice_is_a_contradiction() {
    let mut driver = VerbDriver::<Eevdf>::with(2, Settings::default());
    let mut groups = Groups::default();
    let group = groups.add(Group::new("g", GroupId::ROOT));
    driver.set_groups(groups);
    let task = driver.admit_as(Task { group, ..Task::default() }, None);
    let _ = driver.enqueue(task, CpuId(1), Enqueue::Fork { parent: None });
    let contradiction = |driver: &mut VerbDriver<Eevdf>| driver.call(|it, _| it.order.contradiction(&[task]));
    assert_eq!(contradiction(&mut driver), None);
    driver.call(|it, _| it.order.nodes[1].runnable += 1);
    assert!(contradiction(&mut driver).is_some_and(|what| what.starts_with("group 0 on cpu 1 has")));
}

/// Of tasks of one group the rule is that of their own queue, of those of two groups that of the queue around both.
#[test]
fn a_rule_is_told_between_tasks_of_one_group_and_of_two() {
    let mut driver = VerbDriver::<Eevdf>::with(1, Settings::default());
    let mut groups = Groups::default();
    let [first, second] = ["a", "b"].map(|name| groups.add(Group::new(name, GroupId::ROOT)));
    driver.set_groups(groups);
    let [ahead, beside, elsewhere, outside] = [first, first, second, GroupId::ROOT].map(|group| {
        let task = driver.admit_as(Task { group, ..Task::default() }, None);
        let _ = driver.enqueue(task, CpuId(0), Enqueue::Fork { parent: None });
        task
    });
    let _ = driver.choose(CpuId(0));
    for waiting in [beside, elsewhere, outside] {
        let why = Why { ahead: Some(ahead), waiting, is_pick: false };
        let rule = driver.call(|it, cx| it.rule(cx, CpuId(0), why));
        assert!(rule.is_some(), "{waiting}: no rule");
    }
}

/// docs/specs/smp.md section 2: a queued task that moves takes its averages along at once, also those of its groups.
#[test]
fn runnable_averages_of_groups_move_with_a_task_at_once() {
    let mut driver = VerbDriver::<Eevdf>::with(2, Settings::default());
    let mut groups = Groups::default();
    let outer = groups.add(Group::new("outer", GroupId::ROOT));
    let inner = groups.add(Group::new("inner", outer));
    driver.set_groups(groups);
    let task = driver.admit_as(Task { group: inner, ..Task::default() }, None);
    let _ = driver.enqueue(task, CpuId(1), Enqueue::Fork { parent: None });
    driver.pass(300);
    let averages = |driver: &mut VerbDriver<Eevdf>| {
        let queues = [outer, inner].map(|group| [0, 1].map(|cpu| QueueId(group.0 * 2 + cpu)));
        driver.call(|it, cx| queues.map(|queues| queues.map(|queue| it.loads.runnable_on(cx.now, queue))))
    };
    let near = |[from, to]: [u64; 2]| from < 8 && to.abs_diff(1024) < 8;
    assert!(averages(&mut driver).into_iter().all(near), "{:?}", averages(&mut driver));
    driver.call(|it, cx| it.loads.arrives(cx, CpuId(0), task, false));
    let moved = averages(&mut driver);
    assert!(moved.into_iter().all(|[to, from]| near([from, to])), "{moved:?}");
}

/// Two CPUs, a group within a group, and `count` hogs of the inner one that ran on CPU 1, 0, 1 and so on for 300 ms.
fn hogs_in_a_group(count: u32) -> (VerbDriver<Eevdf>, Vec<TaskId>) {
    let mut driver = VerbDriver::<Eevdf>::with(2, Settings::default());
    let mut groups = Groups::default();
    let outer = groups.add(Group::new("outer", GroupId::ROOT));
    let inner = groups.add(Group::new("inner", outer));
    driver.set_groups(groups);
    let hogs = (0..count).map(|index| {
        let hog = driver.admit_as(Task { group: inner, ..Task::default() }, None);
        let _ = driver.enqueue(hog, CpuId((index + 1) % 2), Enqueue::Fork { parent: None });
        let _ = driver.choose(CpuId((index + 1) % 2));
        hog
    });
    let hogs = hogs.collect();
    driver.pass(300);
    (driver, hogs)
}

/// Averages of both CPUs.
fn loads(driver: &mut VerbDriver<Eevdf>) -> [u64; 2] {
    driver.call(|it, cx| [0, 1].map(|cpu| it.loads.of_cpu(cx.now, CpuId(cpu)).load))
}

/// Moves `task` to CPU 1, or to CPU 0 from there.
fn move_to(driver: &mut VerbDriver<Eevdf>, task: TaskId, to: u32) {
    driver.call(|it, cx| {
        it.dequeue(cx, CpuId(1 - to), task, Dequeue::Migrate);
        let _ = it.enqueue(cx, CpuId(to), task, Enqueue::Migrated);
    });
}

/// docs/specs/groups-locks.md section 1.5. Without the rule CPU 1 keeps the load, and CPU 0 has none, at first.
#[test]
fn the_load_of_a_group_moves_with_a_hog_at_once() {
    let (mut driver, hogs) = hogs_in_a_group(1);
    assert!(matches!(loads(&mut driver), [0, 1000..=1024]), "{:?}", loads(&mut driver));
    move_to(&mut driver, hogs[0], 0);
    assert!(matches!(loads(&mut driver), [1000..=1024, 0]), "{:?}", loads(&mut driver));
}

/// In a probe of Linux 7.3 the sum of a group's entity is 1.25 of the largest one when a third task joins two, which
/// have used 1282 of 1024: a CPU looks heavier than it is for as long as its utilisation is too high.
#[test]
fn a_group_weighs_more_on_a_cpu_while_its_tasks_have_used_more_than_one() {
    let (mut driver, hogs) = hogs_in_a_group(2);
    assert!(matches!(loads(&mut driver), [1000..=1024, 1000..=1024]), "{:?}", loads(&mut driver));
    move_to(&mut driver, hogs[0], 0);
    let [together, left] = loads(&mut driver);
    assert!((1_950..=2_048).contains(&together) && left == 0, "both ran all the time: {together} {left}");
    driver.pass(33);
    let [later, _] = loads(&mut driver);
    assert!((1_480..=1_560).contains(&later), "half of the excess is left after 32 periods: {later}");
}
