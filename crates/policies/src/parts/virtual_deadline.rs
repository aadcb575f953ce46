//! Rules common to BFS and MuQSS: virtual deadlines, slices kept over sleeps, levels and the ISO budget. The two differ
//! in the queue structure.
//!
//! Source: specs sections 6.1 and 6.2. A task gets a slice of `rr_interval` and a deadline; the larger its nice, the
//! later the deadline. The earliest deadline runs. Both are kept while it sleeps, and renewed only when the slice is
//! used up. Levels: 100 real-time ones, ISO, normal, idle.
//! General knowledge: ratios count in 1/128 of that of nice −20, rounded down at each step; a child takes half of what
//! its parent has left of the slice, and its deadline; a remainder below 100 µs is not worth a switch and counts as
//! used up.
//! Inferred: a host cannot shorten a slice in progress, so the parent's next slice is shorter by the part that it gave
//! to its child. The ISO budget decays continuously over the 5 s for which it is counted, and is available again at
//! nine tenths. When it is spent, its tasks move to the normal level as soon as a CPU searches theirs.
//! Deviations: a timer ends slices; the patches checked at ticks. SCHED_BATCH and SCHED_DEADLINE count as normal.

use crate::parts::running_cpus::RunningCpus;
use goodness_core::policy::previous_cpu;
use goodness_core::{
    Class, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Level, Machine, PerTask, Pick, Reason, Rejected,
    Resched, Span, Stop, Task, TaskId, Time, Why,
};
use std::cmp::{Ordering, Reverse};

goodness_core::choices! {
    /// Effect of `sched_yield`: nothing; let a better task run; give up slice and deadline.
    pub enum YieldType { Nothing = "0", Better = "1", Expire = "2" }
}

/// Levels below the hundred of real-time tasks.
pub(crate) const ISO: u8 = 100;
pub(crate) const NORMAL: u8 = 101;
pub(crate) const IDLE: u8 = 102;
pub(crate) const LEVELS: usize = 103;

/// Averaging period of the ISO budget, ns.
const ISO_PERIOD: u64 = 5_000_000_000;
/// The ratio of nice −20.
const UNIT: u64 = 128;
/// Remaining slice too short for a switch (RESCHED_US).
const SCRAP: Span = Span::from_us(100);

/// Deadline distances by nice in 1/128 slices: a tenth more at each step.
const RATIOS: [u64; 40] = {
    let mut ratios = [UNIT; 40];
    let mut nice = 1;
    while nice < 40 {
        ratios[nice] = ratios[nice - 1] * 11 / 10;
        nice += 1;
    }
    ratios
};

/// Differences between the two, after the settings are read.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Length of a slice.
    pub slice: Span,
    /// Percent of the machine that ISO tasks may use.
    pub iso_cpu: u64,
    /// Effect of yielding.
    pub yield_type: YieldType,
    /// Treat requests for FIFO and RR as ISO.
    pub iso: bool,
}

/// State of one task.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entity {
    pub(crate) level: u8,
    pub(crate) deadline: Time,
    /// Remaining slice.
    left: Span,
    /// Debt to the next slice, because a child got a part of this one.
    owed: Span,
    picked: Time,
    /// CPU whose queue it is on.
    pub(crate) home: CpuId,
    expired: bool,
}

/// Urgency: lower level first, then earlier deadline.
type Urgency = (Reverse<u8>, Reverse<Time>);

impl Entity {
    fn urgency(&self) -> Urgency {
        let deadline = if self.level >= NORMAL { self.deadline } else { Time::ZERO };
        (Reverse(self.level), Reverse(deadline))
    }
}

/// The data structure of the waiting tasks.
pub trait Waiting {
    /// Reserves room for `count` tasks.
    fn reserve(&mut self, count: usize);
    /// Adds `task`, whose level, deadline and home are set. `first`: before its equals, if the structure orders them.
    fn insert(&mut self, cx: &Context, task: TaskId, entity: &Entity, first: bool);
    /// Removes a waiting task.
    fn remove(&mut self, cx: &Context, task: TaskId, entity: &Entity);
    /// The best task for `cpu`.
    fn best(&self, cx: &Context, cpu: CpuId, entities: &PerTask<Entity>) -> Option<TaskId>;
    /// Some task that waits on the ISO level.
    fn some_iso(&self, entities: &PerTask<Entity>) -> Option<TaskId>;
}

/// CPU time used by ISO tasks in the last seconds.
#[derive(Clone, Copy, Debug, Default)]
struct IsoBudget {
    used: u64,
    updated: Time,
    spent: bool,
}

impl IsoBudget {
    fn account(&mut self, now: Time, ran: Span, limit: u64) {
        let gone = now.since(self.updated).0.min(ISO_PERIOD);
        self.updated = now;
        let kept = u128::from(self.used) * u128::from(ISO_PERIOD - gone) / u128::from(ISO_PERIOD);
        self.used = kept as u64 + ran.0;
        self.spent = if self.spent { self.used > limit / 10 * 9 } else { self.used > limit };
    }
}

/// A scheduler of virtual deadlines over the structure `W`.
#[derive(Debug)]
pub struct VirtualDeadlines<W> {
    rules: Rules,
    entities: PerTask<Entity>,
    waiting: W,
    running_cpus: RunningCpus<Urgency>,
    iso: IsoBudget,
    iso_limit: u64,
    /// For each CPU, a task that yielded and continues.
    stays: Vec<Option<TaskId>>,
}

impl<W: Waiting> VirtualDeadlines<W> {
    pub(crate) fn with(machine: &Machine, rules: Rules, waiting: W) -> Self {
        VirtualDeadlines {
            rules,
            entities: PerTask::default(),
            waiting,
            running_cpus: RunningCpus::all(machine),
            iso: IsoBudget::default(),
            iso_limit: ISO_PERIOD / 100 * rules.iso_cpu * machine.cpu_count() as u64,
            stays: vec![None; machine.cpu_count()],
        }
    }

    fn level(&self, task: &Task) -> u8 {
        match task.class {
            Class::Fifo | Class::RoundRobin if !self.rules.iso => 99 - task.rt_priority.clamp(1, 99),
            Class::Fifo | Class::RoundRobin | Class::Iso => {
                if self.iso.spent {
                    NORMAL
                } else {
                    ISO
                }
            }
            Class::Idle => IDLE,
            Class::Normal | Class::Batch | Class::Deadline => NORMAL,
        }
    }

    /// True if the slice of `task` ends at all.
    fn is_sliced(&self, task: &Task) -> bool {
        task.class != Class::Fifo || self.rules.iso
    }

    /// A new slice and a new deadline.
    fn renew(&mut self, cx: &Context, task: TaskId) {
        let slice = self.rules.slice;
        let entity = &mut self.entities[task];
        let owed = std::mem::take(&mut entity.owed);
        entity.left = slice.saturating_sub(owed).max(SCRAP.min(slice));
        entity.deadline = cx.now + slice * RATIOS[cx.tasks[task].nice.index()] / UNIT;
        entity.expired = false;
    }

    /// Gives a child half of its running parent's slice, and its deadline.
    fn share(&mut self, cx: &Context, task: TaskId, parent: TaskId) {
        let from = &mut self.entities[parent];
        let half = from.left.saturating_sub(cx.now.since(from.picked)) / 2;
        from.owed = (from.owed + half).min(self.rules.slice);
        let deadline = from.deadline;
        let child = &mut self.entities[task];
        (child.left, child.deadline) = (half, deadline);
        child.expired = half < SCRAP.min(self.rules.slice);
    }

    /// ISO tasks that wait while their budget is spent wait among the normal ones.
    fn demote_iso(&mut self, cx: &Context) {
        while let Some(task) = self.waiting.some_iso(&self.entities) {
            self.waiting.remove(cx, task, &self.entities[task]);
            self.entities[task].level = NORMAL;
            self.waiting.insert(cx, task, &self.entities[task], false);
        }
    }

    fn nearest_idle(&self, cx: &Context, task: TaskId) -> Option<CpuId> {
        let home = previous_cpu(cx, task);
        let affinity = &cx.tasks[task].affinity;
        let free = |cpu: &CpuId| {
            cx.examined(Effort::Balance, 1);
            self.running_cpus.is_idle(*cpu) && affinity.contains(*cpu)
        };
        if self.running_cpus.all_busy() {
            return None;
        }
        Level::ALL.iter().find_map(|level| cx.machine.group(home, *level).iter().copied().find(free))
    }
}

impl<W: Waiting> CpuPolicy for VirtualDeadlines<W>
where
    VirtualDeadlines<W>: goodness_core::Registered,
{
    fn admit(&mut self, cx: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.waiting.reserve(task.index() + 1);
        self.entities.admit(task);
        self.renew(cx, task);
        Ok(())
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, _: &Enqueue) -> CpuId {
        let home = previous_cpu(cx, task);
        if self.running_cpus.is_idle(home) { home } else { self.nearest_idle(cx, task).unwrap_or(home) }
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        match why {
            Enqueue::Fork { parent: Some(parent) } => self.share(cx, task, parent),
            Enqueue::Yielded if self.rules.yield_type == YieldType::Expire => self.entities[task].expired = true,
            Enqueue::Yielded if self.rules.yield_type == YieldType::Nothing => self.stays[cpu.index()] = Some(task),
            _ => {}
        }
        let expired = self.entities[task].expired;
        if expired {
            self.renew(cx, task);
        }
        let level = self.level(&cx.tasks[task]);
        let entity = &mut self.entities[task];
        (entity.level, entity.home) = (level, cpu);
        let first = why == Enqueue::Preempted && !expired;
        self.waiting.insert(cx, task, entity, first);
        let urgency = entity.urgency();
        let answer = self.running_cpus.claim(cx, cpu, task, urgency);
        if let Resched::Preempt(victim) = answer {
            self.running_cpus.revalue(victim, urgency);
        }
        answer
    }

    fn dequeue(&mut self, cx: &Context, _: CpuId, task: TaskId, _: Dequeue) {
        self.waiting.remove(cx, task, &self.entities[task]);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        if self.iso.spent {
            self.iso.account(cx.now, Span::ZERO, self.iso_limit);
            self.demote_iso(cx);
        }
        let stays = self.stays[cpu.index()].take();
        let best = stays.or_else(|| self.waiting.best(cx, cpu, &self.entities));
        self.running_cpus.set(cpu, best.map(|task| (task, self.entities[task].urgency())));
        let task = best?;
        self.waiting.remove(cx, task, &self.entities[task]);
        let sliced = self.is_sliced(&cx.tasks[task]);
        let entity = &mut self.entities[task];
        entity.picked = cx.now;
        Some(Pick { task, timeslice: sliced.then_some(entity.left) })
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, why: Stop) -> Resched {
        let _ = cpu;
        let it = &cx.tasks[task];
        let (sliced, least) = (self.is_sliced(it), SCRAP.min(self.rules.slice));
        let entity = &mut self.entities[task];
        entity.left = entity.left.saturating_sub(ran);
        entity.expired |= sliced && (why == Stop::SliceEnd || entity.left < least);
        if it.class == Class::Iso || (self.rules.iso && it.class.is_realtime()) {
            self.iso.account(cx.now, ran, self.iso_limit);
        }
        Resched::Keep
    }

    fn why(&self, cx: &Context, _: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let ahead = ahead?;
        let [own, other] = [ahead, waiting].map(|task| &self.entities[task]);
        match own.level.cmp(&other.level) {
            Ordering::Less if other.level < ISO => {
                let urgency = |level: u8| i32::from(99 - level);
                Some(Reason::Priority { ahead: urgency(own.level), waiting: urgency(other.level) })
            }
            Ordering::Less => Some(Reason::Class { ahead: cx.tasks.class(ahead), waiting: cx.tasks.class(waiting) }),
            Ordering::Equal if own.level < NORMAL => Some(Reason::First),
            Ordering::Equal if own.deadline <= other.deadline => {
                Some(Reason::EarlierDeadline { by: other.deadline.since(own.deadline) })
            }
            // Of deadlines that have passed the first one found runs.
            Ordering::Equal if is_pick && own.deadline < cx.now => Some(Reason::First),
            _ => None,
        }
    }
}
