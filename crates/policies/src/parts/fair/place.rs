//! Placement of a woken or new task: near its waker or its previous CPU, preferably on an idle CPU.
//!
//! Source: Linux 5.x and later, specs section 5.1 and 5.5 (SMP): wake-affine, then an idle CPU that shares the target's
//! cache; forks go to the idlest CPU. Load is an average with a half-life of about 32 ms. The busier the CPUs were, the
//! fewer are scanned, and none above 60 percent of two CPUs' time (SIS_UTIL of Linux 6.0 and later; the other profiles
//! do the same).
//! Left out: cores of unequal capacity, preference for idle cores.

use super::{Order, Running, Stack};
use crate::parts::fair::weight::Weight;
use goodness_core::policy::previous_cpu;
use goodness_core::{Context, CpuId, Effort, Enqueue, Level, Machine, PerTask, TaskId, Time};

/// Time after which an average forgets half, ns.
const HALF_LIFE: u64 = 32 << 20;
/// Bits after the point in averages.
const SCALE: u32 = 10;
/// Load of the busiest CPU, in percent of its own, that counts as balanced among CPUs that share a cache.
const IMBALANCE: u64 = 117;
/// Bias of the wake-affine comparison towards the previous CPU, percent.
const AFFINE_BIAS: i128 = 108;

/// A weight that decays.
#[derive(Clone, Copy, Debug, Default)]
struct Average {
    value: i64,
    at: Time,
}

impl Average {
    /// Brings the average up to `now`; `weight` was there since the last time.
    #[inline]
    fn advance(&mut self, now: Time, weight: u64) {
        let target = (weight as i64) << SCALE;
        let mut passed = now.since(self.at).0;
        self.at = now;
        let mut away = self.value - target;
        let halvings = passed / HALF_LIFE;
        away = if halvings > 40 { 0 } else { away >> halvings };
        passed %= HALF_LIFE;
        // Eight steps of 2^(−x) ≈ 1 / (1 + 0.7 x) per half-life are exact to a percent.
        let step = HALF_LIFE / 8;
        while passed > 0 {
            let part = passed.min(step);
            away -= (i128::from(away) * i128::from(part) * 83 / (i128::from(HALF_LIFE) * 120 + i128::from(part) * 40))
                as i64;
            passed -= part;
        }
        self.value = target + away;
    }
}

/// State of one task, as placement needs it.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    load: Average,
    /// CPU and weight with which it is counted as runnable.
    counted: Option<(CpuId, u64)>,
    last_wakee: Option<TaskId>,
    /// Number of times it woke another task than the time before; halved each second.
    flips: u32,
    flips_at: Time,
    /// Time at which it last left a CPU.
    ran_at: Time,
}

/// State of one CPU, as placement needs it.
#[derive(Clone, Copy, Debug, Default)]
struct Crowd {
    idle: bool,
    weight: u64,
    load: Average,
}

/// The state of placement.
#[derive(Debug)]
pub struct Placement {
    usage: PerTask<Usage>,
    crowds: Vec<Crowd>,
    /// Idle CPUs and runnable tasks by cache group, in the machine's order.
    groups: Vec<(u32, u32)>,
    /// Number of busy CPUs by cache group, and its average.
    busy: Vec<(u32, Average)>,
    group_of: Vec<u32>,
}

impl Placement {
    pub fn new(machine: &Machine) -> Placement {
        let mut group_of = vec![0; machine.cpu_count()];
        let mut groups = Vec::new();
        for (index, group) in machine.groups(Level::Cache).iter().enumerate() {
            groups.push((group.len() as u32, 0));
            group.iter().for_each(|cpu| group_of[cpu.index()] = index as u32);
        }
        let crowd = Crowd { idle: true, ..Crowd::default() };
        let busy = vec![(0, Average::default()); groups.len()];
        Placement { usage: PerTask::default(), crowds: vec![crowd; machine.cpu_count()], groups, busy, group_of }
    }

    pub fn admit(&mut self, task: TaskId) {
        self.usage.admit(task);
    }

    /// Records whether `cpu` is idle.
    #[inline]
    pub fn note(&mut self, cpu: CpuId, idle: bool) {
        let crowd = &mut self.crowds[cpu.index()];
        if crowd.idle != idle {
            crowd.idle = idle;
            let group = &mut self.groups[self.group_of[cpu.index()] as usize];
            group.0 = if idle { group.0 + 1 } else { group.0 - 1 };
        }
    }

    /// Makes `task` runnable on `cpu`.
    pub fn arrives(&mut self, cx: &Context, cpu: CpuId, task: TaskId) {
        let weight = Weight::of_task(&cx.tasks[task], 3).value;
        if self.usage[task].counted == Some((cpu, weight)) {
            return;
        }
        self.leaves(cx, task);
        let usage = &mut self.usage[task];
        usage.load.advance(cx.now, 0);
        usage.counted = Some((cpu, weight));
        let crowd = &mut self.crowds[cpu.index()];
        crowd.load.advance(cx.now, crowd.weight);
        let group = self.group_of[cpu.index()] as usize;
        if crowd.weight == 0 {
            let (busy, average) = &mut self.busy[group];
            average.advance(cx.now, (*busy).into());
            *busy += 1;
        }
        crowd.weight += weight;
        self.groups[group].1 += 1;
    }

    /// Makes `task` not runnable.
    pub fn leaves(&mut self, cx: &Context, task: TaskId) {
        let usage = &mut self.usage[task];
        let Some((cpu, weight)) = usage.counted.take() else { return };
        usage.load.advance(cx.now, weight);
        let crowd = &mut self.crowds[cpu.index()];
        crowd.load.advance(cx.now, crowd.weight);
        crowd.weight -= weight;
        let group = self.group_of[cpu.index()] as usize;
        if crowd.weight == 0 {
            let (busy, average) = &mut self.busy[group];
            average.advance(cx.now, (*busy).into());
            *busy -= 1;
        }
        self.groups[group].1 -= 1;
    }

    /// Number of CPUs sharing a cache with `cpu` to scan for an idle one: the busier they were, the fewer.
    fn worth_scanning(&mut self, now: Time, cpu: CpuId, size: u32) -> u32 {
        let (busy, average) = &mut self.busy[self.group_of[cpu.index()] as usize];
        average.advance(now, (*busy).into());
        let share = (average.value.max(0) as u64) / u64::from(size);
        let weighed = share * share * IMBALANCE * IMBALANCE / (10_000 << SCALE);
        let spare = (1u64 << SCALE).saturating_sub(weighed);
        ((spare * u64::from(size)) >> SCALE) as u32
    }

    /// `task` stopped running now.
    #[inline]
    pub fn stopped(&mut self, now: Time, task: TaskId) {
        self.usage[task].ran_at = now;
    }

    /// Time at which `task` last stopped running.
    pub fn ran_at(&self, task: TaskId) -> Time {
        self.usage[task].ran_at
    }

    /// Total weight of the tasks runnable on `cpu`.
    pub fn weight(&self, cpu: CpuId) -> u64 {
        self.crowds[cpu.index()].weight
    }

    /// Idle CPUs among those that share a cache with `cpu`.
    pub fn idle_nearby(&self, cpu: CpuId) -> u32 {
        self.groups[self.group_of[cpu.index()] as usize].0
    }

    fn load(&mut self, now: Time, cpu: CpuId) -> i128 {
        let crowd = &mut self.crowds[cpu.index()];
        crowd.load.advance(now, crowd.weight);
        i128::from(crowd.load.value)
    }

    fn load_of(&mut self, now: Time, task: TaskId) -> i128 {
        let usage = &mut self.usage[task];
        usage.load.advance(now, usage.counted.map_or(0, |c| c.1));
        i128::from(usage.load.value)
    }

    /// Notes that `waker` wakes `task`; whether the two are part of a crowd too wide to be pulled together.
    fn is_wide(&mut self, cx: &Context, waker: TaskId, task: TaskId, cache_size: u32) -> bool {
        let usage = &mut self.usage[waker];
        if cx.now.since(usage.flips_at).0 > 1_000_000_000 {
            usage.flips /= 2;
            usage.flips_at = cx.now;
        }
        if usage.last_wakee != Some(task) {
            usage.last_wakee = Some(task);
            usage.flips += 1;
        }
        let (a, b) = (usage.flips, self.usage[task].flips);
        let (more, less) = (a.max(b), a.min(b));
        less >= cache_size && more >= less * cache_size
    }
}

impl<O: Order> Stack<O> {
    /// Chooses a CPU for a task that becomes runnable.
    pub(super) fn choose_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        if cx.machine.cpu_count() == 1 {
            return previous_cpu(cx, task);
        }
        let before = previous_cpu(cx, task);
        if cx.tasks[task].class.is_realtime() {
            return self.least_urgent(cx, task, before);
        }
        match *why {
            Enqueue::Wakeup { waker, on, sync, .. } => {
                let target = self.affine_target(cx, task, before, waker, on, sync);
                self.idle_near(cx, task, target, before)
            }
            _ => self.idlest(cx, task, before),
        }
    }

    /// True if nothing is running or waiting on `cpu`.
    pub(super) fn is_idle(&self, cpu: CpuId) -> bool {
        let it = &self.cpus[cpu.index()];
        it.running == Running::Nothing && self.order.queued(cpu) == 0 && it.realtime.queued() == 0
    }

    /// The task that runs on `cpu`.
    fn runs_on(&self, cpu: CpuId) -> Option<TaskId> {
        match self.cpus[cpu.index()].running {
            Running::Nothing => None,
            Running::Fair(task) | Running::Realtime(task, _) => Some(task),
        }
    }

    /// Wake-affine: chooses between the waker's CPU and the previous CPU.
    fn affine_target(
        &mut self,
        cx: &Context,
        task: TaskId,
        before: CpuId,
        waker: Option<TaskId>,
        on: CpuId,
        sync: bool,
    ) -> CpuId {
        let cache_size = cx.machine.group(on, Level::Cache).len() as u32;
        // An interrupt wakes in the name of whatever it interrupted.
        let wide = waker.or(self.runs_on(on)).is_some_and(|w| self.placement.is_wide(cx, w, task, cache_size));
        if wide || on == before || !cx.tasks.may_run(task, on) {
            return before;
        }
        let near = cx.machine.distance(on, before).is_some_and(|level| level <= Level::Cache);
        if self.is_idle(on) && near {
            return if self.is_idle(before) { before } else { on };
        }
        if sync && self.order.runnable(on) == 1 {
            return on;
        }
        if self.is_idle(before) {
            return before;
        }
        let mine = self.placement.load_of(cx.now, task);
        let mut there = self.placement.load(cx.now, on) + mine;
        if sync && let Some(waker) = waker {
            there -= self.placement.load_of(cx.now, waker);
        }
        let here = (self.placement.load(cx.now, before) - mine).max(0);
        if there * 100 < here * AFFINE_BIAS + i128::from(sync) { on } else { before }
    }

    /// An idle CPU near `target`: itself, the task's previous one, or one that shares the cache; else `target`.
    fn idle_near(&mut self, cx: &Context, task: TaskId, target: CpuId, before: CpuId) -> CpuId {
        if self.is_idle(target) {
            return target;
        }
        let near = cx.machine.distance(target, before).is_some_and(|level| level <= Level::Cache);
        if near && self.is_idle(before) {
            return before;
        }
        if self.placement.idle_nearby(target) == 0 {
            return target;
        }
        let group = cx.machine.group(target, Level::Cache);
        let most = self.placement.worth_scanning(cx.now, target, group.len() as u32);
        let own = group.partition_point(|cpu| *cpu <= target);
        let (low, high) = group.split_at(own);
        let mut looked_at = 0;
        let found = high.iter().chain(low).copied().take(most as usize).find(|cpu| {
            looked_at += 1;
            cx.tasks.may_run(task, *cpu) && self.is_idle(*cpu)
        });
        cx.examined(Effort::Balance, looked_at);
        found.unwrap_or(target)
    }

    /// The idlest CPU for a new task: in the cache group with the fewest runnable tasks per CPU, an idle CPU or the one
    /// with the least weight; ties go to the nearest.
    fn idlest(&mut self, cx: &Context, task: TaskId, before: CpuId) -> CpuId {
        let affinity = &cx.tasks[task].affinity;
        let home = self.placement.group_of[before.index()] as usize;
        let groups = cx.machine.groups(Level::Cache);
        let order = (home..groups.len()).chain(0..home);
        cx.examined(Effort::Balance, groups.len() as u32);
        let allowed = |index: usize| groups[index].iter().any(|cpu| affinity.contains(*cpu));
        let crowd = |index: usize| {
            let (idle, runnable) = self.placement.groups[index];
            let size = groups[index].len() as u64;
            (u64::from(runnable) * 1024 / size, std::cmp::Reverse(u64::from(idle) * 1024 / size))
        };
        let group = order.filter(|index| allowed(*index)).min_by_key(|index| crowd(*index)).unwrap_or(home);
        let members = &groups[group];
        let start = members.partition_point(|cpu| *cpu < before);
        let (low, high) = members.split_at(start);
        cx.examined(Effort::Balance, members.len() as u32);
        let key = |cpu: &CpuId| (!self.is_idle(*cpu), self.placement.weight(*cpu));
        high.iter().chain(low).copied().filter(|cpu| affinity.contains(*cpu)).min_by_key(key).unwrap_or(before)
    }

    /// CPU for a real-time task: its previous one unless that runs something as urgent; else an idle CPU, one running a
    /// fair task, or one running something less urgent.
    fn least_urgent(&mut self, cx: &Context, task: TaskId, before: CpuId) -> CpuId {
        let urgency = |cpu: CpuId| match self.cpus[cpu.index()].running {
            Running::Realtime(_, priority) => priority.max(self.cpus[cpu.index()].realtime.best_waiting()),
            _ => self.cpus[cpu.index()].realtime.best_waiting(),
        };
        let it = &cx.tasks[task];
        if urgency(before) < it.rt_priority {
            return before;
        }
        cx.examined(Effort::Balance, cx.machine.cpu_count() as u32);
        let best = cx
            .machine
            .cpu_ids()
            .filter(|cpu| it.affinity.contains(*cpu))
            .min_by_key(|cpu| (urgency(*cpu), !self.is_idle(*cpu), cx.machine.distance(before, *cpu)))
            .unwrap_or(before);
        if urgency(best) < it.rt_priority { best } else { before }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Number of two CPUs that are looked at when both together had work for this many percent of the time.
    fn scanned(percent: i64) -> u32 {
        let mut placement = Placement::new(&Machine::flat(2, 250).expect("a machine"));
        placement.busy[0].1.value = (percent * 2) << SCALE;
        placement.busy[0].1.value /= 100;
        placement.worth_scanning(Time::ZERO, CpuId(0), 2)
    }

    #[test]
    fn the_search_for_an_idle_cpu_is_the_shorter_the_busier_they_were() {
        assert_eq!([0, 30, 60, 61, 90, 100].map(scanned), [2, 1, 1, 0, 0, 0]);
    }
}
