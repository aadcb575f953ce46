//! Figures of the limit of a group: `cpu.stat`.
//!
//! Source: docs/specs/groups-locks.md section 2.3.

use crate::time::Span;

/// The figures of a group with a limit, as the kernel counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuStat {
    /// Ends of periods, `nr_periods`. While the group uses nothing, no period ends.
    pub periods: u64,
    /// Periods at whose end a CPU was throttled, `nr_throttled`.
    pub throttled_periods: u64,
    /// Sum over the CPUs of the time throttled, `throttled_usec`; counted when a CPU is released.
    pub throttled: Span,
    /// Periods in which the group used more than its quota, `nr_bursts`.
    pub bursts: u64,
    /// CPU time beyond the quota in those periods, `burst_usec`.
    pub burst: Span,
}

impl CpuStat {
    /// Counts after `before`.
    #[must_use]
    pub fn since(self, before: CpuStat) -> CpuStat {
        CpuStat {
            periods: self.periods - before.periods,
            throttled_periods: self.throttled_periods - before.throttled_periods,
            throttled: self.throttled - before.throttled,
            bursts: self.bursts - before.bursts,
            burst: self.burst - before.burst,
        }
    }
}
