//! Threads of one core slow each other: a CPU works at the speed that its busy siblings leave.

use super::Host;
use goodness_core::{CpuId, Level};

impl Host<'_> {
    /// `cpu` begins to run a task, or becomes idle: the speed of all threads of its core follows.
    #[inline]
    pub fn occupies(&mut self, cpu: CpuId, is_busy: bool) {
        if self.charging.siblings && self.cpus[cpu.index()].is_busy != is_busy {
            self.share_core(cpu, is_busy);
        }
    }

    #[inline(never)]
    fn share_core(&mut self, cpu: CpuId, is_busy: bool) {
        self.cpus[cpu.index()].is_busy = is_busy;
        let machine = self.machine;
        let siblings = machine.group(cpu, Level::Smt);
        let busy = siblings.iter().filter(|it| self.cpus[it.index()].is_busy).count();
        for sibling in siblings.iter().copied() {
            let speed = machine.speed(sibling, busy);
            if self.cpus[sibling.index()].capacity == speed {
                continue;
            }
            // What was done until now was done at the former speed. The CPU itself is about to begin or to idle.
            let current = self.referee.current(sibling).filter(|_| sibling != cpu);
            if current.is_some() {
                self.settle(sibling);
            }
            self.cpus[sibling.index()].capacity = speed;
            if let Some(task) = current {
                self.arm(sibling, task);
            }
        }
    }
}
