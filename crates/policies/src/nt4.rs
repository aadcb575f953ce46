//! The dispatcher of Windows NT 4: 32 first-in-first-out queues, the highest occupied one runs. Threads are boosted
//! after a wait, and a boost decays by one level per quantum.
//!
//! Source: specs section 8. No source of NT 4 is public: quantum tables and stretch are from published descriptions of
//! later, documented versions [S there]; clock interval, charges, boosts and the balance-set manager are general
//! knowledge [M there]. Priorities are larger-is-better: 1 to 15 dynamic, 16 to 31 real time. The clock interval is
//! NT's own. If the machine has another HZ, a tick is charged by its length, so quanta keep their length and end at
//! ticks.
//! Inferred: a task belongs to the foreground if its address space is the one named by the tunable. Uninterruptible
//! waits ended by an interrupt are disk I/O, wake-ups by a task are events; other interrupts are timers, which do not
//! boost, or the network if `interrupt_boost` is 2. The unit for a completed wait is charged before the boost. A thread
//! that gives way by Sleep(0) has a whole quantum next. The balance-set manager continues its search next time at the
//! level where it stopped.
//! Classes: nice 0 is 8 (normal), and five nices are one level of the process class, from 13 (high) to 4 (idle class).
//! SCHED_BATCH is 4, SCHED_IDLE 1. SCHED_FIFO and SCHED_RR spread over 16 to 31 and take turns by quantum, because NT
//! has no other rule. SCHED_ISO and SCHED_DEADLINE count as normal.
//! Deviations: processes have no base of their own (the NT 4 range of 7 to 9 with the foreground is left to
//! `Task.priority`). Inside a level the first thread that may run on a CPU is taken. NT prefers a thread for which the
//! CPU is its last or ideal processor, and a processor that was chosen for a thread runs the best ready one. GUI
//! wake-ups, keyboard and sound are treated alike.
//! Weakness: strict priorities; a thread below a hog waits three to four seconds for the balance-set manager.

use crate::parts::running_cpus::RunningCpus;
use crate::parts::reasons::by_priority;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Machine, Needs, PerTask, Pick, Reason,
    Registered, Rejected, Resched, Seed, Span, Stop, Task, TaskId, Time, WakeSource, Why,
};
use goodness_queues::{Links, List};

goodness_core::choices! {
    /// Product.
    pub enum Version { Workstation = "workstation", Server = "server" }
}

goodness_core::choices! {
    /// Table of quanta: stretched in the foreground or not, short or long.
    pub enum Quanta {
        VariableShort = "variable-short",
        VariableLong = "variable-long",
        FixedShort = "fixed-short",
        FixedLong = "fixed-long",
    }
}

goodness_core::choices! {
    /// Meaning of a yield: Sleep(0) gives way to equal priorities, SwitchToThread to any thread.
    pub enum YieldCall { SleepZero = "sleep-0", SwitchToThread = "switch-to-thread" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Product whose defaults are used.
        version: Version = Version::Workstation;
        /// Table of quanta (auto: variable-short; server fixed-long).
        quanta: Option<Quanta> = None;
        /// PsPrioritySeparation: stretch of foreground quanta and boost of foreground waits (auto: 2; server 0).
        separation: Option<u64> = None, in 0 => 2;
        /// Number of the address space in the foreground (auto: none).
        foreground: Option<u64> = None, in 0 => 4_294_967_295;
        /// Time between clock interrupts, three quantum units (auto: 10 ms on one CPU, 15 ms on several).
        clock_interval: Option<Span> = None, in Span::from_ms(1) => Span::from_ms(100);
        /// Boost at the end of a disk request.
        disk_boost: u64 = 1, in 0 => 15;
        /// Boost for other interrupts (a timer has 0, the network 2, the keyboard 6).
        interrupt_boost: u64 = 0, in 0 => 15;
        /// Boost at an event or semaphore.
        event_boost: u64 = 1, in 0 => 15;
        /// Let the balance-set manager boost starving threads.
        balance_set: bool = true;
        /// The Windows call that sched_yield is taken for.
        yield_call: YieldCall = YieldCall::SleepZero;
    }
}

const LEVELS: usize = 32;
const NORMAL: u8 = 8;
/// Class bases of a process: idle and high (specs 8).
const IDLE_CLASS: u8 = 4;
const HIGH_CLASS: u8 = 13;
const MOST_DYNAMIC: u8 = 15;
const FIRST_REAL_TIME: u8 = 16;
/// Quantum units of one clock interval.
const UNITS: i64 = 3;
/// The balance-set manager: period, threads examined and boosted per scan, and waiting time before a boost in clock
/// intervals.
const SCAN_PERIOD: Span = Span::from_s(1);
const SCANNED: u32 = 16;
const BOOSTED: usize = 10;
const STARVING: u64 = 300;

impl Quanta {
    /// Quantum units of a thread; `stretch` is the priority separation in the foreground, else 0.
    fn units(self, stretch: usize) -> i64 {
        match self {
            Quanta::VariableShort => [6, 12, 18][stretch],
            Quanta::VariableLong => [12, 24, 36][stretch],
            Quanta::FixedShort => 18,
            Quanta::FixedLong => 36,
        }
    }
}

/// The base priority of a task.
fn base_of(task: &Task) -> u8 {
    let own = task.priority.map(|it| it.clamp(1, 31));
    match task.class {
        Class::Fifo | Class::RoundRobin => {
            let step = u32::from(task.rt_priority.clamp(1, 99) - 1) * 15 / 98;
            own.filter(|it| *it >= FIRST_REAL_TIME).unwrap_or(FIRST_REAL_TIME + step as u8)
        }
        Class::Idle => 1,
        Class::Batch => own.unwrap_or(IDLE_CLASS).min(IDLE_CLASS),
        _ => own.unwrap_or(match task.nice.get() {
            ..=-15 => HIGH_CLASS,
            -14..=-10 => NORMAL + 2,
            -9..=-5 => NORMAL + 1,
            -4..=4 => NORMAL,
            5..=9 => NORMAL - 1,
            10..=14 => NORMAL - 2,
            15.. => IDLE_CLASS,
        }),
    }
}

/// State of one thread.
#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    base: u8,
    priority: u8,
    /// Remaining quantum, ns.
    quantum: i64,
    /// Its quantum has expired, so it is queued behind its equals.
    expired: bool,
    /// Boosted by the balance-set manager.
    rescued: bool,
    uninterruptible: bool,
    ready: bool,
    ready_since: Time,
    ideal: CpuId,
}

/// The dispatcher of NT 4.
#[derive(Debug)]
pub struct Nt4 {
    settings: Settings,
    quanta: Quanta,
    separation: usize,
    interval: Span,
    tick: i64,
    threads: PerTask<Thread>,
    links: Links,
    queues: [List; LEVELS],
    /// Bit p: a thread of priority p is ready.
    summary: u32,
    running_cpus: RunningCpus<u8>,
    /// For each CPU, the thread that yields at the next pick.
    gives_way: Vec<Option<TaskId>>,
    next_ideal: u32,
    next_scan: Time,
    /// Level at which the next scan starts.
    scan_level: usize,
    starving: Vec<TaskId>,
}

impl Registered for Nt4 {
    const ABOUT: About = About {
        name: "nt4",
        summary: "Windows NT 4: 32 queues, quanta stretched in the foreground, boosts that decay, rescue of the \
            starving.",
        source: "Windows NT 4, after descriptions of it and of later versions; specs section 8",
        needs: Needs { tick: true, timer: true, balance: false, global_lock: true },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        let is_server = settings.version == Version::Server;
        let interval = if machine.cpu_count() == 1 { Span::from_ms(10) } else { Span::from_ms(15) };
        Nt4 {
            quanta: settings.quanta.unwrap_or(if is_server { Quanta::FixedLong } else { Quanta::VariableShort }),
            separation: settings.separation.map_or(if is_server { 0 } else { 2 }, |it| it as usize),
            interval: settings.clock_interval.unwrap_or(interval),
            tick: machine.tick().0 as i64,
            settings,
            threads: PerTask::default(),
            links: Links::default(),
            queues: [List::default(); LEVELS],
            summary: 0,
            running_cpus: RunningCpus::all(machine),
            gives_way: vec![None; machine.cpu_count()],
            next_ideal: 0,
            next_scan: Time::ZERO,
            scan_level: 1,
            starving: Vec::with_capacity(BOOSTED),
        }
    }
}

impl CpuPolicy for Nt4 {
    fn admit(&mut self, cx: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.links.reserve(task.index() + 1);
        let base = base_of(&cx.tasks[task]);
        let ideal = CpuId(self.next_ideal);
        self.next_ideal = (self.next_ideal + 1) % cx.machine.cpu_count() as u32;
        *self.threads.admit(task) = Thread { base, priority: base, ideal, ..Thread::default() };
        let whole = self.whole_quantum(cx, task);
        self.threads[task].quantum = whole;
        Ok(())
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, _: &Enqueue) -> CpuId {
        let last = goodness_core::policy::previous_cpu(cx, task);
        let ideal = self.threads[task].ideal;
        let free = |cpu: CpuId| cx.tasks.may_run(task, cpu) && self.running_cpus.on(cpu).is_none();
        if free(ideal) { ideal } else { last }
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        let expired = std::mem::take(&mut self.threads[task].expired);
        let mut in_front = false;
        match why {
            Enqueue::Wakeup { from, .. } => self.wait_completed(cx, task, from),
            Enqueue::Preempted => in_front = !expired,
            Enqueue::Yielded => in_front = !self.gives_way(cx, cpu, task),
            Enqueue::Restored => {
                let (base, whole) = (base_of(&cx.tasks[task]), self.whole_quantum(cx, task));
                let entity = &mut self.threads[task];
                (entity.base, entity.priority, entity.rescued) = (base, base, false);
                entity.quantum = whole;
            }
            Enqueue::Fork { .. } | Enqueue::SliceEnd | Enqueue::Migrated => {}
        }
        self.make_ready(cx, task, in_front);
        self.running_cpus.claim(cx, cpu, task, self.threads[task].priority)
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.unready(task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let last_choice = self.gives_way[cpu.index()].take().filter(|task| self.threads[*task].ready);
        let found = self.best(cx, cpu, last_choice).or(last_choice);
        self.running_cpus.set(cpu, found.map(|task| (task, self.threads[task].priority)));
        let task = found?;
        self.unready(task);
        Some(Pick { task, timeslice: None })
    }

    fn why(&self, _: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let [own, other] = [ahead?, waiting].map(|task| i64::from(self.threads[task].priority));
        by_priority(own, other, is_pick)
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Span, why: Stop) -> Resched {
        match why {
            Stop::Tick => return self.clock(cx, cpu, task),
            Stop::Blocked { interruptible } => self.threads[task].uninterruptible = !interruptible,
            _ => {}
        }
        Resched::Keep
    }

    fn next_timer(&self) -> Option<Time> {
        let dynamic = self.summary & ((1 << MOST_DYNAMIC) - 1);
        (self.settings.balance_set && dynamic != 0).then_some(self.next_scan)
    }

    fn timer(&mut self, cx: &Context) -> Resched {
        if cx.now < self.next_scan {
            return Resched::Keep;
        }
        if self.starving.is_empty() {
            self.scan(cx);
        }
        let rescued = self.starving.pop();
        if self.starving.is_empty() {
            self.next_scan = next_period(cx.now);
        }
        match rescued {
            Some(task) => self.rescue(cx, task),
            None => Resched::Keep,
        }
    }
}

/// The first whole second after `now`.
fn next_period(now: Time) -> Time {
    Time((now.0 / SCAN_PERIOD.0 + 1) * SCAN_PERIOD.0)
}

impl Nt4 {
    fn in_foreground(&self, cx: &Context, task: TaskId) -> bool {
        let space = cx.tasks[task].address_space.map(u64::from);
        self.settings.foreground.is_some() && self.settings.foreground == space
    }

    /// A quantum in ns.
    fn whole_quantum(&self, cx: &Context, task: TaskId) -> i64 {
        let stretch = if self.in_foreground(cx, task) { self.separation } else { 0 };
        self.quanta.units(stretch) * self.interval.0 as i64 / UNITS
    }

    fn make_ready(&mut self, cx: &Context, task: TaskId, in_front: bool) {
        let entity = &mut self.threads[task];
        (entity.ready, entity.ready_since) = (true, cx.now);
        let queue = &mut self.queues[usize::from(entity.priority)];
        match in_front {
            true => queue.push_front(&mut self.links, task.0),
            false => queue.push_back(&mut self.links, task.0),
        }
        self.summary |= 1 << entity.priority;
        if self.next_scan <= cx.now && self.starving.is_empty() {
            self.next_scan = next_period(cx.now);
        }
    }

    fn unready(&mut self, task: TaskId) {
        let entity = &mut self.threads[task];
        entity.ready = false;
        let queue = &mut self.queues[usize::from(entity.priority)];
        queue.remove(&mut self.links, task.0);
        if queue.is_empty() {
            self.summary &= !(1 << entity.priority);
        }
    }

    /// The first ready thread of the highest level that may run on `cpu`, other than `except`.
    fn best(&self, cx: &Context, cpu: CpuId, except: Option<TaskId>) -> Option<TaskId> {
        let mut levels = self.summary;
        while levels != 0 {
            let level = 31 - levels.leading_zeros();
            levels ^= 1 << level;
            let found = self.queues[level as usize].iter(&self.links).map(TaskId).find(|task| {
                cx.examined(Effort::Search, 1);
                cx.tasks.may_run(*task, cpu) && Some(*task) != except
            });
            if found.is_some() {
                return found;
            }
        }
        None
    }

    /// Clock interrupt: charges the running thread. At the end of its quantum it yields to threads of equal or higher
    /// priority.
    fn clock(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> Resched {
        self.threads[task].quantum -= self.tick;
        if self.threads[task].quantum > 0 {
            return Resched::Keep;
        }
        self.end_quantum(cx, task);
        let priority = self.threads[task].priority;
        self.running_cpus.revalue(cpu, priority);
        match self.best(cx, cpu, None) {
            Some(other) if self.threads[other].priority >= priority => {
                self.threads[task].expired = true;
                Resched::Preempt(cpu)
            }
            _ => Resched::Keep,
        }
    }

    /// Starts a new quantum; a boost decays by one level, that of the balance-set manager entirely.
    fn end_quantum(&mut self, cx: &Context, task: TaskId) {
        let whole = self.whole_quantum(cx, task);
        let entity = &mut self.threads[task];
        entity.quantum = whole;
        if std::mem::take(&mut entity.rescued) {
            entity.priority = entity.base;
        } else if entity.priority > entity.base {
            entity.priority -= 1;
        }
    }

    /// Ends a wait: charges a quantum unit and applies the boost of the awaited event.
    fn wait_completed(&mut self, cx: &Context, task: TaskId, from: WakeSource) {
        self.threads[task].quantum -= self.interval.0 as i64 / UNITS;
        if self.threads[task].quantum <= 0 {
            self.end_quantum(cx, task);
        }
        let mut boost = match from {
            WakeSource::Task => self.settings.event_boost,
            WakeSource::Interrupt if self.threads[task].uninterruptible => self.settings.disk_boost,
            WakeSource::Interrupt => self.settings.interrupt_boost,
        };
        if self.in_foreground(cx, task) {
            boost += self.separation as u64;
        }
        let entity = &mut self.threads[task];
        if entity.base < FIRST_REAL_TIME {
            let boosted = (u64::from(entity.base) + boost).min(u64::from(MOST_DYNAMIC));
            entity.priority = entity.priority.max(boosted as u8);
        }
    }

    /// True if `task`, which yields on `cpu`, is queued behind others; then it gets a whole quantum.
    fn gives_way(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> bool {
        let Some(other) = self.best(cx, cpu, None) else { return false };
        let to_anybody = self.settings.yield_call == YieldCall::SwitchToThread;
        if !to_anybody && self.threads[other].priority < self.threads[task].priority {
            return false;
        }
        self.gives_way[cpu.index()] = to_anybody.then_some(task);
        let whole = self.whole_quantum(cx, task);
        self.threads[task].quantum = whole;
        true
    }

    /// The scan of the balance-set manager for threads that have waited too long.
    fn scan(&mut self, cx: &Context) {
        let (mut looked_at, mut level) = (0, self.scan_level);
        let limit = self.interval * STARVING;
        for _ in 1..MOST_DYNAMIC {
            for task in self.queues[level].iter(&self.links).map(TaskId) {
                if looked_at == SCANNED || self.starving.len() == BOOSTED {
                    cx.examined(Effort::Recalculate, looked_at);
                    self.scan_level = level;
                    return;
                }
                looked_at += 1;
                if cx.now.since(self.threads[task].ready_since) > limit {
                    self.starving.push(task);
                }
            }
            level = level % (usize::from(MOST_DYNAMIC) - 1) + 1;
        }
        cx.examined(Effort::Recalculate, looked_at);
        self.scan_level = level;
    }

    /// Two quanta at the highest dynamic priority.
    fn rescue(&mut self, cx: &Context, task: TaskId) -> Resched {
        if !self.threads[task].ready {
            return Resched::Keep;
        }
        self.unready(task);
        let quantum = 2 * self.whole_quantum(cx, task);
        let entity = &mut self.threads[task];
        (entity.priority, entity.quantum, entity.rescued) = (MOST_DYNAMIC, quantum, true);
        self.make_ready(cx, task, false);
        self.running_cpus.claim(cx, cx.tasks.cpu(task), task, MOST_DYNAMIC)
    }
}

#[cfg(test)]
mod tests;
