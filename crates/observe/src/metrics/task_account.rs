//! A task's running totals: CPU time, waiting, switches.

use goodness_core::{Off, Span};

/// Kept for each task beside its track; both together fill one cache line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TaskAccount {
    pub cpu_time: Span,
    pub wait: Span,
    /// Longest wake-up latency in nanoseconds plus 1; 0 for none.
    pub longest_latency: u64,
    /// What it is entitled to; see `fairness`.
    pub claim: f64,
    pub voluntary: u32,
    pub involuntary: u32,
    pub migrations: u32,
    pub wakeups: u32,
}

impl TaskAccount {
    /// It left its CPU. A yield is involuntary, as in Linux's own count: the task stays runnable.
    #[inline]
    pub fn switched(&mut self, off: Off) {
        let count = if off.is_runnable() { &mut self.involuntary } else { &mut self.voluntary };
        *count += 1;
    }
}
