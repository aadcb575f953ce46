//! Placement of a new task, and of one that replaces its program: from the largest domain down, the idlest group, and
//! in it the idlest CPU. Tasks that are there from the start have no parent and are spread.
//!
//! Source: specs/smp.md section 4.6. Departure: idle CPUs have no idle states; the one that became idle last is taken.
//! Left out: the node that a task prefers.

use super::Stack;
use super::domains::{Domain, Group, Kind, beyond_allowed};
use super::load::FULL;
use super::order::Order;
use super::reserved::is_fair;
use goodness_core::{Context, CpuId, Effort, Level, TaskId};

/// Groups that differ by less load per capacity are alike, unless the ratio says otherwise: a part of a task of nice 0.
const fn margin(percent: u64) -> u64 {
    1_024 * (percent - 100) / 100
}

/// A group as a place for a new task.
struct Place<'a> {
    kind: Kind,
    sums: Group,
    cpus: &'a [CpuId],
}

impl Place<'_> {
    /// True if a new task is better off here than in `other`, which was looked at before.
    fn is_idler(&self, other: &Place) -> bool {
        if self.kind != other.kind {
            return self.kind < other.kind;
        }
        match self.kind {
            Kind::Spare => {
                let (own, than) = (&self.sums, &other.sums);
                own.idle > than.idle || (own.idle == than.idle && own.util < than.util)
            }
            Kind::Full | Kind::Overloaded => self.sums.density() < other.sums.density(),
            Kind::Misfit | Kind::SharedCore | Kind::Pinned => false,
        }
    }

    /// True if a new task leaves this group, which its parent is in, for `other`. Nodes may be as unequal as `allowed`
    /// says.
    fn is_left_for(&self, other: &Place, domain: Domain, allowed: u64) -> bool {
        if self.kind != other.kind {
            return self.kind > other.kind;
        }
        let percent = domain.percent();
        let (own, than) = (self.sums.density(), other.sums.density());
        match self.kind {
            Kind::Spare => {
                let more = other.sums.idle.saturating_sub(self.sums.idle);
                beyond_allowed(more, self.sums.tasks, allowed) > 0
            }
            Kind::Full | Kind::Overloaded if domain.level == Level::Machine && than + margin(percent) >= own => false,
            Kind::Full | Kind::Overloaded => than < own + margin(percent) && 100 * own > percent * than,
            Kind::Misfit | Kind::SharedCore | Kind::Pinned => false,
        }
    }
}

impl<O: Order> Stack<O> {
    /// The CPU for a task without a parent, which is there from the start: as after balancing, in the cache group with
    /// the fewest tasks per CPU an idle CPU, of an idle core if there is one, the fastest, or the one with the least
    /// weight for its capacity. Ties go to the nearest CPU from `before` on.
    pub(super) fn place_launched(&mut self, cx: &Context, task: TaskId, before: CpuId) -> CpuId {
        let affinity = &cx.tasks[task].affinity;
        let groups = cx.machine.groups(Level::Cache);
        let home = self.wakeups.cache_group(before);
        let order = (home..groups.len()).chain(0..home);
        cx.examined(Effort::Balance, groups.len() as u32);
        let allowed = |index: usize| groups[index].iter().any(|cpu| affinity.contains(*cpu));
        let crowd = |index: &usize| self.wakeups.crowd(*index, groups[*index].len() as u64);
        let members = &groups[order.filter(|index| allowed(*index)).min_by_key(crowd).unwrap_or(home)];
        let (low, high) = members.split_at(members.partition_point(|cpu| *cpu < before));
        cx.examined(Effort::Balance, members.len() as u32);
        let is_free = |cpu: CpuId| cx.machine.group(cpu, Level::Smt).iter().all(|it| self.is_idle(*it));
        let key = |cpu: &CpuId| {
            let is_quiet = self.has_only_background(*cpu);
            let capacity = u64::from(cx.machine.cpu(*cpu).capacity);
            let weight = self.loads.weight(*cpu) * FULL / capacity;
            (!is_quiet, !self.is_idle(*cpu), !is_free(*cpu), weight, std::cmp::Reverse(capacity))
        };
        high.iter().chain(low).copied().filter(|cpu| affinity.contains(*cpu)).min_by_key(key).unwrap_or(before)
    }

    /// The CPU for a new task, whose parent is on `parent`.
    pub(super) fn place_new(&mut self, cx: &Context, task: TaskId, parent: CpuId) -> CpuId {
        self.idlest_from(cx, task, parent, None)
    }

    /// The CPU for a fair task that runs on `cpu` and replaces its program: as for a new one, with itself counted out.
    /// Tasks of other classes stay.
    pub(super) fn place_at_exec(&mut self, cx: &Context, task: TaskId, cpu: CpuId) -> CpuId {
        let has_choice = cx.machine.cpu_count() > 1 && is_fair(cx, task);
        if has_choice { self.idlest_from(cx, task, cpu, Some(cpu)) } else { cpu }
    }

    /// Goes down from the largest domain around `start`. The task is running on `own` already, if anywhere.
    fn idlest_from(&mut self, cx: &Context, task: TaskId, start: CpuId, own: Option<CpuId>) -> CpuId {
        let (mut cpu, mut size) = (start, usize::MAX);
        while let Some(domain) = below(cx, cpu, size) {
            size = cx.machine.group(cpu, domain.level).len();
            let Some(group) = self.idlest_group(cx, (task, own), domain, cpu) else { continue };
            cpu = self.idlest_cpu(cx, task, group).unwrap_or(cpu);
        }
        cpu
    }

    /// The group of `domain` that a task leaves that of `cpu` for. If it runs already, `own` is its CPU.
    fn idlest_group<'a>(
        &mut self,
        cx: &'a Context,
        (task, own): (TaskId, Option<CpuId>),
        domain: Domain,
        cpu: CpuId,
    ) -> Option<&'a [CpuId]> {
        let affinity = &cx.tasks[task].affinity;
        let (mut local, mut idlest) = (None, None::<Place>);
        for (number, cpus) in domain.groups(&cx.machine, cpu).enumerate() {
            if !cpus.iter().any(|it| affinity.contains(*it)) {
                continue;
            }
            let mut sums = self.measure(cx, domain, cpus, false);
            if let Some(own) = own.filter(|own| cpus.contains(own)) {
                self.count_out(cx, task, own, &mut sums);
            }
            let kind = sums.kind(domain.percent(), false, self.balancer.version);
            let place = Place { kind, sums, cpus };
            if number == 0 {
                local = Some(place);
            } else if idlest.as_ref().is_none_or(|other| place.is_idler(other)) {
                idlest = Some(place);
            }
        }
        match (local, idlest) {
            (Some(local), Some(idlest)) => {
                local.is_left_for(&idlest, domain, domain.allowed(&cx.machine, cpu)).then_some(idlest.cpus)
            }
            (None, Some(idlest)) => Some(idlest.cpus),
            (_, None) => None,
        }
    }

    /// Takes `task`, which runs on `cpu`, out of the sums of a group with that CPU.
    fn count_out(&mut self, cx: &Context, task: TaskId, cpu: CpuId, sums: &mut Group) {
        let [without, with] = self.loads.without(cx.now, cpu, task);
        sums.load -= with.load - without.load;
        sums.runnable -= with.runnable - without.runnable;
        sums.util -= with.util - without.util;
        sums.tasks -= 1;
        sums.fair -= 1;
        sums.idle += u64::from(self.tasks(cpu) == 1);
    }

    /// The CPU of `group` for a new task: one with SCHED_IDLE tasks alone, else the one that became idle last, else the
    /// one with the least load.
    fn idlest_cpu(&mut self, cx: &Context, task: TaskId, group: &[CpuId]) -> Option<CpuId> {
        let affinity = &cx.tasks[task].affinity;
        let mut allowed = group.iter().copied().filter(|cpu| affinity.contains(*cpu));
        if let Some(background) = allowed.clone().find(|cpu| self.has_only_background(*cpu)) {
            return Some(background);
        }
        let idle = allowed.clone().filter(|cpu| self.is_idle(*cpu));
        let last = idle
            .reduce(|best, cpu| if self.wakeups.idle_since(cpu) > self.wakeups.idle_since(best) { cpu } else { best });
        last.or_else(|| {
            let first = allowed.next()?;
            let mut least = (self.loads.of_cpu(cx.now, first).load, first);
            for cpu in allowed {
                let load = self.loads.of_cpu(cx.now, cpu).load;
                least = if load < least.0 { (load, cpu) } else { least };
            }
            Some(least.1)
        })
    }
}

/// The largest domain around `cpu` with fewer than `size` CPUs.
fn below(cx: &Context, cpu: CpuId, size: usize) -> Option<Domain> {
    Domain::around(&cx.machine, cpu).filter(|it| cx.machine.group(cpu, it.level).len() < size).last()
}
