//! Leads: how much less weighted CPU time a waiting task had than the running one, as claimed at several times. While a
//! task runs, the lead of another one of its weight grows by at most the time that it has run, and never shrinks.

use goodness_core::{Context, Reason, Span, TaskId, Time};
use std::collections::BTreeMap;

/// Policies count in units of their own: a figure is rounded to this much.
const ROUNDED: i64 = 1_000;

/// A lead that was claimed.
#[derive(Clone, Copy, Debug)]
struct Claimed {
    over: TaskId,
    /// The lead in ns; negative where the running task had less.
    lead: i64,
}

/// The leads claimed since each task was picked.
#[derive(Debug, Default)]
pub(crate) struct Leads {
    /// By running task: the time of its pick.
    since: BTreeMap<TaskId, Time>,
    /// By waiting task.
    claimed: BTreeMap<TaskId, Claimed>,
}

impl Leads {
    /// `task` was picked.
    pub fn begin(&mut self, now: Time, task: TaskId) {
        self.since.insert(task, now);
        self.claimed.retain(|waiting, claimed| *waiting != task && claimed.over != task);
    }

    /// `task` was queued anew, and may have been placed elsewhere.
    pub fn forget(&mut self, task: TaskId) {
        self.claimed.retain(|waiting, claimed| *waiting != task && claimed.over != task);
    }

    /// True if the lead of `reason` can follow the one that was claimed before it.
    pub fn agree(&mut self, cx: &Context, [ahead, waiting]: [TaskId; 2], reason: Reason) -> bool {
        let lead = match reason {
            Reason::LessRuntime { by } => -(by.0 as i64),
            Reason::LeadTooShort { by } => by.0 as i64,
            _ => return true,
        };
        let before = self.claimed.insert(waiting, Claimed { over: ahead, lead });
        let Some(before) = before.filter(|it| it.over == ahead) else { return true };
        let ran = self.since.get(&ahead).map_or(Span::ZERO, |since| cx.now.since(*since));
        let grown = lead - before.lead;
        !are_of_one_weight(cx, [ahead, waiting]) || (-ROUNDED..=ran.0 as i64 + ROUNDED).contains(&grown)
    }
}

/// True if the CPU time of both counts alike. Groups have weights of their own.
pub(crate) fn are_of_one_weight(cx: &Context, tasks: [TaskId; 2]) -> bool {
    let [one, other] = tasks.map(|it| &cx.tasks[it]);
    one.nice == other.nice && one.class == other.class && cx.groups.count() == 1
}
