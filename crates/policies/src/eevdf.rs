//! EEVDF, the fair class of Linux since 6.6: earliest eligible virtual deadline first.
//!
//! Idea: every task has a virtual runtime that advances inversely to its weight. The queue's average V is the service
//! an ideal machine would have given every task. A task is eligible while it is not ahead of V. Of the eligible tasks,
//! the one with the earliest virtual deadline runs. A deadline is one slice of virtual time away, so slices determine
//! latency and weights determine shares, independently. A task's lag (the service it is owed) is kept when it leaves.
//!
//! Source: specs sections 5.2 to 5.7; oracle recordings of 6.12.107 and 6.18.15. Profiles (`kernel`): `6.6` and
//! `6.12.0` as released; `6.12` is the stable kernel with its later backports (0.70 ms slice, protection ends at ticks,
//! yield gives the slice away); `6.15` and `6.18` likewise; from `6.18.33` on forks do not preempt, and wake-ups remove
//! delayed tasks; `7.2` ends slices by a timer; in `7.3` the tasks of all groups of a CPU share one timeline.
//! Deviations: no core scheduling; 7.2's balance between caches is missing; SCHED_ISO counts as normal. Groups,
//! reservations and several CPUs: see `parts/fair/`.
//! Weakness: slices below the tick are rounded up to it; a protected task makes short requests wait.

mod election;
mod queue;
mod rules;
mod settings;
mod why;

use crate::parts::ahead;
use crate::parts::fair::Stack;
use crate::parts::fair::order::{Arrival, Departure, EntityId, Order, PerEntity, QueueId, Traits, Version};
use crate::parts::fair::weight::Weight;
use goodness_core::{About, Class, Context, Effort, Machine, Needs, Preemption, Reason, Span, Standing, TaskId};
use goodness_queues::Nodes;
use queue::{Entity, Queue};
use rules::Rules;
pub use settings::{Kernel, Settings};

/// EEVDF below the real-time classes.
pub type Eevdf = Stack<VirtualDeadlines>;

const NOBODY: u32 = u32::MAX;
/// SCHED_IDLE.
const IDLE_WEIGHT: u64 = 3;
/// The value kept in the tree.
const RUNTIME: usize = 0;

/// The fair queues, ordered by virtual deadline.
#[derive(Debug)]
pub struct VirtualDeadlines {
    rules: Rules,
    nodes: Nodes<1>,
    entities: PerEntity<Entity>,
    queues: Vec<Queue>,
    /// All slices that an entity ever had, ascending. Every queue has room for them.
    slices: Vec<u64>,
}

impl VirtualDeadlines {
    /// The current entity of `at`, if it is still queued there.
    #[inline]
    fn running(&self, at: QueueId) -> Option<&Entity> {
        let current = self.queues[at.index()].current;
        if current == NOBODY {
            return None;
        }
        Some(&self.entities[EntityId(current)]).filter(|e| e.queued && e.home == at)
    }

    fn tree_insert(&mut self, cx: &Context, at: QueueId, entity: u32) {
        let it = &self.entities[EntityId(entity)];
        let tree = &mut self.queues[at.index()].tree;
        let levels = tree.insert(&mut self.nodes, entity, it.deadline, [it.runtime]);
        cx.examined(Effort::Insert, levels);
    }

    fn tree_remove(&mut self, cx: &Context, at: QueueId, entity: u32) {
        let levels = self.queues[at.index()].tree.remove(&mut self.nodes, entity);
        cx.examined(Effort::Insert, levels);
    }

    /// Adds `entity`, whose virtual runtime and deadline are set, to the sums of `at`.
    #[inline]
    fn add(&mut self, cx: &Context, at: QueueId, entity: EntityId) {
        let it = &self.entities[entity];
        let queue = &mut self.queues[at.index()];
        queue.sum += i128::from(it.runtime - queue.base) * i128::from(it.weight.value);
        queue.load += it.weight.value;
        queue.slices.add(it.slice);
        queue.count += 1;
        if queue.current != entity.0 {
            self.tree_insert(cx, at, entity.0);
        }
    }

    /// The opposite of `add`.
    #[inline]
    fn subtract(&mut self, cx: &Context, at: QueueId, entity: EntityId) {
        let it = &self.entities[entity];
        let queue = &mut self.queues[at.index()];
        queue.sum -= i128::from(it.runtime - queue.base) * i128::from(it.weight.value);
        queue.load -= it.weight.value;
        queue.slices.remove(it.slice);
        queue.count -= 1;
        if queue.current != entity.0 {
            self.tree_remove(cx, at, entity.0);
        }
    }

    /// The current entity moves on by `distance` of virtual time.
    #[inline]
    fn advance(&mut self, at: QueueId, distance: i64) -> &mut Entity {
        let queue = &mut self.queues[at.index()];
        let it = &mut self.entities[EntityId(queue.current)];
        it.runtime += distance;
        queue.sum += i128::from(distance) * i128::from(it.weight.value);
        it
    }

    /// Stores the lag of `entity`: V − runtime, within limits.
    #[inline]
    fn note_lag(&mut self, at: QueueId, entity: EntityId) {
        let queue = &mut self.queues[at.index()];
        let (average, longest) = (queue.average(), queue.slices.greatest().unwrap_or(0));
        let it = &mut self.entities[entity];
        let span = if self.rules.lag_by_slice_and_tick {
            longest.max(it.slice) + self.rules.tick
        } else {
            (2 * it.slice).max(self.rules.tick)
        };
        let limit = it.weight.virtual_time(span);
        it.lag = (average - it.runtime).clamp(-limit, limit);
    }

    /// Sets the virtual runtime and deadline of `entity`, which is not part of the queue's sums.
    #[inline]
    fn place(&mut self, at: QueueId, entity: EntityId, initial: bool) {
        let (queue, rules) = (&mut self.queues[at.index()], &self.rules);
        let average = queue.average();
        let it = &mut self.entities[entity];
        let mut lag = 0;
        if rules.place_lag && queue.count > 0 && it.lag != 0 {
            // Joining moves V towards the newcomer; the lag is inflated so that it holds afterwards.
            let whole = i128::from(it.lag) * i128::from(queue.load + it.weight.value);
            lag = match i64::try_from(whole) {
                Ok(small) => small / queue.load.max(1) as i64,
                Err(_) => (whole / i128::from(queue.load.max(1))) as i64,
            };
        }
        it.runtime = average - lag;
        if std::mem::take(&mut it.relative) {
            it.deadline += it.runtime;
            return;
        }
        let slice = it.weight.virtual_time(it.slice);
        let half = initial && rules.place_deadline_initial;
        it.deadline = it.runtime + if half { slice / 2 } else { slice };
    }

    /// Makes room for entities with `slice` on every queue, when the first one gets it: queues that fill for the first
    /// time late in a run allocate nothing.
    #[cold]
    fn note_slice(&mut self, slice: u64) {
        let Err(place) = self.slices.binary_search(&slice) else { return };
        self.slices.insert(place, slice);
        let room = self.slices.len().next_power_of_two();
        self.queues.iter_mut().for_each(|queue| queue.slices.reserve(room));
    }

    /// Updates what the entity asks for.
    #[inline]
    fn refresh(&mut self, entity: EntityId, traits: Traits) {
        let slice = self.slice(traits);
        if self.entities[entity].slice != slice {
            self.note_slice(slice);
        }
        let it = &mut self.entities[entity];
        it.is_idle = traits.is_idle;
        it.slice = slice;
        self.rescale(entity, traits.weight);
    }

    /// True if what the entity asks for changed since its last arrival.
    #[inline]
    fn is_stale(&self, entity: EntityId, traits: Traits) -> bool {
        let it = &self.entities[entity];
        it.weight != traits.weight || it.is_idle != traits.is_idle || it.slice != self.slice(traits)
    }

    /// The slice that an entity gets at its next arrival.
    #[inline]
    fn slice(&self, traits: Traits) -> u64 {
        traits.slice.map_or(self.rules.base_slice, |slice| slice.clamp(100_000, 100_000_000))
    }

    /// Rescales the virtual times of an entity, which is on no queue, to another weight.
    #[inline]
    fn rescale(&mut self, entity: EntityId, weight: Weight) {
        let it = &mut self.entities[entity];
        if it.weight != weight {
            it.lag = it.lag * it.weight.value as i64 / weight.value as i64;
            if it.relative {
                it.deadline = it.deadline * it.weight.value as i64 / weight.value as i64;
            }
            it.weight = weight;
        }
    }

    /// Removes a task from the queue and stores its lag.
    #[inline]
    fn detach(&mut self, cx: &Context, at: QueueId, entity: EntityId) {
        self.note_lag(at, entity);
        self.subtract(cx, at, entity);
        let it = &mut self.entities[entity];
        it.queued = false;
        let delayed = std::mem::take(&mut it.delayed);
        if delayed && self.rules.delay_zero {
            it.lag = it.lag.min(0);
        }
        let queue = &mut self.queues[at.index()];
        queue.delayed -= u32::from(delayed);
        if queue.next == entity.0 {
            queue.next = NOBODY;
        }
    }

    /// Makes no entity current. The previous one, if still queued, goes behind its equals.
    #[inline]
    fn put_back(&mut self, cx: &Context, at: QueueId) {
        let still_queued = self.running(at).is_some();
        let current = std::mem::replace(&mut self.queues[at.index()].current, NOBODY);
        if still_queued {
            self.tree_insert(cx, at, current);
        }
    }
}

impl Order for VirtualDeadlines {
    const ABOUT: About = About {
        name: "eevdf",
        summary: "Linux since 6.6: of the tasks that are not ahead of their share, the earliest virtual deadline.",
        source: "specs section 5.2-5.7; Stoica and Abdel-Wahab 1995",
        needs: Needs { tick: true, timer: true, balance: true, global_lock: false },
    };
    type Settings = Settings;

    fn new(machine: &Machine, settings: &Settings) -> Self {
        VirtualDeadlines {
            rules: Rules::new(machine, settings),
            nodes: Nodes::default(),
            entities: PerEntity::default(),
            queues: vec![Queue::empty(); machine.cpu_count()],
            slices: Vec::new(),
        }
    }

    fn arrange(&mut self, owners: &[Option<(QueueId, EntityId)>]) {
        self.queues.resize(owners.len(), Queue::empty());
    }

    fn idle_weight(&self) -> u64 {
        IDLE_WEIGHT
    }

    fn has_fair_server(&self) -> bool {
        self.rules.fair_server
    }

    fn admit(&mut self, entity: EntityId) {
        self.nodes.reserve(entity.0 as usize + 1);
        self.entities.admit(entity);
    }

    #[inline(always)]
    fn home(&self, entity: EntityId) -> Option<QueueId> {
        let it = &self.entities[entity];
        it.queued.then_some(it.home)
    }

    #[inline(always)]
    fn is_delayed(&self, entity: EntityId) -> bool {
        self.entities[entity].delayed
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
        let queue = &self.queues[at.index()];
        queue.count - queue.delayed
    }

    #[inline(always)]
    fn enqueue(&mut self, cx: &Context, (at, _): (QueueId, u32), entity: EntityId, traits: Traits, how: Arrival) {
        self.refresh(entity, traits);
        if how == Arrival::Fork {
            self.entities[entity].lag = 0;
            self.entities[entity].relative = false;
        }
        self.place(at, entity, how == Arrival::Fork);
        let it = &mut self.entities[entity];
        it.queued = true;
        it.home = at;
        self.add(cx, at, entity);
        if self.queues[at.index()].current == entity.0 {
            self.protect(at);
        }
    }

    #[inline(always)]
    fn dequeue(&mut self, cx: &Context, at: QueueId, entity: EntityId, how: Departure) {
        if how == Departure::Sleep && self.rules.delay_dequeue {
            let eligible = self.queues[at.index()].eligibility();
            let it = &mut self.entities[entity];
            if !eligible(it.runtime) {
                it.delayed = true;
                self.queues[at.index()].delayed += 1;
                return;
            }
        }
        self.detach(cx, at, entity);
        let it = &mut self.entities[entity];
        if how == Departure::Move && self.rules.place_rel_deadline {
            it.deadline -= it.runtime;
            it.relative = true;
        }
    }

    fn delay(&mut self, at: QueueId, entity: EntityId) {
        self.entities[entity].delayed = true;
        self.queues[at.index()].delayed += 1;
    }

    #[inline(always)]
    fn rewake(&mut self, cx: &Context, at: QueueId, entity: EntityId, traits: Traits) {
        self.note_lag(at, entity);
        let it = &mut self.entities[entity];
        it.delayed = false;
        self.queues[at.index()].delayed -= 1;
        let has_gained = self.rules.delay_zero && it.lag > 0;
        if has_gained || self.is_stale(entity, traits) {
            self.subtract(cx, at, entity);
            let it = &mut self.entities[entity];
            if has_gained {
                it.lag = 0;
            } else {
                it.deadline -= it.runtime;
                it.relative = true;
            }
            self.refresh(entity, traits);
            self.place(at, entity, false);
            self.add(cx, at, entity);
        }
    }

    fn reweigh(&mut self, cx: &Context, at: QueueId, entity: EntityId, weight: Weight) {
        if self.entities[entity].weight == weight {
            return;
        }
        self.note_lag(at, entity);
        self.subtract(cx, at, entity);
        let it = &mut self.entities[entity];
        let protected = it.protected - it.runtime;
        it.protected = protected * it.weight.value as i64 / weight.value as i64;
        it.deadline -= it.runtime;
        it.relative = true;
        self.rescale(entity, weight);
        self.place(at, entity, false);
        let it = &mut self.entities[entity];
        it.protected += it.runtime;
        self.add(cx, at, entity);
    }

    fn least_slice(&self, at: QueueId) -> Option<u64> {
        self.queues[at.index()].slices.least()
    }

    fn set_slice(&mut self, entity: EntityId, slice: u64) {
        let it = &mut self.entities[entity];
        let before = std::mem::replace(&mut it.slice, slice);
        if it.queued && before != slice {
            let slices = &mut self.queues[it.home.index()].slices;
            slices.remove(before);
            slices.add(slice);
        }
    }

    #[inline(always)]
    fn account(&mut self, at: QueueId, ran: Span) -> bool {
        let queue = &self.queues[at.index()];
        if queue.current == NOBODY {
            return false;
        }
        let alone = queue.count == 1;
        let weight = self.entities[EntityId(queue.current)].weight;
        let path = weight.virtual_time(self.rules.slack);
        let it = self.advance(at, weight.virtual_time(ran.0));
        let finished = it.runtime >= it.deadline + path;
        if finished {
            it.deadline = it.runtime + it.weight.virtual_time(it.slice);
        }
        let Entity { runtime, protected, .. } = *it;
        let unprotected = self.rules.expire_protection && protected + path <= runtime;
        let again = !alone && (finished || unprotected);
        if again {
            self.queues[at.index()].next = NOBODY;
        }
        again
    }

    fn tick(&mut self, _: &Context, _: QueueId, _: u32) -> bool {
        false
    }

    fn times_slices(&self) -> bool {
        self.rules.hrtick
    }

    fn slice_left(&self, at: QueueId) -> Option<Span> {
        self.running(at).map(|it| it.weight.real_time(it.deadline - it.runtime))
    }

    fn yields(&mut self, at: QueueId) {
        let queue = &self.queues[at.index()];
        if queue.count <= 1 || queue.current == NOBODY {
            return;
        }
        let current = EntityId(queue.current);
        let eligible = self.queues[at.index()].eligibility()(self.entities[current].runtime);
        let Entity { weight, slice, runtime, deadline, .. } = self.entities[current];
        let slice = weight.virtual_time(slice);
        if !self.rules.yield_forfeits {
            self.entities[current].deadline += slice;
        } else if eligible {
            self.advance(at, deadline - runtime).deadline += slice;
        }
    }

    #[inline(always)]
    fn class_decides(&mut self, at: QueueId, woken: EntityId, class: Class, is_fork: bool) -> Option<bool> {
        let queue = &self.queues[at.index()];
        if queue.current == NOBODY || !self.rules.wakeup_preemption {
            return Some(false);
        }
        let Entity { is_idle, slice, .. } = self.entities[woken];
        let running = &mut self.entities[EntityId(queue.current)];
        if running.is_idle && !is_idle {
            running.protected = running.protected.min(running.runtime);
            return Some(true);
        }
        let is_held_back = is_fork && !self.rules.forks_preempt && !(self.rules.preempt_short && slice < running.slice);
        if running.is_idle != is_idle || class != Class::Normal || is_held_back { Some(false) } else { None }
    }

    fn favours_woken(&self) -> bool {
        self.rules.next_buddy && self.rules.wakeup_preemption
    }

    fn favour(&mut self, at: QueueId, entity: EntityId) {
        self.queues[at.index()].next = entity.0;
    }

    #[inline]
    fn delayed_best(&mut self, cx: &Context, at: QueueId, woken: EntityId) -> Option<EntityId> {
        let queue = &self.queues[at.index()];
        if queue.delayed == 0 || !self.rules.wakeups_remove_delayed {
            return None;
        }
        let running = EntityId(queue.current);
        let shorter = self.rules.preempt_short && self.entities[woken].slice < self.entities[running].slice;
        self.best(cx, at, !shorter).filter(|best| self.entities[*best].delayed)
    }

    #[inline(always)]
    fn preempts(&mut self, cx: &Context, at: QueueId, woken: EntityId) -> bool {
        let (current, it) = (EntityId(self.queues[at.index()].current), self.entities[woken]);
        let shorter = self.rules.preempt_short && it.slice < self.entities[current].slice;
        if self.would_win(at, woken) && self.best(cx, at, !shorter) == Some(woken) {
            if shorter {
                let running = &mut self.entities[current];
                running.protected = running.protected.min(running.runtime);
            }
            return true;
        }
        if self.rules.run_to_parity && self.rules.expire_protection && shorter {
            let least = self.shortest(at);
            let running = &mut self.entities[current];
            running.protected = running.protected.min(running.runtime + running.weight.virtual_time(least));
        }
        false
    }

    fn current(&self, at: QueueId) -> Option<EntityId> {
        self.running(at).map(|_| EntityId(self.queues[at.index()].current))
    }

    #[inline(always)]
    fn elect(&mut self, cx: &Context, at: QueueId) -> Option<EntityId> {
        if self.queues[at.index()].count == 0 { None } else { self.best(cx, at, true) }
    }

    #[inline(always)]
    fn switch_to(&mut self, cx: &Context, at: QueueId, entity: EntityId) {
        if self.queues[at.index()].current == entity.0 {
            return;
        }
        self.put_back(cx, at);
        self.tree_remove(cx, at, entity.0);
        let queue = &mut self.queues[at.index()];
        queue.current = entity.0;
        if queue.next == entity.0 {
            queue.next = NOBODY;
        }
        self.protect(at);
    }

    /// Of the earliest deadlines few are ahead of V.
    fn likely_next(&self, at: QueueId, next: &mut [TaskId]) -> usize {
        let waiting = self.queues[at.index()].tree.iter(&self.nodes).map(TaskId);
        ahead::load(|task| self.entities[EntityId(task.0)], waiting, next)
    }

    fn put_current(&mut self, cx: &Context, at: QueueId) {
        self.put_back(cx, at);
    }

    fn preemption(&self) -> Preemption {
        self.rules.preemption
    }

    fn slice_extension(&self) -> Span {
        self.rules.slice_extension
    }

    fn version(&self) -> Version {
        self.rules.version
    }

    fn why(&self, at: QueueId, ahead: EntityId, waiting: EntityId, _: bool) -> Option<Reason> {
        Some(self.rule(at, ahead, waiting))
    }

    fn standing(&self, entity: EntityId) -> Option<Standing> {
        self.place_of(entity)
    }

    fn is_ahead(&self, at: QueueId, entity: EntityId) -> bool {
        !self.queues[at.index()].eligibility()(self.entities[entity].runtime)
    }
}

#[cfg(test)]
mod tests;
