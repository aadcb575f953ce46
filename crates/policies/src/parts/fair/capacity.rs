//! CPUs of unequal capacity: which tasks fit which CPU, and where a woken one finds an idle CPU that it fits.
//!
//! Source: specs/smp.md sections 1.3, 3.4, 3.8, 4.4 and 4.7, without the energy model. Departure: whether the running
//! task fits is looked up when it is asked for; kernels note it at ticks and when they pick.

use super::order::Order;
use super::{Running, Stack};
use goodness_core::{Context, CpuId, Effort, Level, Machine, TaskId, Time};

/// True if `utilisation` leaves a fifth of `capacity` free.
fn leaves_room(utilisation: u64, capacity: u64) -> bool {
    utilisation * 1_280 < capacity * 1_024
}

/// True if capacity `a` is greater than `b` by some five per cent.
pub fn is_greater(a: u64, b: u64) -> bool {
    a * 1_024 > b * 1_078
}

/// True if the CPUs of the group of `cpu` at `level` have unequal capacities.
pub fn is_unequal(machine: &Machine, cpu: CpuId, level: Level) -> bool {
    let own = machine.cpu(cpu).capacity;
    machine.is_unequal() && machine.group(cpu, level).iter().any(|it| machine.cpu(*it).capacity != own)
}

impl<O: Order> Stack<O> {
    /// True if `task` fits `cpu`, as all do where CPUs are equal.
    pub(super) fn fits(&mut self, cx: &Context, task: TaskId, cpu: CpuId) -> bool {
        !cx.machine.is_unequal() || self.leaves_room_on(cx.now, task, cpu)
    }

    fn leaves_room_on(&mut self, now: Time, task: TaskId, cpu: CpuId) -> bool {
        leaves_room(self.loads.utilisation(now, task), self.loads.of_cpu(now, cpu).capacity)
    }

    /// Load of the task that runs on `cpu`, if it does not fit there and may run on a CPU of more capacity.
    pub(super) fn misfit(&mut self, cx: &Context, cpu: CpuId) -> Option<u64> {
        let machine = &cx.machine;
        let Running::Fair(task) = self.cpus[cpu.index()].running else { return None };
        let own = machine.cpu(cpu).capacity;
        let mut larger = machine.cpu_ids().filter(|it| machine.cpu(*it).capacity > own);
        let is_misfit = larger.any(|it| cx.tasks.may_run(task, it)) && !self.leaves_room_on(cx.now, task, cpu);
        is_misfit.then(|| self.loads.of_task(cx.now, task).max(1))
    }

    /// True if a task on any CPU does not fit there.
    pub(super) fn is_any_misfit(&mut self, cx: &Context) -> bool {
        cx.machine.is_unequal() && cx.machine.cpu_ids().any(|cpu| self.misfit(cx, cpu).is_some())
    }

    /// An idle CPU for `task` around `target` that it fits, else the idle one of most capacity, else `target`. `None`
    /// if all CPUs around are equal.
    pub(super) fn search_by_capacity(&mut self, cx: &Context, task: TaskId, target: CpuId) -> Option<CpuId> {
        let machine = &cx.machine;
        let level = Level::ALL.into_iter().find(|level| is_unequal(machine, target, *level))?;
        let span = machine.group(target, level);
        let (low, high) = span.split_at(span.partition_point(|cpu| *cpu < target));
        let (mut looked_at, mut best) = (0, None::<(u64, CpuId)>);
        for cpu in high.iter().chain(low).copied() {
            looked_at += 1;
            if !cx.tasks.may_run(task, cpu) || !self.is_idle_enough(cpu) {
                continue;
            }
            if self.leaves_room_on(cx.now, task, cpu) {
                best = Some((u64::MAX, cpu));
                break;
            }
            let capacity = self.loads.of_cpu(cx.now, cpu).capacity;
            if best.is_none_or(|(most, _)| capacity > most) {
                best = Some((capacity, cpu));
            }
        }
        cx.examined(Effort::Balance, looked_at);
        Some(best.map_or(target, |(_, cpu)| cpu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// specs/smp.md section 1.3: "fits capacity" is 80 %, "capacity greater" some 5 %.
    #[test]
    fn a_fifth_has_to_be_free_and_a_twentieth_is_not_greater() {
        assert_eq!([(409, 512), (410, 512)].map(|(util, of)| leaves_room(util, of)), [true, false]);
        assert_eq!([(1024, 972), (1024, 973), (446, 446)].map(|(a, b)| is_greater(a, b)), [true, false, false]);
        assert!(!is_greater(539, 512), "1078 to 1024 is not more");
    }
}
