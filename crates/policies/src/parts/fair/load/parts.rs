//! Load of groups on each CPU: of the entities on a group's queue, and of the entity that the queue stands for.
//!
//! Source: docs/specs/groups-locks.md sections 1.2 and 1.5. A group's weight is divided among CPUs by the load of its
//! queues, which each CPU publishes from time to time.
//! Departures: publications are a millisecond apart in all kernels; a CPU's part follows what happens below it as its
//! own average, not at once.

use super::super::order::{EntityId, QueueId};
use super::{Loads, Presence, Series};
use goodness_core::{CpuId, Span, TaskId, Time};

/// Least time between publications.
const PUBLISHED: Span = Span::from_ms(1);

/// A group on one CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// Load of its queue, on which entities have `inside` of weight.
    inner: Series,
    inside: u64,
    /// Load of its entity on the queue around it, for a weight of 1.
    own: Series,
    weight: u64,
    on_queue: bool,
    /// The last reported load of its queue, and its time.
    published: u64,
    published_at: Time,
}

impl Part {
    fn advance(&mut self, now: Time) {
        self.inner.advance(now, Presence { weight: self.inside, ..Presence::default() }, 1);
        let on_queue = Presence { weight: self.on_queue.into(), ..Presence::default() };
        self.own.advance(now, on_queue, self.weight);
    }
}

/// All groups on all CPUs.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    cpus: u32,
    /// By queue, less the number of CPUs.
    parts: Vec<Part>,
    /// By queue: the one around it.
    around: Vec<Option<QueueId>>,
    /// By group: the load that all its CPUs published, and when those without tasks were last looked at.
    published: Vec<(u64, Time)>,
}

impl Parts {
    fn at(&mut self, queue: QueueId) -> Option<&mut Part> {
        let index = queue.0.checked_sub(self.cpus)?;
        self.parts.get_mut(index as usize)
    }

    /// Publishes the load of the queue if it changed by more than a 64th.
    fn publish(&mut self, now: Time, queue: QueueId) {
        let group = (queue.0 / self.cpus) as usize;
        let Some(part) = self.at(queue) else { return };
        part.advance(now);
        let (before, load) = (part.published, part.inner.load);
        if load.abs_diff(before) > before / 64 && now.since(part.published_at) >= PUBLISHED {
            (part.published, part.published_at) = (load, now);
            self.published[group].0 += load;
            self.published[group].0 -= before;
        }
    }

    /// Lets CPUs publish whose queues of the group are empty: nothing else brings them up to date.
    fn look_at_empty(&mut self, now: Time, group: usize) {
        let looked_at = &mut self.published[group].1;
        if now.since(*looked_at) < PUBLISHED {
            return;
        }
        *looked_at = now;
        for queue in (group as u32 * self.cpus..).map(QueueId).take(self.cpus as usize) {
            if self.at(queue).is_some_and(|part| part.inside == 0 && part.published > 0) {
                self.publish(now, queue);
            }
        }
    }
}

/// Groups.
impl Loads {
    /// Makes room for the groups' queues, whose owners are given; without any, tasks are on the CPUs' own.
    pub fn arrange(&mut self, owners: &[Option<(QueueId, EntityId)>], cpus: u32) {
        let count = owners.len() - cpus as usize;
        self.parts = Parts {
            cpus,
            parts: vec![Part::default(); count],
            around: owners.iter().map(|owner| owner.map(|(queue, _)| queue)).collect(),
            published: vec![(0, Time::ZERO); owners.len() / cpus as usize],
        };
    }

    /// Weight on a queue changes by entities that come or go.
    pub(super) fn weighs(&mut self, now: Time, queue: QueueId, change: i64) {
        if let Some(part) = self.parts.at(queue) {
            part.advance(now);
            part.inside = part.inside.wrapping_add_signed(change);
        } else {
            let there = &mut self.cpus[queue.index()];
            there.advance(now);
            there.present.weight = there.present.weight.wrapping_add_signed(change);
        }
    }

    /// The entity of `queue` joins the queue around it with this weight.
    pub fn part_arrives(&mut self, now: Time, queue: QueueId, weight: u64) {
        self.part_reweighs(now, queue, weight);
        self.part_is_queued(now, queue, true);
    }

    /// The entity of `queue` leaves the queue around it.
    pub fn part_leaves(&mut self, now: Time, queue: QueueId) {
        self.part_is_queued(now, queue, false);
    }

    fn part_is_queued(&mut self, now: Time, queue: QueueId, on_queue: bool) {
        let around = self.parts.around.get(queue.index()).copied().flatten();
        let (Some(part), Some(around)) = (self.parts.at(queue), around) else { return };
        if part.on_queue == on_queue {
            return;
        }
        part.advance(now);
        part.on_queue = on_queue;
        let weight = part.weight as i64;
        self.weighs(now, around, if on_queue { weight } else { -weight });
    }

    /// The entity of `queue` has this weight from now on.
    pub fn part_reweighs(&mut self, now: Time, queue: QueueId, weight: u64) {
        let around = self.parts.around.get(queue.index()).copied().flatten();
        let (Some(part), Some(around)) = (self.parts.at(queue), around) else { return };
        if part.weight == weight {
            return;
        }
        part.advance(now);
        let change = if part.on_queue { weight as i64 - part.weight as i64 } else { 0 };
        let load = part.own.load;
        part.own.load = load * weight / part.weight.max(1);
        let after = part.own.load;
        part.weight = weight;
        self.weighs(now, around, change);
        self.moves_load(now, around, after as i64 - load as i64);
    }

    /// The load of a queue changes at once, as something with load comes or goes.
    pub(super) fn moves_load(&mut self, now: Time, queue: QueueId, change: i64) {
        let series = match self.parts.at(queue) {
            Some(part) => {
                part.advance(now);
                &mut part.inner
            }
            None => {
                let there = &mut self.cpus[queue.index()];
                there.advance(now);
                &mut there.series
            }
        };
        series.add_load(change);
    }

    /// The part of the `shares` of a group that is its weight on one CPU, where the entities on its queue weigh
    /// `queued`.
    pub fn part_weight(&mut self, now: Time, queue: QueueId, queued: u64, shares: u64) -> u64 {
        let group = (queue.0 / self.parts.cpus.max(1)) as usize;
        self.parts.publish(now, queue);
        self.parts.look_at_empty(now, group);
        let total = self.parts.published.get(group).map_or(0, |it| it.0);
        let Some(part) = self.parts.at(queue) else { return shares };
        let load = queued.max(part.inner.load);
        let total = total - part.published + load;
        (shares * load / total.max(1)).min(shares)
    }

    /// Load of a task on a queue, as a part of its CPU's.
    pub(super) fn hierarchical(&mut self, now: Time, queue: QueueId, task: TaskId) -> u64 {
        let own = self.tasks[task].series.load;
        let mut load = own;
        let mut below = queue;
        while let Some(around) = self.parts.around.get(below.index()).copied().flatten() {
            let Some(part) = self.parts.at(below) else { break };
            part.advance(now);
            load = load * part.own.load / (part.inner.load + 1);
            below = around;
        }
        load
    }

    /// The queue of a group, by number, on a CPU.
    pub(super) fn queue_of(&self, group: u32, cpu: CpuId) -> QueueId {
        QueueId(group * self.parts.cpus + cpu.0)
    }

    /// True if there are groups.
    pub(super) fn has_groups(&self) -> bool {
        self.parts.cpus > 0
    }
}
