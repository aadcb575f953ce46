//! Scheduling domains of Linux 2.6.8: placement of woken tasks, and balancing. Shared by the policies with one or two
//! priority arrays per CPU.
//!
//! Source: specs section 2.6 and 2.5 "Wake placement". The levels are those of the machine that contain more CPUs than
//! the level below. Their constants are general knowledge of that kernel, not from the sheet; see [`tuning`].
//! Deviations: an idle CPU has no ticks here. Instead a busy CPU with waiting tasks offers them to it at its own ticks.
//! CPU capacities and the delay of dependent SMT siblings are left out. Idle CPUs are searched among the CPUs that
//! share a cache.

use crate::parts::idle_cpus::IdleCpus;
use goodness_core::policy::previous_cpu;
use goodness_core::{Context, CpuId, Effort, Enqueue, Idle, Level, Machine, Pull, Span, TaskId, Time};

/// Load of one runnable task.
const ONE: u64 = 128;

/// Queries of balancing to a policy's queues.
pub(crate) trait Queues {
    /// Runnable tasks of `cpu`, the running one included.
    fn runnable(&self, cpu: CpuId) -> u32;
    /// Tasks that wait on any CPU.
    fn waiting(&self) -> u32;
    /// The task that runs on `cpu`.
    fn running(&self, cpu: CpuId) -> Option<TaskId>;
    /// Time after a run for which a task counts as cache hot; the level's value is `usual`.
    fn hot(&self, usual: Span) -> Span {
        usual
    }
    /// Time at which `task` last left a CPU.
    fn last_ran(&self, task: TaskId) -> Time;
    /// The tasks queued on `cpu` in the order in which balancing tries them; a running one may be among them.
    fn coldest_first(&self, cpu: CpuId) -> impl Iterator<Item = TaskId> + '_;
    /// True if balancing may move `task` to `to`, which its affinity allows.
    fn may_go(&self, cx: &Context, task: TaskId, to: CpuId) -> bool {
        let _ = (cx, task, to);
        true
    }
}

/// Parameters of a level.
struct Tuning {
    /// Milliseconds between balancing attempts, shortest and longest.
    interval: (u64, u64),
    /// By how much longer the interval is while busy.
    busy_factor: u64,
    /// Load ratio in percent from which a group counts as busier.
    imbalance: u64,
    /// A task that ran within this time counts as cache hot.
    hot: Span,
    /// Failures after which heat is ignored.
    tries: u32,
    /// True if a CPU balances when it becomes idle, and pulls woken tasks to the waker.
    near: bool,
}

/// The constants of a level.
fn tuning(level: Level) -> Tuning {
    match level {
        Level::Smt => {
            Tuning { interval: (1, 2), busy_factor: 8, imbalance: 110, hot: Span::ZERO, tries: 0, near: true }
        }
        Level::Cache => Tuning {
            interval: (1, 4),
            busy_factor: 64,
            imbalance: 125,
            hot: Span::from_us(2_500),
            tries: 1,
            near: true,
        },
        Level::Node | Level::Machine => {
            Tuning { interval: (8, 32), busy_factor: 32, imbalance: 125, hot: Span::from_ms(10), tries: 1, near: false }
        }
    }
}

/// Memory of one CPU's balancing at one level.
#[derive(Clone, Copy, Debug, Default)]
struct Attempt {
    last: Time,
    /// Current interval in milliseconds.
    interval: u64,
    failed: u32,
}

/// Tasks that a CPU is about to pull.
#[derive(Clone, Copy, Debug)]
struct PendingPull {
    from: CpuId,
    tasks: u64,
    hot: Option<Span>,
    index: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Member {
    /// Decaying average of the runnable tasks, in units of 1/128.
    load: u64,
    attempts: [Attempt; 4],
    pending: Option<PendingPull>,
}

/// Loads and attempts of all CPUs.
#[derive(Clone, Debug)]
pub(crate) struct Domains {
    levels: Vec<Level>,
    members: Vec<Member>,
    /// Next CPU for tasks the host starts on a busy machine.
    next_cpu: u32,
}

impl Domains {
    pub fn new(machine: &Machine) -> Domains {
        let mut levels = Vec::new();
        let mut groups = machine.cpu_count();
        for level in Level::ALL {
            if machine.groups(level).len() < groups {
                groups = machine.groups(level).len();
                levels.push(level);
            }
        }
        Domains { levels, members: vec![Member::default(); machine.cpu_count()], next_cpu: 0 }
    }

    /// The load average of `cpu` at its tick.
    #[inline]
    pub fn tick(&mut self, cpu: CpuId, runnable: u32) {
        let member = &mut self.members[cpu.index()];
        let present = u64::from(runnable) * ONE;
        // Rounded up while it rises: rounded down it would stop 1 below, and three tasks beside one would look
        // balanced.
        member.load = (member.load + u64::from(present > member.load) + present) / 2;
    }

    /// Like `tick`; returns the new load.
    #[cfg(test)]
    pub fn tick_and_load(&mut self, cpu: CpuId, runnable: u32) -> u64 {
        self.tick(cpu, runnable);
        self.members[cpu.index()].load
    }

    /// Load when tasks would be taken from `cpu`: the lower of average and current.
    fn load_from(&self, queues: &impl Queues, cpu: CpuId) -> u64 {
        self.members[cpu.index()].load.min(u64::from(queues.runnable(cpu)) * ONE)
    }

    /// Load when tasks would be added to `cpu`: the higher of average and current.
    fn load_to(&self, queues: &impl Queues, cpu: CpuId) -> u64 {
        self.members[cpu.index()].load.max(u64::from(queues.runnable(cpu)) * ONE)
    }

    /// The CPU on which a task that becomes runnable is queued.
    #[inline(always)]
    pub fn place(&mut self, cx: &Context, queues: &impl Queues, idle: &IdleCpus, task: TaskId, why: &Enqueue) -> CpuId {
        let prev = previous_cpu(cx, task);
        if self.levels.is_empty() { prev } else { self.choose(cx, queues, idle, task, prev, why) }
    }

    /// Chooses among several CPUs for a task that was on `prev`.
    fn choose(
        &mut self,
        cx: &Context,
        queues: &impl Queues,
        idle: &IdleCpus,
        task: TaskId,
        prev: CpuId,
        why: &Enqueue,
    ) -> CpuId {
        match *why {
            Enqueue::Wakeup { on, sync, .. } => {
                let cpu = self.waker_or_previous(cx, queues, task, prev, on, sync);
                self.idle_neighbour(cx, idle, task, cpu)
            }
            Enqueue::Fork { parent: None } => self.spread(cx, idle, task, prev),
            _ => prev,
        }
    }

    /// Places a task without a parent: the first idle CPU, else all CPUs in turn.
    fn spread(&mut self, cx: &Context, idle: &IdleCpus, task: TaskId, prev: CpuId) -> CpuId {
        if idle.contains(prev) {
            return prev;
        }
        if let Some(cpu) = idle.first_allowed(cx, task) {
            return cpu;
        }
        let count = cx.machine.cpu_count() as u32;
        let from = self.next_cpu;
        let allowed = (0..count).map(|i| CpuId((from + i) % count)).find(|c| cx.tasks.may_run(task, *c));
        self.next_cpu = allowed.map_or(from, |cpu| (cpu.0 + 1) % count);
        allowed.unwrap_or(prev)
    }

    fn waker_or_previous(
        &self,
        cx: &Context,
        queues: &impl Queues,
        task: TaskId,
        prev: CpuId,
        on: CpuId,
        sync: bool,
    ) -> CpuId {
        if prev == on || !cx.tasks.may_run(task, on) {
            return prev;
        }
        cx.examined(Effort::Balance, 2);
        let load = self.load_from(queues, prev);
        let waker = if sync { ONE } else { 0 };
        let here = self.load_to(queues, on).saturating_sub(waker);
        if load < ONE / 2 && here > ONE / 2 {
            return prev;
        }
        let since = cx.now.since(queues.last_ran(task));
        let pulls = self.levels.iter().any(|level| {
            let of = tuning(*level);
            let cold = of.near && since >= queues.hot(of.hot);
            let passive = (of.imbalance + (of.imbalance - 100) / 2) * here <= 100 * load;
            (cold || passive) && cx.machine.group(on, *level).binary_search(&prev).is_ok()
        });
        if pulls { on } else { prev }
    }

    fn idle_neighbour(&self, cx: &Context, idle: &IdleCpus, task: TaskId, cpu: CpuId) -> CpuId {
        if idle.contains(cpu) || idle.is_empty() {
            return cpu;
        }
        let neighbours = self.levels.iter().filter(|level| **level <= Level::Cache);
        let found = neighbours.flat_map(|level| cx.machine.group(cpu, *level)).find(|neighbour| {
            cx.examined(Effort::Balance, 1);
            idle.contains(**neighbour) && cx.tasks.may_run(task, **neighbour)
        });
        found.copied().unwrap_or(cpu)
    }

    /// The next task to migrate, if any. `idle` is called with the CPU it goes to.
    pub fn balance(
        &mut self,
        cx: &Context,
        queues: &impl Queues,
        idle: &mut IdleCpus,
        cpu: CpuId,
        why: Idle,
    ) -> Option<Pull> {
        if queues.waiting() == 0 {
            return None;
        }
        if let Some(pull) = self.go_on(cx, queues, cpu) {
            return Some(pull);
        }
        for index in 0..self.levels.len() {
            if self.due(cx, cpu, index, why)
                && let Some(pending) = self.find_pull(cx, queues, cpu, index, why)
            {
                self.members[cpu.index()].pending = Some(pending);
                if let Some(pull) = self.go_on(cx, queues, cpu) {
                    return Some(pull);
                }
            }
        }
        (why == Idle::Busy).then(|| self.offer(cx, queues, idle, cpu)).flatten()
    }

    /// True if `cpu` balances at this level now.
    fn due(&mut self, cx: &Context, cpu: CpuId, index: usize, why: Idle) -> bool {
        let of = tuning(self.levels[index]);
        if why == Idle::Newly {
            return of.near;
        }
        let attempt = &mut self.members[cpu.index()].attempts[index];
        attempt.interval = attempt.interval.clamp(of.interval.0, of.interval.1);
        let due = cx.now.since(attempt.last) >= Span::from_ms(attempt.interval * of.busy_factor);
        if due {
            attempt.last = cx.now;
        }
        due
    }

    /// The busiest queue of the busiest group, and the number of tasks that would balance the loads.
    fn find_pull(
        &mut self,
        cx: &Context,
        queues: &impl Queues,
        cpu: CpuId,
        index: usize,
        why: Idle,
    ) -> Option<PendingPull> {
        let of = tuning(self.levels[index]);
        let (group, tasks) = self.busiest_group(cx, queues, cpu, index, why, of.imbalance).unzip();
        let attempt = &mut self.members[cpu.index()].attempts[index];
        let Some(group) = group else {
            attempt.interval = (attempt.interval * 2).clamp(of.interval.0, of.interval.1);
            return None;
        };
        attempt.interval = of.interval.0;
        let ignore_heat = why == Idle::Newly || attempt.failed > of.tries;
        let from = group.iter().copied().filter(|c| *c != cpu && queues.runnable(*c) > 1);
        let from = from.max_by_key(|c| (self.load_from(queues, *c), std::cmp::Reverse(*c)))?;
        Some(PendingPull { from, tasks: tasks?, hot: (!ignore_heat).then(|| queues.hot(of.hot)), index })
    }

    /// The group with the highest load per CPU and the tasks to move, if its load exceeds that of the group of `cpu` by
    /// the ratio.
    fn busiest_group<'m>(
        &self,
        cx: &'m Context,
        queues: &impl Queues,
        cpu: CpuId,
        index: usize,
        why: Idle,
        ratio: u64,
    ) -> Option<(&'m [CpuId], u64)> {
        let domain = cx.machine.group(cpu, self.levels[index]);
        let mut busiest: Option<&[CpuId]> = None;
        let (mut here, mut most, mut total, mut small) = (0, 0, 0, u64::MAX);
        let mut at = 0;
        while at < domain.len() {
            let members = match index.checked_sub(1) {
                Some(below) => cx.machine.group(domain[at], self.levels[below]),
                None => &domain[at..=at],
            };
            let local = members.contains(&cpu);
            let load = |c: &CpuId| if local { self.load_to(queues, *c) } else { self.load_from(queues, *c) };
            let sum: u64 = members.iter().map(load).sum();
            let mean = sum / members.len() as u64;
            total += sum;
            small = small.min(members.len() as u64);
            if local {
                here = mean;
            } else if mean > most {
                (most, busiest) = (mean, Some(members));
            }
            // Groups of a nested level follow each other within the domain.
            at += members.len();
        }
        cx.examined(Effort::Balance, domain.len() as u32);
        let mean = total / domain.len() as u64;
        let busiest = busiest?;
        let surplus = if here < most && here < mean && 100 * most > ratio * here {
            (most - mean).min(mean - here) * small / ONE
        } else {
            0
        };
        let least = u64::from(why == Idle::Newly || (most > here && most - here >= 2 * ONE));
        Some((busiest, surplus.max(least))).filter(|(_, tasks)| *tasks > 0)
    }

    /// Pulls one more task of the pending of `cpu`.
    fn go_on(&mut self, cx: &Context, queues: &impl Queues, cpu: CpuId) -> Option<Pull> {
        let pending = self.members[cpu.index()].pending.take()?;
        let of = tuning(self.levels[pending.index]);
        let attempt = &mut self.members[cpu.index()].attempts[pending.index];
        let Some(task) = candidate(cx, queues, pending.from, cpu, pending.hot) else {
            attempt.failed += 1;
            // Queued tasks cannot be moved; the running task can, at last.
            let stuck = queues.runnable(pending.from) > 1 && attempt.failed > of.tries + 2;
            let task = queues.running(pending.from).filter(|_| stuck && queues.runnable(cpu) == 0)?;
            attempt.failed = 0;
            let pull = Pull { task, from: pending.from, to: cpu };
            let may = cx.tasks.may_run(task, cpu) && queues.may_go(cx, task, cpu);
            return may.then_some(pull);
        };
        attempt.failed = 0;
        if pending.tasks > 1 {
            self.members[cpu.index()].pending = Some(PendingPull { tasks: pending.tasks - 1, ..pending });
        }
        Some(Pull { task, from: pending.from, to: cpu })
    }

    /// The pull of a task queued on `cpu` by the nearest idle CPU that may run it. Marks that CPU as busy.
    fn offer(&self, cx: &Context, queues: &impl Queues, idle: &mut IdleCpus, cpu: CpuId) -> Option<Pull> {
        if queues.runnable(cpu) < 2 || idle.is_empty() {
            return None;
        }
        let task = queues.coldest_first(cpu).find(|t| queues.running(cpu) != Some(*t))?;
        let allowed = idle.iter().filter(|c| {
            cx.examined(Effort::Balance, 1);
            cx.tasks.may_run(task, *c) && queues.may_go(cx, task, *c)
        });
        let to = allowed.min_by_key(|c| (cx.machine.distance(cpu, *c), *c))?;
        idle.set(to, false);
        Some(Pull { task, from: cpu, to })
    }
}

/// The first task queued on `from` that may migrate to `to`.
fn candidate(cx: &Context, queues: &impl Queues, from: CpuId, to: CpuId, hot: Option<Span>) -> Option<TaskId> {
    queues.coldest_first(from).find(|task| {
        cx.examined(Effort::Balance, 1);
        let cold = hot.is_none_or(|hot| cx.now.since(queues.last_ran(*task)) >= hot);
        cold && queues.running(from) != Some(*task) && cx.tasks.may_run(*task, to) && queues.may_go(cx, *task, to)
    })
}
