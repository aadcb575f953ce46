//! CFS, the fair class of Linux 2.6.23 to 6.5: the smallest virtual runtime runs.
//!
//! Idea: a task's virtual runtime advances inversely to its weight; the task with the least of it is owed most. A
//! period in which every task runs once is divided into slices by weight; slices end at ticks. A task that slept gets a
//! virtual runtime slightly below the others', so it runs soon, but its credit is limited.
//!
//! Source: specs section 5.1; oracle recordings of 6.1. Profiles (`kernel`): `2.6.24` and `6.1`. A task that exists
//! when the run begins counts as forked by a launcher just before: its first virtual runtime includes the kernel's
//! debit for new tasks, and of equal tasks the one with the smaller debit (forked later) goes first.
//! Deviations: groups of 2.6.24 have the rules of 6.1; SCHED_ISO counts as normal; 2.6.24 has SCHED_DEADLINE,
//! which is from 3.14. Groups, reservations and several CPUs: see `parts/fair/`.
//! Weakness: sleepers' credit lets wake-ups preempt in chains; slices shrink as tasks are added; tasks cannot request
//! latency.

mod settings;
mod why;

use crate::parts::fair::weight::{UNIT, Weight, scaling};
use crate::parts::fair::Stack;
use crate::parts::fair::order::{TICK_PATH, 
    Arrival, Departure, EntityId, Order, PerEntity, QueueId, Traits, Version,
};
use goodness_core::{About, Class, Context, Effort, Machine, Needs, Preemption, Reason, Span};
use goodness_queues::{Nodes, Tree};
pub use settings::{Kernel, Preempt, Settings};

/// CFS below the real-time classes.
pub type Cfs = Stack<VirtualRuntimes>;

const NOBODY: u32 = u32::MAX;

/// Effective values of the settings, with the kernel's defaults.
#[derive(Clone, Copy, Debug)]
struct Rules {
    latency: u64,
    min_granularity: u64,
    wakeup_granularity: u64,
    /// Tasks beyond which the period stretches.
    latency_tasks: u64,
    child_runs_first: bool,
    gentle: bool,
    start_debit: bool,
    preemption: Preemption,
    wakeup_preemption: bool,
    last_buddy: bool,
    /// 2.6.24: no buddies, no lead test at ticks, slices below the granularity.
    early: bool,
    idle_weight: u64,
}

impl Rules {
    fn new(machine: &Machine, settings: &Settings) -> Rules {
        let early = settings.kernel == Kernel::V2_6_24;
        let (latency, granularity, wakeup) = if early { (20_000, 4_000, 10_000) } else { (6_000, 750, 1_000) };
        let factor = scaling(machine.cpu_count());
        let span = |given: Option<Span>, us: u64| given.unwrap_or(Span::from_us(us)).0 * factor;
        let latency = span(settings.latency, latency);
        let min_granularity = span(settings.min_granularity, granularity);
        Rules {
            latency,
            min_granularity,
            wakeup_granularity: span(settings.wakeup_granularity, wakeup),
            latency_tasks: latency.div_ceil(min_granularity.max(1)),
            child_runs_first: settings.child_runs_first.unwrap_or(early),
            gentle: settings.gentle_fair_sleepers.unwrap_or(!early),
            start_debit: settings.start_debit,
            preemption: match settings.preempt {
                Preempt::None => Preemption::None,
                Preempt::Voluntary => Preemption::Voluntary,
                Preempt::Full => Preemption::Full,
            },
            wakeup_preemption: settings.wakeup_preemption,
            last_buddy: settings.last_buddy.unwrap_or(!early),
            early,
            idle_weight: if early { 2 } else { 3 },
        }
    }

    /// Time in which each of `count` tasks runs once.
    fn period(&self, count: u64) -> u64 {
        if count > self.latency_tasks { count * self.min_granularity } else { self.latency }
    }

    /// A slice of `share`, or the shortest there is.
    fn at_least(&self, share: u64) -> u64 {
        if self.early { share } else { share.max(self.min_granularity) }
    }

    /// The slice of `weight` among `count` tasks of `load` in all, ns of CPU time.
    fn slice(&self, weight: Weight, load: u64, count: u64) -> u64 {
        self.at_least(weight.share(self.period(count), load))
    }
}

/// State of one entity.
#[derive(Clone, Copy, Debug, Default)]
struct Entity {
    /// Virtual runtime; while `relative`, relative to the minimum of the queue it left.
    runtime: i64,
    weight: Weight,
    home: QueueId,
    queued: bool,
    relative: bool,
    /// Debit of a task forked before the run, until it first runs; else 0.
    launched: i64,
    is_idle: bool,
}

impl Entity {
    /// Tasks that wait for a common start were last run in the order of their debits.
    fn launch_rank(&self) -> i64 {
        if self.launched == 0 { 0 } else { self.launched - i64::MAX }
    }
}

/// The entities of one queue. The current one is not in the tree.
#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    tree: Tree,
    current: u32,
    /// The queue's min_vruntime: never decreases; every vruntime is relative to it.
    least: i64,
    /// Weight and number of all entities, the current one included.
    load: u64,
    count: u32,
    /// CPU time of the current entity since it was picked, ns.
    stretch: u64,
    next: u32,
    last: u32,
    skip: u32,
    /// Tasks that were forked here before the run.
    launched: u64,
}

impl Queue {
    fn empty() -> Queue {
        Queue { current: NOBODY, next: NOBODY, last: NOBODY, skip: NOBODY, ..Queue::default() }
    }
}

/// The fair queues ordered by vruntime.
#[derive(Debug)]
pub struct VirtualRuntimes {
    rules: Rules,
    nodes: Nodes<0>,
    entities: PerEntity<Entity>,
    queues: Vec<Queue>,
    /// By queue: the entity that it stands for, and that one's queue.
    owners: Vec<Option<(QueueId, EntityId)>>,
}

impl VirtualRuntimes {
    /// Advances the queue's min_vruntime, which never decreases.
    fn advance(&mut self, at: QueueId) {
        let queue = &self.queues[at.index()];
        let current = self.current(at).map(|entity| self.entities[entity].runtime);
        let first = queue.tree.first().map(|item| self.nodes.key(item));
        let least = match (current, first) {
            (Some(a), Some(b)) => a.min(b),
            (Some(a), None) | (None, Some(a)) => a,
            (None, None) => return,
        };
        let queue = &mut self.queues[at.index()];
        queue.least = queue.least.max(least);
    }

    fn tree_insert(&mut self, cx: &Context, at: QueueId, entity: u32) {
        let it = &self.entities[EntityId(entity)];
        let tree = &mut self.queues[at.index()].tree;
        let levels = tree.insert_ranked(&mut self.nodes, entity, it.runtime, it.launch_rank(), []);
        cx.examined(Effort::Insert, levels);
    }

    fn tree_remove(&mut self, cx: &Context, at: QueueId, entity: u32) {
        let levels = self.queues[at.index()].tree.remove(&mut self.nodes, entity);
        cx.examined(Effort::Insert, levels);
    }

    /// The slice of an entity of `weight` on a queue with `load`, on a CPU with `tasks`, ns of CPU time: its share of
    /// the slice of the queue's owner, or of the period.
    fn slice(&self, at: QueueId, weight: Weight, load: u64, tasks: u64) -> u64 {
        let mut share = weight.share(self.rules.period(tasks), load);
        let mut owner = self.owners[at.index()];
        while let Some((queue, entity)) = owner {
            let it = &self.entities[entity];
            // A queue that is just filling is not counted yet.
            let missing = if it.queued { 0 } else { it.weight.value };
            share = it.weight.share(share, self.queues[queue.index()].load + missing);
            owner = self.owners[queue.index()];
        }
        self.rules.at_least(share)
    }

    /// Virtual time of the slice of an entity about to be queued.
    fn debit(&self, at: QueueId, entity: EntityId, tasks: u32) -> i64 {
        let (queue, weight) = (&self.queues[at.index()], self.entities[entity].weight);
        let slice = self.slice(at, weight, queue.load + weight.value, u64::from(tasks) + 1);
        weight.virtual_time(slice)
    }

    /// Places a woken task, at most the sleeper credit behind min_vruntime.
    fn place_woken(&mut self, at: QueueId, entity: EntityId) {
        let rules = self.rules;
        let least = self.queues[at.index()].least;
        let it = &mut self.entities[entity];
        let credit = if it.is_idle && !rules.early { rules.min_granularity } else { rules.latency };
        let credit = if rules.gentle { credit / 2 } else { credit };
        it.runtime = it.runtime.max(least - credit as i64);
    }

    fn place_new(&mut self, at: QueueId, entity: EntityId, tasks: u32) {
        let debit = if self.rules.start_debit { self.debit(at, entity, tasks) } else { 0 };
        let current = self.current(at);
        let floor = current.map_or(i64::MIN, |parent| self.entities[parent].runtime);
        let runtime = (self.queues[at.index()].least + debit).max(floor);
        self.entities[entity].runtime = runtime;
        if let Some(parent) = current
            && self.rules.child_runs_first
            && self.entities[parent].runtime < runtime
        {
            let before = std::mem::replace(&mut self.entities[parent].runtime, runtime);
            self.entities[entity].runtime = before;
        }
    }

    /// Compares the lead of `a` over `b` with the lead needed to preempt `b`: 1 enough, 0 some, −1 not ahead.
    fn lead(&self, a: i64, b: EntityId, granularity: Weight) -> i8 {
        let difference = a - self.entities[b].runtime;
        match difference {
            ..=0 => -1,
            _ if difference > granularity.virtual_time(self.rules.wakeup_granularity) => 1,
            _ => 0,
        }
    }

    /// True if choosing `favoured` instead of `fairest` is fair enough.
    fn tolerable(&self, favoured: EntityId, fairest: EntityId) -> bool {
        let ahead = self.entities[favoured].runtime;
        self.lead(ahead, fairest, self.entities[fairest].weight) < 1
    }

    /// Picks the smallest virtual runtime, or a buddy if close enough.
    fn best(&self, at: QueueId) -> Option<EntityId> {
        let queue = &self.queues[at.index()];
        let current = self.current(at);
        let smaller = |other: Option<EntityId>| match (current, other) {
            (Some(c), Some(o)) if self.entities[c].runtime < self.entities[o].runtime => Some(c),
            (c, None) => c,
            (_, o) => o,
        };
        let first = queue.tree.first().map(EntityId);
        let fairest = smaller(first)?;
        let mut choice = fairest;
        if queue.skip == fairest.0 {
            let second = if Some(fairest) == current {
                first
            } else {
                smaller(queue.tree.next(&self.nodes, fairest.0).map(EntityId))
            };
            choice = second.filter(|entity| self.tolerable(*entity, fairest)).unwrap_or(choice);
        }
        let is_close = |entity: &EntityId| self.tolerable(*entity, fairest);
        let buddy = |item: u32| (item != NOBODY).then_some(EntityId(item)).filter(is_close);
        Some(buddy(queue.next).or_else(|| buddy(queue.last)).unwrap_or(choice))
    }

    fn clear_buddies(&mut self, at: QueueId, entity: u32) {
        let queue = &mut self.queues[at.index()];
        for buddy in [&mut queue.next, &mut queue.last, &mut queue.skip] {
            if *buddy == entity {
                *buddy = NOBODY;
            }
        }
    }

    fn put_back(&mut self, cx: &Context, at: QueueId) {
        let still_queued = self.current(at).is_some();
        let current = std::mem::replace(&mut self.queues[at.index()].current, NOBODY);
        if still_queued {
            self.tree_insert(cx, at, current);
        }
    }
}

impl Order for VirtualRuntimes {
    const ABOUT: About = About {
        name: "cfs",
        summary: "Linux 2.6.23 to 6.5: the entity with the smallest virtual runtime.",
        source: "specs section 5.1",
        needs: Needs { tick: true, timer: true, balance: true, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: &Settings) -> Self {
        VirtualRuntimes {
            rules: Rules::new(machine, settings),
            nodes: Nodes::default(),
            entities: PerEntity::default(),
            queues: vec![Queue::empty(); machine.cpu_count()],
            owners: vec![None; machine.cpu_count()],
        }
    }

    fn arrange(&mut self, owners: &[Option<(QueueId, EntityId)>]) {
        self.queues.resize(owners.len(), Queue::empty());
        self.owners = owners.to_vec();
    }

    fn idle_weight(&self) -> u64 {
        self.rules.idle_weight
    }

    fn has_fair_server(&self) -> bool {
        false
    }

    fn admit(&mut self, entity: EntityId) {
        self.nodes.reserve(entity.0 as usize + 1);
        self.entities.admit(entity);
    }

    fn launch(&mut self, at: QueueId, entity: EntityId) {
        let (queue, it) = (&mut self.queues[at.index()], &mut self.entities[entity]);
        it.home = at;
        if queue.count == 0 {
            // Forked by a launcher before the run. The first one had the greatest debit, ran last up to where it
            // waits, and took the queue's least virtual runtime along.
            queue.launched += 1;
            let debit = self.rules.slice(Weight::default(), queue.launched * UNIT, queue.launched) as i64;
            it.launched = if self.rules.start_debit { debit } else { 0 };
            it.runtime = it.launched;
            queue.least = queue.least.max(it.runtime);
        }
    }

    fn launch_rank(&self, entity: EntityId) -> i64 {
        self.entities[entity].launch_rank()
    }

    fn ran_elsewhere(&mut self, entity: EntityId) {
        self.entities[entity].launched = 0;
    }

    fn home(&self, entity: EntityId) -> Option<QueueId> {
        let it = &self.entities[entity];
        it.queued.then_some(it.home)
    }

    fn load(&self, at: QueueId) -> u64 {
        self.queues[at.index()].load
    }

    fn weight(&self, entity: EntityId) -> u64 {
        self.entities[entity].weight.value
    }

    fn queued(&self, at: QueueId) -> u32 {
        self.queues[at.index()].count
    }

    fn runnable(&self, at: QueueId) -> u32 {
        self.queues[at.index()].count
    }

    fn enqueue(&mut self, cx: &Context, to: (QueueId, u32), entity: EntityId, traits: Traits, how: Arrival) {
        let (at, tasks) = to;
        let (old, new) = (self.queues[self.entities[entity].home.index()].least, self.queues[at.index()].least);
        let it = &mut self.entities[entity];
        (it.weight, it.is_idle) = (traits.weight, traits.is_idle);
        if std::mem::take(&mut it.relative) {
            it.runtime += new;
        } else if it.home != at {
            it.runtime += new - old;
        }
        match how {
            Arrival::Fork => {
                self.entities[entity].launched = 0;
                self.place_new(at, entity, tasks);
            }
            Arrival::Wake => self.place_woken(at, entity),
            Arrival::Move => {}
        }
        let it = &mut self.entities[entity];
        it.queued = true;
        it.home = at;
        let weight = it.weight.value;
        let queue = &mut self.queues[at.index()];
        queue.count += 1;
        queue.load += weight;
        if queue.current == entity.0 {
            queue.stretch = 0;
        } else {
            self.tree_insert(cx, at, entity.0);
        }
    }

    fn dequeue(&mut self, cx: &Context, at: QueueId, entity: EntityId, how: Departure) {
        self.clear_buddies(at, entity.0);
        if self.queues[at.index()].current != entity.0 {
            self.tree_remove(cx, at, entity.0);
        }
        let least = self.queues[at.index()].least;
        let it = &mut self.entities[entity];
        it.queued = false;
        if how == Departure::Move {
            it.runtime -= least;
            it.relative = true;
        }
        let weight = it.weight.value;
        let queue = &mut self.queues[at.index()];
        queue.count -= 1;
        queue.load -= weight;
        self.advance(at);
    }

    fn rewake(&mut self, _: &Context, _: QueueId, _: EntityId, _: Traits) {}

    fn reweigh(&mut self, _: &Context, at: QueueId, entity: EntityId, weight: Weight) {
        let before = std::mem::replace(&mut self.entities[entity].weight, weight);
        let load = &mut self.queues[at.index()].load;
        *load = *load - before.value + weight.value;
    }

    fn account(&mut self, at: QueueId, ran: Span) -> bool {
        let queue = &mut self.queues[at.index()];
        if queue.current == NOBODY {
            return false;
        }
        queue.stretch += ran.0;
        let it = &mut self.entities[EntityId(queue.current)];
        it.runtime += it.weight.virtual_time(ran.0);
        self.advance(at);
        false
    }

    fn tick(&mut self, _: &Context, at: QueueId, tasks: u32) -> bool {
        let queue = &self.queues[at.index()];
        let (Some(current), true) = (self.current(at), queue.count > 1) else { return false };
        let (rules, it) = (self.rules, &self.entities[current]);
        let slice = self.slice(at, it.weight, queue.load, u64::from(tasks));
        let slice = if rules.early { slice } else { slice.min(rules.latency) };
        if queue.stretch > slice + TICK_PATH.0 {
            self.clear_buddies(at, current.0);
            return true;
        }
        if rules.early || queue.stretch < rules.min_granularity {
            return false;
        }
        queue.tree.first().is_some_and(|first| it.runtime - self.nodes.key(first) > slice as i64)
    }

    fn yields(&mut self, at: QueueId) {
        let queue = &mut self.queues[at.index()];
        if self.rules.early || queue.count <= 1 || queue.current == NOBODY {
            return;
        }
        let current = queue.current;
        self.clear_buddies(at, current);
        self.queues[at.index()].skip = current;
    }

    fn class_decides(&mut self, at: QueueId, woken: EntityId, class: Class, is_fork: bool) -> Option<bool> {
        let Some(current) = self.current(at) else { return Some(false) };
        if is_fork && self.rules.early {
            return Some(true);
        }
        let [running, idle] = [current, woken].map(|it| self.entities[it].is_idle && !self.rules.early);
        if running && !idle {
            return Some(true);
        }
        let is_equal = running == idle && class == Class::Normal && self.rules.wakeup_preemption;
        if is_equal { None } else { Some(false) }
    }

    fn idle_tasks_yield(&self) -> bool {
        !self.rules.early
    }

    fn favours_preemptors(&self) -> bool {
        !self.rules.early
    }

    fn favour(&mut self, at: QueueId, entity: EntityId) {
        if !self.rules.early {
            self.queues[at.index()].next = entity.0;
        }
    }

    fn preempts(&mut self, _: &Context, at: QueueId, woken: EntityId) -> bool {
        let Some(current) = self.current(at) else { return false };
        let (running, it) = (self.entities[current], self.entities[woken]);
        let granularity = if self.rules.early { running.weight } else { it.weight };
        if self.lead(running.runtime, woken, granularity) < 1 {
            return false;
        }
        let queue = &mut self.queues[at.index()];
        if !self.rules.early {
            queue.next = woken.0;
        }
        if self.rules.last_buddy && u64::from(queue.count) >= self.rules.latency_tasks {
            queue.last = current.0;
        }
        true
    }

    #[inline]
    fn current(&self, at: QueueId) -> Option<EntityId> {
        let current = self.queues[at.index()].current;
        if current == NOBODY {
            return None;
        }
        let it = &self.entities[EntityId(current)];
        (it.queued && it.home == at).then_some(EntityId(current))
    }

    fn elect(&mut self, cx: &Context, at: QueueId) -> Option<EntityId> {
        cx.examined(Effort::Search, 1);
        self.best(at)
    }

    fn switch_to(&mut self, cx: &Context, at: QueueId, entity: EntityId) {
        self.clear_buddies(at, entity.0);
        let fresh = self.queues[at.index()].current != entity.0;
        if fresh || self.rules.early {
            self.queues[at.index()].stretch = 0;
        }
        if fresh {
            self.put_back(cx, at);
            self.tree_remove(cx, at, entity.0);
            self.queues[at.index()].current = entity.0;
            self.entities[entity].launched = 0;
        }
    }

    fn put_current(&mut self, cx: &Context, at: QueueId) {
        self.put_back(cx, at);
    }

    fn preemption(&self) -> Preemption {
        self.rules.preemption
    }

    fn version(&self) -> Version {
        Version::V6_1
    }

    fn why(&self, _: QueueId, ahead: EntityId, waiting: EntityId, is_pick: bool) -> Option<Reason> {
        Some(self.rule(ahead, waiting, is_pick))
    }
}

#[cfg(test)]
mod tests;
