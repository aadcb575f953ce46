//! Costs of the host's own work: charges the CPU that does it and reports it to the observer.

use super::Host;
use goodness_core::{CpuId, Effort, Event, Machine, Overhead, Span, TaskId, Time};

/// Kinds of costs that the machine has, and the lock that decisions may wait for.
pub struct Charging {
    /// True if the policy's effort costs time.
    effort: bool,
    /// True if switches and cold caches cost time.
    pub switches: bool,
    /// True if a wake-up costs time, by itself or by the policy's effort.
    pub wakeups: bool,
    /// True if a timer's interrupt costs time.
    pub timers: bool,
    /// True if the call of sleep costs time.
    pub sleeps: bool,
    /// True if threads of one core slow each other.
    pub siblings: bool,
    /// True if block I/O costs time.
    pub io: bool,
    /// The one lock of a global runqueue.
    lock: Contended,
}

/// The lock of a global runqueue that CPUs spin for, each held for a known time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Contended {
    /// Time at which it is free again.
    free: Time,
    /// The CPU that had it last.
    by: CpuId,
}

impl Contended {
    /// `cpu` takes it at `now` for `held`. Returns the time that it spins before. A CPU does not wait for itself: what
    /// interrupts a holder is part of its work.
    pub fn take(&mut self, cpu: CpuId, now: Time, held: Span) -> Span {
        let wait = if self.by == cpu { Span::ZERO } else { self.free.since(now) };
        *self = Contended { free: now.max(self.free) + held, by: cpu };
        wait
    }
}

impl Charging {
    /// The costs of a machine.
    pub fn of(machine: &Machine) -> Charging {
        let costs = &machine.costs;
        Charging {
            siblings: machine.siblings_slow(),
            effort: costs.effort != [Span::ZERO; 4],
            switches: !costs.switching_is_free(),
            wakeups: costs.effort != [Span::ZERO; 4] || costs.wakeup > Span::ZERO,
            timers: costs.timer > Span::ZERO,
            sleeps: costs.sleep > Span::ZERO,
            io: !costs.io.are_free(),
            lock: Contended::default(),
        }
    }
}

impl Host<'_> {
    /// Cost of switching to `task`, and of the caches it finds cold.
    pub fn switch_cost(&mut self, cpu: CpuId, task: TaskId) -> [Span; 2] {
        let costs = &self.machine.costs;
        let last = self.cpus[cpu.index()].last;
        let tasks = self.referee.tasks();
        let space = |task: TaskId| tasks[task].address_space;
        let moves_space = last.is_none_or(|last| space(last) != space(task));
        let switch = costs.switch + if moves_space { costs.address_space } else { Span::ZERO };
        let refill = match self.runs[task.index()].ran_on() {
            Some(from) if from != cpu => match self.machine.distance(from, cpu) {
                Some(level) => costs.migration[level as usize],
                None => Span::ZERO,
            },
            Some(_) if last != Some(task) => costs.cache_refill,
            _ => Span::ZERO,
        };
        self.overhead(cpu, Overhead::Switch, switch);
        self.overhead(cpu, Overhead::Refill, refill);
        [switch, refill]
    }

    /// Charges `span` of CPU time of `cpu` to the host instead of the running task. Call `arm` afterwards.
    pub fn interrupt(&mut self, cpu: CpuId, kind: Overhead, span: Span) {
        self.settle(cpu);
        self.cpus[cpu.index()].working += span;
        self.overhead(cpu, kind, span);
    }

    /// Charges the interrupt that ended a sleep to `cpu`. A running burst continues during it but cannot end within;
    /// the CPU's host work is delayed.
    pub fn timer_cost(&mut self, cpu: CpuId) {
        let cost = self.machine.costs.timer;
        let Some(task) = self.referee.current(cpu) else { return };
        self.settle(cpu);
        let now = self.now();
        let run = &mut self.cpus[cpu.index()];
        if run.working > now {
            run.working += cost;
            self.overhead(cpu, Overhead::Tick, cost);
        } else {
            let work = &mut self.runs[task.index()];
            let burst = cost.min(work.wall_left(run.capacity));
            work.work(burst, run.capacity);
            run.working = now + cost;
            self.overhead(cpu, Overhead::Tick, cost - burst);
        }
        self.arm(cpu, task);
    }

    /// CPU time of the policy's effort since the last call, reported as overhead of `cpu`.
    #[inline]
    pub fn effort_cost(&mut self, cpu: CpuId) -> Span {
        if !self.charging.effort {
            return Span::ZERO;
        }
        let counts = self.referee.take_effort();
        self.effort_overhead(cpu, counts)
    }

    /// Reports CPU time spent by the host, if any, to the observer.
    #[inline]
    pub fn overhead(&mut self, cpu: CpuId, kind: Overhead, span: Span) {
        if span > Span::ZERO {
            self.emit(Event::Overhead { cpu, kind, span });
        }
    }

    /// Splits effort into overhead by kind, and waits for the global lock if there is one.
    fn effort_overhead(&mut self, cpu: CpuId, counts: [u32; 4]) -> Span {
        let mut total = Span::ZERO;
        for kind in Effort::ALL {
            let span = self.machine.costs.effort[kind as usize] * u64::from(counts[kind as usize]);
            self.overhead(cpu, kind.into(), span);
            total += span;
        }
        if self.referee.about().needs.global_lock && total > Span::ZERO {
            let wait = self.charging.lock.take(cpu, self.now(), total);
            self.overhead(cpu, Overhead::Lock, wait);
            total += wait;
        }
        total
    }
}
