//! 4BSD, the traditional scheduler of FreeBSD: priorities that fall with recent use of the CPU and recover with time.
//!
//! Idea: a task gets a point for each tick of the statistics clock that finds it running. All points decay once a
//! second, more slowly under high load. Priority is a base plus an eighth of the points plus nice. One queue of 64
//! lists serves the machine, four priorities a list, in turns of 100 ms.
//!
//! Source: specs section 9.1.
//! General knowledge, not in the sheet: the ranges in `freebsd.rs`, the child's points go to its parent by addition, a
//! preempted task goes to the head of its list and keeps the rest of its turn, a woken one has a whole turn, the load
//! average is that of one minute (sampled each 5 s).
//! Inferred: "better priority class" is read as a better list. The load average begins with the first second's load
//! instead of 0, as if the machine had been in use. Points of a sleeper decay when it wakes, for each second that it
//! slept through. The cap that some versions put on the points is left out.
//! Classes: SCHED_FIFO has no turn, SCHED_RR one of 100 ms, both in the real-time range; SCHED_IDLE is the idle class;
//! batch, iso and deadline tasks count as normal. `Task::priority`, a scale of other systems, is ignored.
//! Weakness: a task that sleeps across the statistics ticks is never charged; under high load use is remembered long;
//! one lock.

use crate::parts::freebsd::{IDLE, PER_LIST, PRIORITIES, Statclock, TIMESHARE, fixed_priority};
use crate::parts::levels::Levels;
use crate::parts::running_cpus::RunningCpus;
use crate::parts::reasons::by_priority;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Machine, Needs, PerTask, Pick, Reason,
    Registered, Rejected, Resched, Seed, Span, Stop, Task, TaskId, Time, Why,
};
use goodness_queues::Links;
use std::cmp::Reverse;

goodness_core::tunables! {
    pub struct Settings {
        /// CPU time after which a task goes behind others of its priority.
        timeslice: Span = Span::from_ms(100), in Span::from_us(100) => Span::from_s(10);
        /// Load that determines how long CPU use is remembered (auto: runnable tasks, averaged over a minute).
        load_average: Option<u64> = None, in 0 => 100_000;
    }
}

/// Statistics ticks that cost one point of priority, on each CPU.
const TICKS_PER_POINT: u64 = 8;
/// Best nice value, at which the nice term is 0.
const BEST_NICE: i64 = -20;
const SECOND: u64 = 1_000_000_000;
/// One, in the fixed point of the load average.
const FSCALE: u64 = 2048;
/// Share of a one-minute load average kept after 5 s: exp(−5/60) in that fixed point.
const KEPT_IN_5_S: u64 = 1884;

/// Points that one second at load `load` (fixed point) leaves of `points`: 2L / (2L + 1).
fn decayed(points: u64, load: u64) -> u64 {
    2 * load * points / (2 * load + FSCALE)
}

/// The priority of a time-sharing task.
fn timeshare_priority(points: u64, cpus: u64, nice: i64) -> u8 {
    let used = points / (TICKS_PER_POINT * cpus);
    let wanted = u64::from(TIMESHARE.0) + used + (nice - BEST_NICE) as u64;
    wanted.min(u64::from(TIMESHARE.1)) as u8
}

/// The load average, one sample each second.
#[derive(Clone, Copy, Debug)]
struct Load {
    fixed: Option<u64>,
    average: Option<u64>,
}

impl Load {
    /// The load, in fixed point.
    fn value(&self) -> u64 {
        self.fixed.map_or(self.average.unwrap_or(0), |load| load * FSCALE)
    }

    fn sample(&mut self, second: u64, runnable: u64) {
        let now = runnable * FSCALE;
        let average = *self.average.get_or_insert(now);
        if second.is_multiple_of(5) {
            self.average = Some((KEPT_IN_5_S * average + (FSCALE - KEPT_IN_5_S) * now) / FSCALE);
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    /// Decayed statistics ticks (estcpu).
    points: u64,
    priority: u8,
    /// The list it is on.
    list: u8,
    /// Remaining time slice.
    left: Span,
    /// The second in which it went to sleep.
    slept_in: Option<u64>,
    parent: Option<TaskId>,
}

/// State of the policy: lists, estcpu and running tasks.
#[derive(Debug)]
pub struct Bsd4 {
    timeslice: Span,
    cpus: u64,
    entities: PerTask<Entity>,
    links: Links,
    queue: Levels<1>,
    running_cpus: RunningCpus<Reverse<u8>>,
    clock: Statclock,
    load: Load,
    /// Seconds that have been dealt with.
    second: u64,
    running: usize,
    /// Tasks that exist, which an update walks.
    living: u32,
    /// Room for the tasks of one update.
    touched: Vec<TaskId>,
}

impl Registered for Bsd4 {
    const ABOUT: About = About {
        name: "bsd4",
        summary: "4BSD of FreeBSD: priority falls with recent CPU use, which decays by the second.",
        source: "FreeBSD sched_4bsd.c; specs section 9.1",
        needs: Needs { tick: true, timer: true, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Bsd4 {
            timeslice: settings.timeslice,
            cpus: machine.cpu_count() as u64,
            entities: PerTask::default(),
            links: Links::default(),
            queue: Levels::new(PRIORITIES / PER_LIST),
            running_cpus: RunningCpus::all(machine),
            clock: Statclock::new(machine),
            load: Load { fixed: settings.load_average, average: None },
            second: 0,
            running: 0,
            living: 0,
            touched: Vec::new(),
        }
    }
}

impl CpuPolicy for Bsd4 {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.living += 1;
        self.links.reserve(task.index() + 1);
        self.touched.reserve(task.index() + 1);
        let points = parent.map_or(0, |p| self.entities[p].points);
        *self.entities.admit(task) = Entity { points, left: self.timeslice, parent, ..Entity::default() };
        self.reset_priority(cx, task);
        Ok(())
    }

    fn exit(&mut self, _: &Context, task: TaskId) {
        self.living -= 1;
        if let Some(parent) = self.entities[task].parent {
            self.entities[parent].points += self.entities[task].points;
        }
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.catch_up(cx);
        let entity = &mut self.entities[task];
        match why {
            Enqueue::Wakeup { .. } => {
                let missed = entity.slept_in.take().map_or(0, |from| self.second - from);
                let before = entity.points;
                entity.left = self.timeslice;
                self.entities[task].points = self.points_after(before, missed);
            }
            Enqueue::SliceEnd => entity.left = self.timeslice,
            _ => {}
        }
        self.reset_priority(cx, task);
        let at_head = why == Enqueue::Preempted && self.entities[task].left > Span::ZERO;
        self.push(task, at_head);
        match why {
            // Its own CPU is about to choose.
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yielded => self.running_cpus.claim_idle(cx, cpu, task),
            _ => self.running_cpus.claim(cx, cpu, task, Reverse(self.entities[task].list)),
        }
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.queue.remove(&mut self.links, usize::from(self.entities[task].list), task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let found = self.queue.take_allowed(&mut self.links, cx, cpu);
        self.running_cpus.set(cpu, found.map(|(list, task)| (task, Reverse(list as u8))));
        let (_, task) = found?;
        self.running += 1;
        let entity = &mut self.entities[task];
        if entity.left == Span::ZERO {
            entity.left = self.timeslice;
        }
        let timeslice = (cx.tasks[task].class != Class::Fifo).then_some(entity.left);
        Some(Pick { task, timeslice })
    }

    fn why(&self, _: &Context, cpu: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let (running, _) = self.running_cpus.on(cpu)?;
        let own = self.list_of(running);
        let other = self.entities[waiting].list;
        // The lists are numbered from the best one.
        by_priority(-i64::from(own), -i64::from(other), is_pick).filter(|_| ahead == Some(running))
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let entity = &mut self.entities[task];
        entity.left = entity.left.saturating_sub(ran);
        if why == Stop::Tick {
            let before = entity.points;
            entity.points += u64::from(self.clock.tick(cpu));
            let step = TICKS_PER_POINT * self.cpus;
            if before / step != entity.points / step {
                self.reset_priority(cx, task);
                self.running_cpus.revalue(cpu, Reverse(self.list_of(task)));
            }
            return Resched::Keep;
        }
        self.running -= 1;
        if let Stop::Blocked { .. } = why {
            entity.slept_in = Some(self.second);
        }
        Resched::Keep
    }

    fn next_timer(&self) -> Option<Time> {
        (self.runnable() > 0).then_some(Time((self.second + 1) * SECOND))
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        if cx.now.ns() < (self.second + 1) * SECOND {
            return Resched::Keep;
        }
        self.second += 1;
        self.load.sample(self.second, self.runnable() as u64);
        self.decay_all(cx);
        self.yield_to_best(cx)
    }
}

impl Bsd4 {
    fn runnable(&self) -> usize {
        self.queue.len() + self.running
    }

    fn list_of(&self, task: TaskId) -> u8 {
        self.entities[task].priority / PER_LIST as u8
    }

    fn push(&mut self, task: TaskId, at_head: bool) {
        let list = self.list_of(task);
        self.entities[task].list = list;
        match at_head {
            true => self.queue.push_front(&mut self.links, usize::from(list), task),
            false => self.queue.push_back(&mut self.links, usize::from(list), task),
        }
    }

    fn reset_priority(&mut self, cx: &Context, task: TaskId) {
        let it: &Task = &cx.tasks[task];
        let entity = &mut self.entities[task];
        let timeshare = || timeshare_priority(entity.points, self.cpus, it.nice.get());
        entity.priority = fixed_priority(it).unwrap_or_else(timeshare);
        debug_assert!(it.class == Class::Idle || entity.priority < IDLE);
    }

    /// `points` after `seconds` of sleep.
    fn points_after(&self, mut points: u64, seconds: u64) -> u64 {
        for _ in 0..seconds {
            if points == 0 {
                break;
            }
            points = decayed(points, self.load.value());
        }
        points
    }

    /// Accounts for seconds without runnable tasks, in which nothing decayed and the load was zero.
    fn catch_up(&mut self, cx: &Context) {
        if self.runnable() > 0 {
            return;
        }
        let now = cx.now.ns() / SECOND;
        if now > self.second + 1000 {
            self.load.average = self.load.average.map(|_| 0);
            self.second = now;
        }
        while self.second < now {
            self.second += 1;
            if self.load.average.is_some() {
                self.load.sample(self.second, 0);
            }
        }
    }

    /// Once a second: decays all points and moves waiting tasks to their new lists.
    fn decay_all(&mut self, cx: &Context) {
        let mut touched = std::mem::take(&mut self.touched);
        touched.extend(self.queue.iter(&self.links));
        let waiting = touched.len();
        touched.extend(cx.machine.cpu_ids().filter_map(|cpu| self.running_cpus.on(cpu)).map(|(task, _)| task));
        cx.examined(Effort::Recalculate, self.living);
        let load = self.load.value();
        for (index, task) in touched.iter().enumerate() {
            let entity = &mut self.entities[*task];
            entity.points = decayed(entity.points, load);
            let list = entity.list;
            self.reset_priority(cx, *task);
            if index < waiting && list != self.list_of(*task) {
                self.queue.remove(&mut self.links, usize::from(list), *task);
                self.push(*task, false);
            }
        }
        touched.clear();
        self.touched = touched;
        for cpu in cx.machine.cpu_ids() {
            if let Some((task, _)) = self.running_cpus.on(cpu) {
                self.running_cpus.revalue(cpu, Reverse(self.list_of(task)));
            }
        }
    }

    /// The CPU that must stop for the best task that waits.
    fn yield_to_best(&self, cx: &Context) -> Resched {
        let Some(list) = self.queue.best() else { return Resched::Keep };
        let Some(task) = self.queue.front(list) else { return Resched::Keep };
        match self.running_cpus.least_urgent(cx, cx.tasks.cpu(task), task) {
            Some((cpu, running)) if running < Reverse(list as u8) => Resched::Preempt(cpu),
            _ => Resched::Keep,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::verb_driver::VerbDriver;

    /// specs/cpu-schedulers.md 9.1, checks: L = 1 keeps 2/3 a second, 13 % after 5 s
    #[test]
    fn at_load_1_a_second_keeps_two_thirds_and_five_keep_13_percent() {
        assert_eq!(decayed(3000, FSCALE), 2000);
        assert_eq!((0..5).fold(1_000_000, |points, _| decayed(points, FSCALE)) / 10_000, 13);
    }

    /// specs/cpu-schedulers.md 9.1: 90 % forgotten in 5 L seconds
    #[test]
    fn nine_tenths_are_forgotten_in_five_seconds_for_each_unit_of_load() {
        for load in [2, 5, 10] {
            let left = (0..5 * load).fold(1_000_000, |points, _| decayed(points, load * FSCALE));
            assert!((80_000..115_000).contains(&left), "load {load}: {left}");
        }
    }

    /// specs/cpu-schedulers.md 9.1, checks: nice +20 weighs like 160 points
    #[test]
    fn nice_20_adds_as_much_as_160_points() {
        assert_eq!(timeshare_priority(0, 1, 20) - timeshare_priority(0, 1, 0), 20);
        assert_eq!(timeshare_priority(160, 1, 0), timeshare_priority(0, 1, 20));
        assert_eq!(timeshare_priority(320, 2, 0), timeshare_priority(0, 1, 20), "points count less on two CPUs");
        assert_eq!(timeshare_priority(100_000, 1, 0), TIMESHARE.1);
    }

    /// specs/cpu-schedulers.md 9.1 "Sleep > 1 s decays on wake by the same rule"
    #[test]
    fn a_sleeper_finds_its_points_decayed_when_it_wakes() {
        let mut driver = VerbDriver::<Bsd4>::with(1, Settings { load_average: Some(1), ..Settings::default() });
        let task = driver.admit(0);
        driver.wake(task);
        driver.pick();
        driver.call(|policy, _| policy.entities[task].points = 900);
        driver.stop(Stop::Blocked { interruptible: true });
        driver.pass(2500);
        driver.wake(task);
        assert_eq!(driver.policy().entities[task].points, 400, "two updates slept through");
    }

    /// specs/cpu-schedulers.md 9.1 "Fork" and "exit"
    #[test]
    fn a_child_inherits_points_and_returns_its_own_at_the_end() {
        let mut driver = VerbDriver::<Bsd4>::with(1, Settings::default());
        let parent = driver.admit(0);
        driver.call(|policy, _| policy.entities[parent].points = 80);
        let child = driver.admit_as(Task::default(), Some(parent));
        assert_eq!(driver.policy().entities[child].points, 80);
        driver.call(|policy, _| policy.entities[child].points = 100);
        driver.exit(child);
        assert_eq!(driver.policy().entities[parent].points, 180);
    }

    #[test]
    fn the_load_average_of_a_minute_follows_slowly() {
        let mut load = Load { fixed: None, average: None };
        load.sample(1, 4);
        assert_eq!(load.value(), 4 * FSCALE);
        (2..=61).for_each(|second| load.sample(second, 0));
        let left = load.value() * 1000 / (4 * FSCALE);
        assert!((355..380).contains(&left), "1/e is left, not {left} in 1000");
    }
}
