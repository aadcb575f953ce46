//! Kernel priorities of tasks over the course of a recording, as named by its events.

use goodness_core::{Nice, TaskId};
use goodness_trace::{Record, SchedEvent};

/// Kernel priority of nice 0.
const PRIO_OF_NICE_ZERO: i16 = 120;
/// Kernel priorities below this are real-time ones.
const FIRST_ORDINARY: i16 = 100;

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

/// The initial priority of each task: the first ordinary one if most events name ordinary ones, else the first. A
/// thread often starts with its creator's real-time priority and leaves it at once. Nice 0 if none was seen.
pub(crate) fn initial(records: &[Record], tasks: usize) -> Vec<i16> {
    let mut seen = vec![Seen::default(); tasks];
    for (task, prio) in records.iter().flat_map(|record| named(&record.event)) {
        seen[task.index()].note(prio);
    }
    seen.iter().map(Seen::initial).collect()
}

/// The priorities of one task.
#[derive(Clone, Debug, Default)]
struct Seen {
    first: Option<i16>,
    first_ordinary: Option<i16>,
    ordinary: u32,
    real_time: u32,
}

impl Seen {
    fn note(&mut self, prio: i16) {
        self.first.get_or_insert(prio);
        if prio >= FIRST_ORDINARY {
            self.first_ordinary.get_or_insert(prio);
            self.ordinary += 1;
        } else {
            self.real_time += 1;
        }
    }

    fn initial(&self) -> i16 {
        let ordinary = self.first_ordinary.filter(|_| self.ordinary > self.real_time);
        ordinary.or(self.first).unwrap_or(PRIO_OF_NICE_ZERO)
    }
}

/// The last ordinary priority seen of each task.
#[derive(Debug)]
pub(crate) struct Priorities(Vec<Option<i16>>);

impl Priorities {
    /// Initial state of `tasks` tasks.
    pub fn unseen(tasks: usize) -> Priorities {
        Priorities(vec![None; tasks])
    }

    /// Updates the priority of `task`. Returns the new nice if that changed. A real-time priority changes none.
    pub fn change(&mut self, task: TaskId, prio: i16) -> Option<Nice> {
        if prio < FIRST_ORDINARY {
            return None;
        }
        let before = self.0[task.index()].replace(prio)?;
        (before != prio).then(|| nice_of(prio))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn initial(prios: &[i16]) -> i16 {
        let mut seen = Seen::default();
        prios.iter().for_each(|prio| seen.note(*prio));
        seen.initial()
    }

    #[test]
    fn a_thread_that_only_began_as_its_creator_is_an_ordinary_one() {
        assert_eq!(initial(&[98, 98, 125, 125, 125]), 125);
        assert_eq!(initial(&[125, 98, 98, 98]), 125, "a boost begins later");
        assert_eq!(initial(&[98, 98, 98, 120]), 98, "real-time for most of its life");
        assert_eq!(initial(&[]), PRIO_OF_NICE_ZERO);
    }

    #[test]
    fn a_boost_and_its_end_change_no_nice() {
        let mut priorities = Priorities::unseen(1);
        let changes = [120, 98, 120, 125, 98, 125].map(|prio| priorities.change(TaskId(0), prio));
        assert_eq!(changes, [None, None, None, Nice::new(5), None, None]);
    }
}
