//! The scheduler of Linux 2.0, 2.2 and 2.4, after whose election function this project is named: one list for the
//! whole machine, and the runnable task of greatest goodness runs.
//!
//! Idea: a task has a counter of ticks. Its goodness is what is left of them, plus small bonuses for a warm cache and a
//! shared address space. When every runnable task has spent its ticks, all tasks of the system get new ones and
//! keep half of what they had: who sleeps collects up to twice a slice.
//!
//! Source: specs section 1. One implementation with the switches of section 1.8; `linux-2.0` is 2.0.3x,
//! `linux-2.2` is 2.2.1 and `linux-2.4` is 2.4.27. HZ is the machine's.
//! Deviations: 2.2's rule about contenders for the big kernel lock is left out, since that lock is not modelled. An
//! idle CPU that was asked to run something counts as busy until it picked. Affinity, which only 2.4 had, is honoured.
//! SCHED_BATCH, ISO and DEADLINE count as normal, IDLE as nice 19. Tasks created by the host start with a full counter.
//! Weakness: each election looks at every runnable task, each recalculation at every task there is.

use crate::idle_cpus::IdleCpus;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Machine, Needs, PerTask, Pick, Registered,
    Rejected, Resched, Seed, Span, Stop, Task, TaskId, Time,
};
use goodness_queues::{Links, List};
use std::marker::PhantomData;

goodness_core::choices! {
    /// Where a woken task joins the list.
    pub enum End { Head = "head", Tail = "tail" }
}

goodness_core::choices! {
    /// What `sched_yield` does besides going to the tail of the list: forfeit the counter, lose one tick of it (the
    /// remedy proposed in Linux Journal 57), or count as weight 0 or −1 for one election.
    pub enum YieldMode { Forfeit = "zero-counter", Tick = "one-tick", Zero = "zero-weight", Negative = "negative-weight" }
}

goodness_core::choices! {
    /// What the decremented counter must be for the tick to ask for an election.
    pub enum TickTest { Negative = "negative", Zero = "zero" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Ticks of a nice-0 task in one epoch, other nices in proportion (auto: 200 ms; 2.4 scales nice by HZ).
        default_priority: Option<u64> = None, in 1 => 10_000;
        /// Goodness added on the CPU where a task last ran, on machines of several CPUs (auto: 15; Alpha had 20).
        proc_change_penalty: Option<u64> = None, in 0 => 1_000;
        /// What a woken task must have more than the running one to preempt it (auto: 3 ticks; 2.4 goodness 0).
        wake_threshold: Option<u64> = None, in 0 => 10_000;
        /// Where a woken task joins the list (auto: tail; 2.2 head).
        insert: Option<End> = None;
        /// Whether the election is repeated after a recalculation (auto: off; 2.4 on).
        rescan: Option<bool> = None;
        /// What sched_yield does (auto: zero-counter in 2.0, zero-weight in 2.2, negative-weight in 2.4).
        yield_mode: Option<YieldMode> = None;
        /// Goodness added to the task that ran before (auto: 1 in 2.0, else 0).
        prev_bonus: Option<u64> = None, in 0 => 1_000;
        /// Goodness added to a task that shares its address space with the one before (auto: 0 in 2.0, else 1).
        mm_bonus: Option<u64> = None, in 0 => 1_000;
        /// When a tick ends a slice: below zero, or at zero (auto: negative; 2.4 zero).
        tick_test: Option<TickTest> = None;
    }
}

/// The three kernels, where a switch would be artificial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 2.0.3x.
    V20,
    /// 2.2.1.
    V22,
    /// 2.4.27.
    V24,
}

/// A kernel to be: its name and version.
pub trait Kernel {
    /// What the policy says of itself.
    const ABOUT: About;
    /// Where its rules differ.
    const VERSION: Version;
}

const NEEDS: Needs = Needs { tick: true, timer: false, balance: false, global_lock: true };

macro_rules! kernels {
    ($($(#[$doc:meta])+ $K:ident as $Linux:ident: $version:ident { $($about:tt)+ })+) => {$(
        $(#[$doc])+
        #[derive(Clone, Copy, Debug)]
        pub struct $K;

        impl Kernel for $K {
            $($about)+
            const VERSION: Version = Version::$version;
        }

        $(#[$doc])+
        pub type $Linux = Goodness<$K>;
    )+};
}

kernels! {
    /// Linux 2.0.3x.
    K20 as Linux20: V20 {
        const ABOUT: About = About { name: "linux-2.0", needs: NEEDS, source: "Linux 2.0.3x; specs section 1",
            summary: "Linux 2.0: the greatest counter of one list runs; yielding forfeits it.",
        };
    }
    /// Linux 2.2.1.
    K22 as Linux22: V22 {
        const ABOUT: About = About { name: "linux-2.2", needs: NEEDS, source: "Linux 2.2.1; specs section 1",
            summary: "Linux 2.2: the greatest goodness of one list runs: counter, priority, cache and address space.",
        };
    }
    /// Linux 2.4.27.
    K24 as Linux24: V24 {
        const ABOUT: About = About { name: "linux-2.4", needs: NEEDS, source: "Linux 2.4.27; specs section 1",
            summary: "Linux 2.4: goodness with 60 ms slices, a second search after recalculation, wake-ups by goodness.",
        };
    }
}

/// How many ticks a nice-0 task has in an epoch at HZ ticks a second (specs 1.2).
fn default_priority(hz: u32) -> i64 {
    i64::from(20 * hz / 100)
}

/// The settings with what the kernel left open filled in.
#[derive(Clone, Copy, Debug)]
struct Switches {
    version: Version,
    /// Ticks by nice, −20 first.
    ticks: [i64; 40],
    penalty: i64,
    threshold: i64,
    insert: End,
    rescan: bool,
    yield_mode: YieldMode,
    prev_bonus: i64,
    mm_bonus: i64,
    tick_test: TickTest,
    smp: bool,
}

impl Switches {
    fn new(version: Version, machine: &Machine, settings: &Settings) -> Switches {
        let by = |v20: i64, v22: i64, v24: i64| [v20, v22, v24][version as usize];
        let given = |value: Option<u64>, auto: i64| value.map_or(auto, |v| v as i64);
        let tests = [TickTest::Negative, TickTest::Negative, TickTest::Zero];
        let modes = [YieldMode::Forfeit, YieldMode::Zero, YieldMode::Negative];
        Switches {
            version,
            ticks: std::array::from_fn(|index| {
                let nice = index as i64 - 20;
                match settings.default_priority {
                    None if version == Version::V24 => scaled_ticks(nice, machine.hz),
                    given => proportional_ticks(nice, given.map_or(default_priority(machine.hz), |d| d as i64)),
                }
            }),
            penalty: given(settings.proc_change_penalty, 15),
            threshold: given(settings.wake_threshold, by(3, 3, 0)),
            insert: settings.insert.unwrap_or([End::Tail, End::Head, End::Tail][version as usize]),
            rescan: settings.rescan.unwrap_or(version == Version::V24),
            yield_mode: settings.yield_mode.unwrap_or(modes[version as usize]),
            prev_bonus: given(settings.prev_bonus, by(1, 0, 0)),
            mm_bonus: given(settings.mm_bonus, by(0, 1, 1)),
            tick_test: settings.tick_test.unwrap_or(tests[version as usize]),
            smp: machine.cpu_count() > 1,
        }
    }

    /// Ticks `task` gets in an epoch.
    fn ticks_of(&self, task: &Task) -> i64 {
        self.ticks[if task.class == Class::Idle { 39 } else { task.nice.index() }]
    }
}

/// 2.0 and 2.2: nice in twentieths of the default, rounded (specs 1.2).
fn proportional_ticks(nice: i64, default: i64) -> i64 {
    let step = (nice.abs() * default + 10) / 20;
    (default - nice.signum() * step).clamp(1, (2 * default).max(1))
}

/// 2.4: NICE_TO_TICKS (specs 1.2).
fn scaled_ticks(nice: i64, hz: u32) -> i64 {
    let wanted = 20 - nice;
    1 + match hz {
        0..200 => wanted >> 2,
        200..400 => wanted >> 1,
        400..800 => wanted,
        800..1600 => wanted << 1,
        _ => wanted << 2,
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    /// Ticks left.
    counter: i64,
    /// Place in `living`.
    place: u32,
    parent: Option<TaskId>,
    /// Where it ran last.
    processor: CpuId,
    /// On the list, which running tasks stay on.
    runnable: bool,
    /// Running, or off its queue for a moment: not to be elected.
    held: bool,
    /// Yielded, and has not paid for it yet.
    yielded: bool,
    /// Has used up a slice.
    seasoned: bool,
    alive: bool,
}

/// One CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    /// Who runs, or ran until this moment.
    prev: Option<TaskId>,
    running: bool,
    /// The address space in use; kernel threads and idleness leave it as it is.
    active_mm: Option<u32>,
    idle_since: Time,
}

/// The state of one of the three kernels.
#[derive(Debug)]
pub struct Goodness<K> {
    switches: Switches,
    entities: PerTask<Entity>,
    links: Links,
    /// All runnable tasks, running ones included, in the kernel's order.
    list: List,
    /// All tasks there are.
    living: Vec<TaskId>,
    running: usize,
    seats: Vec<Seat>,
    idle: IdleCpus,
    kernel: PhantomData<K>,
}

impl<K: Kernel> Registered for Goodness<K> {
    const ABOUT: About = K::ABOUT;
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Goodness {
            switches: Switches::new(K::VERSION, machine, &settings),
            entities: PerTask::default(),
            links: Links::default(),
            list: List::default(),
            living: Vec::new(),
            running: 0,
            seats: vec![Seat::default(); machine.cpu_count()],
            idle: IdleCpus::all(machine),
            kernel: PhantomData,
        }
    }
}

impl<K: Kernel> CpuPolicy for Goodness<K> {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.links.reserve(task.index() + 1);
        let place = self.living.len() as u32;
        self.living.push(task);
        let counter = self.switches.ticks_of(&cx.tasks[task]);
        *self.entities.admit(task) = Entity { counter, place, parent, alive: true, ..Entity::default() };
        Ok(())
    }

    fn exit(&mut self, cx: &Context, task: TaskId) {
        let gone = self.entities[task];
        self.entities[task].alive = false;
        self.living.swap_remove(gone.place as usize);
        if let Some(moved) = self.living.get(gone.place as usize) {
            self.entities[*moved].place = gone.place;
        }
        self.seats[gone.processor.index()].prev.take_if(|prev| *prev == task);
        self.refund(cx, &gone);
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        let last = goodness_core::policy::previous_cpu(cx, task);
        let idle = || if self.idle.contains(last) { None } else { self.find_idle(cx, task) };
        self.woken_quietly(cx, task, why).or_else(idle).unwrap_or(last)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.entities[task].held = false;
        match why {
            Enqueue::Fork { parent } => {
                let spent = self.split_counter(task, parent);
                self.entities[task].processor = cpu;
                self.join(task);
                match (self.reschedule(cx, cpu, parent.map_or(cpu, |p| cx.tasks[p].cpu), task), spent) {
                    (Resched::Keep, Some(on)) => Resched::Preempt(on),
                    (answer, _) => answer,
                }
            }
            Enqueue::Wakeup { on, .. } => {
                self.join(task);
                match self.woken_quietly(cx, task, &why) {
                    Some(_) => Resched::Keep,
                    None => self.reschedule(cx, cpu, on, task),
                }
            }
            // The task kept its place on the list. If others wait as well, an idle CPU may take one of them.
            _ if self.list.len() - self.running > 1 || self.seats[cpu.index()].prev != Some(task) => {
                self.idle.claim(cx, cpu, task)
            }
            _ => Resched::Keep,
        }
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, why: Dequeue) {
        match why {
            Dequeue::Migrate | Dequeue::Change => self.entities[task].held = true,
            Dequeue::Kill => self.leave(task),
        }
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let prev = self.seats[cpu.index()].prev;
        if let Some(prev) = prev {
            self.rotate_round_robin(cx, prev);
        }
        let (mut next, best) = self.search(cx, cpu);
        let spent = next.is_some() && best == 0;
        if spent {
            self.recalculate(cx);
        }
        if spent && self.switches.rescan {
            next = self.search(cx, cpu).0;
        }
        if let Some(prev) = prev {
            self.entities[prev].yielded = false;
        }
        self.seat(cx, cpu, next);
        next.map(|task| Pick { task, timeslice: None })
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Span, why: Stop) -> Resched {
        if why == Stop::Tick {
            return self.tick(cpu, task);
        }
        self.entities[task].held = false;
        self.running -= 1;
        self.seats[cpu.index()].running = false;
        match why {
            Stop::Yielded => self.sched_yield(cx, task),
            Stop::Blocked { .. } | Stop::Exited => self.leave(task),
            _ => {}
        }
        Resched::Keep
    }
}

/// What an election is relative to.
#[derive(Clone, Copy)]
struct Ballot {
    cpu: CpuId,
    prev: Option<TaskId>,
    mm: Option<u32>,
}

/// How much the runnable task is to be preferred (specs 1.3).
fn goodness(switches: &Switches, ballot: Ballot, id: TaskId, entity: &Entity, task: &Task) -> i64 {
    if entity.yielded {
        return if switches.yield_mode == YieldMode::Negative { -1 } else { 0 };
    }
    if task.class.is_realtime() {
        return 1000 + i64::from(task.rt_priority);
    }
    if entity.counter == 0 {
        return 0;
    }
    let mut weight = entity.counter;
    if switches.smp && entity.processor == ballot.cpu {
        weight += switches.penalty;
    }
    if ballot.prev == Some(id) {
        weight += switches.prev_bonus;
    }
    let anonymous = switches.version == Version::V24 && task.address_space.is_none();
    if anonymous || task.address_space == ballot.mm {
        weight += switches.mm_bonus;
    }
    let nice = if task.class == Class::Idle { 19 } else { task.nice.get() };
    weight + [0, switches.ticks_of(task), 20 - nice][switches.version as usize]
}

impl<K: Kernel> Goodness<K> {
    fn ballot(&self, cx: &Context, cpu: CpuId) -> Ballot {
        let seat = &self.seats[cpu.index()];
        let mm = match self.switches.version {
            Version::V24 => seat.active_mm,
            _ => seat.prev.and_then(|prev| cx.tasks[prev].address_space),
        };
        Ballot { cpu, prev: seat.prev, mm }
    }

    fn current(&self, cpu: CpuId) -> Option<TaskId> {
        self.seats[cpu.index()].prev.filter(|_| self.seats[cpu.index()].running)
    }

    fn weigh(&self, cx: &Context, ballot: Ballot, task: TaskId) -> i64 {
        goodness(&self.switches, ballot, task, &self.entities[task], &cx.tasks[task])
    }

    /// The best task for `cpu` and its goodness (specs 1.4 step 4): from 2.2 on the previous task is asked first,
    /// then the list from its head; only strictly better tasks replace the best so far.
    fn search(&mut self, cx: &Context, cpu: CpuId) -> (Option<TaskId>, i64) {
        let ballot = self.ballot(cx, cpu);
        let may = |entities: &PerTask<Entity>, task: TaskId| {
            let entity = &entities[task];
            entity.runnable && !entity.held && cx.tasks[task].affinity.contains(cpu)
        };
        let (mut next, mut best, mut evaluated) = (None, -1000, 0);
        let first = ballot.prev.filter(|p| self.switches.version > Version::V20 && may(&self.entities, *p));
        let others = self.list.iter(&self.links).map(TaskId).filter(|task| Some(*task) != first);
        for task in first.into_iter().chain(others) {
            if !may(&self.entities, task) {
                continue;
            }
            let entity = &mut self.entities[task];
            let weight = goodness(&self.switches, ballot, task, entity, &cx.tasks[task]);
            evaluated += 1;
            if self.switches.yield_mode == YieldMode::Zero {
                entity.yielded = false;
            }
            if weight > best {
                (next, best) = (Some(task), weight);
            }
        }
        cx.examined(Effort::Search, evaluated);
        (next, best)
    }

    /// New ticks for every task there is (specs 1.4 step 5).
    fn recalculate(&mut self, cx: &Context) {
        for task in &self.living {
            let entity = &mut self.entities[*task];
            entity.counter = entity.counter / 2 + self.switches.ticks_of(&cx.tasks[*task]);
        }
        cx.examined(Effort::Recalculate, self.living.len() as u32);
    }

    /// Notes who runs on `cpu` from now on.
    fn seat(&mut self, cx: &Context, cpu: CpuId, next: Option<TaskId>) {
        let seat = &mut self.seats[cpu.index()];
        if next.is_none() && !self.idle.contains(cpu) {
            seat.idle_since = cx.now;
        }
        self.idle.set(cpu, next.is_none());
        seat.prev = next;
        seat.running = next.is_some();
        if let Some(task) = next {
            self.running += 1;
            self.entities[task].held = true;
            self.entities[task].processor = cpu;
            seat.active_mm = cx.tasks[task].address_space.or(seat.active_mm);
        }
    }

    /// A round-robin task that spent its slice gets a new one behind its equals (specs 1.4 step 2).
    fn rotate_round_robin(&mut self, cx: &Context, task: TaskId) {
        let entity = &mut self.entities[task];
        if cx.tasks[task].class == Class::RoundRobin && entity.runnable && !entity.held && entity.counter == 0 {
            entity.counter = self.switches.ticks_of(&cx.tasks[task]);
            self.move_last(task);
        }
    }

    fn tick(&mut self, cpu: CpuId, task: TaskId) -> Resched {
        let entity = &mut self.entities[task];
        entity.counter -= 1;
        let least = if self.switches.tick_test == TickTest::Zero { 1 } else { 0 };
        if entity.counter >= least {
            return Resched::Keep;
        }
        entity.counter = 0;
        entity.seasoned = true;
        Resched::Preempt(cpu)
    }

    /// `sched_yield` (specs 1.5). In 2.4 it does nothing when nobody waits; real-time tasks only go to the tail.
    fn sched_yield(&mut self, cx: &Context, task: TaskId) {
        let nobody_waits = self.list.len() - self.running == 1;
        match self.switches.yield_mode {
            YieldMode::Forfeit => self.entities[task].counter = 0,
            YieldMode::Tick => self.entities[task].counter = (self.entities[task].counter - 1).max(0),
            YieldMode::Negative if nobody_waits => return,
            YieldMode::Zero | YieldMode::Negative => {
                self.entities[task].yielded = !cx.tasks[task].class.is_realtime();
            }
        }
        self.move_last(task);
    }

    fn move_last(&mut self, task: TaskId) {
        self.list.remove(&mut self.links, task.0);
        self.list.push_back(&mut self.links, task.0);
    }

    fn join(&mut self, task: TaskId) {
        self.entities[task].runnable = true;
        match self.switches.insert {
            End::Head => self.list.push_front(&mut self.links, task.0),
            End::Tail => self.list.push_back(&mut self.links, task.0),
        }
    }

    fn leave(&mut self, task: TaskId) {
        self.entities[task].runnable = false;
        self.list.remove(&mut self.links, task.0);
    }

    /// Parent and child share what the parent has left (specs 1.5 "Fork"). The parent's CPU, if nothing is.
    fn split_counter(&mut self, task: TaskId, parent: Option<TaskId>) -> Option<CpuId> {
        let parent = parent?;
        let whole = self.entities[parent].counter;
        let half = whole / 2;
        self.entities[parent].counter = half;
        let is_24 = self.switches.version == Version::V24;
        self.entities[task].counter = if is_24 { whole - half } else { half };
        (is_24 && half == 0).then_some(self.entities[parent].processor)
    }

    /// 2.4: what a task leaves of its first slice goes back to its parent, up to 200 ms (specs 1.5 "Exit").
    fn refund(&mut self, cx: &Context, gone: &Entity) {
        if self.switches.version < Version::V24 || gone.seasoned {
            return;
        }
        if let Some(parent) = gone.parent.map(|p| &mut self.entities[p]).filter(|p| p.alive) {
            let most = default_priority(cx.machine.hz).max(parent.counter);
            parent.counter = (parent.counter + gone.counter).min(most);
        }
    }

    /// 2.4: a waker that announced its sleep asks nobody to reschedule; the CPU where it runs.
    fn woken_quietly(&self, cx: &Context, task: TaskId, why: &Enqueue) -> Option<CpuId> {
        match why {
            Enqueue::Wakeup { sync: true, on, waker: Some(_), .. }
                if self.switches.version == Version::V24 && cx.tasks[task].affinity.contains(*on) =>
            {
                Some(*on)
            }
            _ => None,
        }
    }

    /// The idle CPU for a task whose own is busy: in 2.4 the one idle for longest, whole cores first.
    fn find_idle(&self, cx: &Context, task: TaskId) -> Option<CpuId> {
        if self.switches.version < Version::V24 {
            return self.idle.first_allowed(cx, task);
        }
        let whole = |cpu: CpuId| cx.machine.group(cpu, goodness_core::Level::Smt).iter().all(|c| self.idle.contains(*c));
        let allowed = self.idle.iter().filter(|cpu| {
            cx.examined(Effort::Balance, 1);
            cx.tasks[task].affinity.contains(*cpu)
        });
        allowed.min_by_key(|cpu| (!whole(*cpu), self.seats[cpu.index()].idle_since, *cpu))
    }

    /// The preemption check for a task that just became runnable (specs 1.5). `on` is where it was woken.
    fn reschedule(&mut self, cx: &Context, cpu: CpuId, on: CpuId, task: TaskId) -> Resched {
        if self.idle.contains(cpu) {
            // Its CPU notices by itself. 2.0 also looks at the running task.
            self.idle.set(cpu, false);
            if self.switches.version > Version::V20 {
                return Resched::Keep;
            }
        }
        if self.switches.version == Version::V24 {
            return self.preempt_by_goodness(cx, task);
        }
        let here = if cx.tasks[task].affinity.contains(on) { on } else { cpu };
        let Some(current) = self.current(here) else { return Resched::Keep };
        let ahead = self.entities[task].counter > self.entities[current].counter + self.switches.threshold;
        if ahead || cx.tasks[task].class.is_realtime() { Resched::Preempt(here) } else { Resched::Keep }
    }

    /// 2.4: the CPU where the woken task is better than the running one by most.
    fn preempt_by_goodness(&self, cx: &Context, task: TaskId) -> Resched {
        let mut most = self.switches.threshold;
        let mut answer = Resched::Keep;
        for cpu in cx.machine.cpu_ids().filter(|cpu| cx.tasks[task].affinity.contains(*cpu)) {
            let Some(current) = self.current(cpu) else { continue };
            cx.examined(Effort::Balance, 1);
            let ballot = self.ballot(cx, cpu);
            let difference = self.weigh(cx, ballot, task) - self.weigh(cx, ballot, current);
            if difference > most {
                most = difference;
                answer = Resched::Preempt(cpu);
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests;
