//! The interface of CFS and EEVDF: entities, ordered in queues. An entity is a task, or a group's part on one CPU; the
//! order knows neither CPUs nor groups.

use super::weight::Weight;
use goodness_core::{About, Class, Context, Machine, Preemption, Reason, Span, Standing, TaskId, Tunables};
use std::ops::{Index, IndexMut};

/// Time by which a slice must be exceeded, at least: a task that is picked at a tick begins a little after it, so a
/// slice of n whole ticks ends at tick n + 1. On Linux 6.18 at HZ 250, two hogs with slices of 4 ms change 142 times a
/// second, with 3.99 ms 247 times.
pub const TICK_PATH: Span = Span(1_000);

/// Number of an entity, dense from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EntityId(pub u32);

/// Number of a queue, dense from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueId(pub u32);

impl QueueId {
    /// The number as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A value for each entity.
#[derive(Clone, Debug, Default)]
pub struct PerEntity<T>(Vec<T>);

impl<T: Default> PerEntity<T> {
    /// Adds a value for `entity`, and for all before it.
    pub fn admit(&mut self, entity: EntityId) -> &mut T {
        if entity.0 as usize >= self.0.len() {
            self.0.resize_with(entity.0 as usize + 1, T::default);
        }
        &mut self.0[entity.0 as usize]
    }
}

impl<T> Index<EntityId> for PerEntity<T> {
    type Output = T;
    #[inline]
    fn index(&self, entity: EntityId) -> &T {
        &self.0[entity.0 as usize]
    }
}

impl<T> IndexMut<EntityId> for PerEntity<T> {
    #[inline]
    fn index_mut(&mut self, entity: EntityId) -> &mut T {
        &mut self.0[entity.0 as usize]
    }
}

/// Reason for an enqueue on a fair queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// It is new.
    Fork,
    /// It slept.
    Wake,
    /// Moved from another queue, or after a change of nice, class, affinity or group.
    Move,
}

/// Reason for a dequeue from a fair queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// It waits for something.
    Sleep,
    /// Moves to another queue, or changes nice, class, affinity or group.
    Move,
    /// It ends, or has slept on the queue long enough.
    Gone,
}

/// Weight and slice that an entity asks for.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    pub weight: Weight,
    /// True for SCHED_IDLE, and for groups that are idle.
    pub is_idle: bool,
    /// The slice it requests, ns.
    pub slice: Option<u64>,
}

/// The order of fair entities in queues, each with at most one current entity (running or just stopped). A queue may
/// stand for an entity of another queue, its owner.
pub trait Order: Sized + 'static {
    /// The policy's entry in the registry.
    const ABOUT: About;
    /// Its tunables.
    type Settings: Tunables;
    /// Weight of SCHED_IDLE.
    fn idle_weight(&self) -> u64;
    /// Empty queues, one for each CPU.
    fn new(machine: &Machine, settings: &Self::Settings) -> Self;
    /// Makes as many queues as `owners` has; their owners and the queues of those have the numbers given.
    fn arrange(&mut self, owners: &[Option<(QueueId, EntityId)>]);
    /// True if the fair server keeps fair tasks alive; otherwise the real-time throttle does.
    fn has_fair_server(&self) -> bool;
    /// Reserves room for an entity.
    fn admit(&mut self, entity: EntityId);
    /// `entity` exists before the run; it will wait on `queue`.
    fn launch(&mut self, _queue: QueueId, _entity: EntityId) {}
    /// Order among tasks that wait for a common start: smaller first; 0 for all others.
    fn launch_rank(&self, _: EntityId) -> i64 {
        0
    }
    /// A task ran in another class.
    fn ran_elsewhere(&mut self, _: EntityId) {}
    /// Queue that contains the entity, even if it sleeps but is not dequeued yet.
    fn home(&self, entity: EntityId) -> Option<QueueId>;
    /// True if the entity sleeps but is not dequeued yet.
    fn is_delayed(&self, _: EntityId) -> bool {
        false
    }
    /// Entities on the queue, including the current one and delayed dequeues.
    fn queued(&self, queue: QueueId) -> u32;
    /// Entities that want the CPU, the current one included.
    fn runnable(&self, queue: QueueId) -> u32;
    /// Weight of all entities on the queue.
    fn load(&self, queue: QueueId) -> u64;
    /// Weight of an entity as of its last arrival.
    fn weight(&self, entity: EntityId) -> u64;
    /// Adds an entity to the queue of a CPU with `tasks` fair tasks, its own not included. The current entity is
    /// accounted up to now, and stays current.
    fn enqueue(&mut self, cx: &Context, to: (QueueId, u32), entity: EntityId, traits: Traits, how: Arrival);
    /// An entity leaves the queue; one that sleeps may stay queued. The current entity was accounted up to now.
    fn dequeue(&mut self, cx: &Context, queue: QueueId, entity: EntityId, how: Departure);
    /// Makes a queued entity one that sleeps but is still queued.
    fn delay(&mut self, _: QueueId, _: EntityId) {}
    /// Wakes an entity that sleeps but is still queued.
    fn rewake(&mut self, cx: &Context, queue: QueueId, entity: EntityId, traits: Traits);
    /// Gives a queued entity another weight.
    fn reweigh(&mut self, cx: &Context, queue: QueueId, entity: EntityId, weight: Weight);
    /// The smallest slice on a queue, as its owner requests it.
    fn least_slice(&self, _: QueueId) -> Option<u64> {
        None
    }
    /// Gives an entity that may be queued another slice.
    fn set_slice(&mut self, _: EntityId, _slice: u64) {}
    /// The current entity ran; whether the CPU should choose again.
    fn account(&mut self, queue: QueueId, ran: Span) -> bool;
    /// Handles a tick of a CPU with `tasks` fair tasks, after the accounting. Returns whether it should pick again.
    fn tick(&mut self, cx: &Context, queue: QueueId, tasks: u32) -> bool;
    /// True if slices end by a timer of their own; otherwise at the next tick.
    fn times_slices(&self) -> bool {
        false
    }
    /// CPU time until the slice of the current entity is over.
    fn slice_left(&self, _: QueueId) -> Option<Span> {
        None
    }
    /// The current entity yields.
    fn yields(&mut self, queue: QueueId);
    /// Preemption of the current entity by `woken` (just queued) as decided by idleness and the class of the woken
    /// task alone, which may be new. `None` for equals.
    fn class_decides(&mut self, queue: QueueId, woken: EntityId, class: Class, is_fork: bool) -> Option<bool>;
    /// True if a task of SCHED_IDLE yields to any woken one that is not, whatever their groups.
    fn idle_tasks_yield(&self) -> bool {
        false
    }
    /// The delayed entity that is found best when `woken`, just queued, looks whether it preempts the current one, and
    /// is to be removed before.
    fn delayed_best(&mut self, _: &Context, _: QueueId, _woken: EntityId) -> Option<EntityId> {
        None
    }
    /// True if `woken`, just queued, preempts the current entity, which is accounted up to now.
    fn preempts(&mut self, cx: &Context, queue: QueueId, woken: EntityId) -> bool;
    /// True if the entities above one that preempts are favoured, too.
    fn favours_preemptors(&self) -> bool {
        false
    }
    /// True if every woken entity is favoured at the next election.
    fn favours_woken(&self) -> bool {
        false
    }
    /// Favours a queued entity at the next election.
    fn favour(&mut self, queue: QueueId, entity: EntityId);
    /// The entity that runs or just stopped, if it is still queued.
    fn current(&self, queue: QueueId) -> Option<EntityId>;
    /// Chooses the next entity, which may be delayed.
    fn elect(&mut self, cx: &Context, queue: QueueId) -> Option<EntityId>;
    /// Makes a queued entity current.
    fn switch_to(&mut self, cx: &Context, queue: QueueId, entity: EntityId);
    /// Clears the current entity.
    fn put_current(&mut self, cx: &Context, queue: QueueId);
    /// Writes the entities that are likely to be elected next, as tasks, and returns how many; see
    /// [`goodness_core::CpuPolicy::likely_next`]. Called if all entities are tasks.
    fn likely_next(&self, _: QueueId, _: &mut [TaskId]) -> usize {
        0
    }
    /// Preemption model of the kernel.
    fn preemption(&self) -> Preemption;
    /// Longest extension of a slice for a critical section; zero if the kernel grants none.
    fn slice_extension(&self) -> Span {
        Span::ZERO
    }
    /// Rules of balancing of the kernel that is simulated.
    fn version(&self) -> Version;
    /// The rule by which `ahead`, the current entity, is ahead of `waiting` on the queue of both: by the pick that
    /// was just made, or as it goes on.
    fn why(&self, queue: QueueId, ahead: EntityId, waiting: EntityId, is_pick: bool) -> Option<Reason>;
    /// The place of a queued entity, if the order has virtual deadlines.
    fn standing(&self, _entity: EntityId) -> Option<Standing> {
        None
    }
    /// True if `entity`, queued there, got more than its share.
    fn is_ahead(&self, _queue: QueueId, _entity: EntityId) -> bool {
        false
    }
}

goodness_core::choices! {
    /// Rule by which a task group weighs on each CPU (`cgroup_mode` in debugfs).
    pub enum CgroupMode { Up = "up", Smp = "smp", Concur = "concur", Max = "max", Tasks = "tasks" }
}

/// Rules of groups, balancing and limits that differ between kernels (specs/smp.md section 9, specs/groups-locks.md
/// sections 1.2, 1.3 and 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Of overloaded groups that are alike but for rounding any may be the busiest; else the first is.
    pub draws_equals: bool,
    /// Tasks are spread over cores before threads.
    pub knows_cores: bool,
    /// A CPU without work looks at a level by a draw from its success.
    pub throws_dice: bool,
    /// Utilisation counts for less with each failed pass.
    pub shifts_util: bool,
    /// Of two queues with much utilisation, the one with more runnable tasks is the busier one.
    pub boosts_util: bool,
    /// Tasks that sleep but are still queued count, and move like others; else only with their load.
    pub counts_delayed: bool,
    /// Limits of groups with equal periods are refilled at times of their own, not all together.
    pub phases_quotas: bool,
    /// Tasks of a group out of quota are stopped one by one, at their return to user mode; else its queues at a pick.
    pub parks_tasks: bool,
    /// Tasks ahead of their share stay in a first pass.
    pub keeps_ineligible: bool,
    /// A CPU without work always looks at a level if it seldom does.
    pub looks_when_rare: bool,
    /// The tasks of all groups of a CPU are on one queue, and groups weigh by this mode; else each group has a queue.
    pub one_timeline: Option<CgroupMode>,
}

impl Version {
    /// Linux 6.1, and the nearest to older ones.
    pub const V6_1: Version = Version {
        draws_equals: false,
        knows_cores: false,
        throws_dice: true,
        shifts_util: true,
        boosts_util: false,
        counts_delayed: false,
        phases_quotas: false,
        parks_tasks: false,
        keeps_ineligible: false,
        looks_when_rare: false,
        one_timeline: None,
    };
    /// Rules of all kernels with EEVDF, but for what each says.
    const EEVDF: Version =
        Version { draws_equals: true, knows_cores: true, boosts_util: true, phases_quotas: true, ..Version::V6_1 };
    /// Linux 6.6.
    pub const V6_6: Version =
        Version { throws_dice: false, shifts_util: false, phases_quotas: false, ..Version::EEVDF };
    /// Linux 6.12.
    pub const V6_12: Version = Version { counts_delayed: true, ..Version::EEVDF };
    /// Linux 6.15.
    pub const V6_15: Version = Version { keeps_ineligible: true, ..Version::EEVDF };
    /// Linux 6.18.
    pub const V6_18: Version = Version { parks_tasks: true, ..Version::V6_15 };
    /// Linux 7.2, and the nearest to 7.1; 7.3 adds one timeline.
    pub const V7_2: Version = Version { looks_when_rare: true, ..Version::V6_18 };
}
