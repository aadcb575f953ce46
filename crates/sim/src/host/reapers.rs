//! Threads of the kernel that follow the end of a task. Its memory is freed when two grace periods of RCU have passed:
//! `rcu_preempt` begins and ends them, and between them a worker of the CPU on which the task ended frees its stack.
//!
//! Source: plays of `fork-storm` (docs/fidelity/smp-rules.md#threads-that-follow-the-end-of-a-task).
//! Departure: the pauses are those of a kernel of 250 HZ.

use super::Host;
use crate::calendar::{Entry, class};
use goodness_core::{CpuId, Span, State, TaskId};

/// Ticks from each stage to the next. In the third the worker runs, in the others `rcu_preempt`.
const PAUSES: [u64; 4] = [2, 1, 1, 2];
/// The stage in which the worker runs.
const WORKER: u32 = 2;
/// They wake so long after a tick, which is served first.
const AFTER_TICK: Span = Span(1);

/// The threads, and what they are at.
#[derive(Debug, Default)]
pub struct Reapers {
    /// The first thread, and the number of those pinned to a CPU, which follow it.
    threads: Option<(TaskId, usize)>,
    is_busy: bool,
    /// A task ended on this CPU while they were busy.
    next: Option<CpuId>,
}

impl Reapers {
    /// The last `count` of all `tasks`.
    pub fn of(tasks: usize, count: usize) -> Reapers {
        let threads = count.checked_sub(1).map(|pinned| (TaskId((tasks - count) as u32), pinned));
        Reapers { threads, is_busy: false, next: None }
    }
}

impl Host<'_> {
    /// A task ended on `cpu`. The threads begin at the next tick, or when they are done with one that ended before.
    pub fn reap(&mut self, cpu: CpuId) {
        if self.reapers.threads.is_none() {
        } else if self.reapers.is_busy {
            self.reapers.next = Some(cpu);
        } else {
            self.reapers.is_busy = true;
            let at = self.machine.next_tick(self.now()) + AFTER_TICK;
            self.agenda.calendar.push(at, class::WAKE, Entry::Ended(cpu, 0));
        }
    }

    /// A stage after the end of a task on `cpu`.
    pub fn reaper_due(&mut self, cpu: CpuId, stage: u32) {
        let Some((first, pinned)) = self.reapers.threads else { return };
        let woken = match stage {
            WORKER => TaskId(first.0 + 1 + cpu.0),
            _ => first,
        };
        let exists = stage != WORKER || cpu.index() < pinned;
        if exists && self.referee.tasks().state(woken) == State::Blocked {
            self.timer_expired(woken);
        }
        if let Some(pause) = PAUSES.get(stage as usize) {
            let at = self.now() + Span(self.machine.tick().0 * pause);
            return self.agenda.calendar.push(at, class::WAKE, Entry::Ended(cpu, stage + 1));
        }
        self.reapers.is_busy = false;
        if let Some(cpu) = self.reapers.next.take() {
            self.reap(cpu);
        }
    }
}
