//! Replies in a dialogue that leave no trace in a recording.
//!
//! In a dialogue two tasks wake each other in turn: a client sends a request and sleeps until the server has answered.
//! If the server preempts the client at once, the answer is there before the client would sleep. Then no waking shows
//! that the client depended on the server, and a replay without that dependence lets the client run ahead.
//!
//! A pair is in dialogue if nearly every message shows it: the receiver wakes the sender before it waits again itself,
//! and until then the sender wakes no other task. At least [`RECURRING`] messages must be like this, and fewer than one
//! in ten otherwise. In such a pair, a message is taken as answered even if the receiver waits again without having
//! woken the sender, provided the sender did not sleep meanwhile: the sender continues only when the receiver is done.
//! In the recording the receiver was done by then, so no wait precedes its signal.

use super::causes::{Cause, Kinds, RECURRING, Rule};
use super::history::History;
use goodness_core::TaskId;
use goodness_trace::SchedEvent;
use std::collections::{BTreeMap, BTreeSet};

/// Number of messages from one task to another, by outcome.
#[derive(Clone, Copy, Debug, Default)]
struct Messages {
    /// The receiver woke the sender before it waited again.
    answered: u32,
    /// The receiver waited again while the sender slept, or the sender woke another task meanwhile.
    otherwise: u32,
}

/// The pairs in dialogue, and their open messages.
pub struct Dialogues {
    /// Sender and receiver.
    pairs: BTreeSet<(TaskId, TaskId)>,
    open: Open,
}

/// For each task, the sender of the message that it works on.
#[derive(Clone, Debug)]
struct Open(Vec<Option<TaskId>>);

impl Open {
    /// `by` wakes `task`. Returns true if this answers a message of `task`.
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

    /// `task` waits again. Returns the sender of the message that it worked on.
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

    /// `task` waits again. Returns the sender of a message without a visible answer.
    pub fn rests(&mut self, task: TaskId) -> Option<TaskId> {
        self.open.rests(task)
    }
}
