//! The placements of a policy: what it claims of the CPU that it chose must agree with who runs and waits where.

use goodness_core::{Class, Context, CpuId, Enqueue, GroupId, Level, Placement, TaskId};
use goodness_observe::asked::Placed;

/// True if `claim` agrees with the state in which the CPU was chosen.
pub(crate) fn agrees(placed: &Placed, claim: Placement) -> bool {
    let Placed { cx, task, cpu, why, .. } = *placed;
    let may_run = |it: &CpuId| cx.tasks.may_run(task, *it);
    let near = || cx.machine.group(cpu, Level::Cache).iter().copied().filter(may_run);
    let is_woken = matches!(why, Enqueue::Wakeup { .. });
    match claim {
        Placement::OnlyCpu | Placement::OnlyOnline => {
            let are_online = cx.machine.cpu_ids().all(|it| cx.groups[GroupId::ROOT].cpus.contains(it));
            let is_only = cx.machine.cpu_ids().filter(may_run).count() == 1 && may_run(&cpu);
            is_only && (claim == Placement::OnlyCpu) == are_online
        }
        Placement::IdleCpu => placed.running(cpu).is_none_or(|it| gives_way(cx, it)),
        // Balancing may have moved it while it slept, which only the policy knows.
        Placement::StillQueued => is_woken && may_run(&cpu) && !placed.is_idle(cpu),
        Placement::NoneIdleNear => is_woken && !near().any(|it| placed.is_idle(it)),
        Placement::SearchEnded { looked_at } => {
            is_woken && !placed.is_idle(cpu) && (looked_at as usize) < near().count()
        }
        Placement::NoneIdle => !cx.machine.cpu_ids().filter(may_run).any(|it| placed.is_idle(it)),
        Placement::StaysWithParent => {
            matches!(why, Enqueue::Fork { parent: Some(_) }) && cx.tasks.cpu(task) == cpu && !placed.is_idle(cpu)
        }
        Placement::LessUrgent => placed.running(cpu).is_some_and(|it| !is_as_urgent(cx, it, task)),
        Placement::NoneLessUrgent => {
            // A CPU that decides has nobody running, and is not idle.
            let is_none = |it: CpuId| placed.running(it).map_or(!placed.is_idle(it), |it| is_as_urgent(cx, it, task));
            cx.machine.cpu_ids().filter(may_run).all(is_none)
        }
    }
}

/// True if `task` does not stop `running`. Of two reservations it is not known which has the earlier deadline.
fn is_as_urgent(cx: &Context, running: TaskId, task: TaskId) -> bool {
    let urgency = |it: TaskId| match cx.tasks.class(it) {
        Class::Deadline => u8::MAX,
        class if class.is_realtime() => cx.tasks[it].rt_priority,
        _ => 0,
    };
    urgency(running) >= urgency(task)
}

/// True if a task that is not SCHED_IDLE may stop `task` at once. An idle group makes its tasks idle.
fn gives_way(cx: &Context, task: TaskId) -> bool {
    cx.tasks.class(task) == Class::Idle || cx.groups.count() > 1
}
