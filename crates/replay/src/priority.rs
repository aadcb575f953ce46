//! Kernel priorities of tasks, followed through a recording: each event names those of its tasks.

use goodness_core::{Nice, TaskId};
use goodness_trace::{Record, SchedEvent};

/// Kernel priority of nice 0.
const PRIO_OF_NICE_ZERO: i16 = 120;

/// Nice as the kernel priority says it.
pub(crate) fn nice_of(prio: i16) -> Nice {
    Nice::new(i64::from(prio - PRIO_OF_NICE_ZERO)).unwrap_or_default()
}

/// The priorities that an event names, in its order. `sched_wakeup` repeats that of `sched_waking`.
pub(crate) fn named(event: &SchedEvent) -> impl Iterator<Item = (TaskId, i16)> {
    let named = match *event {
        SchedEvent::Switch { prev, next, prev_prio, next_prio, .. } => {
            [prev.map(|task| (task, prev_prio)), next.map(|task| (task, next_prio))]
        }
        SchedEvent::Waking(wake) | SchedEvent::WakeupNew(wake) => [Some((wake.task, wake.prio)), None],
        _ => [None, None],
    };
    named.into_iter().flatten()
}

/// The priority first seen of each task; that of nice 0 where none was seen.
pub(crate) fn first_seen(records: &[Record], tasks: usize) -> Vec<i16> {
    let mut first = vec![None; tasks];
    for (task, prio) in records.iter().flat_map(|record| named(&record.event)) {
        first[task.index()].get_or_insert(prio);
    }
    first.into_iter().map(|prio| prio.unwrap_or(PRIO_OF_NICE_ZERO)).collect()
}

/// The priority last seen of each task.
#[derive(Debug)]
pub(crate) struct Priorities(Vec<Option<i16>>);

impl Priorities {
    /// None was seen of any of `tasks` tasks.
    pub fn unseen(tasks: usize) -> Priorities {
        Priorities(vec![None; tasks])
    }

    /// An event names this priority of `task`: the new nice, if that is a change of nice. Below 100 the task was lent a
    /// real-time priority for a while; its nice is what it was.
    pub fn change(&mut self, task: TaskId, prio: i16) -> Option<Nice> {
        let before = self.0[task.index()].replace(prio)?;
        (before != prio && prio >= 100).then(|| nice_of(prio))
    }
}
