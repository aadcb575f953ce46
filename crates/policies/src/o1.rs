//! The O(1) scheduler of Linux 2.6 before CFS: two priority arrays per CPU, and an estimate of interactivity.
//!
//! Idea: the best list of the active array runs, found through a bitmap. A task that has used its slice goes to the
//! expired array; when the active one is empty, the two are swapped. A task's average sleep shifts its priority by up
//! to 5 levels either way, and tasks that sleep enough to count as interactive go back to the active array instead.
//!
//! Source: specs section 2. Profiles (`kernel`): `2.6.8`, and `2.6.22` for the constants of 2.6.9 to 2.6.22 with
//! SCHED_BATCH (from 2.6.16: never interactive).
//! Deviations: `2.6.22` differs in slices, sleep limits and batch tasks only; the rest of its rules are those of 2.6.8.
//! In 2.6.8 SCHED_BATCH counts as normal; SCHED_IDLE, which came with 2.6.23, counts as normal of nice 19; SCHED_ISO
//! and SCHED_DEADLINE count as normal. A task created by the host has no parent to inherit from: average sleep 0 and a
//! full slice. The delay of tasks beside a better one on the same core is left out. Balancing: see `domains.rs`.
//! Weakness: the estimate can be fooled by tasks that sleep just enough; yielding waits for every active task.

mod constants;
mod sleep;
mod why;

use crate::parts::domains::{Domains, Queues};
use crate::parts::ahead;
use crate::parts::idle_cpus::IdleCpus;
use crate::parts::prio_array::{BEST_USER_PRIO, PrioArray, WORST_USER_PRIO};
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Idle, Machine, Needs, PerTask, Pick, Pull,
    Reason, Registered, Rejected, Resched, Seed, Span, Stop, Task, TaskId, Time, WakeSource, Why,
};
use constants::{Constants, MAX_BONUS, delta};
use goodness_queues::Links;

goodness_core::choices! {
    /// Kernel whose constants are used.
    pub enum Kernel { V2_6_8 = "2.6.8", V2_6_22 = "2.6.22" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Kernel whose constants are used.
        kernel: Kernel = Kernel::V2_6_8;
    }
}

/// Percentage of the wait for a CPU that counts as sleep for a task woken by another.
const ON_RUNQUEUE_WEIGHT: u64 = 30;
/// Percentage of the parent's bonus that a child inherits.
const CHILD_PENALTY: u64 = 95;
/// Weight of the parent against the child's average sleep at the child's end.
const EXIT_WEIGHT: u64 = 3;
/// Interactive credit above or below which it counts as high or low.
const CREDIT_LIMIT: i32 = 100;
const NO_PRIO: u8 = 140;

/// The static priority: nice from 100 on.
fn static_prio(task: &Task) -> u8 {
    if task.class == Class::Idle { WORST_USER_PRIO } else { BEST_USER_PRIO + task.nice.index() as u8 }
}

/// Reason why a task is queued: decides how its wait counts at its first pick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Activated {
    #[default]
    No,
    AfterDisk,
    ByTask,
    ByInterrupt,
}

/// One task, in a cache line of its own.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Entity {
    prio: u8,
    static_prio: u8,
    /// On an array of `cpu`; running tasks stay there.
    queued: bool,
    array: usize,
    /// True if the array it was last taken off was the expired one.
    was_expired: bool,
    first_slice: bool,
    uninterruptible: bool,
    alive: bool,
    activated: Activated,
    cpu: CpuId,
    /// Remaining ticks of the slice.
    slice: u32,
    credit: i32,
    parent: Option<TaskId>,
    /// Nanoseconds.
    sleep_avg: u64,
    /// Time run since its pick and not yet accounted, ns.
    ran: u64,
    /// Time of its last enqueue or switch-out.
    stamp: Time,
}

const _: () = assert!(size_of::<Entity>() == 64);

impl Entity {
    fn is_interactive(&self) -> bool {
        i64::from(self.prio) <= i64::from(self.static_prio) - delta(self.static_prio)
    }
}

/// Run queue of one CPU. `active` is the index of the active array.
#[derive(Clone, Debug, Default)]
struct Runqueue {
    arrays: [PrioArray; 2],
    active: usize,
    current: Option<TaskId>,
    /// Its priority when it was picked.
    picked_at: u8,
    expired_since: Option<Time>,
    best_expired: u8,
}

/// All CPUs' queues and the tasks on them.
#[derive(Clone, Debug)]
struct Runqueues {
    entities: PerTask<Entity>,
    links: Links,
    cpus: Vec<Runqueue>,
    runnable: u32,
    running: u32,
}

impl Runqueues {
    /// Queues `task` on `cpu` behind its equals.
    #[inline(always)]
    fn push(&mut self, cpu: CpuId, task: TaskId, expired: bool) {
        let queue = &mut self.cpus[cpu.index()];
        let entity = &mut self.entities[task];
        entity.queued = true;
        entity.cpu = cpu;
        entity.array = if expired { 1 - queue.active } else { queue.active };
        queue.arrays[entity.array].push_back(&mut self.links, entity.prio, task);
        self.runnable += 1;
    }

    /// Queues `task` right before `place`.
    fn push_before(&mut self, place: TaskId, task: TaskId) {
        let Entity { cpu, array, prio, .. } = self.entities[place];
        let entity = &mut self.entities[task];
        *entity = Entity { queued: true, cpu, array, prio, ..*entity };
        self.cpus[cpu.index()].arrays[array].insert_before(&mut self.links, prio, place, task);
        self.runnable += 1;
    }

    /// Removes `task` from its array; true if that was the expired array.
    #[inline(always)]
    fn remove(&mut self, task: TaskId) -> bool {
        let entity = &mut self.entities[task];
        let queue = &mut self.cpus[entity.cpu.index()];
        entity.queued = false;
        entity.was_expired = entity.array != queue.active;
        queue.arrays[entity.array].remove(&mut self.links, entity.prio, task);
        self.runnable -= 1;
        entity.was_expired
    }

    /// Puts `task` behind its equals of the active array.
    fn rotate(&mut self, cpu: CpuId, task: TaskId) {
        self.remove(task);
        self.push(cpu, task, false);
    }
}

impl Queues for Runqueues {
    fn runnable(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu.index()].arrays.iter().map(PrioArray::len).sum()
    }

    fn waiting(&self) -> u32 {
        self.runnable - self.running
    }

    fn running(&self, cpu: CpuId) -> Option<TaskId> {
        self.cpus[cpu.index()].current
    }

    fn last_ran(&self, task: TaskId) -> Time {
        self.entities[task].stamp
    }

    fn coldest_first(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_ {
        let queue = &self.cpus[cpu.index()];
        [1 - queue.active, queue.active].into_iter().flat_map(|i| queue.arrays[i].coldest_first(&self.links))
    }
}

/// The O(1) scheduler.
#[derive(Debug)]
pub struct O1 {
    constants: Constants,
    queues: Runqueues,
    domains: Domains,
    idle: IdleCpus,
}

impl Registered for O1 {
    const ABOUT: About = About {
        name: "o1",
        summary: "Linux 2.6 before CFS: active and expired priority arrays per CPU, bonus for sleepers.",
        source: "Linux 2.6.8 to 2.6.22; specs section 2",
        needs: Needs { tick: true, timer: false, balance: true, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        let queue = Runqueue { best_expired: NO_PRIO, ..Runqueue::default() };
        O1 {
            constants: Constants::new(settings.kernel, machine),
            queues: Runqueues {
                entities: PerTask::default(),
                links: Links::default(),
                cpus: vec![queue; machine.cpu_count()],
                runnable: 0,
                running: 0,
            },
            domains: Domains::new(machine),
            idle: IdleCpus::all(machine),
        }
    }
}

impl CpuPolicy for O1 {
    fn admit(&mut self, cx: &Context, task: TaskId, parent: Option<TaskId>) -> Result<(), Rejected> {
        self.queues.links.reserve(task.index() + 1);
        let static_prio = static_prio(&cx.tasks[task]);
        let slice = self.constants.slice(static_prio);
        *self.queues.entities.admit(task) =
            Entity { static_prio, slice, parent, alive: true, stamp: cx.now, ..Entity::default() };
        self.set_effective_prio(cx, task);
        Ok(())
    }

    fn exit(&mut self, _: &Context, task: TaskId) {
        let gone = self.queues.entities[task];
        self.queues.entities[task].alive = false;
        let Some(parent) = gone.parent.map(|p| &mut self.queues.entities[p]).filter(|p| p.alive) else { return };
        if gone.first_slice {
            parent.slice = (parent.slice + gone.slice).min(self.constants.longest_slice.max(parent.slice));
        }
        if gone.sleep_avg < parent.sleep_avg {
            parent.sleep_avg = (parent.sleep_avg * EXIT_WEIGHT + gone.sleep_avg) / (EXIT_WEIGHT + 1);
        }
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        self.domains.place(cx, &self.queues, &self.idle, task, why)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.idle.set(cpu, false);
        match why {
            Enqueue::Fork { parent } => self.fork(cx, cpu, task, parent),
            Enqueue::Wakeup { on, sync, from, .. } => {
                self.activate(cx, cpu, task, from);
                if sync && on == cpu { Resched::Keep } else { self.preempt(cpu, task) }
            }
            Enqueue::Migrated => {
                if self.queues.entities[task].queued {
                    self.queues.remove(task);
                }
                self.queues.push(cpu, task, self.queues.entities[task].was_expired);
                self.preempt(cpu, task)
            }
            Enqueue::Restored => self.restore(cx, cpu, task),
            // It kept its place, or the tick gave it a new one.
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yielded => Resched::Keep,
        }
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.queues.remove(task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let Runqueues { entities, links, cpus, running, .. } = &mut self.queues;
        let queue = &mut cpus[cpu.index()];
        if queue.arrays[queue.active].len() == 0 {
            queue.active = 1 - queue.active;
            queue.expired_since = None;
            queue.best_expired = NO_PRIO;
        }
        let array = &mut queue.arrays[queue.active];
        let task = array.first();
        self.idle.set(cpu, task.is_none());
        let task = task?;
        cx.examined(Effort::Search, 1);
        let entity = &mut entities[task];
        let before = entity.prio;
        if entity.reward_waiting(&self.constants, cx, task) {
            entity.was_expired = false;
            array.put_behind_equals(links, task, before, entity.prio);
        }
        entity.ran = 0;
        entity.stamp = cx.now;
        (queue.current, queue.picked_at) = (Some(task), before);
        *running += 1;
        Some(Pick { task, timeslice: None })
    }

    /// The running task is at the head of the array that it shares with those that wait.
    fn likely_next(&self, cpu: CpuId, next: &mut [TaskId]) -> usize {
        let queue = &self.queues.cpus[cpu.index()];
        let waiting = queue.arrays[queue.active].best_list(&self.queues.links).skip(1);
        ahead::load(|task| self.queues.entities[task], waiting, next)
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let entity = &mut self.queues.entities[task];
        entity.ran += ran.0;
        if why == Stop::Tick {
            self.domains.tick(cpu, self.queues.runnable(cpu));
            return self.tick(cx, cpu, task);
        }
        entity.account(&self.constants, cx.now);
        entity.uninterruptible = matches!(why, Stop::Blocked { interruptible: false });
        self.queues.cpus[cpu.index()].current = None;
        self.queues.running -= 1;
        match why {
            Stop::Yielded => {
                self.queues.remove(task);
                self.queues.push(cpu, task, !cx.tasks.class(task).is_realtime());
            }
            Stop::Blocked { .. } | Stop::Exited => {
                self.queues.remove(task);
            }
            _ => {}
        }
        Resched::Keep
    }

    fn why(&self, cx: &Context, cpu: CpuId, question: Why) -> Option<Reason> {
        self.rule(cx, cpu, question)
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        self.domains.balance(cx, &self.queues, &mut self.idle, cpu, idle)
    }
}

impl O1 {
    /// Sets the priority from class, nice and average sleep (specs 2.3).
    fn set_effective_prio(&mut self, cx: &Context, task: TaskId) {
        let entity = &mut self.queues.entities[task];
        entity.prio = self.constants.prio(&cx.tasks[task], entity.static_prio, entity.sleep_avg);
    }

    /// A woken task joins the active array, at the priority its sleep earned.
    #[inline(always)]
    fn activate(&mut self, cx: &Context, cpu: CpuId, task: TaskId, from: WakeSource) {
        let entity = &mut self.queues.entities[task];
        entity.activated = match from {
            _ if entity.uninterruptible => Activated::AfterDisk,
            WakeSource::Interrupt => Activated::ByInterrupt,
            WakeSource::Task => Activated::ByTask,
        };
        let slept = cx.now.since(entity.stamp).0;
        entity.stamp = cx.now;
        if cx.tasks.class(task).is_realtime() {
            self.set_effective_prio(cx, task);
        } else {
            entity.reward(&self.constants, cx, task, slept);
        }
        self.queues.push(cpu, task, false);
    }

    fn tick(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> Resched {
        let entity = &mut self.queues.entities[task];
        if cx.tasks[task].class == Class::Fifo {
            return Resched::Keep;
        }
        entity.slice = entity.slice.saturating_sub(1);
        let is_rr = cx.tasks[task].class == Class::RoundRobin;
        if entity.slice > 0 {
            return if is_rr { Resched::Keep } else { self.share_level(cpu, task) };
        }
        entity.slice = self.constants.slice(entity.static_prio);
        entity.first_slice = false;
        if is_rr {
            self.queues.rotate(cpu, task);
        } else {
            self.expire(cx, cpu, task);
        }
        Resched::Preempt(cpu)
    }

    /// Puts an interactive task behind others of its priority from time to time within a slice.
    fn share_level(&mut self, cpu: CpuId, task: TaskId) -> Resched {
        let entity = &self.queues.entities[task];
        let every = self.constants.granularity(entity.sleep_avg);
        let left = u64::from(entity.slice);
        let used = u64::from(self.constants.slice(entity.static_prio)).saturating_sub(left);
        let active = entity.array == self.queues.cpus[cpu.index()].active;
        if !entity.is_interactive() || !used.is_multiple_of(every) || left < every || !active {
            return Resched::Keep;
        }
        self.queues.rotate(cpu, task);
        Resched::Preempt(cpu)
    }

    /// Handles a used-up slice: to the expired array, unless the task is interactive and no expired task starves.
    fn expire(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        self.queues.remove(task);
        self.set_effective_prio(cx, task);
        let entity = self.queues.entities[task];
        let runnable = u64::from(self.queues.runnable(cpu)) + 1;
        let batch = self.constants.never_interactive(cx.tasks.class(task));
        let queue = &mut self.queues.cpus[cpu.index()];
        let since = *queue.expired_since.get_or_insert(cx.now);
        let limit = (self.constants.max_sleep * runnable + 1) * self.constants.tick;
        let starving = cx.now.since(since).0 >= limit || entity.static_prio > queue.best_expired;
        let expires = !entity.is_interactive() || starving || batch;
        if expires {
            queue.best_expired = queue.best_expired.min(entity.static_prio);
        }
        self.queues.push(cpu, task, expires);
    }

    /// A new task gets half of its parent's slice and is queued before the parent (specs 2.5 "Fork").
    fn fork(&mut self, cx: &Context, cpu: CpuId, task: TaskId, parent: Option<TaskId>) -> Resched {
        let Some(parent) = parent else {
            self.queues.push(cpu, task, false);
            return self.preempt(cpu, task);
        };
        let c = &self.constants;
        let of = &mut self.queues.entities[parent];
        let (whole, bonus, here) = (of.slice, c.bonus(of.sleep_avg), of.cpu);
        let step = c.max_sleep / MAX_BONUS * c.tick;
        of.slice = whole / 2;
        of.sleep_avg = bonus * step;
        let (equal, queued) = (of.static_prio, of.queued);
        let child = &mut self.queues.entities[task];
        child.slice = whole.div_ceil(2);
        child.first_slice = true;
        child.sleep_avg = bonus * CHILD_PENALTY / 100 * step;
        let normal = |t: TaskId| !cx.tasks[t].class.is_realtime();
        let mut answer = Resched::Preempt(cpu);
        if queued && here == cpu && child.static_prio == equal && normal(task) && normal(parent) {
            self.queues.push_before(parent, task);
        } else {
            self.set_effective_prio(cx, task);
            self.queues.push(cpu, task, false);
            answer = self.preempt(cpu, task);
        }
        if whole / 2 == 0 && queued && normal(parent) {
            self.queues.entities[parent].slice = 1;
            let spent = self.tick(cx, here, parent);
            return if answer == Resched::Keep { spent } else { answer };
        }
        answer
    }

    /// Nice or class changed: the priority moves by as much (specs 2.5 "set nice").
    fn restore(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> Resched {
        if self.queues.entities[task].queued {
            self.queues.remove(task);
        }
        let it = &cx.tasks[task];
        let entity = &mut self.queues.entities[task];
        let was_realtime = entity.prio < BEST_USER_PRIO;
        let moved = i64::from(static_prio(it)) - i64::from(entity.static_prio);
        entity.static_prio = static_prio(it);
        if it.class.is_realtime() || was_realtime {
            self.set_effective_prio(cx, task);
        } else {
            let prio = i64::from(entity.prio) + moved;
            entity.prio = prio.clamp(i64::from(BEST_USER_PRIO), i64::from(WORST_USER_PRIO)) as u8;
        }
        self.queues.push(cpu, task, self.queues.entities[task].was_expired && !it.class.is_realtime());
        self.preempt(cpu, task)
    }

    /// True if `task`, just queued on `cpu`, preempts the running task.
    fn preempt(&self, cpu: CpuId, task: TaskId) -> Resched {
        match self.queues.cpus[cpu.index()].current {
            Some(it) if self.queues.entities[task].prio < self.queues.entities[it].prio => Resched::Preempt(cpu),
            _ => Resched::Keep,
        }
    }
}

#[cfg(test)]
mod tests;
