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
    /// It needs less CPU time until it waits or ends, as told or predicted.
    ShorterBurst {
        /// CPU time that the task ahead needs.
        ahead: Span,
        /// CPU time that the waiting task needs.
        waiting: Span,
    },
    /// It waited longer for its length: the ratio of waiting time and length to length is higher.
    HigherRatio {
        /// Ratio of the task ahead in percent.
        ahead: u64,
        /// Ratio of the waiting task in percent.
        waiting: u64,
    },
    /// Its level is served first; small levels are.
    Level {
        /// Level of the task ahead.
        ahead: i32,
        /// Level of the waiting task.
        waiting: i32,
    },
    /// Its level is not better, but it waited long enough to make up for that.
    Aged,
    /// A draw chose it.
    Drawn {
        /// Its tickets.
        tickets: u64,
        /// Tickets of all that took part.
        of: u64,
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
    /// The policy does not preempt it: it runs until it waits or ends.
    RunsOn,
    /// It had less weighted CPU time.
    LessRuntime {
        /// Difference of the two virtual runtimes.
        by: Span,
    },
    /// Its pass is smaller: the mark up to which it has had its share.
    SmallerPass {
        /// Difference of the two, in CPU time of the waiting task.
        by: Span,
    },
    /// The waiting task has less weighted CPU time, but not by as much as it takes to preempt a running task.
    LeadTooShort {
        /// Difference of the two virtual runtimes.
        by: Span,
    },
    /// The policy favours it for one pick: it was woken last, it was preempted before, another task yielded to it, or
    /// an election skipped better ones by chance.
    Favoured,
    /// The waiting task used up its share of a round and waits for the next one.
    RoundUsedUp,
    /// A limit on CPU time keeps the waiting task from running.
    Throttled {
        /// Time of the next refill; `None` if the policy does not tell.
        until: Option<Time>,
    },
    /// The waiting task is the next one, but a running task is stopped at a tick only, or under lazy preemption at a
    /// return to user mode.
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
            Reason::ShorterBurst { .. } => "shorter_burst",
            Reason::HigherRatio { .. } => "higher_ratio",
            Reason::Level { .. } => "level",
            Reason::Aged => "aged",
            Reason::Drawn { .. } => "drawn",
            Reason::ShorterPeriod { .. } => "shorter_period",
            Reason::NotEligible { .. } => "not_eligible",
            Reason::SliceProtected { .. } => "slice_protected",
            Reason::SliceNotOver => "slice_not_over",
            Reason::RunsOn => "runs_on",
            Reason::LessRuntime { .. } => "less_runtime",
            Reason::SmallerPass { .. } => "smaller_pass",
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
    /// True if `ahead` was picked just now, while `waiting` was queued; false if it goes on running.
    pub is_pick: bool,
}

/// The place of a task in a fair queue, by the figures by which the policy orders it, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Virtual time of the queue. It passes as fast as the CPU time of a task of nice 0 that has the CPU alone.
    pub virtual_time: i64,
    /// CPU time that the task is owed; negative if it had more than its share. It is eligible while it is not negative.
    pub lag: i64,
    /// Its deadline in virtual time.
    pub deadline: i64,
}
