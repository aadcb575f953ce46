//! The cost at the end of a quantum: tasks that never sleep, on one CPU.

use crate::clock::cpu_time;
use crate::machine_of;
use goodness::PolicySpec;
use goodness_core::{CpuId, Enqueue, Seed, Span, Stop, Task};
use goodness_referee::{Choice, Referee};
use std::time::Duration;

/// Quanta of a batch; the fastest batch is the least disturbed one.
const BATCH: u32 = 512;

const CPU: CpuId = CpuId(0);

/// CPU time per decision of `policy` with `tasks`, in ns, measured on this machine: the charge at the end of a quantum
/// of length `quantum`, the requeue and the next pick. This includes the policy's referee, some ten nanoseconds for
/// every policy.
///
/// # Errors
/// A task the policy rejects, or a policy that picks none.
pub fn cost(policy: &PolicySpec, tasks: &[Task], quantum: Span, batches: u32) -> Result<f64, String> {
    let machine = machine_of(1)?;
    let made = policy.make(&machine, Seed(1));
    let mut referee = Referee::new(machine, made, tasks.len());
    for task in tasks {
        let task = referee.add(task.clone());
        referee.admit(task, None).map_err(|rejected| rejected.reason)?;
        referee.enqueue(task, CPU, Enqueue::Fork { parent: None });
    }
    let mut best = Duration::MAX;
    for _ in 0..batches {
        let began = cpu_time();
        for _ in 0..BATCH {
            let Choice::Run { .. } = referee.choose(CPU) else {
                return Err("the policy picked nobody although all wait".into());
            };
            referee.set_now(referee.now() + quantum);
            let _ = referee.charge(CPU, quantum, Stop::SliceEnd);
            let _ = referee.requeue(CPU, Enqueue::SliceEnd);
        }
        best = best.min(cpu_time() - began);
    }
    Ok(best.as_nanos() as f64 / f64::from(BATCH))
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
