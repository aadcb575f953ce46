//! Reasons: the rule by which a policy lets one task run while another waits, as data.

use crate::task::{Class, TaskId};
use crate::time::{Span, Time};

/// The rule by which a task is ahead of a waiting one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Its class is served first.
    Class {
        /// Class of the task ahead.
        ahead: Class,
        /// Class of the waiting task.
        waiting: Class,
    },
    /// Its priority is more urgent; larger numbers are more urgent.
    Priority {
        /// Priority of the task ahead.
        ahead: i32,
        /// Priority of the waiting task.
        waiting: i32,
    },
    /// Its deadline is earlier, by this much of the time that the policy counts.
    EarlierDeadline {
        /// Distance of the two deadlines.
        by: Span,
    },
    /// Its period is shorter.
    ShorterPeriod {
        /// Difference of the two periods.
        by: Span,
    },
    /// The waiting task is not eligible: it had this much more than its share.
    NotEligible {
        /// Service beyond its share.
        lag: Span,
    },
    /// It may insist on its slice.
    SliceProtected {
        /// CPU time until the protection ends.
        left: Span,
    },
    /// Its slice is not over, and the policy interrupts no slice for a task like the waiting one.
    SliceNotOver,
    /// It had less weighted CPU time.
    LessRuntime {
        /// Difference of the two virtual runtimes.
        by: Span,
    },
    /// The waiting task has less weighted CPU time, but not by as much as it takes to preempt a running task.
    LeadTooShort {
        /// Difference of the two virtual runtimes.
        by: Span,
    },
    /// The policy favours it for one pick: it was woken last, or another task yielded to it.
    Favoured,
    /// The waiting task used up its share of a round and waits for the next one.
    RoundUsedUp,
    /// A limit on CPU time keeps the waiting task from running.
    Throttled {
        /// Time of the next refill; `None` if the policy does not tell.
        until: Option<Time>,
    },
    /// The waiting task is the next one, but a running task is stopped at a tick only.
    AwaitsTick,
    /// It came first.
    First,
}

impl Reason {
    /// Name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Class { .. } => "class",
            Reason::Priority { .. } => "priority",
            Reason::EarlierDeadline { .. } => "earlier_deadline",
            Reason::ShorterPeriod { .. } => "shorter_period",
            Reason::NotEligible { .. } => "not_eligible",
            Reason::SliceProtected { .. } => "slice_protected",
            Reason::SliceNotOver => "slice_not_over",
            Reason::LessRuntime { .. } => "less_runtime",
            Reason::LeadTooShort { .. } => "lead_too_short",
            Reason::Favoured => "favoured",
            Reason::RoundUsedUp => "round_used_up",
            Reason::Throttled { .. } => "throttled",
            Reason::AwaitsTick => "awaits_tick",
            Reason::First => "first",
        }
    }
}

/// A question to a policy: why does `waiting` wait?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Why {
    /// The task that runs on the CPU whose run queue has the waiting one, or was just picked; `None` if it idles.
    pub ahead: Option<TaskId>,
    /// The waiting task.
    pub waiting: TaskId,
}
