//! Measures the cost of decisions. Two measurements of a policy, both with the pattern of [`pattern`]:
//!
//! - [`verbs`] calls the policy alone, without event queue and observers: the cost of the policy.
//! - [`end_to_end`] runs the simulator with metrics and checkers: the time a user waits. Alternately, [`bare_loop`]
//!   runs the same work without a simulator.
//!
//! And two of an elevator, both with random requests:
//!
//! - [`dispatch`] calls the elevator alone, with a number of requests waiting.
//! - [`requests`] runs the whole block layer down to a device that costs nothing.
//!
//! The clock is read once per batch. Policies and elevators are called through their referees here, too; the cost of
//! driving an empty policy through its referee is measured and subtracted.

pub mod bare_loop;
mod calibration;
mod clock;
pub mod dispatch;
pub mod end_to_end;
pub mod long;
pub mod pattern;
pub mod quanta;
pub mod requests;
pub mod table;
pub mod text;
pub mod verbs;

use goodness_core::{CPUS_MAX, Machine};

/// One policy at one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Size {
    /// Tasks that exist; seven in eight are runnable at any time.
    pub tasks: usize,
    /// CPUs of the machine.
    pub cpus: usize,
}

impl Size {
    /// Every number of tasks on every number of CPUs.
    ///
    /// # Errors
    /// The first number out of range, in a sentence that begins with `tasks` or `cpus`.
    pub fn all(tasks: &[usize], cpus: &[usize]) -> Result<Vec<Size>, String> {
        let mut sizes = Vec::new();
        for &cpus in cpus {
            for &tasks in tasks {
                if !(1..=10_000_000).contains(&tasks) {
                    return Err(format!("tasks {tasks} is outside 1 ..= 10000000"));
                }
                if !(1..=CPUS_MAX).contains(&cpus) {
                    return Err(format!("cpus {cpus} is outside 1 ..= {CPUS_MAX}"));
                }
                sizes.push(Size { tasks, cpus });
            }
        }
        Ok(sizes)
    }
}

/// The machine of a size: cores of 2 threads, caches of 8 CPUs, nodes of 64, HZ 1000, no costs.
///
/// # Errors
/// As [`Machine::new`]: no CPU, or too many.
pub fn machine_of(cpus: usize) -> Result<Machine, String> {
    let list = (0..cpus as u32)
        .map(|i| goodness_core::Cpu { core: i / 2, cache: i / 8, node: i / 64, capacity: 1024 })
        .collect();
    Machine::new("bench", list, 1000)
}
