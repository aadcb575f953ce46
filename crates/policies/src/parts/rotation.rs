//! Rotations through levels with a quota for each; shared by `rsdl` and `sd`.
//!
//! Source: specs section 4. Each CPU has an active and an expired array of 40 levels. A task has a quota of CPU time at
//! each level it may use; when that is spent it goes to the next level, and after the last one to its first level in
//! the expired array. When the active array is empty, the two change places: that is a rotation. There is no estimate
//! of interactivity, and sleeping gives no bonus: a task that returns within the rotation continues where it was.
//! General knowledge: a child gets half of what its parent has left of its quota; a task that yields goes to the
//! expired array; only a task on a strictly better level preempts.
//! Inferred: a host cannot shorten a burst in progress, so the parent's next quota is smaller by the part that it gave
//! to its child. A task that changes CPU keeps its level, the rest of its quota, and its rotation. Placement and
//! stealing: see `per_cpu.rs`. SCHED_FIFO and SCHED_RR have 99 levels above these, with 100 ms for SCHED_RR; SCHED_IDLE
//! counts as nice 19; batch, ISO and deadline as normal.

use crate::parts::per_cpu::PerCpu;
use crate::parts::prio_array::{PrioArray, urgency};
use goodness_core::{
    Class, Context, CpuId, CpuPolicy, Dequeue, Effort, Enqueue, Idle, Machine, PerTask, Pick, Pull, Reason, Rejected,
    Resched, Span, Stop, Task, TaskId, Time, Why,
};
use goodness_queues::Links;

/// Levels of normal tasks.
pub(crate) const LEVELS: u8 = 40;
/// The first list of normal tasks in a priority array.
const NORMAL: u8 = 100;
/// Turn of SCHED_RR.
const RR_SLICE: Span = Span::from_ms(100);

/// The levels that a task may use.
pub trait Ladder {
    /// True if a level has a quota of its own; when it is used up, every task on the level moves down.
    const HAS_QUEUE_QUOTA: bool;
    /// True if a task of nice `index` − 20 may use `level`.
    fn may_use(index: u8, level: u8) -> bool;

    /// The first level at or after `level` that the task may use in this rotation.
    fn from(index: u8, level: u8) -> Option<u8> {
        (level..LEVELS).find(|level| Self::may_use(index, *level))
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Nowhere,
    Realtime,
    /// On one of the two arrays.
    Array(usize),
}

#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    level: u8,
    /// Remaining quota at this level.
    left: Span,
    /// Debt to the next quota, because a child got a part of this one.
    owed: Span,
    /// Rotation of its CPU in which it runs next; 0 if none yet.
    rotation: u64,
    cpu: CpuId,
    /// True if the level's quota includes the remainder.
    is_counted: bool,
    place: Place,
    /// List of the array it is on, or was on when picked.
    prio: u8,
    picked: Time,
}

#[derive(Clone, Debug)]
struct Runqueue {
    realtime: PrioArray,
    arrays: [PrioArray; 2],
    /// Rests of the levels' quotas in both arrays.
    quotas: [[i64; LEVELS as usize]; 2],
    active: usize,
    rotation: u64,
    current: Option<TaskId>,
}

/// A scheduler that rotates through the levels of `L`.
#[derive(Debug)]
pub struct Rotation<L> {
    rr_interval: Span,
    entities: PerTask<Entity>,
    links: Links,
    queues: Vec<Runqueue>,
    cpus: PerCpu,
    ladder: std::marker::PhantomData<L>,
}

/// Quota on a machine of several CPUs (specs section 4: doubled on two, 1 + log2 on more).
pub(crate) fn scaled(interval: Span, machine: &Machine) -> Span {
    interval * u64::from(1 + machine.cpu_count().ilog2())
}

fn nice_index(task: &Task) -> u8 {
    if task.class == Class::Idle { LEVELS - 1 } else { task.nice.index() as u8 }
}

impl<L: Ladder> Rotation<L> {
    pub(crate) fn with(machine: &Machine, rr_interval: Span) -> Self {
        let queue = Runqueue {
            realtime: PrioArray::default(),
            arrays: Default::default(),
            quotas: [[0; LEVELS as usize]; 2],
            active: 0,
            rotation: 1,
            current: None,
        };
        Rotation {
            rr_interval,
            entities: PerTask::default(),
            links: Links::default(),
            queues: vec![queue; machine.cpu_count()],
            cpus: PerCpu::all(machine),
            ladder: std::marker::PhantomData,
        }
    }

    /// Grants a full quota at `level`, less the part given to children.
    fn grant(&mut self, task: TaskId, level: u8) {
        let entity = &mut self.entities[task];
        let owed = std::mem::take(&mut entity.owed);
        entity.left = self.rr_interval.saturating_sub(owed).max(Span(1));
        entity.level = level;
        entity.is_counted = false;
    }

    /// Handles a used-up quota: on to the next level or the next rotation.
    fn descend(&mut self, it: &Task, task: TaskId) {
        match L::from(nice_index(it), self.entities[task].level + 1) {
            Some(level) => self.grant(task, level),
            None => self.expire(it, task),
        }
    }

    fn expire(&mut self, it: &Task, task: TaskId) {
        self.entities[task].rotation += 1;
        self.grant(task, L::from(nice_index(it), 0).expect("every nice has a level"));
    }

    /// Gives a child half of its parent's remaining quota, at the parent's level.
    fn share(&mut self, cx: &Context, task: TaskId, parent: TaskId) {
        if cx.tasks[parent].class.is_realtime() || self.entities[parent].rotation == 0 {
            return;
        }
        let from = &mut self.entities[parent];
        let half = from.left.saturating_sub(cx.now.since(from.picked)) / 2;
        from.owed = (from.owed + half).min(self.rr_interval);
        // The parent's stretch goes on, so the level must bear the child's half besides; the parent's next quota pays.
        let child = Entity { left: half, owed: Span::ZERO, place: Place::Nowhere, is_counted: false, ..*from };
        self.entities[task] = child;
        if half == Span::ZERO {
            self.descend(&cx.tasks[task], task);
        }
    }

    /// Brings level and rotation up to date for a task that joins `cpu`.
    fn catch_up(&mut self, it: &Task, cpu: CpuId, task: TaskId) {
        let entity = self.entities[task];
        let (home, here) = (self.queues[entity.cpu.index()].rotation, self.queues[cpu.index()].rotation);
        if entity.cpu != cpu {
            self.entities[task].is_counted = false;
        }
        self.entities[task].cpu = cpu;
        if entity.rotation < home {
            self.entities[task].rotation = here;
            return self.grant(task, L::from(nice_index(it), 0).expect("every nice has a level"));
        }
        self.entities[task].rotation = here + (entity.rotation - home);
        // After a change of nice the level may not be one of its own.
        match L::from(nice_index(it), entity.level) {
            Some(level) if level == entity.level => {}
            Some(level) => self.grant(task, level),
            None => self.expire(it, task),
        }
    }

    fn push(&mut self, task: TaskId) {
        let entity = &mut self.entities[task];
        let queue = &mut self.queues[entity.cpu.index()];
        let which = if entity.rotation == queue.rotation { queue.active } else { 1 - queue.active };
        if !std::mem::replace(&mut entity.is_counted, true) {
            queue.quotas[which][usize::from(entity.level)] += entity.left.0 as i64;
        }
        (entity.place, entity.prio) = (Place::Array(which), NORMAL + entity.level);
        queue.arrays[which].push_back(&mut self.links, entity.prio, task);
    }

    fn push_realtime(&mut self, it: &Task, task: TaskId, first: bool) {
        let entity = &mut self.entities[task];
        (entity.place, entity.prio) = (Place::Realtime, 99 - it.rt_priority.clamp(1, 99));
        let queue = &mut self.queues[entity.cpu.index()].realtime;
        match first {
            true => queue.push_front(&mut self.links, entity.prio, task),
            false => queue.push_back(&mut self.links, entity.prio, task),
        }
    }

    fn remove(&mut self, task: TaskId) {
        let entity = &mut self.entities[task];
        let queue = &mut self.queues[entity.cpu.index()];
        match std::mem::take(&mut entity.place) {
            Place::Realtime => queue.realtime.remove(&mut self.links, entity.prio, task),
            Place::Array(which) => queue.arrays[which].remove(&mut self.links, entity.prio, task),
            Place::Nowhere => {}
        }
    }

    /// Moves the remaining tasks of a level with an exhausted quota down. The original splices one list to another, so
    /// this counts as one step.
    fn rotate_minor(&mut self, cx: &Context, cpu: CpuId, level: u8) {
        cx.examined(Effort::Recalculate, 1);
        let active = self.queues[cpu.index()].active;
        while let Some(task) = self.queues[cpu.index()].arrays[active].front_of(NORMAL + level) {
            self.remove(task);
            self.descend(&cx.tasks[task], task);
            self.push(task);
        }
        self.queues[cpu.index()].quotas[active][usize::from(level)] = 0;
    }

    /// The best task of the active array and the remaining quota of its level. Swaps the arrays when the active one is
    /// empty.
    fn first_normal(&mut self, cx: &Context, cpu: CpuId) -> Option<(TaskId, i64)> {
        loop {
            let queue = &mut self.queues[cpu.index()];
            let Some(task) = queue.arrays[queue.active].first() else {
                if queue.arrays[1 - queue.active].len() == 0 {
                    return None;
                }
                queue.quotas[queue.active] = [0; LEVELS as usize];
                queue.active = 1 - queue.active;
                queue.rotation += 1;
                continue;
            };
            let level = self.entities[task].level;
            let quota = queue.quotas[queue.active][usize::from(level)];
            if !L::HAS_QUEUE_QUOTA {
                return Some((task, i64::MAX));
            }
            if quota > 0 {
                return Some((task, quota));
            }
            self.rotate_minor(cx, cpu, level);
        }
    }

    /// Charges a normal task's run time to its quota and its level's.
    fn spend(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span) {
        let entity = &mut self.entities[task];
        entity.left = entity.left.saturating_sub(ran);
        let (level, spent) = (entity.level, entity.left == Span::ZERO);
        let queue = &mut self.queues[cpu.index()];
        let quota = &mut queue.quotas[queue.active][usize::from(level)];
        *quota -= ran.0 as i64;
        let level_spent = L::HAS_QUEUE_QUOTA && *quota <= 0;
        if spent || level_spent {
            self.descend(&cx.tasks[task], task);
        }
        if level_spent {
            self.rotate_minor(cx, cpu, level);
        }
    }

    /// True if `task`, just queued on `cpu`, preempts the running task.
    fn preempt(&self, cpu: CpuId, task: TaskId) -> Resched {
        let queue = &self.queues[cpu.index()];
        let woken = &self.entities[task];
        let waits_for_rotation = woken.place == Place::Array(1 - queue.active);
        match queue.current {
            Some(current) if !waits_for_rotation && woken.prio < self.entities[current].prio => Resched::Preempt(cpu),
            _ => Resched::Keep,
        }
    }
}

impl<L: Ladder> CpuPolicy for Rotation<L>
where
    Rotation<L>: goodness_core::Registered,
{
    fn admit(&mut self, _: &Context, task: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        self.links.reserve(task.index() + 1);
        self.entities.admit(task);
        Ok(())
    }

    fn select_cpu(&mut self, cx: &Context, task: TaskId, _: &Enqueue) -> CpuId {
        self.cpus.select(cx, task)
    }

    fn enqueue(&mut self, cx: &Context, cpu: CpuId, task: TaskId, why: Enqueue) -> Resched {
        self.cpus.queued(cpu);
        let it = &cx.tasks[task];
        if it.class.is_realtime() {
            self.entities[task].cpu = cpu;
            self.push_realtime(it, task, why == Enqueue::Preempted);
            return self.preempt(cpu, task);
        }
        if let Enqueue::Fork { parent: Some(parent) } = why {
            self.share(cx, task, parent);
        }
        self.catch_up(it, cpu, task);
        if why == Enqueue::Yielded && self.entities[task].rotation == self.queues[cpu.index()].rotation {
            self.expire(it, task);
        }
        self.push(task);
        self.preempt(cpu, task)
    }

    fn dequeue(&mut self, _: &Context, cpu: CpuId, task: TaskId, _: Dequeue) {
        self.cpus.dequeued(cpu);
        let entity = &mut self.entities[task];
        if let Place::Array(which) = entity.place
            && std::mem::take(&mut entity.is_counted)
        {
            self.queues[cpu.index()].quotas[which][usize::from(entity.level)] -= entity.left.0 as i64;
        }
        self.remove(task);
    }

    fn pick_next(&mut self, cx: &Context, cpu: CpuId) -> Option<Pick> {
        let realtime = self.queues[cpu.index()].realtime.first();
        let best = realtime.map(|task| (task, i64::MAX)).or_else(|| self.first_normal(cx, cpu));
        self.cpus.picked(cpu, best.map(|(task, _)| task));
        self.queues[cpu.index()].current = best.map(|(task, _)| task);
        let (task, quota) = best?;
        cx.examined(Effort::Search, 1);
        self.remove(task);
        let entity = &mut self.entities[task];
        entity.picked = cx.now;
        let timeslice = match cx.tasks[task].class {
            Class::Fifo => None,
            Class::RoundRobin => Some(RR_SLICE),
            _ => Some(entity.left.min(Span(quota as u64))),
        };
        Some(Pick { task, timeslice })
    }

    fn charge(&mut self, cx: &Context, cpu: CpuId, task: TaskId, ran: Span, _: Stop) -> Resched {
        self.cpus.stopped(cpu);
        self.queues[cpu.index()].current = None;
        if !cx.tasks[task].class.is_realtime() {
            self.spend(cx, cpu, task, ran);
        }
        Resched::Keep
    }

    fn why(&self, cx: &Context, cpu: CpuId, Why { ahead, waiting, is_pick }: Why) -> Option<Reason> {
        let (ahead, queue) = (ahead?, &self.queues[cpu.index()]);
        let [own, other] = [ahead, waiting].map(|task| &self.entities[task]);
        if other.place == Place::Array(1 - queue.active) && !cx.tasks[ahead].class.is_realtime() {
            return Some(Reason::RoundUsedUp);
        }
        match urgency(cx, (ahead, own.prio), (waiting, other.prio)) {
            Reason::First if !is_pick => Some(Reason::SliceNotOver),
            Reason::AwaitsTick => None,
            reason => Some(reason),
        }
    }

    fn balance(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        if idle != Idle::Newly {
            return None;
        }
        self.cpus.steal(cx, cpu, |from| {
            let Runqueue { realtime, arrays, active, .. } = &self.queues[from.index()];
            let by_urgency = [realtime, &arrays[*active], &arrays[1 - *active]];
            by_urgency.into_iter().flat_map(|array| array.coldest_first(&self.links))
        })
    }
}
