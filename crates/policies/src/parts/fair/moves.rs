//! Moves of a pass of balancing: the tasks that it takes from the busiest queue, one by one.
//!
//! Source: specs/smp.md sections 3.3, 3.5 and 3.8.

use super::domains::{Domain, Imbalance};
use super::order::Order;
use super::{Running, Stack};
use goodness_core::{Context, CpuId, Effort, Level, Machine, Pull, Span, TaskId};

/// A task that ran more recently than this counts as cache-hot.
const MIGRATION_COST: Span = Span::from_us(500);
/// Failed passes beyond the cache-hot ones after which a task is moved although it runs.
const ACTIVE_TRIES: u32 = 2;

/// Tasks on their way from one CPU to another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moving {
    pub domain: Domain,
    pub from: CpuId,
    pub to: CpuId,
    pub to_idle: bool,
    /// The receiver just ran out of work.
    pub is_newly: bool,
    /// The task is to move because it is too large for its CPU, or real-time tasks leave little to it.
    pub is_misfit: bool,
    amount: Imbalance,
    /// Candidates that may still be looked at.
    looks: u32,
    moved: u32,
    pub is_any_pinned: bool,
    are_all_pinned: bool,
}

impl Moving {
    pub fn new(domain: Domain, from: CpuId, to: CpuId, to_idle: bool, amount: Imbalance, looks: u32) -> Moving {
        Moving {
            domain,
            from,
            to,
            to_idle,
            is_newly: false,
            is_misfit: false,
            amount,
            looks,
            moved: 0,
            is_any_pinned: false,
            are_all_pinned: true,
        }
    }

    /// True if it looked at tasks, and none may run on its CPU.
    pub fn is_all_pinned(&self) -> bool {
        self.moved == 0 && self.is_any_pinned && self.are_all_pinned
    }
}

impl<O: Order> Stack<O> {
    /// The next task that `moving` moves. One that sleeps is moved here, without the host.
    pub(super) fn next_move(&mut self, cx: &Context, moving: &mut Moving) -> Option<Pull> {
        let Moving { from, to, .. } = *moving;
        if moving.moved == 0 && self.tasks(from) <= 1 {
            // None is looked at, so none is known to be pinned.
            moving.are_all_pinned = false;
            return None;
        }
        let failed = self.balancer.attempt(to, moving.domain.level).failed;
        while moving.looks > 0 && !moving.amount.is_none() {
            if moving.to_idle && self.tasks(from) <= 1 || moving.is_newly && moving.moved > 0 {
                return None;
            }
            moving.looks -= 1;
            let task = self.loads.longest_waiting(from)?;
            cx.examined(Effort::Balance, 1);
            if !(self.may_move(cx, moving, task, failed) && self.takes(cx, moving, task, failed)) {
                self.loads.refused(from, task);
                continue;
            }
            moving.moved += 1;
            if !self.loads.is_delayed(task) {
                return Some(Pull { task, from, to });
            }
            self.move_delayed(cx, from, to, task);
        }
        None
    }

    /// Moves `task`, which sleeps but is still queued.
    fn move_delayed(&mut self, cx: &Context, from: CpuId, to: CpuId, task: TaskId) {
        self.catch_up(cx, from);
        self.catch_up(cx, to);
        self.order.move_delayed(cx, &mut self.loads, to, task);
        self.loads.moves_delayed(cx, to, task);
        if self.cpus[to.index()].running == Running::Nothing && self.order.runnable(to) == 0 {
            // As an idle CPU would pick again: sleepers that it finds leave.
            let picked = self.order.pick(cx, &mut self.loads, to);
            debug_assert!(picked.is_none(), "nobody is runnable on {to:?}");
        }
        for cpu in [from, to] {
            self.watch_server(cx, cpu);
            self.note_tasks(cx, cpu);
        }
    }

    /// True if nothing but its size keeps `task` where it is.
    fn may_move(&self, cx: &Context, moving: &mut Moving, task: TaskId, failed: u32) -> bool {
        let Moving { from, to, domain, .. } = *moving;
        let version = self.balancer.version;
        let is_load = matches!(moving.amount, Imbalance::Load(_));
        if self.order.is_limited(task) {
            return false;
        }
        if !version.counts_delayed && !is_load && self.loads.is_delayed(task) {
            return false;
        }
        if version.keeps_ineligible && failed == 0 && self.order.runnable(to) > 0 && self.order.is_ahead(task) {
            return false;
        }
        if !cx.tasks.may_run(task, to) {
            moving.is_any_pinned = true;
            return false;
        }
        moving.are_all_pinned = false;
        if self.cpus[from.index()].running == Running::Fair(task) {
            return false;
        }
        let is_hot = domain.level != Level::Smt
            && !self.loads.is_background(task)
            && self.loads.ran_within(cx.now, task, MIGRATION_COST);
        !is_hot || failed > domain.tries()
    }

    /// True if `task` is not larger than what is left of the amount, which then becomes smaller.
    fn takes(&mut self, cx: &Context, moving: &mut Moving, task: TaskId, failed: u32) -> bool {
        let shift = failed.min(u64::BITS - 1);
        match &mut moving.amount {
            Imbalance::Tasks(left) => *left -= 1,
            Imbalance::Misfit => {
                if self.fits(cx, task, moving.from) {
                    return false;
                }
                moving.amount = Imbalance::Tasks(0);
            }
            Imbalance::Load(left) => {
                let load = self.loads.of_task(cx.now, task).max(1);
                if load >> shift > *left {
                    return false;
                }
                *left = left.saturating_sub(load);
            }
            Imbalance::Util(left) => {
                let util = self.loads.estimate(task);
                let shift = if self.balancer.version.shifts_util { shift } else { 0 };
                if util >> shift > *left {
                    return false;
                }
                *left = left.saturating_sub(util);
            }
        }
        true
    }

    /// Tells the level above if tasks that may not run everywhere kept `moving` from what it wanted.
    pub(super) fn note_pinned(&mut self, machine: &Machine, moving: &Moving) {
        if moving.is_any_pinned && !moving.amount.is_none() {
            self.balancer.set_pinned(machine, moving.to, moving.domain.level, true);
        }
    }

    /// Ends a pass: the next comes sooner or later. Returns the task that is moved although it runs.
    pub(super) fn end_pass(&mut self, cx: &Context, moving: &Moving) -> Option<Pull> {
        let Moving { domain, to, is_newly, .. } = *moving;
        let (machine, level) = (&cx.machine, domain.level);
        self.balancer.dropped.clear();
        self.note_pinned(machine, moving);
        if moving.is_all_pinned() {
            self.balancer.back_off(machine, to, level, is_newly, true);
            return None;
        }
        self.balancer.reset_interval(machine, to, level);
        let attempt = self.balancer.attempt(to, level);
        if moving.moved > 0 {
            attempt.failed = 0;
            return None;
        }
        attempt.failed += u32::from(!is_newly && !moving.is_misfit);
        self.active_move(cx, moving)
    }

    /// Active balance: after a pass that moved nothing, the CPU with the tasks is interrupted, and the task that waited
    /// longest moves. That may be the one that ran.
    fn active_move(&mut self, cx: &Context, moving: &Moving) -> Option<Pull> {
        let Moving { domain, from, to, .. } = *moving;
        let failed = self.balancer.attempt(to, domain.level).failed;
        let is_stuck = matches!(moving.amount, Imbalance::Tasks(_)) && failed > domain.tries() + ACTIVE_TRIES;
        let is_misfit = moving.amount == Imbalance::Misfit;
        if !is_stuck && !is_misfit && !self.is_better_off(cx, moving) {
            return None;
        }
        let (Running::Fair(current) | Running::Realtime(current, _) | Running::Reserved(current)) =
            self.cpus[from.index()].running
        else {
            return None;
        };
        if !cx.tasks.may_run(current, to) {
            return None;
        }
        let task = self.loads.waiting_longest_first(from).find(|task| {
            cx.examined(Effort::Balance, 1);
            !self.loads.is_delayed(*task) && cx.tasks.may_run(*task, to)
        })?;
        self.balancer.attempt(to, domain.level).failed = 0;
        Some(Pull { task, from, to })
    }

    /// True if the only fair task of a CPU of which real-time tasks use much would have more on the idle one.
    fn is_better_off(&mut self, cx: &Context, moving: &Moving) -> bool {
        let Moving { domain, from, to, to_idle, .. } = *moving;
        let percent = domain.percent();
        let averages = self.loads.of_cpu(cx.now, from);
        let there = averages.capacity * percent;
        let here = self.loads.of_cpu(cx.now, to).capacity * 100;
        to_idle && self.fair_tasks(from) == 1 && there < averages.whole * 100 && there < here
    }
}

#[cfg(test)]
mod tests;
