//! Figures of the limits of groups in the first run of each policy.

use serde::{Deserialize, Serialize};

/// One group with a limit in the first replication of a policy: the figures of `cpu.stat`, after the warm-up.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupReport {
    /// Its name.
    pub name: String,
    /// Ends of periods; none while it uses nothing.
    pub nr_periods: u64,
    /// Periods at whose end it was throttled on a CPU.
    pub nr_throttled: u64,
    /// Sum over the CPUs of the time throttled, in ns.
    pub throttled_ns: u64,
    /// Periods in which it used more than its quota.
    pub nr_bursts: u64,
    /// CPU time beyond the quota in those periods, in ns.
    pub burst_ns: u64,
}
