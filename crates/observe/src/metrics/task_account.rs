//! Running totals of a task: CPU time, waiting, switches.

use goodness_core::{Off, Span};

/// Kept for each task beside its track; both together fill one cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TaskAccount {
    pub cpu_time: Span,
    pub wait: Span,
    /// Longest wake-up latency in nanoseconds plus 1; 0 for none.
    pub longest_latency: u64,
    /// Fair share; see `fairness`.
    pub claim: f64,
    pub voluntary: u32,
    pub involuntary: u32,
    pub migrations: u32,
    pub wakeups: u32,
}

impl TaskAccount {
    /// Counts a switch-out. A yield is involuntary, as in Linux, because the task stays runnable.
    #[inline]
    pub fn switched(&mut self, off: Off) {
        let count = if off.is_runnable() { &mut self.involuntary } else { &mut self.voluntary };
        *count += 1;
    }
}
