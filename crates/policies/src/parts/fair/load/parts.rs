//! Load of groups on each CPU: that of a group's queue, and that of the queue's entity in the parent's queue.
//!
//! Source: docs/specs/groups-locks.md sections 1.2 and 1.5. A group's weight is divided among CPUs by the load of its
//! queues, which each CPU publishes from time to time.
//! Departure: publications are at least a millisecond apart in all kernels.

use super::super::order::{EntityId, QueueId};
use super::{FULL, Loads, Presence, Series};
use goodness_core::{CpuId, Span, TaskId, Time};

/// Least time between publications.
const PUBLISHED: Span = Span::from_ms(1);

/// A group on one CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// Averages of its queue: load of the entities there, and runnable tasks and utilisation there and below.
    inner: Series,
    /// Weight of the entities on its queue.
    inside: u64,
    /// Runnable tasks on its queue and below.
    tasks: u64,
    /// True if one of them runs.
    runs: bool,
    /// Load of its entity in the parent's queue, scaled by `weight`.
    own: Series,
    weight: u64,
    on_queue: bool,
    /// Averages that its queue published last.
    published: Published,
}

/// Averages as published last, and when.
#[derive(Clone, Copy, Debug, Default)]
struct Published {
    load: u64,
    /// Number of runnable tasks times [`FULL`]; always 0 in kernels that do not count them.
    runnable: u64,
    at: Time,
}

impl Published {
    /// Publishes both averages if one differs by more than a 64th. Returns the changes.
    fn renew(&mut self, now: Time, load: u64, runnable: u64) -> [i64; 2] {
        let differs = |value: u64, before: u64| value.abs_diff(before) > before / 64;
        if now.since(self.at) < PUBLISHED || !(differs(load, self.load) || differs(runnable, self.runnable)) {
            return [0, 0];
        }
        let before = std::mem::replace(self, Published { load, runnable, at: now });
        [load as i64 - before.load as i64, runnable as i64 - before.runnable as i64]
    }
}

/// Averages that all queues of a group published, summed up.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    load: u64,
    runnable: u64,
    /// Time at which those without tasks were last looked at.
    looked_at: Time,
}

impl Part {
    fn advance(&mut self, now: Time) {
        self.inner.advance(now, Presence { weight: self.inside, tasks: self.tasks, runs: self.runs }, 1);
        let on_queue = Presence { weight: self.on_queue.into(), ..Presence::default() };
        self.own.advance(now, on_queue, self.weight);
    }

    /// Sum of its entity after `change` to that of a task below. What comes is added, as if nothing had been there at
    /// the same time. When something goes, what stays on the queue is taken to have been there equally long. It has
    /// been there for as long as it ran, which is more than always while hogs that shared two CPUs are on one.
    fn sum_after(&self, change: TaskChange) -> u64 {
        let sum = match change {
            TaskChange::Comes(sum) => (self.own.load_sum + sum).min(self.own.divisor()),
            TaskChange::Goes => self.own.load_sum.min(self.inner.load_sum.checked_div(self.inside).unwrap_or(0)),
        };
        sum.max(self.inner.util_sum / FULL)
    }
}

/// A task comes, whose load without its weight has this sum, or goes.
#[derive(Clone, Copy, Debug)]
enum TaskChange {
    Comes(u64),
    Goes,
}

/// All groups on all CPUs.
#[derive(Clone, Debug, Default)]
pub(super) struct Parts {
    cpus: u32,
    /// By queue, less the number of CPUs.
    parts: Vec<Part>,
    /// By queue: the one around it.
    around: Vec<Option<QueueId>>,
    /// By group.
    sums: Vec<Sums>,
    /// Queues publish their number of runnable tasks, too.
    counts_tasks: bool,
}

impl Parts {
    fn at(&mut self, queue: QueueId) -> Option<&mut Part> {
        let index = queue.0.checked_sub(self.cpus)?;
        self.parts.get_mut(index as usize)
    }

    /// Applies `change` to the group of `queue` and to its ancestors, on that CPU.
    fn each_up(&mut self, now: Time, queue: QueueId, change: impl Fn(&mut Part)) {
        let mut next = Some(queue);
        while let Some(queue) = next
            && let Some(part) = self.at(queue)
        {
            part.advance(now);
            change(part);
            next = self.around.get(queue.index()).copied().flatten();
        }
    }

    /// Publishes the averages of the queue.
    fn publish(&mut self, now: Time, queue: QueueId) {
        let group = (queue.0 / self.cpus) as usize;
        let counts_tasks = self.counts_tasks;
        let Some(part) = self.at(queue) else { return };
        part.advance(now);
        let runnable = if counts_tasks { part.inner.runnable } else { 0 };
        let [load, runnable] = part.published.renew(now, part.inner.load, runnable);
        let sums = &mut self.sums[group];
        sums.load = sums.load.wrapping_add_signed(load);
        sums.runnable = sums.runnable.wrapping_add_signed(runnable);
    }

    /// Publishes the averages of the group's empty queues, which nothing else brings up to date.
    fn look_at_empty(&mut self, now: Time, group: usize) {
        let looked_at = &mut self.sums[group].looked_at;
        if now.since(*looked_at) < PUBLISHED {
            return;
        }
        *looked_at = now;
        for queue in (group as u32 * self.cpus..).map(QueueId).take(self.cpus as usize) {
            let has_load = |published: Published| published.load + published.runnable > 0;
            if self.at(queue).is_some_and(|part| part.inside == 0 && has_load(part.published)) {
                self.publish(now, queue);
            }
        }
    }
}

/// Groups.
impl Loads {
    /// Makes room for the groups' queues, whose owners are given; without any, tasks are on the CPUs' own.
    /// `counts_tasks`: [`runnable_tasks`](Loads::runnable_tasks) will be asked for.
    pub fn arrange(&mut self, owners: &[Option<(QueueId, EntityId)>], cpus: u32, counts_tasks: bool) {
        let count = owners.len() - cpus as usize;
        self.parts = Parts {
            cpus,
            parts: vec![Part::default(); count],
            around: owners.iter().map(|owner| owner.map(|(queue, _)| queue)).collect(),
            sums: vec![Sums::default(); owners.len() / cpus as usize],
            counts_tasks,
        };
    }

    /// Adds `change` to the weight on `queue`, as entities come or go.
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
        part.weight = weight;
        let load = part.own.set_load_sum(weight, part.own.load_sum);
        self.weighs(now, around, change);
        self.moves_load(now, around, load);
    }

    /// A task of `queue` with these averages comes to its CPU, or has gone: the averages of the queue and those around
    /// it change at once.
    pub(super) fn moves(&mut self, now: Time, queue: QueueId, task: &Series, comes: bool) {
        let sign = if comes { 1 } else { -1 };
        self.moves_load(now, queue, sign * task.load as i64);
        let others = Series { load: 0, ..*task };
        self.parts.each_up(now, queue, |part| match comes {
            true => part.inner.attach(&others),
            false => part.inner.detach(&others),
        });
        let change = if comes { TaskChange::Comes(task.load_sum) } else { TaskChange::Goes };
        let mut below = queue;
        while let Some(around) = self.parts.around.get(below.index()).copied().flatten() {
            let Some(part) = self.parts.at(below) else { break };
            let load = part.own.set_load_sum(part.weight, part.sum_after(change));
            let is_empty = part.inside == 0;
            self.moves_load(now, around, load);
            if !comes {
                self.parts.publish(now, below);
            }
            if is_empty && !comes {
                self.part_leaves(now, below);
            }
            below = around;
        }
    }

    /// The load of a queue changes at once.
    fn moves_load(&mut self, now: Time, queue: QueueId, change: i64) {
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

    /// Weight of a group on one CPU: its part, by load, of `shares`. The entities on its queue there weigh `queued`.
    pub fn part_weight(&mut self, now: Time, queue: QueueId, queued: u64, shares: u64) -> u64 {
        let group = (queue.0 / self.parts.cpus.max(1)) as usize;
        self.parts.publish(now, queue);
        self.parts.look_at_empty(now, group);
        let total = self.parts.sums.get(group).map_or(0, |sums| sums.load);
        let Some(part) = self.parts.at(queue) else { return shares };
        let load = queued.max(part.inner.load);
        let total = total - part.published.load + load;
        (shares * load / total.max(1)).min(shares)
    }

    /// Average number of runnable tasks of the group of `queue` on all CPUs, as published: rounded down, at least 1.
    pub fn runnable_tasks(&mut self, now: Time, queue: QueueId) -> u64 {
        let group = (queue.0 / self.parts.cpus.max(1)) as usize;
        self.parts.publish(now, queue);
        self.parts.look_at_empty(now, group);
        self.parts.sums.get(group).map_or(1, |sums| sums.runnable / FULL).max(1)
    }

    /// Adds `change` to the runnable tasks of `queue` and its ancestors.
    pub(super) fn counts(&mut self, now: Time, queue: QueueId, change: i64) {
        self.parts.each_up(now, queue, |part| part.tasks = part.tasks.wrapping_add_signed(change));
    }

    /// A task of `queue` runs from now on, or stops.
    pub(super) fn runs_below(&mut self, now: Time, queue: QueueId, runs: bool) {
        self.parts.each_up(now, queue, |part| part.runs = runs);
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

#[cfg(test)]
impl Loads {
    /// Average number of runnable tasks on `queue` and below, times [`FULL`].
    pub fn runnable_on(&mut self, now: Time, queue: QueueId) -> u64 {
        self.parts.at(queue).map_or(0, |part| {
            part.advance(now);
            part.inner.runnable
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// docs/specs/groups-locks.md section 1.2.
    #[test]
    fn a_queue_publishes_both_averages_together_once_a_millisecond_if_one_differs_by_a_64th() {
        let mut published = Published::default();
        assert_eq!(published.renew(ms(1), 640, 1024), [640, 1024]);
        assert_eq!(published.renew(ms(2), 650, 1040), [0, 0], "both differ by a 64th at most");
        assert_eq!(published.renew(ms(2), 640, 1041), [0, 17], "the tasks differ by more");
        assert_eq!(published.renew(ms(3), 651, 1044), [11, 3], "the load does, and the tasks come along");
        assert_eq!(published.renew(ms(3), 900, 2000), [0, 0], "it is the same millisecond");
        assert_eq!(published.renew(ms(4), 900, 2000), [249, 956], "what is left");
    }
}
