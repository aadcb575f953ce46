//! The election of Linux 2.0, 2.2 and 2.4: one list for the whole machine; the runnable task with the greatest goodness
//! runs.
//!
//! Idea: a task has a counter of ticks. Its goodness is the rest of them, plus small bonuses for a warm cache and a
//! shared address space. When all runnable tasks have used their ticks, every task of the system gets new ones and
//! keeps half of its rest, so a sleeper collects up to two slices.
//!
//! Source: specs section 1. The kernels share one implementation and differ in their [`Rules`] and the defaults of the
//! [`Settings`] (section 1.8). HZ is the machine's.
//! Deviations: 2.2's rule for contenders of the big kernel lock is left out, because that lock is not modelled. An idle
//! CPU that was asked to run something counts as busy until it picks. Affinity, which only 2.4 had, is honoured.
//! SCHED_BATCH, ISO and DEADLINE count as normal, IDLE as nice 19. Tasks created by the host start with a full counter.
//! Weakness: each election examines every runnable task, each recalculation every task.

mod rules;
mod wakeup;

use crate::parts::idle_cpus::IdleCpus;
use crate::parts::reasons::by_priority;
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Machine, Needs, PerTask, Pick, Reason,
    Registered, Rejected, Resched, Seed, Span, Stop, Task, TaskId, Time, Why,
};
use goodness_queues::{Links, List};
use rules::Switches;
pub use rules::{
    Defaults, End, Kernel, NicePart, Rules, Settings, TickTest, YieldMode, proportional_ticks, scaled_ticks,
};
use std::marker::PhantomData;

/// Host features that all three kernels need.
pub(crate) const NEEDS: Needs = Needs { tick: true, timer: false, balance: false, global_lock: true };

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    /// Remaining ticks.
    counter: i64,
    /// Index in `living`.
    place: u32,
    parent: Option<TaskId>,
    /// The CPU on which it ran last.
    processor: CpuId,
    /// On the list, which running tasks stay on.
    runnable: bool,
    /// Running, or briefly off its queue: not eligible.
    held: bool,
    /// True if it yielded and the penalty is still due.
    yielded: bool,
    /// Has used up a slice.
    seasoned: bool,
    alive: bool,
}

/// State of one CPU.
#[derive(Clone, Copy, Debug, Default)]
struct CpuState {
    /// The task that runs, or that ran until this moment.
    prev: Option<TaskId>,
    running: bool,
    /// The address space in use; kernel threads and the idle task keep the previous one.
    active_mm: Option<u32>,
    idle_since: Time,
}

/// The state of one of the three kernels.
#[derive(Debug)]
pub struct Goodness<K> {
    switches: Switches,
    entities: PerTask<Entity>,
    links: Links,
    /// All runnable tasks, including running ones, in the kernel's order.
    list: List,
    /// All living tasks.
    living: Vec<TaskId>,
    running: usize,
    cpus: Vec<CpuState>,
    idle: IdleCpus,
    kernel: PhantomData<K>,
}

impl<K: Kernel> Registered for Goodness<K> {
    const ABOUT: About = K::ABOUT;
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Goodness {
            switches: Switches::of::<K>(machine, &settings),
            entities: PerTask::default(),
            links: Links::default(),
            list: List::default(),
            living: Vec::new(),
            running: 0,
            cpus: vec![CpuState::default(); machine.cpu_count()],
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
        self.cpus[gone.processor.index()].prev.take_if(|prev| *prev == task);
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
                self.insert(task);
                match (self.reschedule(cx, cpu, parent.map_or(cpu, |p| cx.tasks.cpu(p)), task), spent) {
                    (Resched::Keep, Some(on)) => Resched::Preempt(on),
                    (answer, _) => answer,
                }
            }
            Enqueue::Wakeup { on, .. } => {
                self.insert(task);
                match self.woken_quietly(cx, task, &why) {
                    Some(_) => Resched::Keep,
                    None => self.reschedule(cx, cpu, on, task),
                }
            }
            // The task kept its place on the list. If others wait as well, an idle CPU may take one of them.
            _ if self.list.len() - self.running > 1 || self.cpus[cpu.index()].prev != Some(task) => {
                self.idle.claim(cx, cpu, task)
            }
            _ => Resched::Keep,
        }
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, why: Dequeue) {
        match why {
            Dequeue::Migrate | Dequeue::Change => self.entities[task].held = true,
            Dequeue::Kill => self.remove(task),
        }
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let prev = self.cpus[cpu.index()].prev;
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
        self.switch_to(cx, cpu, next);
        next.map(|task| Pick { task, timeslice: None })
    }

    fn why(&self, cx: &Context, cpu: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let (ahead, election) = (ahead?, self.election(cx, cpu));
        let [own, other] = [ahead, waiting].map(|task| &cx.tasks[task]);
        if own.class.is_realtime() && !other.class.is_realtime() {
            return Some(Reason::Class { ahead: own.class, waiting: other.class });
        }
        if self.entities[waiting].counter == 0 && self.entities[ahead].counter > 0 && !other.class.is_realtime() {
            return Some(Reason::RoundUsedUp);
        }
        // Of equals the one runs that ran before, or that was queued last.
        match by_priority(self.weigh(cx, election, ahead), self.weigh(cx, election, waiting), is_pick) {
            Some(Reason::First) => Some(Reason::Favoured),
            reason => reason,
        }
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, _: Span, why: Stop) -> Resched {
        if why == Stop::Tick {
            return self.tick(cpu, task);
        }
        self.entities[task].held = false;
        self.running -= 1;
        self.cpus[cpu.index()].running = false;
        match why {
            Stop::Yielded => self.sched_yield(cx, task),
            Stop::Blocked { .. } | Stop::Exited => self.remove(task),
            _ => {}
        }
        Resched::Keep
    }
}

/// The CPU that elects, with its previous task and the address space that is loaded.
#[derive(Clone, Copy)]
struct Election {
    cpu: CpuId,
    prev: Option<TaskId>,
    mm: Option<u32>,
}

/// Preference for a runnable task (specs 1.3).
fn goodness(switches: &Switches, election: Election, id: TaskId, entity: &Entity, task: &Task) -> i64 {
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
    if switches.smp && entity.processor == election.cpu {
        weight += switches.penalty;
    }
    if election.prev == Some(id) {
        weight += switches.prev_bonus;
    }
    let anonymous = switches.rules.lazy_address_space && task.address_space.is_none();
    if anonymous || task.address_space == election.mm {
        weight += switches.mm_bonus;
    }
    weight
        + match switches.rules.nice_part {
            NicePart::None => 0,
            NicePart::Slice => switches.ticks_of(task),
            NicePart::Nice if task.class == Class::Idle => 1,
            NicePart::Nice => 20 - task.nice.get(),
        }
}

impl<K: Kernel> Goodness<K> {
    fn election(&self, cx: &Context, cpu: CpuId) -> Election {
        let state = &self.cpus[cpu.index()];
        let mm = if self.switches.rules.lazy_address_space {
            state.active_mm
        } else {
            state.prev.and_then(|prev| cx.tasks[prev].address_space)
        };
        Election { cpu, prev: state.prev, mm }
    }

    fn current(&self, cpu: CpuId) -> Option<TaskId> {
        self.cpus[cpu.index()].prev.filter(|_| self.cpus[cpu.index()].running)
    }

    fn weigh(&self, cx: &Context, election: Election, task: TaskId) -> i64 {
        goodness(&self.switches, election, task, &self.entities[task], &cx.tasks[task])
    }

    /// The best task for `cpu` and its goodness (specs 1.4 step 4). From 2.2 on the previous task is examined first,
    /// then the list from its head; only strictly better tasks replace the best so far.
    fn search(&mut self, cx: &Context, cpu: CpuId) -> (Option<TaskId>, i64) {
        let election = self.election(cx, cpu);
        let may = |entities: &PerTask<Entity>, task: TaskId| {
            let entity = &entities[task];
            entity.runnable && !entity.held && cx.tasks.may_run(task, cpu)
        };
        let (mut next, mut best, mut evaluated) = (None, -1000, 0);
        let first = election.prev.filter(|p| self.switches.rules.previous_first && may(&self.entities, *p));
        let others = self.list.iter(&self.links).map(TaskId).filter(|task| Some(*task) != first);
        for task in first.into_iter().chain(others) {
            if !may(&self.entities, task) {
                continue;
            }
            let entity = &mut self.entities[task];
            let weight = goodness(&self.switches, election, task, entity, &cx.tasks[task]);
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

    /// Recalculates the ticks of all tasks (specs 1.4 step 5).
    fn recalculate(&mut self, cx: &Context) {
        for task in &self.living {
            let entity = &mut self.entities[*task];
            entity.counter = entity.counter / 2 + self.switches.ticks_of(&cx.tasks[*task]);
        }
        cx.examined(Effort::Recalculate, self.living.len() as u32);
    }

    /// Records that `cpu` runs `next`.
    fn switch_to(&mut self, cx: &Context, cpu: CpuId, next: Option<TaskId>) {
        let state = &mut self.cpus[cpu.index()];
        if next.is_none() && !self.idle.contains(cpu) {
            state.idle_since = cx.now;
        }
        self.idle.set(cpu, next.is_none());
        state.prev = next;
        state.running = next.is_some();
        if let Some(task) = next {
            self.running += 1;
            self.entities[task].held = true;
            self.entities[task].processor = cpu;
            state.active_mm = cx.tasks[task].address_space.or(state.active_mm);
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

    /// `sched_yield` (specs 1.5). Real-time tasks only go to the tail; in 2.4 it does nothing if no task waits.
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

    fn insert(&mut self, task: TaskId) {
        self.entities[task].runnable = true;
        match self.switches.insert {
            End::Head => self.list.push_front(&mut self.links, task.0),
            End::Tail => self.list.push_back(&mut self.links, task.0),
        }
    }

    fn remove(&mut self, task: TaskId) {
        self.entities[task].runnable = false;
        self.list.remove(&mut self.links, task.0);
    }

    /// Splits the parent's remaining ticks with its child (specs 1.5 "Fork"). Returns the parent's CPU if none remain.
    fn split_counter(&mut self, task: TaskId, parent: Option<TaskId>) -> Option<CpuId> {
        let parent = parent?;
        let whole = self.entities[parent].counter;
        let half = whole / 2;
        self.entities[parent].counter = half;
        let rounds_up = self.switches.rules.fork_rounds_up;
        self.entities[task].counter = if rounds_up { whole - half } else { half };
        (rounds_up && half == 0).then_some(self.entities[parent].processor)
    }

    /// 2.4: the rest of a task's first slice goes back to its parent, up to 200 ms (specs 1.5 "Exit").
    fn refund(&mut self, cx: &Context, gone: &Entity) {
        if !self.switches.rules.refund || gone.seasoned {
            return;
        }
        if let Some(parent) = gone.parent.map(|p| &mut self.entities[p]).filter(|p| p.alive) {
            let most = rules::default_priority(cx.machine.hz).max(parent.counter);
            parent.counter = (parent.counter + gone.counter).min(most);
        }
    }
}

#[cfg(test)]
mod tests;
