//! Placements: the rule by which a policy chose a CPU for a task that became runnable, as data.

/// The rule by which a policy placed a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Placement {
    /// The task may use no other CPU.
    OnlyCpu,
    /// The task may use no other CPU that is online; some are offline.
    OnlyOnline,
    /// The CPU idles, or runs only tasks that give way at once.
    IdleCpu,
    /// The task had not left the run queue of this CPU when it was woken.
    StillQueued,
    /// No CPU that the task may use idles among those that share a cache with this one.
    NoneIdleNear,
    /// CPUs that share a cache with this one idle, but the search for one looked at so few.
    SearchEnded {
        /// Number of CPUs that it looks at.
        looked_at: u32,
    },
    /// No CPU that the task may use idles.
    NoneIdle,
    /// No other part of the machine is idler by enough for the task to leave its parent's CPU.
    StaysWithParent,
    /// What runs on the CPU is less urgent: a lower class or priority, or a later deadline.
    LessUrgent,
    /// Each CPU that the task may use runs something as urgent or more.
    NoneLessUrgent,
}

impl Placement {
    /// Name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Placement::OnlyCpu => "only_cpu",
            Placement::OnlyOnline => "only_online",
            Placement::IdleCpu => "idle_cpu",
            Placement::StillQueued => "still_queued",
            Placement::NoneIdleNear => "none_idle_near",
            Placement::SearchEnded { .. } => "search_ended",
            Placement::NoneIdle => "none_idle",
            Placement::StaysWithParent => "stays_with_parent",
            Placement::LessUrgent => "less_urgent",
            Placement::NoneLessUrgent => "none_less_urgent",
        }
    }
}
