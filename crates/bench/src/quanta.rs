//! The cost of a quantum: tasks that never sleep, one CPU, and nothing but the ends of quanta.

use crate::clock::cpu_time;
use crate::machine_of;
use goodness::PolicySpec;
use goodness_core::{
    Context, CpuId, EffortMeter, Enqueue, Registered, Seed, Span, State, Stop, Task, TaskId, TaskTable, Time, Visitor,
};
use std::time::Duration;

/// Quanta of a batch; the fastest batch is the least disturbed one.
const BATCH: u32 = 512;

/// CPU time of one decision of `policy` among `tasks`, in ns: the charge at the end of a quantum of length `quantum`,
/// the way back into the queue and the next pick, measured on the machine at hand.
///
/// # Errors
/// A task that the policy refuses, or a policy that picks nobody.
pub fn cost(policy: &PolicySpec, tasks: &[Task], quantum: Span, batches: u32) -> Result<f64, String> {
    policy.with(Quanta { policy, tasks, quantum, batches })
}

struct Quanta<'a> {
    policy: &'a PolicySpec,
    tasks: &'a [Task],
    quantum: Span,
    batches: u32,
}

impl Visitor for Quanta<'_> {
    type Output = Result<f64, String>;

    fn visit<P: Registered>(self) -> Self::Output {
        let machine = machine_of(1)?;
        let mut policy = P::new(&machine, self.policy.settings_of::<P>(), Seed(1));
        let (mut tasks, effort, cpu) = (TaskTable::with_capacity(self.tasks.len()), EffortMeter::default(), CpuId(0));
        for task in self.tasks {
            tasks.push(task.clone());
        }
        let mut now = Time(1);
        for index in 0..tasks.len() {
            let task = TaskId(index as u32);
            let cx = Context { now, machine: &machine, tasks: &tasks, effort: &effort };
            policy.admit(&cx, task, None).map_err(|rejected| rejected.reason)?;
            tasks[task].state = State::Queued;
            let cx = Context { now, machine: &machine, tasks: &tasks, effort: &effort };
            let _ = policy.enqueue(&cx, cpu, task, Enqueue::Fork { parent: None });
        }
        let mut best = Duration::MAX;
        for _ in 0..self.batches {
            let began = cpu_time();
            for _ in 0..BATCH {
                let cx = Context { now, machine: &machine, tasks: &tasks, effort: &effort };
                let task = policy.pick_next(&cx, cpu).ok_or("the policy picked nobody although all wait")?.task;
                now += self.quantum;
                let cx = Context { now, machine: &machine, tasks: &tasks, effort: &effort };
                let _ = policy.charge(&cx, cpu, task, self.quantum, Stop::SliceEnd);
                let _ = policy.enqueue(&cx, cpu, task, Enqueue::SliceEnd);
            }
            best = best.min(cpu_time() - began);
        }
        Ok(best.as_nanos() as f64 / f64::from(BATCH))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantum_of_round_robin_costs_something_and_every_task_is_served() {
        let tasks = vec![Task::default(); 100];
        let cost = cost(&PolicySpec::parse("rr").unwrap(), &tasks, Span::from_ms(3), 4).unwrap();
        assert!(cost > 0.0 && cost.is_finite());
    }
}
