//! Starvation: the longest time a task was runnable without running. Reported always; a violation only above a
//! requested bound.

use super::Invariant;
use crate::tracker::Tracker;
use goodness_core::{Span, State, TaskId, Time};

pub(super) const INVARIANT: Invariant =
    Invariant { name: "bounded_wait", summary: "No runnable task waits for a CPU longer than the bound asked for." };

/// A time during which a task was runnable but did not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Task.
    pub task: TaskId,
    /// Start.
    pub since: Time,
    /// Duration.
    pub span: Span,
    /// True if the task ran in the end; otherwise the run ended first.
    pub over: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct BoundedWait {
    pub bound: Span,
    /// The watchdog's limit, and the tasks it does not guard, ascending.
    pub limit: Span,
    pub unguarded: Vec<TaskId>,
    /// Of the waits longer than the limit, the first to reach it.
    pub overdue: Option<Wait>,
    pub longest: Option<Wait>,
    longest_span: Span,
    /// Only longer waits are examined: the least of the longest so far, the bound and the limit.
    usual: Span,
}

impl Default for BoundedWait {
    fn default() -> Self {
        BoundedWait {
            bound: Span::MAX,
            limit: Span::MAX,
            unguarded: Vec::new(),
            overdue: None,
            longest: None,
            longest_span: Span::ZERO,
            usual: Span::ZERO,
        }
    }
}

impl BoundedWait {
    /// True if a wait that ends now is the longest so far or beyond the bound.
    #[inline(always)]
    pub fn is_remarkable(&self, since: Time, at: Time) -> bool {
        at.since(since) > self.usual
    }

    /// The task runs after a wait longer than that.
    pub fn waited(&mut self, task: TaskId, since: Time, at: Time) -> Option<String> {
        self.enter(Wait { task, since, span: at.since(since), over: true })
    }

    fn enter(&mut self, wait: Wait) -> Option<String> {
        self.guard(wait);
        if wait.span > self.longest_span {
            self.longest_span = wait.span;
            self.longest = Some(wait);
        }
        self.usual = self.longest_span.min(self.bound).min(self.limit);
        let Wait { task, since, span, .. } = wait;
        (span > self.bound).then(|| format!("{task} waited {span} since {since}, longer than {}", self.bound))
    }

    /// Checks a wait against the watchdog's limit.
    fn guard(&mut self, wait: Wait) {
        let first = self.overdue.is_none_or(|overdue| wait.since < overdue.since);
        if wait.span > self.limit && first && self.unguarded.binary_search(&wait.task).is_err() {
            self.overdue = Some(wait);
        }
    }

    /// Accounts for tasks that still wait, and reports the longest wait if it exceeds the bound.
    pub fn at_end<T: Default>(&mut self, end: Time, tracker: &Tracker<T>) -> Option<String> {
        let waiting = || tracker.tasks().filter(|(_, t)| t.state == State::Queued);
        for (task, track) in waiting() {
            self.guard(Wait { task, since: track.since, span: end.since(track.since), over: false });
        }
        let (task, track) = waiting().min_by_key(|(_, t)| t.since)?;
        self.enter(Wait { task, since: track.since, span: end.since(track.since), over: false })
    }
}
