//! Replies in a dialogue that leave no trace in a recording.
//!
//! Two tasks that take turns wake each other: a client asks and sleeps until the server has answered. Where the server
//! preempts the client at once, the answer is there before the client looks. It does not sleep, and no waking shows
//! that it depended on the server. A replay without that dependence lets the client run ahead.
//!
//! A pair is in dialogue if it is so wherever the recording shows it: the receiver wakes the sender before it waits
//! again itself, and until then the sender wakes nobody else. Fewer than a tenth of its messages may be otherwise, and
//! at least [`RECURRING`] must be answered so. Then a message that the receiver is done with, without a waking of the
//! sender, who did not sleep meanwhile, was answered as well: the sender does not go on from there before the
//! receiver is done. In the recording the receiver was done then, so no wait precedes its signal.

use super::causes::{Cause, Kinds, RECURRING, Rule};
use super::history::History;
use goodness_core::TaskId;
use goodness_trace::SchedEvent;
use std::collections::{BTreeMap, BTreeSet};

/// What became of the messages from one task to another.
#[derive(Clone, Copy, Debug, Default)]
struct Messages {
    /// The receiver woke the sender before it waited again.
    answered: u32,
    /// The receiver waited again while the sender slept, or the sender woke somebody else meanwhile.
    otherwise: u32,
}

/// The pairs in dialogue, and who is being answered.
pub struct Dialogues {
    /// Sender and receiver.
    pairs: BTreeSet<(TaskId, TaskId)>,
    open: Open,
}

/// For each task, the sender of the message that it is busy with.
#[derive(Clone, Debug)]
struct Open(Vec<Option<TaskId>>);

impl Open {
    /// `by` wakes `task`: whose message `by` answers by that, if it does.
    fn woken(&mut self, task: TaskId, by: TaskId) -> bool {
        let answers = self.0[by.index()] == Some(task);
        if answers {
            self.0[by.index()] = None;
        }
        answers
    }

    fn asked(&mut self, task: TaskId, by: TaskId) {
        self.0[task.index()] = Some(by);
    }

    /// `task` waits again: the sender of the message that it was busy with.
    fn rests(&mut self, task: TaskId) -> Option<TaskId> {
        self.0[task.index()].take()
    }
}

impl Dialogues {
    /// Finds the pairs.
    #[must_use]
    pub fn find(history: &History, rule: &Rule) -> Dialogues {
        let tasks = history.participants.len();
        let mut messages = BTreeMap::<(TaskId, TaskId), Messages>::new();
        let (mut open, mut asks) = (Open(vec![None; tasks]), vec![None; tasks]);
        let mut sleeps = vec![false; tasks];
        for record in history.records {
            if let Some(wake) = history.waking(record) {
                let task = wake.task;
                sleeps[task.index()] = false;
                let Cause::Edge(by) = rule.judge(&wake, &mut Kinds::default()) else { continue };
                if open.woken(task, by) {
                    messages.entry((task, by)).or_default().answered += 1;
                    asks[task.index()] = None;
                    continue;
                }
                if let Some(other) = asks[by.index()].replace(task).filter(|other| *other != task) {
                    messages.entry((by, other)).or_default().otherwise += 1;
                }
                open.asked(task, by);
            } else if let SchedEvent::Switch { prev: Some(prev), prev_state, .. } = record.event
                && !prev_state.is_runnable()
            {
                sleeps[prev.index()] = true;
                if let Some(sender) = open.rests(prev) {
                    messages.entry((sender, prev)).or_default().otherwise += u32::from(sleeps[sender.index()]);
                    asks[sender.index()] = None;
                }
            }
        }
        let is_dialogue = |it: &Messages| it.answered >= RECURRING && it.otherwise * 10 < it.answered;
        let pairs = messages.into_iter().filter(|(_, it)| is_dialogue(it)).map(|(pair, _)| pair).collect();
        Dialogues { pairs, open: Open(vec![None; tasks]) }
    }

    /// `by` wakes `task`.
    pub fn speaks(&mut self, by: TaskId, task: TaskId) {
        if !self.open.woken(task, by) && self.pairs.contains(&(by, task)) {
            self.open.asked(task, by);
        }
    }

    /// `task` waits again. The sender of a message that it has not answered visibly.
    pub fn rests(&mut self, task: TaskId) -> Option<TaskId> {
        self.open.rests(task)
    }
}
