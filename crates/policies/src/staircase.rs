//! Con Kolivas' staircase scheduler: one priority array per CPU, in which running tasks step down.
//!
//! Idea: a task starts on the stair its nice gives it, runs for a short interval, and steps down one priority at a time
//! until its whole slice is spent; then it is back on its top stair. There is no estimate of interactivity: a task that
//! slept starts again from the top. One that sleeps often stays there longer (7.G) or starts higher (13).
//!
//! Source: specs section 3. Versions: `7.G` (7 Aug 2004), `13` (10 Nov 2005), and `10.5`, which is inferred from both
//! (specs 3.8): the stairs of 7.G, slices in nanoseconds ended by a timer, 13's rule for resuming a slice.
//! Deviations: a task preempted by an equal goes behind it. Otherwise the sheet's "equal priority preempts" would have
//! no effect. SCHED_BATCH is that of schedbatch 2.4: it runs only when no other task does. SCHED_IDLE and
//! SCHED_DEADLINE did not exist: the first counts as batch, the second as normal. SCHED_ISO is that of schediso 2.4;
//! `iso=on` treats requests for FIFO and RR as ISO, as the patch did for unprivileged users. SCHED_BATCH and siblings
//! of a core: see `staircase/siblings.rs`. Version 13's charge for system calls is contained in its nanosecond
//! accounting. Balancing: see `domains.rs`.
//! Weakness: hogs descend together, and a stream of new tasks on the top stairs starves them; a yield goes to the
//! bottom.

mod siblings;

use crate::parts::domains::{Domains, Queues};
use crate::parts::idle_cpus::IdleCpus;
use crate::parts::prio_array::{BEST_USER_PRIO, PrioArray, WORST_USER_PRIO, urgency};
use goodness_core::{
    About, Class, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Idle, Machine, Needs, PerTask, Pick, Pull,
    Reason, Registered, Rejected, Resched, Seed, Span, Stop, Task, TaskId, Time, Why,
};
use goodness_queues::Links;

goodness_core::choices! {
    /// Version of the patch.
    pub enum Version { V7G = "7.G", V10_5 = "10.5", V13 = "13" }
}

goodness_core::tunables! {
    pub struct Settings {
        /// Version of the patch.
        version: Version = Version::V7G;
        /// Favour tasks that sleep (/proc/sys/kernel/interactive).
        interactive: bool = true;
        /// Lengthen slices and delay preemption for computing (/proc/sys/kernel/compute).
        compute: bool = false;
        /// Treat requests for FIFO and RR as SCHED_ISO, as for unprivileged users.
        iso: bool = false;
    }
}

/// The level below all normal tasks.
const BATCH_PRIO: u8 = 140;
/// Priority to which a batch task that may hold a kernel lock is raised.
const RAISED_PRIO: u8 = 138;
/// Time a task runs in compute mode before a better one takes its CPU, and for which it is cache hot.
const CACHE_DELAY: Span = Span::from_ms(10);

/// Kind of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Realtime,
    Normal,
    Iso,
    Batch,
}

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    prio: u8,
    /// On the array of `cpu`; running tasks stay there.
    queued: bool,
    cpu: CpuId,
    /// Forked and not slept since.
    forked: bool,
    yielded: bool,
    uninterruptible: bool,
    /// A batch task that is leaving a kernel lock.
    raised: bool,
    realtime: bool,
    /// Credit earned by sleeping: 7.G's burst, 13's bonus.
    earned: i64,
    /// Remaining ns of the long slice, and of the current stair.
    slice: i64,
    stair: i64,
    /// Time run since the last pick and since the last reset of the slice, ns.
    stretch: i64,
    total: i64,
    /// Time of its last pick or switch-out.
    stamp: Time,
}

#[derive(Clone, Debug, Default)]
struct Runqueue {
    array: PrioArray,
    current: Option<TaskId>,
    /// A better task waits until the running one has had its cache delay.
    preempted: bool,
    /// The running task yields to an equal.
    steps_aside: bool,
}

/// All CPUs' queues and the tasks on them.
#[derive(Clone, Debug)]
struct Runqueues {
    entities: PerTask<Entity>,
    links: Links,
    cpus: Vec<Runqueue>,
    runnable: u32,
    running: u32,
    compute: bool,
}

impl Runqueues {
    fn push(&mut self, cpu: CpuId, task: TaskId) {
        let entity = &mut self.entities[task];
        (entity.queued, entity.cpu) = (true, cpu);
        self.cpus[cpu.index()].array.push_back(&mut self.links, entity.prio, task);
        self.runnable += 1;
    }

    fn push_front(&mut self, cpu: CpuId, task: TaskId) {
        let entity = &mut self.entities[task];
        (entity.queued, entity.cpu) = (true, cpu);
        self.cpus[cpu.index()].array.push_front(&mut self.links, entity.prio, task);
        self.runnable += 1;
    }

    fn remove(&mut self, task: TaskId) {
        let entity = &mut self.entities[task];
        entity.queued = false;
        self.cpus[entity.cpu.index()].array.remove(&mut self.links, entity.prio, task);
        self.runnable -= 1;
    }

    /// Moves a queued task behind those of priority `prio`.
    fn requeue(&mut self, task: TaskId, prio: u8) {
        self.remove(task);
        self.entities[task].prio = prio;
        self.push(self.entities[task].cpu, task);
    }
}

impl Queues for Runqueues {
    fn runnable(&self, cpu: CpuId) -> u32 {
        self.cpus[cpu.index()].array.len()
    }

    fn waiting(&self) -> u32 {
        self.runnable - self.running
    }

    fn running(&self, cpu: CpuId) -> Option<TaskId> {
        self.cpus[cpu.index()].current
    }

    fn hot(&self, usual: Span) -> Span {
        if self.compute { CACHE_DELAY } else { usual }
    }

    fn last_ran(&self, task: TaskId) -> Time {
        self.entities[task].stamp
    }

    fn coldest_first(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_ {
        self.cpus[cpu.index()].array.coldest_first(&self.links)
    }

    fn may_go(&self, cx: &Context, task: TaskId, to: CpuId) -> bool {
        self.suits(cx, task, to)
    }
}

/// The staircase.
#[derive(Debug)]
pub struct Staircase {
    settings: Settings,
    /// Nanoseconds of a tick, and ticks a second.
    tick: i64,
    hz: i64,
    queues: Runqueues,
    domains: Domains,
    idle: IdleCpus,
}

impl Registered for Staircase {
    const ABOUT: About = About {
        name: "staircase",
        summary: "Staircase: tasks walk down one priority at a time and start again at the top when they slept.",
        source: "Con Kolivas' patches 7.G and 13, 2004 and 2005; specs section 3",
        needs: Needs { tick: true, timer: false, balance: true, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: Settings, _: Seed) -> Self {
        Staircase {
            tick: machine.tick().0 as i64,
            hz: i64::from(machine.hz),
            queues: Runqueues {
                entities: PerTask::default(),
                links: Links::default(),
                cpus: vec![Runqueue::default(); machine.cpu_count()],
                runnable: 0,
                running: 0,
                compute: settings.compute,
            },
            domains: Domains::new(machine),
            idle: IdleCpus::all(machine),
            settings,
        }
    }
}

impl CpuPolicy for Staircase {
    fn admit(&mut self, cx: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.queues.links.reserve(task.index() + 1);
        *self.queues.entities.admit(task) = Entity { stamp: cx.now, ..Entity::default() };
        self.start_over(&cx.tasks[task], task);
        Ok(())
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        let cpu = self.domains.place(cx, &self.queues, &self.idle, task, why);
        self.spare_siblings(cx, task, cpu)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.idle.set(cpu, false);
        let it = &cx.tasks[task];
        match why {
            Enqueue::Fork { parent } => {
                if let Some(parent) = parent {
                    self.queues.entities[parent].forked = true;
                }
                self.settle_on_stair(it, task);
            }
            Enqueue::Wakeup { .. } => {
                self.wake(cx, task);
                self.settle_on_stair(it, task);
            }
            Enqueue::Migrated | Enqueue::Restored => {
                if self.queues.entities[task].queued {
                    self.queues.remove(task);
                }
                if why == Enqueue::Restored {
                    self.restore(it, task);
                }
            }
            // It kept its place, or the charge gave it a new one.
            Enqueue::Preempted | Enqueue::SliceEnd | Enqueue::Yielded => return Resched::Keep,
        }
        self.queues.push(cpu, task);
        self.preempt(cx, cpu, task)
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.queues.remove(task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let task = loop {
            let first = self.queues.cpus[cpu.index()].array.first();
            self.idle.set(cpu, first.is_none());
            let task = first?;
            cx.examined(Effort::Search, 1);
            if !std::mem::take(&mut self.queues.entities[task].yielded) {
                break task;
            }
            // A yielder returns to the head of its real stair when its turn has come.
            self.queues.remove(task);
            self.queues.entities[task].prio = self.effective_prio(&cx.tasks[task], task);
            self.queues.push_front(cpu, task);
        };
        let entity = &mut self.queues.entities[task];
        (entity.stretch, entity.stamp) = (0, cx.now);
        let left = entity.stair.min(entity.slice).max(1) as u64;
        self.queues.running += 1;
        let queue = &mut self.queues.cpus[cpu.index()];
        queue.current = Some(task);
        queue.preempted = false;
        let timed = self.settings.version == Version::V10_5 && self.counts_time(&cx.tasks[task]);
        Some(Pick { task, timeslice: timed.then_some(Span(left)) })
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let ran = ran.0 as i64;
        let it = &cx.tasks[task];
        self.queues.entities[task].stretch += ran;
        let exact = self.settings.version > Version::V7G;
        if exact {
            self.queues.entities[task].total += ran;
        }
        if why == Stop::Tick {
            self.domains.tick(cpu, self.queues.runnable(cpu));
            let answer = self.spend(it, task, if exact { ran } else { self.tick });
            let queue = &mut self.queues.cpus[cpu.index()];
            let due = queue.preempted && cx.now.since(self.queues.entities[task].stamp) >= CACHE_DELAY;
            return if due { Resched::Preempt(cpu) } else { answer };
        }
        if exact {
            let _ = self.spend(it, task, ran);
        }
        self.stop(cx, cpu, task, why);
        Resched::Keep
    }

    fn why(&self, cx: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let prio = |task| self.queues.entities[task].prio;
        match urgency(cx, (ahead?, prio(ahead?)), (waiting, prio(waiting))) {
            Reason::First if !is_pick => Some(Reason::SliceNotOver),
            reason => Some(reason),
        }
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        self.domains.balance(cx, &self.queues, &mut self.idle, cpu, idle)
    }
}

impl Staircase {
    fn kind(&self, task: &Task) -> Kind {
        match task.class {
            Class::Iso => Kind::Iso,
            Class::Fifo | Class::RoundRobin if self.settings.iso => Kind::Iso,
            Class::Fifo | Class::RoundRobin => Kind::Realtime,
            Class::Batch | Class::Idle if siblings::is_batch(task) => Kind::Batch,
            _ => Kind::Normal,
        }
    }

    /// True if the task's slice runs down at all.
    fn counts_time(&self, task: &Task) -> bool {
        task.class != Class::Fifo || self.settings.iso
    }

    /// User priority, 0 for nice −20 to 39 for nice 19; ISO halves it.
    fn user_prio(&self, task: &Task) -> i64 {
        let nice = task.nice.index() as i64;
        if self.kind(task) == Kind::Iso { nice / 2 } else { nice }
    }

    /// Time per stair in nanoseconds (specs 3.2, 3.5, 3.6).
    fn interval(&self, task: &Task) -> i64 {
        let compute = self.settings.compute;
        let ticks = if self.settings.version == Version::V13 {
            let base = (5 * self.hz / 1001 + 1) * if compute { 20 } else { 1 };
            base + (-task.nice.get()).max(0)
        } else {
            (10 * self.hz / 1000).max(1) * if compute { 10 } else { 1 }
        };
        let ticks = if self.kind(task) == Kind::Iso { (ticks / 2).max(1) } else { ticks };
        ticks * self.tick
    }

    /// The long slice in nanoseconds; ten times as long for batch (specs 3.2, 3.4, 3.6).
    fn slice(&self, task: &Task) -> i64 {
        let stairs = self.interval(task) * (40 - self.user_prio(task));
        if self.kind(task) == Kind::Batch { 10 * stairs } else { stairs }
    }

    fn favours(&self, task: &Task) -> bool {
        self.settings.interactive && !self.settings.compute && task.address_space.is_some()
    }

    /// Stair of the task (specs 3.2, 3.6).
    fn effective_prio(&mut self, task: &Task, id: TaskId) -> u8 {
        let (interval, user) = (self.interval(task), self.user_prio(task));
        let used = (self.slice(task) - self.queues.entities[id].slice).max(0);
        let (settings, favours, kind) = (self.settings.clone(), self.favours(task), self.kind(task));
        let entity = &mut self.queues.entities[id];
        let (best, down) = match (kind, settings.version) {
            (Kind::Realtime, _) => return 99 - task.rt_priority.clamp(1, 99),
            (Kind::Batch, _) => return if entity.raised { RAISED_PRIO } else { BATCH_PRIO },
            (_, Version::V13) => {
                let bonus = if settings.interactive && !settings.compute { entity.earned.min(user) } else { 0 };
                (i64::from(BEST_USER_PRIO) + user - bonus, used / interval)
            }
            _ => {
                let disk = entity.uninterruptible && settings.interactive && task.address_space.is_some();
                let quirk = i64::from(disk && settings.version == Version::V7G);
                let best = (39 - user - quirk).max(0);
                entity.earned = entity.earned.min(best);
                let longer = if favours && kind != Kind::Iso { entity.earned } else { 0 };
                let first = interval * (longer + 1);
                let down = if used >= first { 1 + (used - first) / interval } else { 0 };
                (i64::from(WORST_USER_PRIO) - best, down)
            }
        };
        (best + down).min(i64::from(WORST_USER_PRIO)) as u8
    }

    /// Restarts with a full slice.
    fn start_over(&mut self, task: &Task, id: TaskId) {
        let slice = self.slice(task);
        let entity = &mut self.queues.entities[id];
        (entity.slice, entity.total) = (slice, 0);
        self.settle_on_stair(task, id);
    }

    /// Starts a whole interval on the task's current stair. The task must not be queued.
    fn settle_on_stair(&mut self, task: &Task, id: TaskId) {
        let whole = self.kind(task) == Kind::Batch && !self.queues.entities[id].raised;
        let interval = self.interval(task);
        let prio = self.effective_prio(task, id);
        let entity = &mut self.queues.entities[id];
        entity.stair = if whole { entity.slice } else { interval };
        entity.realtime = task.class.is_realtime();
        entity.prio = prio;
    }

    /// Subtracts time from slice and stair (specs 3.3 "Tick").
    fn spend(&mut self, task: &Task, id: TaskId, ran: i64) -> Resched {
        if !self.counts_time(task) {
            return Resched::Keep;
        }
        let entity = &mut self.queues.entities[id];
        entity.slice -= ran;
        entity.stair -= ran;
        let (spent, cpu) = (entity.slice <= 0, entity.cpu);
        if !spent && entity.stair > 0 {
            return Resched::Keep;
        }
        entity.raised = false;
        self.queues.remove(id);
        if spent {
            let earned = &mut self.queues.entities[id].earned;
            *earned = (*earned - 1).max(0);
            self.queues.entities[id].slice = self.slice(task);
        }
        self.settle_on_stair(task, id);
        self.queues.push(cpu, id);
        Resched::Preempt(cpu)
    }

    /// Applies a sleep to slice and history (specs 3.3 "Wake", 3.6, 3.8).
    fn wake(&mut self, cx: &Context, id: TaskId) {
        let task = &cx.tasks[id];
        let entity = self.queues.entities[id];
        let slept = cx.now.since(entity.stamp).0 as i64;
        let resumes = match self.settings.version {
            Version::V7G => {
                let brief = entity.stretch < self.tick || !self.settings.interactive || self.settings.compute;
                entity.forked || (brief && entity.stretch + slept < self.interval(task))
            }
            Version::V10_5 => entity.forked || slept <= entity.total,
            Version::V13 => slept <= entity.total,
        };
        let raised = entity.uninterruptible && self.kind(task) == Kind::Batch;
        let most = self.most_earned(task, slept, entity.total);
        let now = &mut self.queues.entities[id];
        (now.forked, now.raised) = (false, raised);
        if resumes {
            return self.resume(id);
        }
        let by_disk = entity.uninterruptible && self.settings.version < Version::V13;
        if !by_disk && now.earned < most {
            now.earned += 1;
        }
        (now.stretch, now.total) = (0, 0);
        self.queues.entities[id].slice = self.slice(task);
    }

    /// Upper limit of the bonus after a wake-up.
    fn most_earned(&self, task: &Task, slept: i64, total: i64) -> i64 {
        match self.settings.version {
            Version::V13 => (slept / (total + 1)).min(self.user_prio(task)),
            _ => 39 - self.user_prio(task),
        }
    }

    /// Continues with the old slice. 7.G counts ticks, so the time run between them is charged here.
    fn resume(&mut self, id: TaskId) {
        let entity = &mut self.queues.entities[id];
        if self.settings.version > Version::V7G {
            return;
        }
        let total = entity.total + entity.stretch;
        let charged = total / self.tick * self.tick;
        if entity.slice - charged < self.tick {
            entity.total = 0;
            entity.earned = (entity.earned - 1).max(0);
        } else {
            entity.total = total;
            entity.slice -= charged;
        }
    }

    /// Recomputes the stair after a change of nice or class. A former real-time task starts over.
    fn restore(&mut self, task: &Task, id: TaskId) {
        let entity = &self.queues.entities[id];
        let whole = self.slice(task);
        if (entity.realtime && !task.class.is_realtime()) || entity.slice > whole {
            self.start_over(task, id);
        } else {
            self.settle_on_stair(task, id);
        }
    }

    fn stop(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Stop) {
        let it = &cx.tasks[task];
        let queue = &mut self.queues.cpus[cpu.index()];
        queue.current = None;
        let aside = std::mem::take(&mut queue.steps_aside);
        self.queues.running -= 1;
        let realtime = self.kind(it) == Kind::Realtime;
        let (slice, interval) = (self.slice(it), self.interval(it));
        let entity = &mut self.queues.entities[task];
        entity.stamp = cx.now;
        let prio = entity.prio;
        match why {
            Stop::Blocked { interruptible } => {
                entity.uninterruptible = !interruptible;
                self.queues.remove(task);
            }
            Stop::Exited => self.queues.remove(task),
            Stop::Yielded if realtime => self.queues.requeue(task, prio),
            Stop::Yielded => {
                (entity.earned, entity.yielded) = (0, true);
                (entity.slice, entity.stair) = (slice, interval);
                self.queues.requeue(task, prio.max(WORST_USER_PRIO));
            }
            Stop::Preempted if aside => self.queues.requeue(task, prio),
            _ => {}
        }
    }

    /// Decides whether and when `task`, just queued on `cpu`, preempts the running task (specs 3.3 "Preempt check").
    fn preempt(&mut self, cx: &Context, cpu: CpuId, task: TaskId) -> Resched {
        let Some(current) = self.queues.cpus[cpu.index()].current else { return Resched::Keep };
        let (woken, running) = (self.queues.entities[task], self.queues.entities[current]);
        let realtime = |id: TaskId| self.kind(&cx.tasks[id]) == Kind::Realtime;
        let fresh = self.settings.version < Version::V13 && woken.slice == self.slice(&cx.tasks[task]);
        let equal = woken.prio == running.prio && fresh && !realtime(current);
        if woken.prio >= running.prio && !equal {
            return Resched::Keep;
        }
        let user = cx.tasks[current].address_space.is_some();
        let early = cx.now.since(running.stamp) < CACHE_DELAY;
        let waits = self.settings.compute && user && early && !realtime(current) && !realtime(task);
        let queue = &mut self.queues.cpus[cpu.index()];
        queue.steps_aside |= equal;
        queue.preempted |= waits;
        if waits { Resched::Keep } else { Resched::Preempt(cpu) }
    }
}

#[cfg(test)]
mod tests;
