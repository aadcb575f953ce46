//! Replies that leave no trace in a recording.
//!
//! A task that is never idle does not sleep until its replies arrive, so no waking shows that it continued because of
//! them. A replay that runs it first would let it send everything before any reply. The recording shows the largest
//! number of its messages in flight: its window. A replay limits the sender to that window: beyond it, the sender waits
//! until one of the tasks it woke is done, that is, waits again or ends.
//!
//! A sender with several receivers is an event loop: it waits for any of them. It may not address a receiver again
//! before that one has replied, but continues with whichever replies first (`conversations`).
//!
//! This is an inference, made only if replies are invisible: a task sends to another program by soft-interrupt edges
//! ([`super::causes`]) at least [`super::causes::RECURRING`] times, and that program's tasks wake it less than half as
//! often as it wakes them. It cannot deadlock: in the recorded order, the sender never exceeded its window.

use super::causes::{Cause, Kinds, RECURRING, Rule, is_soft};
use super::history::History;
use goodness_core::TaskId;
use goodness_trace::SchedEvent;
use std::collections::BTreeMap;

/// Messages of one task to one program.
#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    sent: u32,
    answered: u32,
    under_way: u32,
    most: u32,
    /// First receiver, and whether there were others.
    first: Option<TaskId>,
    has_several: bool,
}

/// Limit for a sender whose replies are invisible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// One receiver: at most this many messages in flight.
    ToWindow(u32),
    /// Several receivers: each must reply before it is addressed again.
    ToAnswers,
}

/// Limits of all senders with invisible replies, by sender and receiving program.
pub struct Windows(BTreeMap<(TaskId, u32), Held>);

impl Windows {
    /// Finds the windows.
    #[must_use]
    pub fn find(history: &History, rule: &Rule) -> Windows {
        let mut traffic = BTreeMap::<(TaskId, u32), Traffic>::new();
        let mut asked: Vec<Option<(TaskId, u32)>> = vec![None; history.participants.len()];
        let program = |task: TaskId| history.participant(task).program;
        for record in history.records {
            if let Some(wake) = history.waking(record) {
                let task = wake.task;
                let Cause::Edge(by) = rule.judge(&wake, &mut Kinds::default()) else { continue };
                traffic.entry((task, program(by))).or_default().answered += 1;
                if !is_soft(wake.context) || program(by) == program(task) || asked[task.index()].is_some() {
                    continue;
                }
                asked[task.index()] = Some((by, program(task)));
                let it = traffic.entry((by, program(task))).or_default();
                it.sent += 1;
                it.under_way += 1;
                it.most = it.most.max(it.under_way);
                it.has_several |= *it.first.get_or_insert(task) != task;
            } else if let SchedEvent::Switch { prev: Some(prev), prev_state, .. } = record.event
                && !prev_state.is_runnable()
                && let Some(it) = asked[prev.index()].take().and_then(|key| traffic.get_mut(&key))
            {
                it.under_way -= 1;
            }
        }
        let is_one_way = |t: &Traffic| t.sent >= RECURRING && t.answered * 2 < t.sent;
        let held = |t: Traffic| if t.has_several { Held::ToAnswers } else { Held::ToWindow(t.most) };
        Windows(traffic.into_iter().filter(|(_, t)| is_one_way(t)).map(|(key, t)| (key, held(t))).collect())
    }

    /// Limit of `sender` towards `program`; `None` for no limit.
    #[must_use]
    pub fn of(&self, sender: TaskId, program: u32) -> Option<Held> {
        self.0.get(&(sender, program)).copied()
    }

    /// Removes the limits of the senders, towards the programs, that `is_known` names: their replies are known.
    pub fn forget(&mut self, is_known: impl Fn(TaskId, u32) -> bool) {
        self.0.retain(|(sender, program), _| !is_known(*sender, *program));
    }

    /// True if `sender` has a limit towards any program.
    #[must_use]
    pub fn has_sender(&self, sender: TaskId) -> bool {
        self.0.range((sender, 0)..=(sender, u32::MAX)).next().is_some()
    }

    /// The event loops, with the program that each sends to.
    pub fn loops(&self) -> impl Iterator<Item = (TaskId, u32)> + '_ {
        self.0.iter().filter(|(_, held)| **held == Held::ToAnswers).map(|((sender, program), _)| (*sender, *program))
    }

    /// Number of limits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if the list is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
