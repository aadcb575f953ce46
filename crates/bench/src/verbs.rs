//! The cost of the verbs alone.

use crate::calibration::Null;
use crate::clock::{Fastest, fastest};
use crate::pattern::{ASLEEP, BURST};
use crate::{Size, machine_of};
use goodness::PolicySpec;
use goodness_core::{
    Context, CpuId, CpuPolicy, Dequeue, EffortMeter, Enqueue, Idle, Machine, Needs, Pick, Registered, Seed, Span,
    State, Stop, Task, TaskId, TaskTable, Time, Visitor, WakeSource,
};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::{Duration, Instant};

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// One pick, the charge that ends the stint, one wake-up with placement, and the ticks that fall into the stint:
    /// ns, without the driver's own.
    pub decision_ns: f64,
    /// Elements examined per decision, all kinds.
    pub effort: f64,
    /// Decisions timed.
    pub decisions: u64,
}

/// Times `policy` at `size` for about `budget`.
///
/// # Errors
/// A size that no machine can have, or a task that the policy refuses.
pub fn cost(policy: &PolicySpec, size: Size, budget: Duration) -> Result<Cost, String> {
    policy.with(Timing { policy, size, budget })
}

struct Timing<'a> {
    policy: &'a PolicySpec,
    size: Size,
    budget: Duration,
}

impl Visitor for Timing<'_> {
    type Output = Result<Cost, String>;

    fn visit<P: Registered>(self) -> Self::Output {
        let Timing { policy, size, budget } = self;
        let machine = machine_of(size.cpus)?;
        let policy = P::new(&machine, policy.settings_of::<P>(), Seed(1));
        let timed = Driver::new(&machine, policy, size, P::ABOUT.needs)?.time(budget);
        let own = Driver::new(&machine, Null::new(size.tasks), size, Needs::default())?.time(budget / 4);
        Ok(Cost { decision_ns: (timed.decision_ns - own.decision_ns).max(0.0), ..timed })
    }
}

/// The policy's view, leaving the policy itself free to be borrowed.
macro_rules! view {
    ($driver:expr) => {
        Context { now: $driver.now, machine: $driver.machine, tasks: &$driver.tasks, effort: &$driver.effort }
    };
}

/// Drives one policy through the decisions of the pattern, without a calendar: on each CPU in turn it picks, runs a
/// burst, blocks, and wakes who slept longest. Counts what it does; times it in batches when asked to.
pub struct Driver<'a, P> {
    machine: &'a Machine,
    policy: P,
    needs: Needs,
    tasks: TaskTable,
    effort: EffortMeter,
    now: Time,
    /// When the next tick comes on each CPU, for policies that count ticks.
    next_tick: Time,
    /// Who sleeps, the longest first.
    asleep: VecDeque<TaskId>,
    next_cpu: usize,
    /// Picks that found a task, and picks that found none.
    stints: u64,
    idle: u64,
    examined: u64,
}

impl<'a, P: CpuPolicy> Driver<'a, P> {
    /// Admits all tasks and queues seven in eight.
    ///
    /// # Errors
    /// The policy refuses a task.
    pub fn new(machine: &'a Machine, policy: P, size: Size, needs: Needs) -> Result<Self, String> {
        let mut tasks = TaskTable::with_capacity(size.tasks);
        for index in 0..size.tasks {
            tasks.push(Task { cpu: CpuId((index % size.cpus) as u32), ..Task::default() });
        }
        let mut driver = Driver {
            machine,
            policy,
            needs,
            tasks,
            effort: EffortMeter::default(),
            now: Time(1),
            next_tick: machine.next_tick(Time(1)),
            asleep: VecDeque::with_capacity(size.tasks),
            next_cpu: 0,
            stints: 0,
            idle: 0,
            examined: 0,
        };
        driver.fill()?;
        Ok(driver)
    }

    fn fill(&mut self) -> Result<(), String> {
        for index in 0..self.tasks.len() {
            let task = TaskId(index as u32);
            self.policy.admit(&view!(self), task, None).map_err(|rejected| rejected.reason)?;
            if index % ASLEEP == 0 {
                self.tasks[task].state = State::Blocked;
                self.asleep.push_back(task);
            } else {
                self.wake(task, Enqueue::Fork { parent: None });
            }
        }
        self.effort.take();
        Ok(())
    }

    #[inline]
    fn wake(&mut self, task: TaskId, why: Enqueue) {
        let cpu = self.policy.select_cpu(&view!(self), task, &why);
        self.tasks[task].cpu = cpu;
        self.tasks[task].state = State::Queued;
        let _ = self.policy.enqueue(&view!(self), cpu, task, why);
    }

    /// `count` turns, one on each CPU after the other; time passes once all CPUs had theirs.
    pub fn batch(&mut self, count: u64) {
        for _ in 0..count {
            let cpu = CpuId(self.next_cpu as u32);
            match self.pick(cpu) {
                Some(Pick { task, .. }) => self.stint(cpu, task),
                None => self.idle += 1,
            }
            if let Some(task) = self.asleep.pop_front() {
                let why = Enqueue::Wakeup { waker: None, on: cpu, sync: false, from: WakeSource::Interrupt };
                self.wake(task, why);
            }
            self.examined += self.effort.take().iter().map(|n| u64::from(*n)).sum::<u64>();
            self.next_cpu += 1;
            if self.next_cpu == self.machine.cpu_count() {
                self.next_cpu = 0;
                self.now += BURST;
                if self.now >= self.next_tick {
                    self.next_tick = self.machine.next_tick(self.now);
                }
            }
        }
    }

    #[inline]
    fn pick(&mut self, cpu: CpuId) -> Option<Pick> {
        let picked = self.policy.pick_next(&view!(self), cpu);
        if picked.is_some() || !self.needs.balance {
            return picked;
        }
        self.pull(cpu)
    }

    /// The CPU found nothing: moves what the policy proposes, as the simulator does.
    fn pull(&mut self, cpu: CpuId) -> Option<Pick> {
        let pull = self.policy.balance(&view!(self), cpu, Idle::Newly)?;
        self.policy.dequeue(&view!(self), pull.from, pull.task, Dequeue::Migrate);
        self.tasks[pull.task].cpu = pull.to;
        let _ = self.policy.enqueue(&view!(self), pull.to, pull.task, Enqueue::Migrated);
        self.policy.pick_next(&view!(self), cpu)
    }

    /// `task` runs a burst on `cpu`, through a tick if one falls into it, and blocks.
    #[inline]
    fn stint(&mut self, cpu: CpuId, task: TaskId) {
        self.stints += 1;
        self.tasks[task].state = State::Running;
        self.tasks[task].cpu = cpu;
        let (began, ends) = (self.now, self.now + BURST);
        let mut ran = Span::ZERO;
        if self.needs.tick && self.next_tick <= ends {
            ran = self.next_tick.since(began);
            self.now = self.next_tick;
            let _ = self.policy.charge(&view!(self), cpu, task, ran, Stop::Tick);
        }
        self.now = ends;
        let rest = BURST.saturating_sub(ran);
        let _ = self.policy.charge(&view!(self), cpu, task, rest, Stop::Blocked { interruptible: true });
        self.now = began;
        self.tasks[task].state = State::Blocked;
        self.asleep.push_back(task);
    }

    /// Everybody once, as far as the budget goes, so that first touches of memory are not measured.
    fn warm_up(&mut self, budget: Duration) {
        let began = Instant::now();
        let mut turns = 0;
        while turns < self.tasks.len() && began.elapsed() < budget {
            self.batch(64);
            turns += 64;
        }
    }

    /// Runs batches until the budget is spent. A turn that found nothing to run is a decision, too.
    fn time(&mut self, budget: Duration) -> Cost {
        self.warm_up(budget);
        self.examined = 0;
        let Ok(Fastest { each_ns, turns }) = fastest(budget, |count| {
            self.batch(count);
            Ok::<(), Infallible>(())
        });
        Cost { decision_ns: each_ns, effort: self.examined as f64 / turns as f64, decisions: turns }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_policies::rr::RoundRobin;

    #[test]
    fn the_driver_gives_every_task_the_same_number_of_stints_under_round_robin() {
        let machine = machine_of(2).unwrap();
        let policy = RoundRobin::new(&machine, Default::default(), Seed(1));
        let mut driver = Driver::new(&machine, policy, Size { tasks: 16, cpus: 2 }, Needs::default()).unwrap();
        driver.batch(160);
        assert_eq!((driver.stints, driver.idle), (160, 0));
        assert_eq!(driver.asleep.len(), 2, "as many wake as block");
        assert_eq!(driver.now, Time(1 + 80 * BURST.0), "time passes once both CPUs had their turn");
    }

    #[test]
    fn a_size_without_cpus_is_refused() {
        let refused = cost(&PolicySpec::parse("rr").unwrap(), Size { tasks: 2, cpus: 0 }, Duration::from_millis(5));
        assert!(refused.unwrap_err().contains("at least one CPU"));
    }
}
