//! Kernel priorities of tasks over the course of a recording, as named by its events.

use goodness_core::{Nice, TaskId};
use goodness_trace::{Record, SchedEvent};

/// Kernel priority of nice 0.
const PRIO_OF_NICE_ZERO: i16 = 120;

/// Nice of a kernel priority.
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

/// The first priority seen of each task; nice 0 if none.
pub(crate) fn first_seen(records: &[Record], tasks: usize) -> Vec<i16> {
    let mut first = vec![None; tasks];
    for (task, prio) in records.iter().flat_map(|record| named(&record.event)) {
        first[task.index()].get_or_insert(prio);
    }
    first.into_iter().map(|prio| prio.unwrap_or(PRIO_OF_NICE_ZERO)).collect()
}

/// The last priority seen of each task.
#[derive(Debug)]
pub(crate) struct Priorities(Vec<Option<i16>>);

impl Priorities {
    /// Initial state of `tasks` tasks.
    pub fn unseen(tasks: usize) -> Priorities {
        Priorities(vec![None; tasks])
    }

    /// Updates the priority of `task`. Returns the new nice if that changed. A priority below 100 is a temporary
    /// real-time boost that leaves nice unchanged.
    pub fn change(&mut self, task: TaskId, prio: i16) -> Option<Nice> {
        let before = self.0[task.index()].replace(prio)?;
        (before != prio && prio >= 100).then(|| nice_of(prio))
    }
}
