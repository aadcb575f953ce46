//! Haiku's scheduler of December 2013: a queue for each core, penalties for threads that use up their quanta, and two
//! modes.
//!
//! Idea: the thread of highest effective priority runs. A thread that uses up a quantum loses priority, down to a
//! floor, until it sleeps. It also gets a second penalty that wanders through the levels below, so that no thread
//! starves.
//!
//! Source: specs 7.5.
//! Inferred: quanta depend on effective priority. The second penalty is never cancelled. A woken thread has a whole
//! quantum. Stolen time lengthens later quanta, each by at most the shortest quantum.
//! Inferred, load: the load of a thread is the mean of its old value and of the CPU time in its last cycle of running
//! and sleeping, 100 % at the start. The load of a core is the sum over its runnable threads, divided by its CPUs. A
//! core is the set of hardware threads that share it.
//! Inferred, placement; only the thresholds are published. Low latency: a woken thread stays on its core while the
//! cache is warm and the core below 70 %, else it goes to the least loaded core. Power saving: under the same
//! conditions it stays if the core is also above 20 %; else it goes to the busiest core that stays below 55 %, else to
//! the least loaded. At the end of a quantum a thread moves to the least loaded core, if the difference is at least 20
//! % plus the thread's own load (power saving: only from a core above 70 %).
//! Deviations: cores are searched for the least load; Haiku has heaps. Threads that may not run on a CPU are passed
//! over. SCHED_FIFO, which Haiku lacked, runs without a quantum. As in Haiku, an idle CPU steals nothing. The scale of
//! priorities is in `be_priorities.rs`.
//! Weakness: waking and sleeping raise priority. A core may idle until a quantum ends elsewhere.

use crate::parts::be_priorities::{FIRST_REAL_TIME, LOWEST_ACTIVE, Levels, NORMAL, priority_of};
use goodness_core::policy::previous_cpu;
use crate::parts::reasons::by_priority;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Enqueue, Level, Machine, Needs, PerTask, Pick, Reason, Registered,
    Rejected, Resched, Seed, Span, Stop, TaskId, Time, Why,
};
use goodness_queues::Links;

goodness_core::choices! {
    /// Purpose the machine is run for.
    pub enum Mode { LowLatency = "low-latency", PowerSaving = "power-saving" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Spread threads for speed, or gather them for idle cores.
        mode: Mode = Mode::LowLatency;
        /// Quantum of a thread at priority 20 or above (auto: 1 ms in low latency, 2 ms in power saving).
        base_quantum: Option<Span> = None, in Span::from_us(100) => Span::from_s(1);
        /// Target time for each thread of a CPU to get its turn (auto: 5 ms, 20 ms).
        max_latency: Option<Span> = None, in Span::from_us(100) => Span::from_s(10);
        /// Time for which a sleeping thread's cache counts as warm.
        cache_expire: Span = Span::from_ms(100), in Span::ZERO => Span::from_s(100);
    }
}

/// Priority at and above which the quantum is the base (specs 7.5).
const URGENT: u8 = 20;
/// Loads are in thousandths.
const WHOLE: u32 = 1000;
const LOW_LOAD: u32 = 200;
const TARGET_LOAD: u32 = 550;
const HIGH_LOAD: u32 = 700;
const LOAD_DIFFERENCE: u32 = 200;

/// Lengths of a mode (specs 7.5).
#[derive(Clone, Copy, Debug)]
struct Lengths {
    base: u64,
    minimum: u64,
    /// Factor of a quantum at priorities 10 and 0.
    at_10: u64,
    at_0: u64,
    max_latency: u64,
}

impl Lengths {
    fn new(settings: &Settings) -> Lengths {
        let us = |n| Span::from_us(n).0;
        let mut lengths = match settings.mode {
            Mode::LowLatency => {
                Lengths { base: us(1_000), minimum: us(100), at_10: 2, at_0: 5, max_latency: us(5_000) }
            }
            Mode::PowerSaving => {
                Lengths { base: us(2_000), minimum: us(500), at_10: 3, at_0: 10, max_latency: us(20_000) }
            }
        };
        lengths.base = settings.base_quantum.map_or(lengths.base, |it| it.0);
        lengths.max_latency = settings.max_latency.map_or(lengths.max_latency, |it| it.0);
        lengths
    }

    /// Quantum at an effective priority on a CPU that `threads` share.
    fn quantum(&self, priority: u8, threads: u64) -> u64 {
        let below = |top: u8| u64::from(top - priority);
        let whole = match priority {
            URGENT.. => self.base,
            NORMAL.. => self.base + self.base * (self.at_10 - 1) * below(URGENT) / 10,
            _ => self.base * self.at_10 + self.base * (self.at_0 - self.at_10) * below(NORMAL) / 10,
        };
        whole.min(self.max_latency / threads.max(1)).max(self.minimum)
    }
}

/// State of one thread.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    priority: u8,
    penalty: u8,
    extra: u32,
    /// Effective priority under which it waits or runs.
    level: u8,
    core: u32,
    /// Length of the current quantum and its used part; 0 before it starts.
    quantum: u64,
    used: u64,
    stolen: u64,
    /// CPU time since it last woke.
    ran: u64,
    slept_at: Option<Time>,
    /// Needed load, and the part of it in the core's sum.
    load: u32,
    counted: u32,
}

impl Thread {
    /// The priority below which penalties do not lead (specs 7.5).
    fn floor(&self) -> u8 {
        (self.priority / 5).clamp(1, 25)
    }

    fn is_real_time(&self) -> bool {
        self.priority >= FIRST_REAL_TIME
    }

    fn effective(&self) -> u8 {
        if self.is_real_time() {
            return self.priority;
        }
        let left = self.priority.saturating_sub(self.penalty).max(LOWEST_ACTIVE);
        left - (self.extra % u32::from(left)) as u8
    }

    /// It used a quantum up.
    fn punish(&mut self) {
        self.extra = self.extra.wrapping_add(1);
        if self.priority.saturating_sub(self.penalty) > self.floor() {
            self.penalty += 1;
        }
    }

    /// Sets a new priority and the matching penalty.
    fn set_priority(&mut self, priority: u8) {
        self.priority = priority;
        self.penalty = self.penalty.min(priority.saturating_sub(self.floor()));
    }

    fn learn_load(&mut self, slept: u64) {
        let cycle = (self.ran + slept).max(1);
        let last = u128::from(self.ran) * u128::from(WHOLE) / u128::from(cycle);
        self.load = (self.load + last as u32).div_ceil(2);
        self.ran = 0;
    }
}

/// State of one core.
#[derive(Clone, Debug, Default)]
struct Core {
    cpus: u32,
    levels: Levels,
    runnable: u32,
    /// Needed load of its runnable threads.
    load: u32,
}

impl Core {
    fn load(&self) -> u32 {
        self.load / self.cpus
    }
}

/// Haiku's scheduler of 2013.
#[derive(Debug)]
pub struct Haiku2013 {
    settings: Settings,
    lengths: Lengths,
    links: Links,
    threads: PerTask<Thread>,
    cores: Vec<Core>,
    core_of: Vec<u32>,
    /// Effective priority that runs on each CPU, or was sent to an idle one.
    running: Vec<Option<u8>>,
}

impl Registered for Haiku2013 {
    const ABOUT: About = About {
        name: "haiku-2013",
        summary: "Haiku since December 2013: a queue for each core, penalties for hogs, two modes.",
        source: "Haiku, December 2013; specs 7.5",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        let mut core_of = vec![0; machine.cpu_count()];
        let mut cores = Vec::new();
        for (index, cpus) in machine.groups(Level::Smt).iter().enumerate() {
            cpus.iter().for_each(|cpu| core_of[cpu.index()] = index as u32);
            cores.push(Core { cpus: cpus.len() as u32, ..Core::default() });
        }
        Haiku2013 {
            lengths: Lengths::new(&settings),
            settings,
            links: Links::default(),
            threads: PerTask::default(),
            cores,
            core_of,
            running: vec![None; machine.cpu_count()],
        }
    }
}

impl CpuPolicy for Haiku2013 {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.links.reserve(task.index() + 1);
        let mut entity = Thread { load: WHOLE, ..Thread::default() };
        if let Some(of) = parent.map(|parent| self.threads[parent]) {
            (entity.penalty, entity.extra, entity.load) = (of.penalty, of.extra, of.load);
        }
        entity.set_priority(priority_of(&cx.tasks[task]));
        *self.threads.admit(task) = entity;
        Ok(())
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        let home = self.core_of[previous_cpu(cx, task).index()];
        let core = match why {
            Enqueue::Wakeup { .. } if self.stays(cx, task, home) => home,
            _ => self.choose_core(cx, task, home),
        };
        self.least_urgent(cx, core, task).unwrap_or_else(|| previous_cpu(cx, task))
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        let core = self.core_of[cpu.index()];
        match why {
            Enqueue::Wakeup { .. } => self.awake(cx, task),
            Enqueue::Restored => self.threads[task].set_priority(priority_of(&cx.tasks[task])),
            Enqueue::SliceEnd | Enqueue::Yielded => return self.end_quantum(cx, cpu, task),
            Enqueue::Preempted if self.left(task) <= self.lengths.minimum / 2 => {
                return self.end_quantum(cx, cpu, task);
            }
            Enqueue::Preempted => {
                self.insert(core, task, true);
                return Resched::Keep;
            }
            Enqueue::Fork { .. } | Enqueue::Migrated => {}
        }
        self.insert(core, task, false);
        self.claim(cpu, task)
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        let Thread { core, level, .. } = self.threads[task];
        self.cores[core as usize].levels.remove(&mut self.links, level, task);
        self.remove(task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let core = &mut self.cores[self.core_of[cpu.index()] as usize];
        let found = core.levels.first_allowed(cx, &self.links, core.levels.all(), cpu);
        self.running[cpu.index()] = found.map(|(_, level)| level);
        let (task, level) = found?;
        core.levels.remove(&mut self.links, level, task);
        let sharing = u64::from(core.runnable / core.cpus);
        let entity = &mut self.threads[task];
        if entity.used == 0 {
            let lent = entity.stolen.min(self.lengths.minimum);
            entity.stolen -= lent;
            entity.quantum = self.lengths.quantum(level, sharing) + lent;
        }
        let left = Span(entity.quantum.saturating_sub(entity.used).max(1));
        Some(Pick { task, timeslice: (cx.tasks[task].class != Class::Fifo).then_some(left) })
    }

    fn why(&self, _: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let [own, other] = [ahead?, waiting].map(|task| i64::from(self.threads[task].level));
        // A thread with a rest of its quantum goes before its equals.
        by_priority(own, other, is_pick).filter(|it| *it != Reason::First)
    }

    fn charge(&mut self, cx: &Context, _: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        self.remove(task);
        let entity = &mut self.threads[task];
        entity.used += ran.0;
        entity.ran += ran.0;
        if matches!(why, Stop::Blocked { .. }) {
            entity.slept_at = Some(cx.now);
            entity.used = 0;
            entity.extra = entity.extra.wrapping_add(1);
        }
        Resched::Keep
    }
}

impl Haiku2013 {
    /// Remaining part of the current quantum.
    fn left(&self, task: TaskId) -> u64 {
        let entity = &self.threads[task];
        entity.quantum.saturating_sub(entity.used)
    }

    /// `task` joins the queue of `core`, before or behind its equals.
    fn insert(&mut self, core: u32, task: TaskId, in_front: bool) {
        let entity = &mut self.threads[task];
        (entity.core, entity.level, entity.counted) = (core, entity.effective(), entity.load);
        let core = &mut self.cores[core as usize];
        core.runnable += 1;
        core.load += entity.load;
        match in_front {
            true => core.levels.push_front(&mut self.links, entity.level, task),
            false => core.levels.push_back(&mut self.links, entity.level, task),
        }
    }

    /// `task` no longer counts as runnable on its core.
    fn remove(&mut self, task: TaskId) {
        let entity = &self.threads[task];
        let core = &mut self.cores[entity.core as usize];
        core.runnable -= 1;
        core.load -= entity.counted;
    }

    /// A long sleep cancels the penalty.
    fn awake(&mut self, cx: &Context, task: TaskId) {
        let entity = &mut self.threads[task];
        if let Some(since) = entity.slept_at.take() {
            let slept = cx.now.since(since).0;
            if slept > self.lengths.base / 2 {
                entity.penalty = 0;
            }
            entity.learn_load(slept);
        }
    }

    /// Ends a quantum: carries over its unused part, penalises the thread and queues it behind its equals, perhaps on
    /// another core.
    fn end_quantum(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> Resched {
        let left = self.left(task);
        let entity = &mut self.threads[task];
        entity.stolen += left;
        entity.used = 0;
        if !entity.is_real_time() {
            entity.punish();
        }
        entity.learn_load(0);
        let home = self.core_of[cpu.index()];
        let core = self.rebalance(cx, task, home);
        self.insert(core, task, false);
        if core == home {
            return Resched::Keep;
        }
        match self.least_urgent(cx, core, task) {
            Some(to) => match self.running[to.index()] {
                Some(level) if level >= self.threads[task].level => Resched::Keep,
                _ => Resched::Preempt(to),
            },
            None => Resched::Keep,
        }
    }

    /// True if `task`, just queued, gets `cpu`. An idle CPU counts as taken from now on.
    fn claim(&mut self, cpu: CpuId, task: TaskId) -> Resched {
        let level = self.threads[task].level;
        match &mut self.running[cpu.index()] {
            Some(running) if *running >= level => Resched::Keep,
            Some(running) => {
                *running = level;
                Resched::Preempt(cpu)
            }
            idle => {
                *idle = Some(level);
                Resched::Keep
            }
        }
    }

    /// An idle CPU of `core` in the affinity of `task`, or else the one running the lowest effective priority.
    fn least_urgent(&self, cx: &Context, core: u32, task: TaskId) -> Option<CpuId> {
        let cpus = cx.machine.groups(Level::Smt)[core as usize].iter().copied();
        let allowed = cpus.filter(|cpu| cx.tasks.may_run(task, *cpu));
        allowed.min_by_key(|cpu| self.running[cpu.index()])
    }

    /// True if a woken thread returns to its core.
    fn stays(&self, cx: &Context, task: TaskId, home: u32) -> bool {
        let Some(since) = self.threads[task].slept_at else { return false };
        let load = self.cores[home as usize].load();
        let gathers = self.settings.mode == Mode::PowerSaving && load < LOW_LOAD;
        cx.now.since(since) < self.settings.cache_expire && load <= HIGH_LOAD && !gathers
    }

    /// The core for a thread that leaves `home`.
    fn choose_core(&self, cx: &Context, task: TaskId, home: u32) -> u32 {
        let gathered = match self.settings.mode {
            Mode::PowerSaving => self.busiest_with_room(cx, task),
            Mode::LowLatency => None,
        };
        gathered.or_else(|| self.least_loaded(cx, task)).unwrap_or(home)
    }

    /// The busiest core that stays below the target with `task`.
    fn busiest_with_room(&self, cx: &Context, task: TaskId) -> Option<u32> {
        let own = self.threads[task].load;
        let fits = |core: &u32| {
            let it = &self.cores[*core as usize];
            (it.load + own) / it.cpus <= TARGET_LOAD && self.least_urgent(cx, *core, task).is_some()
        };
        (0..self.cores.len() as u32).filter(fits).max_by_key(|core| (self.cores[*core as usize].load(), !*core))
    }

    /// The least loaded core that `task` may use, the one with the fewest threads among equals.
    fn least_loaded(&self, cx: &Context, task: TaskId) -> Option<u32> {
        let cores = (0..self.cores.len() as u32).filter(|core| self.least_urgent(cx, *core, task).is_some());
        cores.min_by_key(|core| {
            let it = &self.cores[*core as usize];
            (it.load(), it.runnable / it.cpus)
        })
    }

    /// Core on which a thread continues after its quantum on `home`, which does not count it at the moment.
    fn rebalance(&self, cx: &Context, task: TaskId, home: u32) -> u32 {
        let it = &self.cores[home as usize];
        let own = self.threads[task].load / it.cpus;
        let here = it.load() + own;
        if self.cores.len() == 1 || (self.settings.mode == Mode::PowerSaving && here <= HIGH_LOAD) {
            return home;
        }
        match self.least_loaded(cx, task) {
            Some(other) if here >= self.cores[other as usize].load() + LOAD_DIFFERENCE + own => other,
            _ => home,
        }
    }
}

#[cfg(test)]
mod tests;
