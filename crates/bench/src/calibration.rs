//! The empty policy, which measures the driver's own cost.

use goodness_core::{
    About, Context, CpuId, CpuPolicy, Dequeue, Enqueue, MadePolicy, Needs, Pick, Rejected, Resched, Span, State, Stop,
    TaskId,
};

use crate::pattern::ASLEEP;

/// Picks tasks in the order of a queue, but by counting, without a queue in memory. So the driver accesses its own
/// tasks in the same order as with a real policy, and the rest is free.
pub struct Null {
    next: usize,
    tasks: usize,
}

impl Null {
    const ABOUT: About = About {
        name: "null",
        summary: "Counts.",
        source: "None",
        needs: Needs { tick: false, timer: false, balance: false, global_lock: false },
    };

    /// For `tasks` tasks, of which every [`ASLEEP`]-th sleeps at first.
    #[must_use]
    pub fn made(tasks: usize) -> MadePolicy {
        MadePolicy { about: &Null::ABOUT, policy: Box::new(Null { next: 0, tasks }) }
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
    fn pick_next(&mut self, cx: &Context, _: CpuId) -> Option<Pick> {
        let at = self.next;
        let queued = self.tasks - self.tasks.div_ceil(ASLEEP);
        let task = if at < queued { at + at / (ASLEEP - 1) + 1 } else { (at - queued) * ASLEEP };
        let task = TaskId(task as u32);
        if cx.tasks.state(task) != State::Queued {
            return None;
        }
        self.next = if at + 1 == self.tasks { 0 } else { at + 1 };
        Some(Pick { task, timeslice: None })
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
    use goodness_core::{Enqueue, Task};
    use goodness_referee::{Choice, Referee};

    #[test]
    fn the_empty_policy_serves_everyone_once_a_round_the_first_sleepers_last() {
        let mut referee = Referee::new(machine_of(1).unwrap(), Null::made(19), 19);
        for _ in 0..19 {
            let task = referee.add(Task::default());
            referee.enqueue(task, CpuId(0), Enqueue::Fork { parent: None });
        }
        let mut serve = || {
            let Choice::Run { pick, .. } = referee.choose(CpuId(0)) else { return None };
            referee.take_off(CpuId(0));
            Some(pick.task.0)
        };
        let mut round: Vec<u32> = std::iter::from_fn(&mut serve).collect();
        assert_eq!(round[16..], [0, 8, 16]);
        assert_eq!(round[..8], [1, 2, 3, 4, 5, 6, 7, 9]);
        round.sort_unstable();
        assert_eq!(round, (0..19).collect::<Vec<_>>(), "and nobody who sleeps");
    }
}
