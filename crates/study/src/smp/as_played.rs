//! Work as a player begins it: a thread of the player makes all threads, they wait until the last one is there, sleep
//! through a run-up, and are woken at their start. When the warm-up ends the player reads what each thread has used. If
//! the work has groups, all of it is in one group, with its groups.

use goodness_core::{
    Behaviour, BehaviourId, Channel, ChannelKind, Class, CpuId, Group, GroupId, Groups, Seed, Span, Start, Step,
    StepContext, Task, TaskId, TaskSpec, Time, Workload, WorkloadSource,
};

/// From the first thread's making to the start of the work, without the time for each thread: the player's 20 ms and
/// its own 1 ms.
const RUN_UP: Span = Span::from_ms(21);
/// Time that each thread adds: the player's 0.2 ms, and the making of the thread.
const RUN_UP_EACH: Span = Span::from_us(360);
/// Time from the making of one thread to the next. In a traced play of seven threads it is 100 to 220 us.
const MAKING: Span = Span::from_us(160);
/// Least and most CPU time in which a thread sets itself up, ns. A choice: most threads of the traces are within.
const SETTING_UP: (u64, u64) = (100_000, 400_000);
/// CPU time of the player after the last thread was made, in which threads set themselves up.
const READY: Span = Span::from_us(400);

/// CPU time of reading one thread, ns, for each CPU of the machine. In plays it is 90 to 240 us where all CPUs are
/// busy: emulated CPUs take turns.
const READING: (u64, u64) = (90_000, 230_000);

/// Work that begins after the run-up. Its threads are made by a thread of the player, which is more urgent than all of
/// them and not judged, on a CPU drawn from the seed.
pub struct AsPlayed<'a> {
    /// The work.
    pub source: &'a dyn WorkloadSource,
    /// CPUs of the machine.
    pub cpus: u32,
}

/// The run-up of so many threads.
fn run_up(threads: usize) -> Span {
    RUN_UP + RUN_UP_EACH * threads as u64
}

/// A group of work that has groups, which are all in one.
fn within(group: GroupId) -> GroupId {
    GroupId(group.0 + 1)
}

/// `behaviour` of a thread that takes the steps `before` and begins then, on a clock that is behind by `run_up`. If
/// `has_groups`, groups are one further in.
fn late(mut behaviour: Box<dyn Behaviour>, before: [Step; 3], run_up: Span, has_groups: bool) -> Box<dyn Behaviour> {
    let mut before = before.into_iter();
    Box::new(move |cx: &mut StepContext| {
        before.next().unwrap_or_else(|| {
            let now = Time(cx.now.0.saturating_sub(run_up.0));
            match behaviour.next(&mut StepContext { now, task: cx.task, rng: cx.rng }) {
                Step::SleepUntil(at) => Step::SleepUntil(at + run_up),
                Step::Served(since) => Step::Served(since + run_up),
                Step::SetGroup(group) if has_groups => Step::SetGroup(within(group)),
                step => step,
            }
        })
    })
}

/// The player as it reads all threads for `span`, when the warm-up is over. It is urgent only while it makes threads,
/// so this is a task of its own.
fn reader(at: Time, span: Span) -> TaskSpec {
    let mut steps = [Step::SleepUntil(at), Step::Compute(span)].into_iter();
    TaskSpec {
        name: "reader".into(),
        start: Start::Forked,
        task: Task::default(),
        behaviour: Box::new(move |_: &mut StepContext| steps.next().unwrap_or(Step::Exit)),
        judged: false,
    }
}

/// The thread of the player that makes `threads` and then lets all of them go on.
fn player(threads: Vec<BehaviourId>, reads: BehaviourId, others: Channel, cpu: CpuId, rt_priority: u8) -> TaskSpec {
    let made = threads.iter().flat_map(|it| [Step::Compute(MAKING), Step::Fork(*it)]).chain([Step::Fork(reads)]);
    let woken = threads.iter().map(|_| Step::Wake(others));
    let steps: Vec<Step> = made.chain([Step::Compute(READY)]).chain(woken).collect();
    let mut steps = steps.into_iter();
    TaskSpec {
        name: "player".into(),
        start: Start::WokenAt(Time::ZERO),
        task: Task { class: Class::Fifo, rt_priority, first_cpu: cpu, ..Task::default() },
        behaviour: Box::new(move |_: &mut StepContext| steps.next().unwrap_or(Step::Exit)),
        judged: false,
    }
}

/// Puts all tasks and groups of `work` into one group.
fn enclose(work: &mut Workload) {
    let mut groups = Groups::default();
    *groups.edit(GroupId::ROOT) = work.groups[GroupId::ROOT].clone();
    groups.add(Group::new("load", GroupId::ROOT));
    for (_, group) in work.groups.iter() {
        groups.add(Group { parent: within(group.parent), ..group.clone() });
    }
    work.groups = groups;
    work.tasks.iter_mut().for_each(|it| it.task.group = within(it.task.group));
}

impl WorkloadSource for AsPlayed<'_> {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn what_varies(&self) -> &str {
        self.source.what_varies()
    }

    fn place_of(&self, task: TaskId) -> Option<String> {
        self.source.place_of(task)
    }

    fn build(&self, seed: Seed, replication: u32) -> Workload {
        let mut work = self.source.build(seed, replication);
        let is_woken = work.tasks.iter().any(|it| matches!(it.start, Start::WokenAt(_)));
        assert!(work.outside.is_empty() && work.faults.is_empty() && !is_woken, "they have a clock, too");
        let others = Channel(work.channels.len() as u32);
        let run_up = run_up(work.tasks.iter().filter(|it| matches!(it.start, Start::At(_))).count());
        let mut rng = seed.stream("player", 0).rng();
        let mut threads = Vec::new();
        let has_groups = !work.groups.is_flat();
        for (index, task) in work.tasks.iter_mut().enumerate() {
            if let Start::At(start) = task.start {
                threads.push(BehaviourId(index as u32));
                task.start = Start::Forked;
                let behaviour = std::mem::replace(&mut task.behaviour, Box::new(|_: &mut StepContext| Step::Exit));
                let setting_up = Step::Compute(Span(rng.within(SETTING_UP.0, SETTING_UP.1)));
                let before = [setting_up, Step::Wait(others), Step::SleepUntil(start + run_up)];
                task.behaviour = late(behaviour, before, run_up, has_groups);
            }
        }
        let reading = Span(rng.within(READING.0, READING.1)) * u64::from(self.cpus) * work.tasks.len() as u64;
        let cpu = rng.below(self.cpus.into()) as u32;
        let most = work.tasks.iter().map(|it| it.task.rt_priority).max().unwrap_or_default();
        assert!(most < 99, "nothing can be more urgent");
        let reads = BehaviourId(work.tasks.len() as u32);
        work.tasks.push(reader(Time::ZERO + work.warmup + run_up, reading));
        work.tasks.push(player(threads, reads, others, CpuId(cpu), most + 1));
        work.channels.push(ChannelKind::Semaphore);
        if has_groups {
            enclose(&mut work);
        }
        work.warmup += run_up;
        work.horizon = work.horizon.map(|end| end + run_up);
        work
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Rng;

    /// A task that starts at 7 ms, sleeps until 50 ms and computes for as many nanoseconds as its clock shows.
    struct Load;

    impl WorkloadSource for Load {
        fn name(&self) -> &str {
            "load"
        }

        fn what_varies(&self) -> &str {
            "nothing"
        }

        fn build(&self, _: Seed, _: u32) -> Workload {
            let mut first = Some(Step::SleepUntil(Time::ZERO + Span::from_ms(50)));
            let behaviour = move |cx: &mut StepContext| first.take().unwrap_or(Step::Compute(Span(cx.now.0)));
            let task = TaskSpec {
                name: "late".into(),
                start: Start::At(Time::ZERO + Span::from_ms(7)),
                task: Task::default(),
                behaviour: Box::new(behaviour),
                judged: true,
            };
            let horizon = Some(Time::ZERO + Span::from_ms(100));
            Workload { tasks: vec![task], horizon, warmup: Span::from_ms(10), ..Workload::default() }
        }
    }

    /// The run-up of one thread.
    const OF_ONE: Span = Span::from_us(21_360);

    fn time(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// The next step of task `index` at `now`.
    fn step(work: &mut Workload, index: usize, now: Time, rng: &mut Rng) -> Step {
        work.tasks[index].behaviour.next(&mut StepContext { now, task: TaskId(index as u32), rng })
    }

    #[test]
    fn all_times_of_the_load_come_later_by_the_run_up_and_its_own_clock_does_not_know() {
        let mut work = AsPlayed { source: &Load, cpus: 4 }.build(Seed(1), 0);
        assert_eq!((work.horizon, work.warmup), (Some(time(100) + OF_ONE), Span::from_ms(10) + OF_ONE));
        assert_eq!(work.tasks[0].start, Start::Forked);
        let mut rng: Rng = Seed(1).stream("test", 0).rng();
        let mut next = |now| step(&mut work, 0, now, &mut rng);
        assert!(matches!(next(time(0)), Step::Compute(span) if (100_000..=400_000).contains(&span.0)));
        assert_eq!(next(time(0)), Step::Wait(Channel(0)));
        assert_eq!(next(time(0)), Step::SleepUntil(time(7) + OF_ONE));
        assert_eq!(next(time(7) + OF_ONE), Step::SleepUntil(time(50) + OF_ONE));
        assert_eq!(next(time(50) + OF_ONE), Step::Compute(Span::from_ms(50)));
    }

    #[test]
    fn tasks_and_groups_are_within_one_group_if_there_are_groups() {
        let mut work = Load.build(Seed(1), 0);
        let outer = work.groups.add(Group::new("outer", GroupId::ROOT));
        work.groups.add(Group { weight: 300, ..Group::new("inner", outer) });
        work.tasks[0].task.group = outer;
        enclose(&mut work);
        let parents: Vec<(&str, u32, u64)> =
            work.groups.iter().map(|(_, it)| (it.name.as_str(), it.parent.0, it.weight)).collect();
        assert_eq!(parents, [("load", 0, 1024), ("outer", 1, 1024), ("inner", 2, 300)]);
        assert_eq!(work.tasks[0].task.group, GroupId(2));
        let flat = AsPlayed { source: &Load, cpus: 4 }.build(Seed(1), 0);
        assert!(flat.groups.is_flat() && flat.tasks.iter().all(|it| it.task.group == GroupId::ROOT));
    }

    #[test]
    fn a_thread_of_the_player_makes_the_others_and_lets_them_go() {
        let mut work = AsPlayed { source: &Load, cpus: 4 }.build(Seed(1), 0);
        let told = (work.tasks[2].judged, work.tasks[2].task.class, work.tasks[2].task.rt_priority);
        assert_eq!(told, (false, Class::Fifo, 1));
        let mut rng: Rng = Seed(1).stream("test", 0).rng();
        let steps: Vec<Step> = (0..6).map(|_| step(&mut work, 2, time(0), &mut rng)).collect();
        let (made, ready) = (Step::Compute(MAKING), Step::Compute(READY));
        let [load, reader] = [0, 1].map(|it| Step::Fork(BehaviourId(it)));
        assert_eq!(steps, [made, load, reader, ready, Step::Wake(Channel(0)), Step::Exit]);
        let cpu = |seed| AsPlayed { source: &Load, cpus: 4 }.build(Seed(seed), 0).tasks[2].task.first_cpu;
        assert!((1..20).any(|seed| cpu(seed) != cpu(0)), "its CPU is drawn");
        assert!((0..20).all(|seed| cpu(seed).0 < 4));
    }

    #[test]
    fn the_player_reads_the_threads_when_the_warm_up_ends() {
        let mut work = AsPlayed { source: &Load, cpus: 4 }.build(Seed(1), 0);
        assert_eq!((work.tasks[1].judged, work.tasks[1].task.class), (false, Class::Normal));
        let mut rng: Rng = Seed(1).stream("test", 0).rng();
        assert_eq!(step(&mut work, 1, time(0), &mut rng), Step::SleepUntil(Time::ZERO + work.warmup));
        let read = step(&mut work, 1, time(0), &mut rng);
        assert!(
            matches!(read, Step::Compute(span) if (360_000..=920_000).contains(&span.0)),
            "one on 4 CPUs: {read:?}"
        );
        assert_eq!(step(&mut work, 1, time(0), &mut rng), Step::Exit);
    }
}
