//! The rule by which a task was placed on a CPU.

use super::order::Order;
use super::reserved::is_fair;
use super::{Running, Stack};
use goodness_core::policy::{previous_cpu, without_choice};
use goodness_core::{Context, CpuId, Enqueue, Level, Placement, TaskId};

impl<O: Order> Stack<O> {
    /// Answers [`goodness_core::CpuPolicy::why_placed`]. Nothing has changed since the choice.
    pub(super) fn placement(&self, cx: &Context, task: TaskId, cpu: CpuId, why: &Enqueue) -> Option<Placement> {
        if let Some(only) = without_choice(cx, task) {
            return Some(only);
        }
        let is_woken = matches!(why, Enqueue::Wakeup { .. });
        if is_woken && self.order.home(task) == Some(cpu) {
            return Some(Placement::StillQueued);
        }
        if self.is_idle_enough(cpu) {
            return Some(Placement::IdleCpu);
        }
        if !is_fair(cx, task) {
            return self.by_urgency(cx, task, cpu);
        }
        let is_way_out = |it: CpuId| cx.tasks.may_run(task, it) && self.is_idle_enough(it);
        match *why {
            Enqueue::Wakeup { .. } => self.fruitless_search(cx, task, cpu),
            _ if !cx.machine.cpu_ids().any(is_way_out) => Some(Placement::NoneIdle),
            Enqueue::Fork { parent: Some(_) } if cpu == previous_cpu(cx, task) => Some(Placement::StaysWithParent),
            _ => None,
        }
    }

    /// The rule for a real-time task, or one with a reservation. None is told if a CPU is closed to such tasks.
    fn by_urgency(&self, cx: &Context, task: TaskId, cpu: CpuId) -> Option<Placement> {
        if self.gives_way(cx, task, cpu) {
            return Some(Placement::LessUrgent);
        }
        let mut allowed = cx.machine.cpu_ids().filter(|it| cx.tasks.may_run(task, *it));
        let is_more_urgent = |it: CpuId| !self.is_closed(it) && !self.is_idle(it) && !self.gives_way(cx, task, it);
        allowed.all(is_more_urgent).then_some(Placement::NoneLessUrgent)
    }

    /// True if what runs on `cpu` is less urgent than `task`, which is not a fair one.
    fn gives_way(&self, cx: &Context, task: TaskId, cpu: CpuId) -> bool {
        let is_reserved = !cx.tasks.class(task).is_realtime();
        match self.cpus[cpu.index()].running {
            Running::Nothing => false,
            Running::Fair(_) => true,
            Running::Realtime(_, priority) => is_reserved || priority < cx.tasks[task].rt_priority,
            Running::Reserved(current) => is_reserved && self.reserved.deadline(task) < self.reserved.deadline(current),
        }
    }

    /// The reason for which the search around `cpu`, which is busy, found no idle one.
    fn fruitless_search(&self, cx: &Context, task: TaskId, cpu: CpuId) -> Option<Placement> {
        let near = cx.machine.group(cpu, Level::Cache);
        let allowed = || near.iter().filter(|it| cx.tasks.may_run(task, **it));
        if !allowed().any(|it| self.is_idle_enough(*it)) {
            return Some(Placement::NoneIdleNear);
        }
        let is_searched = self.wakeups.idle_nearby(cpu) > 0 || self.loads.is_any_background();
        let looked_at = self.wakeups.scan(cpu);
        (is_searched && (looked_at as usize) < allowed().count()).then_some(Placement::SearchEnded { looked_at })
    }
}
