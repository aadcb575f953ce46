//! One timeline for the tasks of all groups of a CPU, as in Linux from 7.3 on. A task has an effective weight there:
//! its own times, for each of its groups, the group's weight over the sum of the weights inside the group. Groups are
//! not on the timeline; they have weights, load and limits.
//!
//! Source: docs/specs/groups-locks.md sections 1.2 and 1.3 ("flat"). The effective weight is updated when the task is
//! enqueued, when it begins to run, and at each tick while it runs.
//! Departures: weights are whole numbers of at least 2 (the kernel's are multiples of 1/1024, at least 2/1024); a task
//! that sleeps but is still queued counts in the weights of its groups; on one CPU, the number of runnable tasks is
//! that of the moment, not an average; CPUs that went offline still count as the group's.

use super::super::load::Loads;
use super::super::order::{Arrival, CgroupMode, Departure, Order, QueueId, Traits};
use super::super::weight::{UNIT, Weight};
use super::Hierarchy;
use goodness_core::{Context, CpuId, GroupId, Nice, TaskId};

/// A task in its group.
#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// The queue of the group on the task's CPU; `None` while it is on none.
    queue: Option<QueueId>,
    weight: u64,
}

/// A group on one CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    /// Sum of the weights of its tasks there, and of its child groups that have tasks there.
    inside: u64,
    /// Weight among its siblings; 0 without tasks.
    weight: u64,
}

/// The weights of all tasks and groups.
#[derive(Debug)]
pub struct Timeline {
    mode: CgroupMode,
    /// By task.
    members: Vec<Member>,
    /// By queue.
    parts: Vec<Part>,
    /// By group: CPUs that its tasks may use.
    widths: Vec<u64>,
    /// By CPU: the queues of the groups that the running task's time is charged to, from the innermost out.
    charged: Vec<Vec<QueueId>>,
}

impl Timeline {
    /// All groups of `cx`, without tasks.
    pub fn new(cx: &Context, mode: CgroupMode, queues: usize) -> Timeline {
        let width = |group: GroupId| {
            let cpus = cx.groups.cpus(group);
            cx.machine.cpu_ids().filter(|cpu| cpus.contains(*cpu)).count() as u64
        };
        let groups = (0..cx.groups.count() as u32).map(GroupId);
        let charged = vec![Vec::with_capacity(cx.groups.count()); cx.machine.cpu_count()];
        Timeline {
            mode,
            members: Vec::new(),
            parts: vec![Part::default(); queues],
            widths: groups.map(width).collect(),
            charged,
        }
    }

    /// Charges no group for what runs on `cpu` from now on.
    pub fn charge_none(&mut self, cpu: CpuId) {
        self.charged[cpu.index()].clear();
    }

    /// Makes room for `task`.
    pub fn admit(&mut self, task: TaskId) {
        let count = self.members.len().max(task.index() + 1);
        self.members.resize(count, Member::default());
    }

    /// The queue of its group that a task is on.
    pub fn queue(&self, task: TaskId) -> Option<QueueId> {
        self.members[task.index()].queue
    }

    /// Weight of a task in its group.
    pub fn weight(&self, task: TaskId) -> u64 {
        self.members[task.index()].weight
    }

    /// `task` is on `queue` from now on, or on none, with this weight.
    fn set_member(&mut self, task: TaskId, queue: Option<QueueId>, weight: u64) {
        let before = std::mem::replace(&mut self.members[task.index()], Member { queue, weight });
        before.queue.iter().for_each(|queue| self.parts[queue.index()].inside -= before.weight);
        queue.iter().for_each(|queue| self.parts[queue.index()].inside += weight);
    }

    /// The group of `queue` has this weight on the queue around it from now on.
    fn set_part(&mut self, queue: QueueId, around: QueueId, weight: u64) {
        let before = std::mem::replace(&mut self.parts[queue.index()].weight, weight);
        let inside = &mut self.parts[around.index()].inside;
        *inside = *inside - before + weight;
    }

    /// Factor of the weight that a group with `tasks` runnable tasks divides among CPUs; `None` if each has all of it.
    fn multiple(&self, group: GroupId, tasks: impl FnOnce() -> u64) -> Option<u64> {
        let cpus = self.widths[group.index()].max(1);
        match self.mode {
            CgroupMode::Up => None,
            CgroupMode::Smp => Some(1),
            CgroupMode::Concur => Some(tasks().min(cpus)),
            CgroupMode::Max => Some(cpus),
            CgroupMode::Tasks => Some(tasks()),
        }
    }
}

/// The queues that are charged for what runs on `cpu`: those of the timeline, else those on the path of the last pick.
pub(super) fn charged<'a>(timeline: Option<&'a Timeline>, paths: &'a [Vec<QueueId>], cpu: CpuId) -> &'a [QueueId] {
    &timeline.map_or(paths, |timeline| &timeline.charged)[cpu.index()]
}

impl<O: Order> Hierarchy<O> {
    /// Weight, among its siblings, of the group of `queue`, which has tasks on that CPU.
    fn part_on_timeline(&self, cx: &Context, loads: &mut Loads, timeline: &Timeline, queue: QueueId) -> u64 {
        let (group, inside) = (self.group(queue), timeline.parts[queue.index()].inside);
        let whole = cx.groups[group].weight;
        let tasks = || match self.cpus {
            1 => u64::from(self.nodes[queue.index()].runnable).max(1),
            _ => loads.runnable_tasks(cx.now, queue),
        };
        let weight = match timeline.multiple(group, tasks) {
            None => whole,
            Some(n) if self.cpus == 1 => n * whole,
            Some(n) => loads.part_weight(cx.now, queue, inside, n * whole),
        };
        let most = if timeline.mode == CgroupMode::Max { Nice::WEIGHTS[0].into() } else { u64::MAX };
        weight.clamp(2, most)
    }

    /// Brings the weights of the groups around `queue` up to date, after something changed there.
    pub(super) fn weigh_groups(&mut self, cx: &Context, loads: &mut Loads, queue: QueueId) {
        let Some(mut timeline) = self.timeline.take() else { return };
        let mut below = queue;
        while let Some((around, _)) = self.owners[below.index()] {
            let before = timeline.parts[below.index()].weight;
            let is_empty = self.nodes[below.index()].queued == 0;
            let weight = if is_empty { 0 } else { self.part_on_timeline(cx, loads, &timeline, below) };
            timeline.set_part(below, around, weight);
            if is_empty && before > 0 {
                self.limits.iter_mut().for_each(|limits| limits.give_back(cx.now, below));
                loads.part_leaves(cx.now, below);
            } else if !is_empty && before == 0 {
                self.throttle_if_out(cx.now, below);
                loads.part_arrives(cx.now, below, weight);
            } else if !is_empty {
                loads.part_reweighs(cx.now, below, weight);
            }
            below = around;
        }
        self.timeline = Some(timeline);
    }

    /// Effective weight of `task`, which is in a group's queue.
    fn weight_on_timeline(&self, timeline: &Timeline, task: TaskId) -> Weight {
        let Member { queue, weight } = timeline.members[task.index()];
        let (mut next, mut scaled) = (queue, u128::from(weight) * u128::from(UNIT));
        while let Some(queue) = next {
            let owner = self.owners[queue.index()];
            if owner.is_some() {
                let Part { inside, weight } = timeline.parts[queue.index()];
                scaled = scaled * u128::from(weight) / u128::from(inside.max(1));
            }
            next = owner.map(|(around, _)| around);
        }
        Weight::of((scaled / u128::from(UNIT)).max(2) as u64)
    }

    /// Adds a task to the one queue of `cpu`, which has `tasks` tasks. What runs there was accounted up to now.
    pub(super) fn join_timeline(
        &mut self,
        cx: &Context,
        loads: &mut Loads,
        (cpu, tasks): (CpuId, u32),
        task: TaskId,
        traits: Traits,
        how: Arrival,
    ) {
        let queue = self.queue(cx.tasks.group(task), cpu);
        self.count(queue, 1, 1);
        let traits = self.traits_on_timeline(cx, loads, queue, task, traits);
        self.order.enqueue(cx, (QueueId(cpu.0), tasks), self.entity(task), traits, how);
        if self.current(cpu) == Some(task) {
            // It may be in another group than before.
            self.charge_groups(cpu, task);
        }
    }

    /// The time of `task`, which runs on `cpu`, is charged to its groups.
    fn charge_groups(&mut self, cpu: CpuId, task: TaskId) {
        let Some(timeline) = &mut self.timeline else { return };
        let mut next = timeline.queue(task);
        let charged = &mut timeline.charged[cpu.index()];
        charged.clear();
        while let Some(queue) = next
            && let Some((around, _)) = self.owners[queue.index()]
        {
            charged.push(queue);
            next = Some(around);
        }
    }

    /// Wakes a task that sleeps but is still queued.
    pub(super) fn rewake_on_timeline(
        &mut self,
        cx: &Context,
        loads: &mut Loads,
        cpu: CpuId,
        task: TaskId,
        traits: Traits,
    ) {
        let Some(queue) = self.group_queue(task) else { return };
        self.count(queue, 0, 1);
        let traits = self.traits_on_timeline(cx, loads, queue, task, traits);
        self.order.rewake(cx, QueueId(cpu.0), self.entity(task), traits);
    }

    /// Puts `task`, with the traits `own`, into its group's `queue`, updates the weights of the groups, and returns the
    /// traits with the effective weight.
    fn traits_on_timeline(
        &mut self,
        cx: &Context,
        loads: &mut Loads,
        queue: QueueId,
        task: TaskId,
        own: Traits,
    ) -> Traits {
        self.timeline.iter_mut().for_each(|it| it.set_member(task, Some(queue), own.weight.value));
        self.weigh_groups(cx, loads, queue);
        let weight = self.timeline.as_ref().map(|timeline| self.weight_on_timeline(timeline, task));
        Traits { weight: weight.unwrap_or(own.weight), ..own }
    }

    /// A task leaves the one queue of its CPU; one that sleeps may stay queued.
    pub(super) fn leave_timeline(&mut self, cx: &Context, loads: &mut Loads, task: TaskId, how: Departure) {
        let entity = self.entity(task);
        let (Some(home), Some(queue)) = (self.order.home(entity), self.group_queue(task)) else { return };
        let wanted = !self.order.is_delayed(entity);
        self.order.dequeue(cx, home, entity, how);
        let stays = self.order.home(entity).is_some();
        self.count(queue, if stays { 0 } else { -1 }, if wanted { -1 } else { 0 });
        if !stays {
            self.timeline.iter_mut().for_each(|timeline| timeline.set_member(task, None, timeline.weight(task)));
            self.weigh_groups(cx, loads, queue);
        }
    }

    /// Gives the task that runs on `cpu` the weight that its groups leave it now.
    fn reweigh_running(&mut self, cx: &Context, cpu: CpuId) {
        let Some((task, timeline)) = self.current(cpu).zip(self.timeline.as_ref()) else { return };
        let weight = self.weight_on_timeline(timeline, task);
        self.order.reweigh(cx, QueueId(cpu.0), self.entity(task), weight);
    }

    /// Brings the weights of the task that runs on `cpu` and of its groups up to date.
    pub(super) fn refresh_timeline(&mut self, cx: &Context, loads: &mut Loads, cpu: CpuId) {
        let queue = self.current(cpu).and_then(|task| self.group_queue(task));
        queue.iter().for_each(|queue| self.weigh_groups(cx, loads, *queue));
        self.reweigh_running(cx, cpu);
    }

    /// `task` was picked: its groups are charged while it runs, and those out of quota are throttled.
    pub(super) fn begin_on_timeline(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        self.charge_groups(cpu, task);
        let mut next = self.group_queue(task);
        while let Some(queue) = next {
            self.throttle_if_out(cx.now, queue);
            next = self.owner(queue).map(|(around, _)| around);
        }
        self.reweigh_running(cx, cpu);
    }
}

#[cfg(test)]
impl Timeline {
    /// True if the weights on `queue` sum up those of its tasks and of the queues `below` it, and if it has a weight
    /// itself unless it `is_empty`.
    pub fn is_sound(&self, queue: QueueId, below: impl Iterator<Item = QueueId>, is_empty: bool) -> bool {
        let Part { inside, weight } = self.parts[queue.index()];
        let members = self.members.iter().filter(|member| member.queue == Some(queue)).map(|member| member.weight);
        let groups = below.map(|queue| self.parts[queue.index()].weight);
        let is_root = queue.index() < self.parts.len() / self.widths.len();
        inside == members.chain(groups).sum::<u64>() && (is_root || (weight == 0) == is_empty)
    }
}
