//! Placement of a woken task: near its waker or its previous CPU, preferably on an idle CPU.
//!
//! Source: specs/smp.md sections 4.1 to 4.5: wake-affine, then an idle CPU that shares the target's cache. The busier
//! the CPUs were, the fewer are searched (SIS_UTIL). Where CPUs are unequal, the task must also fit.
//! Departure: whether a core is idle is looked up, not remembered.
//! Left out: clusters, energy-aware choice.

use super::domains::Domain;
use super::load::FULL;
use super::order::Order;
use super::reserved::is_fair;
use super::{Running, Stack};
use goodness_core::policy::previous_cpu;
use goodness_core::{Context, CpuId, Effort, Enqueue, Level, Machine, PerTask, Seed, TaskId, Time};

/// Bias of the wake-affine comparison towards the previous CPU, percent.
const AFFINE_BIAS: u64 = 108;
/// Flips that the first tasks of a run have from their parents, at least; a run draws whether it is one more. Read from
/// Linux 6.18 in a guest: threads of six programs that one shell started had 72, 36, 18, 19, 18 and 19 at first, where
/// the first two are what is left of the boot.
const INHERITED: u32 = 18;

/// State of one task, as placement needs it.
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// CPU on which it is counted as runnable.
    counted: Option<CpuId>,
    last_wakee: Option<TaskId>,
    /// Number of times it woke another task than the time before; halved each second.
    flips: u32,
    flips_at: Time,
    /// The CPU before the last one, as of the last search.
    recent: Option<CpuId>,
}

/// CPUs that share a cache.
#[derive(Clone, Copy, Debug)]
struct Group {
    idle: u32,
    runnable: u32,
    /// CPUs to look at in search of an idle one.
    scan: u32,
}

/// The state of wake-ups.
#[derive(Debug)]
pub struct Wakeups {
    usage: PerTask<Usage>,
    /// Flips of a task whose parent is not part of the run.
    inherited: u32,
    /// By CPU.
    idle: Vec<bool>,
    /// By CPU, the last time that it became idle.
    idle_since: Vec<Time>,
    idle_cpus: u32,
    /// By cache group, in the machine's order.
    groups: Vec<Group>,
    group_of: Vec<u32>,
}

impl Wakeups {
    pub fn new(machine: &Machine, seed: Seed) -> Wakeups {
        let mut group_of = vec![0; machine.cpu_count()];
        let mut groups = Vec::new();
        for (index, group) in machine.groups(Level::Cache).iter().enumerate() {
            let size = group.len() as u32;
            groups.push(Group { idle: size, runnable: 0, scan: size });
            group.iter().for_each(|cpu| group_of[cpu.index()] = index as u32);
        }
        let idle = vec![true; machine.cpu_count()];
        let idle_cpus = idle.len() as u32;
        let idle_since = vec![Time::ZERO; idle.len()];
        let inherited = INHERITED + seed.stream("flips", 0).rng().below(2) as u32;
        Wakeups { usage: PerTask::default(), inherited, idle, idle_since, idle_cpus, groups, group_of }
    }

    /// A new task has the flips of its parent.
    pub fn admit(&mut self, task: TaskId, parent: Option<TaskId>) {
        let (flips, flips_at) = match parent {
            Some(parent) => (self.usage[parent].flips, self.usage[parent].flips_at),
            None => (self.inherited, Time::ZERO),
        };
        *self.usage.admit(task) = Usage { flips, flips_at, ..Usage::default() };
    }

    fn group(&mut self, cpu: CpuId) -> &mut Group {
        &mut self.groups[self.group_of[cpu.index()] as usize]
    }

    /// The last time that `cpu` became idle.
    pub fn idle_since(&self, cpu: CpuId) -> Time {
        self.idle_since[cpu.index()]
    }

    /// The cache group of `cpu`, by its place in the machine's order.
    pub fn cache_group(&self, cpu: CpuId) -> usize {
        self.group_of[cpu.index()] as usize
    }

    /// Tasks per CPU of a cache group, times 1024, then its part of busy CPUs.
    pub fn crowd(&self, group: usize, cpus: u64) -> (u64, std::cmp::Reverse<u64>) {
        let Group { idle, runnable, .. } = self.groups[group];
        (u64::from(runnable) * 1024 / cpus, std::cmp::Reverse(u64::from(idle) * 1024 / cpus))
    }

    /// Records whether `cpu` is idle from `now` on.
    #[inline]
    pub fn note(&mut self, now: Time, cpu: CpuId, idle: bool) {
        if std::mem::replace(&mut self.idle[cpu.index()], idle) != idle {
            if idle {
                self.idle_since[cpu.index()] = now;
            }
            let change = |count: &mut u32| *count = if idle { *count + 1 } else { *count - 1 };
            change(&mut self.idle_cpus);
            change(&mut self.group(cpu).idle);
        }
    }

    /// Counts `task` as runnable on `cpu`.
    pub fn arrives(&mut self, cpu: CpuId, task: TaskId) {
        if self.usage[task].counted == Some(cpu) {
            return;
        }
        self.leaves(task);
        self.usage[task].counted = Some(cpu);
        self.group(cpu).runnable += 1;
    }

    /// Makes `task` not runnable.
    pub fn leaves(&mut self, task: TaskId) {
        if let Some(cpu) = self.usage[task].counted.take() {
            self.group(cpu).runnable -= 1;
        }
    }

    #[cfg(test)]
    pub fn set_flips(&mut self, task: TaskId, flips: u32) {
        self.usage[task].flips = flips;
    }

    #[cfg(test)]
    pub fn set_recent(&mut self, task: TaskId, cpu: CpuId) {
        self.usage[task].recent = Some(cpu);
    }

    #[cfg(test)]
    pub fn recent(&self, task: TaskId) -> Option<CpuId> {
        self.usage[task].recent
    }

    /// CPUs that idle.
    pub fn idle_cpus(&self) -> u32 {
        self.idle_cpus
    }

    /// The CPUs around `cpu` that share its cache were used by `util` in all: the busier, the fewer are searched.
    pub fn set_scan(&mut self, machine: &Machine, cpu: CpuId, domain: Domain, util: u64) {
        let size = machine.group(cpu, Level::Cache).len();
        if machine.group(cpu, domain.level).len() == size {
            self.group(cpu).scan = worth_scanning(util, size as u64, domain.percent());
        }
    }

    /// Number of CPUs around `cpu` that a search for an idle one looks at.
    pub fn scan(&self, cpu: CpuId) -> u32 {
        self.groups[self.group_of[cpu.index()] as usize].scan
    }

    /// Idle CPUs among those that share a cache with `cpu`.
    pub fn idle_nearby(&self, cpu: CpuId) -> u32 {
        self.groups[self.group_of[cpu.index()] as usize].idle
    }

    /// Notes that `waker` wakes `task`; whether the two are part of a crowd too wide to be pulled together.
    pub(super) fn is_wide(&mut self, cx: &Context, waker: TaskId, task: TaskId, cache_size: u32) -> bool {
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
        less >= cache_size && u64::from(more) >= u64::from(less) * u64::from(cache_size)
    }
}

/// Number of CPUs, of `size`, to look at if they are used by `util` in all (SIS_UTIL).
fn worth_scanning(util: u64, size: u64, percent: u64) -> u32 {
    let each = util / size;
    let weighed = (each * each * percent * percent / (10_000 * FULL)).min(FULL);
    ((FULL - weighed) * size / FULL) as u32
}

/// True if a task belongs to its waker's CPU: load and capacity there, with the task, beside those of its previous CPU
/// without it (WA_WEIGHT).
fn is_lighter((there, whole): (u64, u64), (here, of_before): (u64, u64), sync: bool) -> bool {
    there * 100 * of_before < here * AFFINE_BIAS * whole + u64::from(sync)
}

impl<O: Order> Stack<O> {
    /// Chooses a CPU for a task that becomes runnable.
    #[inline(never)]
    pub(super) fn choose_cpu(&mut self, cx: &Context, task: TaskId, why: &Enqueue) -> CpuId {
        if cx.machine.cpu_count() == 1 {
            return previous_cpu(cx, task);
        }
        let before = previous_cpu(cx, task);
        if !is_fair(cx, task) {
            if !cx.tasks.class(task).is_realtime() {
                return self.place_reserved(cx, task, before);
            }
            let on = if let Enqueue::Wakeup { on, .. } = *why { on } else { before };
            return self.place_realtime(cx, task, before, on);
        }
        match *why {
            Enqueue::Wakeup { waker, on, sync, .. } => {
                let target = self.affine_target(cx, task, before, waker, on, sync);
                self.idle_near(cx, task, target, before)
            }
            _ => {
                self.wakeups.usage[task].recent = Some(before);
                match *why {
                    Enqueue::Fork { parent: None } => self.place_launched(cx, task, before),
                    _ => self.place_new(cx, task, before),
                }
            }
        }
    }

    /// True if nothing is running or waiting on `cpu`.
    pub(super) fn is_idle(&self, cpu: CpuId) -> bool {
        let it = &self.cpus[cpu.index()];
        it.running == Running::Nothing && self.order.queued(cpu) == 0 && it.realtime.queued() == 0
    }

    /// True if `cpu` has SCHED_IDLE tasks, and no others.
    pub(super) fn has_only_background(&self, cpu: CpuId) -> bool {
        let background = self.loads.background(cpu);
        background > 0 && background == self.tasks(cpu)
    }

    /// True if a woken task that is put on `cpu` runs there at once: it is idle, or runs SCHED_IDLE tasks alone.
    pub(super) fn is_idle_enough(&self, cpu: CpuId) -> bool {
        self.is_idle(cpu) || self.has_only_background(cpu)
    }

    /// The task that runs on `cpu`.
    fn runs_on(&self, cpu: CpuId) -> Option<TaskId> {
        match self.cpus[cpu.index()].running {
            Running::Nothing => None,
            Running::Fair(task) | Running::Realtime(task, _) | Running::Reserved(task) => Some(task),
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
        let wide = waker.or(self.runs_on(on)).is_some_and(|w| self.wakeups.is_wide(cx, w, task, cache_size));
        if wide || on == before || !cx.tasks.may_run(task, on) {
            return before;
        }
        let near = cx.machine.distance(on, before).is_some_and(|level| level <= Level::Cache);
        if self.is_idle(on) && near {
            return if self.is_idle(before) { before } else { on };
        }
        let delayed = self.order.queued(on) - self.order.runnable(on);
        if sync && self.tasks(on) - delayed == 1 {
            return on;
        }
        if self.is_idle(before) {
            return before;
        }
        let mine = self.loads.last_of_task(cx.now, task);
        let mut there = self.loads.of_cpu(cx.now, on).load;
        if sync && let Some(waker) = waker {
            let waker = self.loads.of_task(cx.now, waker);
            if waker > there {
                return on;
            }
            there -= waker;
        }
        let here = self.loads.of_cpu(cx.now, before).load.saturating_sub(mine);
        let [whole, of_before] = [on, before].map(|cpu| self.loads.of_cpu(cx.now, cpu).capacity);
        if is_lighter((there + mine, whole), (here, of_before), sync) { on } else { before }
    }

    /// An idle CPU near `target`: itself, one of the task's last two, or one that shares the cache, if possible of an
    /// idle core; else `target`.
    fn idle_near(&mut self, cx: &Context, task: TaskId, target: CpuId, before: CpuId) -> CpuId {
        if self.is_idle_enough(target) && self.fits(cx, task, target) {
            return target;
        }
        let is_near = |cpu: CpuId| cx.machine.distance(target, cpu).is_some_and(|level| level <= Level::Cache);
        if is_near(before) && self.is_idle_enough(before) && self.fits(cx, task, before) {
            return before;
        }
        let recent = self.wakeups.usage[task].recent.replace(before);
        if let Some(recent) = recent.filter(|cpu| is_near(*cpu) && cx.tasks.may_run(task, *cpu))
            && self.is_idle_enough(recent)
            && self.fits(cx, task, recent)
        {
            return recent;
        }
        if cx.machine.is_unequal()
            && let Some(found) = self.search_by_capacity(cx, task, target)
        {
            return found;
        }
        if self.wakeups.idle_nearby(target) == 0 && !self.loads.is_any_background() {
            return target;
        }
        self.search(cx, task, target, before).unwrap_or(target)
    }

    /// Searches the CPUs that share a cache with `target` for an idle one.
    fn search(&mut self, cx: &Context, task: TaskId, target: CpuId, before: CpuId) -> Option<CpuId> {
        let machine = &cx.machine;
        let most = self.wakeups.group(target).scan;
        let fits = |cpu: &CpuId| cx.tasks.may_run(task, *cpu) && self.is_idle_enough(*cpu);
        let group = machine.group(target, Level::Cache);
        let (low, high) = group.split_at(group.partition_point(|cpu| *cpu <= target));
        let around = high.iter().chain(low).copied();
        if machine.group(target, Level::Smt).len() > 1 {
            let is_free = |cpu: &CpuId| machine.group(*cpu, Level::Smt).iter().all(|it| self.is_idle(*it));
            let free = if most > 0 { around.clone().find(|cpu| is_free(cpu) && fits(cpu)) } else { None };
            cx.examined(Effort::Balance, group.len() as u32);
            if free.is_some() {
                return free;
            }
            let is_near = machine.distance(target, before).is_none_or(|level| level <= Level::Cache);
            let sibling = machine.group(before, Level::Smt).iter().copied().find(|cpu| fits(cpu));
            if is_near && sibling.is_some() {
                return sibling;
            }
        }
        let mut looked_at = 0;
        let allowed = around.filter(|cpu| cx.tasks.may_run(task, *cpu));
        let found = allowed.take(most as usize).find(|cpu| {
            looked_at += 1;
            fits(cpu)
        });
        cx.examined(Effort::Balance, looked_at);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// specs/smp.md T-SMP-15, and the table of section 4.5.
    #[test]
    fn the_search_for_an_idle_cpu_is_the_shorter_the_busier_they_were() {
        let scanned =
            |size: u64, percents: [u64; 5]| percents.map(|it| worth_scanning(it * size * FULL / 100, size, 117));
        assert_eq!(scanned(16, [0, 25, 50, 75, 85]), [16, 14, 10, 3, 0]);
        assert_eq!(scanned(4, [0, 25, 50, 75, 85]), [4, 3, 2, 0, 0]);
    }

    /// T-SMP-19. The control is the second case without the bias, in which both are alike.
    #[test]
    fn a_task_is_pulled_to_its_waker_if_that_is_lighter_by_some() {
        let pulls = |this: u64, previous: u64, task: u64| {
            is_lighter((this + task, FULL), (previous.saturating_sub(task), FULL), false)
        };
        assert!(pulls(1_024, 2_048, 512), "153600 < 165888");
        assert!(!pulls(1_280, 1_536, 256), "153600 ≥ 138240");
        let halved = is_lighter((1_536, FULL), (1_536, FULL / 2), false);
        assert!(halved && !is_lighter((1_536, FULL / 2), (1_536, FULL), false), "per capacity");
        let even = |sync| is_lighter((AFFINE_BIAS, FULL), (100, FULL), sync);
        assert!(even(true) && !even(false), "only at equal loads does it matter that the waker sleeps soon");
    }
}
