//! Load balancing: an idle CPU pulls a waiting task, a busy one compares itself with others periodically, and one with
//! waiting tasks wakes an idle CPU at its tick.
//!
//! Source: specs section 5.1 and 5.5 (SMP). A busy CPU balances every 16 ms per CPU of the domain, minus a tick.
//! Differences below 17 percent are ignored. A task that ran within 0.5 ms stays near its cache.

use super::{Order, Running, Stack};
use goodness_core::{Context, CpuId, Effort, Idle, Level, Machine, Pull, Span, TaskId, Time};

/// A task that ran more recently than this counts as cache-hot.
const MIGRATION_COST: Span = Span::from_us(500);
/// Factor by which a busy CPU balances less often than an idle one.
const BUSY_FACTOR: u64 = 16;
/// Load of the busiest CPU, in percent of its own, below which nothing is moved.
const IMBALANCE: u64 = 117;

/// Time of each CPU's next balance, by level.
#[derive(Debug)]
pub struct Balancer {
    next: Vec<[Time; 4]>,
}

/// Balancing interval of a busy CPU for a domain of `size` CPUs.
fn interval(machine: &Machine, size: usize) -> Span {
    Span::from_ms(size as u64 * BUSY_FACTOR).saturating_sub(machine.tick())
}

impl Balancer {
    /// Staggers the CPUs of a domain within an interval, so that no two undo each other's work.
    pub fn new(machine: &Machine) -> Balancer {
        let turn = |cpu: CpuId, level: Level| {
            let group = machine.group(cpu, level);
            let place = group.partition_point(|other| *other < cpu) as u64;
            Time::ZERO + interval(machine, group.len()) * place / group.len() as u64
        };
        Balancer { next: machine.cpu_ids().map(|cpu| Level::ALL.map(|level| turn(cpu, level))).collect() }
    }

    /// True if `cpu` should balance at `level` now; then sets the next time.
    fn is_due(&mut self, cx: &Context, cpu: CpuId, level: Level, size: usize) -> bool {
        let next = &mut self.next[cpu.index()][level as usize];
        if cx.now < *next {
            return false;
        }
        *next = cx.now + interval(&cx.machine, size);
        true
    }
}

impl<O: Order> Stack<O> {
    pub(super) fn propose(&mut self, cx: &Context, cpu: CpuId, idle: Idle) -> Option<Pull> {
        if cx.machine.cpu_count() == 1 {
            return None;
        }
        match idle {
            Idle::Newly => self.pull_realtime(cx, cpu).or_else(|| self.pull_to_idle(cx, cpu)),
            Idle::Busy => self.push_to_idle(cx, cpu).or_else(|| self.pull_when_due(cx, cpu)),
        }
    }

    /// The neighbourhoods of `cpu` that have more CPUs than the one before.
    fn domains<'a>(cx: &'a Context, cpu: CpuId) -> impl Iterator<Item = (Level, &'a [CpuId])> + use<'a, O> {
        let mut size = 1;
        Level::ALL.into_iter().filter_map(move |level| {
            let group = cx.machine.group(cpu, level);
            let grows = group.len() > size;
            size = group.len();
            grows.then_some((level, group))
        })
    }

    fn pull_realtime(&self, cx: &Context, cpu: CpuId) -> Option<Pull> {
        let fits = |task: TaskId| cx.tasks.may_run(task, cpu);
        let waiting = |from: &CpuId| self.cpus[from.index()].realtime.best_waiting() > 0;
        cx.machine.cpu_ids().filter(waiting).find_map(|from| {
            let task = self.cpus[from.index()].realtime.find(&self.members, fits)?;
            Some(Pull { task, from, to: cpu })
        })
    }

    fn pull_to_idle(&self, cx: &Context, cpu: CpuId) -> Option<Pull> {
        Self::domains(cx, cpu).find_map(|(_, group)| {
            cx.examined(Effort::Balance, group.len() as u32);
            let crowded = |from: &&CpuId| **from != cpu && self.waiting(**from) > 0;
            let busiest = |from: &&CpuId| (self.waiting(**from), std::cmp::Reverse(**from));
            let from = group.iter().filter(crowded).max_by_key(busiest)?;
            self.movable(cx, *from, cpu, u64::MAX)
        })
    }

    /// Fair tasks that wait for another task to leave `cpu`.
    fn waiting(&self, cpu: CpuId) -> u32 {
        let runs_fair = matches!(self.cpus[cpu.index()].running, Running::Fair(_));
        self.order.runnable(cpu).saturating_sub(u32::from(runs_fair))
    }

    /// A waiting task of `from` that `to` may take: not cache hot, and not heavier than `most`.
    fn movable(&self, cx: &Context, from: CpuId, to: CpuId, most: u64) -> Option<Pull> {
        let mut looked_at = 0;
        let task = self.order.first_waiting(from, &mut |task| {
            looked_at += 1;
            let hot =
                cx.now.since(self.placement.ran_at(task)) < MIGRATION_COST && self.placement.ran_at(task) > Time::ZERO;
            let weight = crate::parts::fair::weight::Weight::of_task(&cx.tasks[task], 3).value;
            !hot && weight / 2 <= most && cx.tasks.may_run(task, to) && looked_at <= 32
        });
        cx.examined(Effort::Balance, looked_at.min(32));
        Some(Pull { task: task?, from, to })
    }

    /// An idle CPU does not tick: the tick of a CPU with waiting tasks balances for it.
    fn push_to_idle(&self, cx: &Context, cpu: CpuId) -> Option<Pull> {
        if self.waiting(cpu) == 0 {
            return None;
        }
        Self::domains(cx, cpu).find_map(|(_, group)| {
            cx.examined(Effort::Balance, group.len() as u32);
            let idle = |to: &&CpuId| self.is_idle(**to);
            group.iter().filter(idle).find_map(|to| self.movable(cx, cpu, *to, u64::MAX))
        })
    }

    fn pull_when_due(&mut self, cx: &Context, cpu: CpuId) -> Option<Pull> {
        for (level, group) in Self::domains(cx, cpu) {
            if !self.balancer.is_due(cx, cpu, level, group.len()) {
                continue;
            }
            cx.examined(Effort::Balance, group.len() as u32);
            let mine = self.placement.weight(cpu);
            let Some(busiest) =
                group.iter().copied().max_by_key(|c| (self.placement.weight(*c), std::cmp::Reverse(*c)))
            else {
                continue;
            };
            let most = self.placement.weight(busiest);
            if busiest == cpu || self.waiting(busiest) == 0 || most * 100 <= mine * IMBALANCE {
                continue;
            }
            if let Some(pull) = self.movable(cx, busiest, cpu, (most - mine) / 2) {
                return Some(pull);
            }
        }
        None
    }
}
