//! ULE, FreeBSD's scheduler for many CPUs: interactive threads in order of priority, the others on a calendar queue.
//!
//! Idea: a thread that sleeps more than it runs is interactive, with a priority by the ratio. All others are in a
//! calendar of 64 buckets. The more CPU time a thread has used, the further its bucket is from the removal position. So
//! every bucket is served, those of heavy users later. Each CPU has its own queues; idle CPUs steal.
//!
//! Source: specs section 9.2.
//! General knowledge, not in the sheet (M): the interactive range begins at 88 and the batch range is 136..=223; CPU
//! use moves a priority within 156..=203, nice the rest. The removal position advances by one at each statistics tick
//! once its bucket is empty. A preempted thread goes to the head of its queue and keeps its slice. An interactive
//! thread preempts a batch one, and every thread preempts an idle one, with any threshold. CPU use and history are
//! sampled by the statistics clock (127 a second). Time slept counts in nanoseconds. `version=2005` has a current and a
//! next queue instead of the calendar; the sheet says no more.
//! Inferred: in `version=2005` interactive threads join the current queue, others the next; priority is the score's
//! place in 108..=203 plus nice; slices run from 10 ticks for nice −20 to 1 for nice 19, and 1 for the interactive.
//! Inferred: placement and stealing are those of `per_cpu.rs` with a steal threshold of one waiting thread; each CPU
//! looks once a second for one with two more.
//! Classes: as `bsd4`.
//! Weakness: the score covers seconds of history, so a thread that turns from waiting to computing delays all others
//! for a while. A stream of interactive threads starves the calendar.

use crate::parts::freebsd::{IDLE, PER_LIST, PRIORITIES, STATHZ, Statclock, TIMESHARE, fixed_priority};
use crate::parts::levels::Levels;
use crate::parts::per_cpu::PerCpu;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Idle, Machine, Needs, PerTask, Pick, Pull,
    Reason, Registered, Rejected, Resched, Seed, Span, Stop, TaskId, Time, Why,
};
use goodness_queues::Links;

goodness_core::choices! {
    /// A version of ULE.
    pub enum Version { Current = "current", V2005 = "2005" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Version modelled.
        version: Version = Version::Current;
        /// Score plus nice below which a thread is interactive.
        interact: u64 = 30, in 0 => 100;
        /// Priority up to which a thread preempts any less urgent one.
        preempt_thresh: u64 = 48, in 0 => 255;
    }
}

/// Statistics ticks of a slice, alone or among two.
const SLICE: u32 = STATHZ / 10;
/// Number of other threads on a CPU from which on slices get no shorter.
const SLICE_MIN_DIVISOR: u32 = 6;
/// Most history, run and sleep together.
const HISTORY: u64 = 5_000_000_000;
/// Most history after a fork.
const HISTORY_AT_FORK: u64 = 500_000_000;
/// Score of a thread with equal run and sleep times.
const HALF: u64 = 50;
/// Priorities of interactive threads: 88..=135.
const INTERACTIVE_RANGE: u64 = 48;
/// Priorities of batch threads: from here to the end of time sharing.
const BATCH: u8 = TIMESHARE.0 + INTERACTIVE_RANGE as u8;
/// Nice moves a batch thread by at most this much.
const NICE_ROOM: u64 = 20;
/// Priorities that CPU use distinguishes.
const USE_RANGE: u64 = TIMESHARE.1 as u64 - BATCH as u64 + 1 - 2 * NICE_ROOM;
/// Buckets of the wheel, and lists of the other queues.
const LISTS: usize = PRIORITIES / PER_LIST;
/// Time over which CPU use is measured.
const USE_WINDOW: Span = Span::from_s(10);
const SECOND: Span = Span::from_s(1);
/// Length of a statistics tick.
const STAT_TICK: u64 = 1_000_000_000 / STATHZ as u64;
/// Scores of the 2005 version, spread over the time-share range without nice.
const RANGE_2005: u64 = 96;

/// Recent history of a thread, ns.
#[derive(Clone, Copy, Debug, Default)]
struct History {
    ran: u64,
    slept: u64,
}

impl History {
    /// 0 for threads that only sleep, 100 for those that only run.
    fn score(self) -> u64 {
        let History { ran, slept } = self;
        match ran.cmp(&slept) {
            std::cmp::Ordering::Greater => HALF + (HALF - slept / (ran / HALF).max(1)),
            std::cmp::Ordering::Less => ran / (slept / HALF).max(1),
            std::cmp::Ordering::Equal => HALF * u64::from(ran > 0),
        }
    }

    /// Decays the history when it exceeds five seconds.
    fn trim(&mut self) {
        let sum = self.ran + self.slept;
        if sum < HISTORY {
            return;
        }
        if sum > 2 * HISTORY {
            *self = match self.ran > self.slept {
                true => History { ran: HISTORY, slept: 1 },
                false => History { ran: 1, slept: HISTORY },
            };
        } else if sum > HISTORY / 5 * 6 {
            *self = History { ran: self.ran / 2, slept: self.slept / 2 };
        } else {
            *self = History { ran: self.ran / 5 * 4, slept: self.slept / 5 * 4 };
        }
    }

    /// At most half a second, in the same proportion.
    fn shortened(self) -> History {
        let ratio = ((self.ran + self.slept) / HISTORY_AT_FORK).max(1);
        History { ran: self.ran / ratio, slept: self.slept / ratio }
    }
}

/// CPU use over about ten seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    since: Time,
    until: Time,
    ran: u64,
}

impl Use {
    /// Updates to `now`, of which `ran` was spent running.
    fn update(&mut self, now: Time, ran: u64) {
        let from = Time(now.ns().saturating_sub(USE_WINDOW.0));
        if self.until <= from {
            *self = Use { since: from, until: now, ran: 0 };
        } else if now.since(self.since).0 >= USE_WINDOW.0 + SECOND.0 {
            let kept = self.until.since(from).0;
            self.ran = (u128::from(self.ran) * u128::from(kept) / u128::from(self.until.since(self.since).0)) as u64;
            self.since = from;
        }
        self.until = now;
        self.ran += ran;
    }

    /// Its position among the [`USE_RANGE`] priorities.
    fn rank(&self) -> u64 {
        let span = self.until.since(self.since).0.max(SECOND.0);
        (self.ran * USE_RANGE / span).min(USE_RANGE - 1)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    history: History,
    cpu_use: Use,
    priority: u8,
    /// Statistics ticks of its slice that are used.
    slice: u32,
    /// The slice just ended.
    expired: bool,
    /// Interactive or real-time: not on the wheel.
    urgent: bool,
    asleep_since: Option<Time>,
    /// Queue of [`Tdq`] it is on, and the list there.
    queue: u8,
    list: u8,
    /// It joined at the head, because it had been preempted.
    at_head: bool,
    /// It joined because its slice had ended.
    is_used_up: bool,
    parent: Option<TaskId>,
}

const IDLE_QUEUE: usize = 2;

/// The queues of one CPU.
#[derive(Clone, Debug)]
struct Tdq {
    /// Real time, the wheel (2005: two alternating queues), and the idle class.
    queues: [Levels<1>; 3],
    /// Positions of the wheel for insertion and removal.
    insert: usize,
    remove: usize,
    /// 2005: which queue is the current one.
    current_queue: usize,
    running: Option<TaskId>,
    next_balance: Time,
}

/// The queues, the histories and the clock.
#[derive(Debug)]
pub struct Ule {
    settings: Settings,
    entities: PerTask<Entity>,
    links: Links,
    cpus: Vec<Tdq>,
    load: PerCpu,
    clock: Statclock,
}

impl Registered for Ule {
    const ABOUT: About = About {
        name: "ule",
        summary: "ULE of FreeBSD: interactive threads by score, the others on a calendar queue, per CPU.",
        source: "FreeBSD sched_ule.c, Roberson 2003; specs section 9.2",
        needs: Needs { tick: true, timer: false, balance: true, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        let tdq = Tdq {
            queues: std::array::from_fn(|_| Levels::new(LISTS)),
            insert: 0,
            remove: 0,
            current_queue: 0,
            running: None,
            next_balance: Time(SECOND.0),
        };
        Ule {
            settings,
            entities: PerTask::default(),
            links: Links::default(),
            cpus: vec![tdq; machine.cpu_count()],
            load: PerCpu::all(machine),
            clock: Statclock::new(machine),
        }
    }
}

impl CpuPolicy for Ule {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.links.reserve(task.index() + 1);
        let cpu_use = Use { since: cx.now, until: cx.now, ran: 0 };
        let mut child = Entity { cpu_use, parent, ..Entity::default() };
        if let Some(parent) = parent.map(|p| &mut self.entities[p]) {
            parent.history = parent.history.shortened();
            child.history = parent.history;
            child.cpu_use = parent.cpu_use;
        }
        *self.entities.admit(task) = child;
        self.set_priority(cx, task);
        Ok(())
    }

    fn exit(&mut self, _: &Context, task: TaskId) {
        let gone = self.entities[task];
        if let Some(parent) = gone.parent.map(|p| &mut self.entities[p]) {
            parent.history.ran += gone.history.ran;
            parent.history.trim();
        }
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, _: &Enqueue) -> CpuId {
        self.load.select(cx, task)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        let entity = &mut self.entities[task];
        if let Some(since) = entity.asleep_since.take() {
            entity.history.slept += cx.now.since(since).0;
            entity.history.trim();
            entity.cpu_use.update(cx.now, 0);
            entity.slice = 0;
        }
        let expired = std::mem::take(&mut entity.expired);
        entity.is_used_up = expired && why == Enqueue::Preempted;
        self.set_priority(cx, task);
        self.push(cpu, task, why == Enqueue::Preempted && !expired);
        self.load.queued(cpu);
        self.preempt(cpu, task)
    }

    fn dequeue(&mut self, _: &Context, cpu: CpuId, task: TaskId, _: Dequeue) {
        self.remove(cpu, task);
        self.load.dequeued(cpu);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let task = self.choose(cpu);
        if let Some(task) = task {
            cx.examined(Effort::Search, 1);
            self.remove(cpu, task);
        }
        self.cpus[cpu.index()].running = task;
        self.load.picked(cpu, task);
        task.map(|task| Pick { task, timeslice: None })
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Span, why: Stop) -> Resched {
        if why == Stop::Tick {
            let ticks = self.clock.tick(cpu);
            let ended = (0..ticks).fold(false, |ended, _| self.stat_tick(cx, cpu, task) | ended);
            return if ended { Resched::Preempt(cpu) } else { Resched::Keep };
        }
        if let Stop::Blocked { .. } = why {
            self.entities[task].asleep_since = Some(cx.now);
        }
        self.cpus[cpu.index()].running = None;
        self.load.stopped(cpu);
        Resched::Keep
    }

    fn why(&self, cx: &Context, cpu: CpuId, question: Why) -> Option<Reason> {
        self.rule(cx, cpu, question)
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        let pull = match idle {
            Idle::Newly => return self.steal(cx, cpu),
            Idle::Later => return None,
            Idle::Busy if cx.now < self.cpus[cpu.index()].next_balance => return None,
            Idle::Busy => self.steal(cx, cpu),
        };
        let pull = pull.filter(|pull| self.load.load(pull.from) >= self.load.load(cpu) + 2);
        if pull.is_none() {
            self.cpus[cpu.index()].next_balance = cx.now + SECOND;
        }
        pull
    }
}

impl Ule {
    /// Sets the priority from class, score, CPU use and nice.
    fn set_priority(&mut self, cx: &Context, task: TaskId) {
        let it = &cx.tasks[task];
        let entity = &mut self.entities[task];
        let score = (entity.history.score() as i64 + it.nice.get()).max(0) as u64;
        let interactive = score < self.settings.interact;
        let top = i64::from(TIMESHARE.1);
        let by_nice = |base: u64, low: u8| (base as i64 + it.nice.get()).clamp(i64::from(low), top) as u8;
        entity.urgent = fixed_priority(it).map_or(interactive, |priority| priority < IDLE);
        entity.priority = match (fixed_priority(it), self.settings.version) {
            (Some(priority), _) => priority,
            (None, Version::Current) if interactive => {
                TIMESHARE.0 + (INTERACTIVE_RANGE * score / self.settings.interact) as u8
            }
            (None, Version::Current) => by_nice(u64::from(BATCH) + NICE_ROOM + entity.cpu_use.rank(), BATCH),
            (None, Version::V2005) => {
                let place = entity.history.score() * RANGE_2005 / 101;
                by_nice(u64::from(TIMESHARE.0) + NICE_ROOM + place, TIMESHARE.0)
            }
        };
    }

    fn push(&mut self, cpu: CpuId, task: TaskId, at_head: bool) {
        let (entity, tdq) = (&mut self.entities[task], &mut self.cpus[cpu.index()]);
        let by_priority = usize::from(entity.priority) / PER_LIST;
        let (queue, list) = match self.settings.version {
            _ if entity.priority >= IDLE => (IDLE_QUEUE, by_priority),
            Version::V2005 => (tdq.current_queue ^ usize::from(!entity.urgent && !at_head), by_priority),
            Version::Current if entity.urgent => (0, by_priority),
            Version::Current if at_head => (1, tdq.remove),
            Version::Current => (1, tdq.bucket(entity.priority)),
        };
        (entity.queue, entity.list, entity.at_head) = (queue as u8, list as u8, at_head);
        match at_head {
            true => tdq.queues[queue].push_front(&mut self.links, list, task),
            false => tdq.queues[queue].push_back(&mut self.links, list, task),
        }
    }

    fn remove(&mut self, cpu: CpuId, task: TaskId) {
        let Entity { queue, list, .. } = self.entities[task];
        let (tdq, list) = (&mut self.cpus[cpu.index()], usize::from(list));
        let levels = &mut tdq.queues[usize::from(queue)];
        levels.remove(&mut self.links, list, task);
        let wheel = self.settings.version == Version::Current && queue == 1;
        if wheel && list == tdq.remove && tdq.insert != tdq.remove && levels.front(list).is_none() {
            tdq.remove = (list + 1) % LISTS;
        }
    }

    /// The next task for `cpu`.
    fn choose(&mut self, cpu: CpuId) -> Option<TaskId> {
        let tdq = &mut self.cpus[cpu.index()];
        let first = |levels: &Levels<1>, list: Option<usize>| list.and_then(|list| levels.front(list));
        let [a, b, idle] = &tdq.queues;
        let found = match self.settings.version {
            Version::Current => {
                first(a, a.best()).or_else(|| first(b, b.best_from(tdq.remove).or_else(|| b.best())))
            }
            Version::V2005 => {
                if tdq.queues[tdq.current_queue].len() == 0 {
                    tdq.current_queue ^= 1;
                }
                let current = &tdq.queues[tdq.current_queue];
                first(current, current.best())
            }
        };
        found.or_else(|| first(idle, idle.best()))
    }

    /// Handles a tick of the statistics clock. Returns whether the slice ended.
    fn stat_tick(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> bool {
        if self.settings.version == Version::Current {
            self.cpus[cpu.index()].advance();
        }
        let it = &cx.tasks[task];
        if fixed_priority(it).is_none() {
            let entity = &mut self.entities[task];
            entity.history.ran += STAT_TICK;
            entity.history.trim();
            entity.cpu_use.update(cx.now, STAT_TICK);
            self.set_priority(cx, task);
        }
        let length = self.slice_length(cx, cpu, task);
        let entity = &mut self.entities[task];
        entity.slice += 1;
        if it.class == Class::Fifo || entity.slice < length {
            return false;
        }
        entity.slice = 0;
        entity.expired = true;
        true
    }

    /// Statistics ticks of a slice of `task`.
    fn slice_length(&self, cx: &Context, cpu: CpuId, task: TaskId) -> u32 {
        if self.settings.version == Version::V2005 {
            let steps = (19 - cx.tasks[task].nice.get()) as u32;
            return if self.entities[task].urgent { 1 } else { 1 + steps * 9 / 39 };
        }
        match self.load.load(cpu).saturating_sub(1) {
            0 | 1 => SLICE,
            others if others >= SLICE_MIN_DIVISOR => SLICE / SLICE_MIN_DIVISOR,
            others => SLICE / others,
        }
    }

    /// True if `task`, just queued on `cpu`, preempts the running task.
    fn preempt(&self, cpu: CpuId, task: TaskId) -> Resched {
        let Some(running) = self.cpus[cpu.index()].running else { return Resched::Keep };
        let (new, old) = (&self.entities[task], &self.entities[running]);
        let far = old.priority >= IDLE
            || u64::from(new.priority) <= self.settings.preempt_thresh
            || (new.urgent && !old.urgent);
        if new.priority < old.priority && far { Resched::Preempt(cpu) } else { Resched::Keep }
    }

    fn steal(&self, cx: &Context, cpu: CpuId) -> Option<Pull> {
        self.load.steal(cx, cpu, |from| {
            self.cpus[from.index()].queues.iter().flat_map(|levels| levels.iter(&self.links))
        })
    }
}

impl Tdq {
    /// The bucket for a batch thread of `priority`: that far behind the insert position, but not at the removal
    /// position, which would be this round instead of the next.
    fn bucket(&self, priority: u8) -> usize {
        let range = usize::from(TIMESHARE.1 - BATCH) + 1;
        let at = (LISTS * usize::from(priority.max(BATCH) - BATCH) / range + self.insert) % LISTS;
        if self.remove != self.insert && at == self.remove { (at + LISTS - 1) % LISTS } else { at }
    }

    /// Advances the insertion index once removal has caught up.
    fn advance(&mut self) {
        if self.insert != self.remove {
            return;
        }
        self.insert = (self.insert + 1) % LISTS;
        if self.queues[1].front(self.remove).is_none() {
            self.remove = self.insert;
        }
    }
}

#[cfg(test)]
mod tests;
mod why;
