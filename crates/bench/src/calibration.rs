//! The empty policy: what driving costs by itself.

use goodness_core::{Context, CpuId, CpuPolicy, Dequeue, Enqueue, Pick, Rejected, Resched, Span, Stop, TaskId};

use crate::pattern::ASLEEP;

/// Picks the tasks in the order in which one queue would serve them, but by counting: no queue, no memory. The
/// driver then touches its own tasks in the same order as under a real policy, and nothing else costs anything.
pub struct Null {
    next: usize,
    tasks: usize,
}

impl Null {
    /// For `tasks` tasks, of which every [`ASLEEP`]-th sleeps at first.
    #[must_use]
    pub fn new(tasks: usize) -> Self {
        Null { next: 0, tasks }
    }
}

impl CpuPolicy for Null {
    fn admit(&mut self, _: &Context, _: TaskId, _: Option<TaskId>) -> Result<(), Rejected> {
        Ok(())
    }

    #[inline]
    fn enqueue(&mut self, _: &Context, _: CpuId, _: TaskId, _: Enqueue) -> Resched {
        Resched::Keep
    }

    fn dequeue(&mut self, _: &Context, _: CpuId, _: TaskId, _: Dequeue) {}

    #[inline]
    fn pick_next(&mut self, _: &Context, _: CpuId) -> Option<Pick> {
        let at = self.next;
        self.next = if at + 1 == self.tasks { 0 } else { at + 1 };
        let queued = self.tasks - self.tasks.div_ceil(ASLEEP);
        let task = if at < queued { at + at / (ASLEEP - 1) + 1 } else { (at - queued) * ASLEEP };
        Some(Pick { task: TaskId(task as u32), timeslice: None })
    }

    #[inline]
    fn charge(&mut self, _: &Context, _: CpuId, _: TaskId, _: Span, _: Stop) -> Resched {
        Resched::Keep
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine_of;
    use goodness_core::{EffortMeter, TaskTable, Time};

    #[test]
    fn the_empty_policy_serves_everyone_once_a_round_the_first_sleepers_last() {
        let (machine, tasks, effort) = (machine_of(1).unwrap(), TaskTable::default(), EffortMeter::default());
        let cx = Context { now: Time(0), machine: &machine, tasks: &tasks, effort: &effort };
        let mut null = Null::new(19);
        let mut round: Vec<u32> = (0..19).filter_map(|_| null.pick_next(&cx, CpuId(0))).map(|p| p.task.0).collect();
        assert_eq!(&round[16..], [0, 8, 16]);
        assert_eq!(&round[..8], [1, 2, 3, 4, 5, 6, 7, 9]);
        round.sort_unstable();
        assert_eq!(round, (0..19).collect::<Vec<_>>());
    }
}
