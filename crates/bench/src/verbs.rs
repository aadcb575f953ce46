//! The cost of a policy's calls alone.
//!
//! The policy is called through its referee, as in every host, and so is the empty policy whose cost is subtracted. So
//! driver, referee and indirect calls cancel. The rest is the policy's own work, as far as the processor does not
//! overlap it with theirs.

use crate::calibration::Null;
use crate::clock::{Fastest, fastest};
use crate::pattern::{ASLEEP, BURST};
use crate::{Size, machine_of};
use goodness::PolicySpec;
use goodness_core::{CpuId, Enqueue, Machine, MadePolicy, Seed, Span, Stop, Task, TaskId, Time, WakeSource};
use goodness_referee::{Choice, Move, Referee};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Measured costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Cost per decision in ns, without the driver: one pick, the charge at the end of the slice, one wake-up with
    /// placement, and the ticks during the slice.
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
    let machine = machine_of(size.cpus)?;
    let timed = Driver::new(policy.make(&machine, Seed(1)), &machine, size)?.time(budget)?;
    let own = Driver::new(Null::made(size.tasks), &machine, size)?.time(budget / 4)?;
    Ok(Cost { decision_ns: (timed.decision_ns - own.decision_ns).max(0.0), ..timed })
}

/// Drives one policy through the decisions of the pattern, without a calendar: on each CPU in turn the running task
/// blocks, the longest sleeper wakes, and the policy picks. Requests to reschedule are ignored. Counts decisions; times
/// them in batches on request.
pub struct Driver {
    referee: Referee,
    /// Next tick of the CPUs, and whether one came in the last burst.
    next_tick: Time,
    is_tick_due: bool,
    /// Sleeping tasks, the longest first.
    asleep: VecDeque<TaskId>,
    next_cpu: usize,
    /// Picks that found a task, and picks that found none.
    stretches: u64,
    idle: u64,
    examined: u64,
}

impl Driver {
    /// Admits all tasks and queues seven in eight.
    ///
    /// # Errors
    /// The policy refuses a task.
    pub fn new(policy: MadePolicy, machine: &Machine, size: Size) -> Result<Driver, String> {
        let mut driver = Driver {
            referee: Referee::new(machine.clone(), policy, size.tasks),
            next_tick: machine.next_tick(Time(1)),
            is_tick_due: false,
            asleep: VecDeque::with_capacity(size.tasks),
            next_cpu: 0,
            stretches: 0,
            idle: 0,
            examined: 0,
        };
        driver.referee.set_now(Time(1));
        for index in 0..size.tasks {
            driver.referee.add(Task { first_cpu: CpuId((index % size.cpus) as u32), ..Task::default() });
        }
        driver.fill()?;
        Ok(driver)
    }

    fn fill(&mut self) -> Result<(), String> {
        for index in 0..self.referee.tasks().len() {
            let task = TaskId(index as u32);
            self.referee.admit(task, None).map_err(|rejected| rejected.reason)?;
            if index % ASLEEP == 0 {
                self.referee.begin_asleep(task);
                self.asleep.push_back(task);
            } else {
                self.enqueue(task, Enqueue::Fork { parent: None })?;
            }
        }
        self.referee.take_effort();
        Ok(())
    }

    #[inline]
    fn enqueue(&mut self, task: TaskId, why: Enqueue) -> Result<(), String> {
        let cpu = self.referee.select_cpu(task, &why).ok_or_else(|| self.refusal())?;
        self.referee.enqueue(task, cpu, why);
        Ok(())
    }

    #[cold]
    fn refusal(&self) -> String {
        self.referee.refusal().map_or_else(String::new, |refusal| refusal.sentence.clone())
    }

    /// `count` rounds, one CPU after the other; a burst passes once all CPUs had theirs.
    ///
    /// # Errors
    /// An invalid answer of the policy.
    pub fn batch(&mut self, count: u64) -> Result<(), String> {
        for _ in 0..count {
            let cpu = CpuId(self.next_cpu as u32);
            self.end_stretch(cpu);
            if let Some(task) = self.asleep.pop_front() {
                let why = Enqueue::Wakeup { waker: None, on: cpu, sync: false, from: WakeSource::Interrupt };
                self.enqueue(task, why)?;
            }
            match self.choose(cpu)? {
                true => self.stretches += 1,
                false => self.idle += 1,
            }
            self.examined += self.referee.take_effort().iter().map(|n| u64::from(*n)).sum::<u64>();
            self.next_cpu += 1;
            if self.next_cpu == self.referee.machine().cpu_count() {
                self.next_cpu = 0;
                self.pass_burst();
            }
        }
        Ok(())
    }

    #[inline]
    fn pass_burst(&mut self) {
        let now = self.referee.now() + BURST;
        self.referee.set_now(now);
        self.is_tick_due = self.next_tick <= now;
        if self.is_tick_due {
            self.next_tick = self.referee.machine().next_tick(now);
        }
    }

    /// The task running on `cpu` has used up a burst and blocks. A tick within the burst comes at its end.
    #[inline]
    fn end_stretch(&mut self, cpu: CpuId) {
        if self.referee.current(cpu).is_none() {
            return;
        }
        let mut ran = BURST;
        if self.is_tick_due && self.referee.about().needs.tick {
            let _ = self.referee.tick(cpu, std::mem::replace(&mut ran, Span::ZERO));
        }
        let _ = self.referee.charge(cpu, ran, Stop::Blocked { interruptible: true });
        let task = self.referee.take_off(cpu);
        self.asleep.push_back(task);
    }

    /// Picks for `cpu`. Returns whether a task runs now. Migrations proposed first are carried out, as in the
    /// simulator.
    #[inline]
    fn choose(&mut self, cpu: CpuId) -> Result<bool, String> {
        let mut choice = self.referee.choose(cpu);
        loop {
            match choice {
                Choice::Run { .. } => return Ok(true),
                Choice::Idle => return Ok(false),
                Choice::Refused => return Err(self.refusal()),
                Choice::Move(Move::Queued(..)) => {}
                Choice::Move(Move::Running(pull)) => {
                    let _ = self.referee.charge(pull.from, Span::ZERO, Stop::Preempted);
                    let task = self.referee.take_off(pull.from);
                    self.referee.enqueue(task, pull.to, Enqueue::Migrated);
                }
            }
            choice = self.referee.choose_again(cpu);
        }
    }

    /// Runs each task once, within the budget, so that first touches of memory are not measured.
    fn warm_up(&mut self, budget: Duration) -> Result<(), String> {
        let began = Instant::now();
        let mut turns = 0;
        while turns < self.referee.tasks().len() && began.elapsed() < budget {
            self.batch(64)?;
            turns += 64;
        }
        Ok(())
    }

    /// Runs batches until the budget is spent. A turn that found nothing to run is a decision, too.
    fn time(&mut self, budget: Duration) -> Result<Cost, String> {
        self.warm_up(budget)?;
        self.examined = 0;
        let Fastest { each_ns, turns } = fastest(budget, |count| self.batch(count))?;
        Ok(Cost { decision_ns: each_ns, effort: self.examined as f64 / turns as f64, decisions: turns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn driver(policy: &str, size: Size) -> Driver {
        let machine = machine_of(size.cpus).unwrap();
        Driver::new(PolicySpec::parse(policy).unwrap().make(&machine, Seed(1)), &machine, size).unwrap()
    }

    #[test]
    fn the_driver_gives_every_task_the_same_number_of_stretches_under_round_robin() {
        let mut driver = driver("rr", Size { tasks: 16, cpus: 2 });
        driver.batch(160).unwrap();
        assert_eq!((driver.stretches, driver.idle), (160, 0));
        assert_eq!(driver.asleep.len(), 0, "two sleep at first, and two run");
        assert_eq!(driver.referee.now(), Time(1 + 80 * BURST.0), "time passes once both CPUs had their turn");
    }

    #[test]
    fn every_policy_and_the_empty_one_go_on_with_few_tasks_and_many_cpus() {
        for size in [Size { tasks: 1, cpus: 1 }, Size { tasks: 3, cpus: 4 }, Size { tasks: 40, cpus: 4 }] {
            for about in goodness_policies::ALL {
                driver(about.name, size).batch(2_000).unwrap_or_else(|why| panic!("{why}, {size:?}"));
            }
            let empty = Driver::new(Null::made(size.tasks), &machine_of(size.cpus).unwrap(), size);
            empty.unwrap().batch(2_000).unwrap();
        }
    }

    #[test]
    fn a_size_without_cpus_is_refused() {
        let refused = cost(&PolicySpec::parse("rr").unwrap(), Size { tasks: 2, cpus: 0 }, Duration::from_millis(5));
        assert!(refused.unwrap_err().contains("at least one CPU"));
    }
}
