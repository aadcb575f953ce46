//! Status and outcome of a live run.

use super::tally::{Latency, TaskTally};
use goodness_sys::Exit;
use serde::{Deserialize, Serialize};

/// Reason a live run ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum End {
    /// Its command ended.
    Command(Exit),
    /// Its time was over.
    Duration,
    /// `live stop`.
    Stopped,
    /// A signal.
    Signal(i32),
}

/// Status of a live run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Status {
    /// The policy's registered name.
    pub policy: String,
    /// All its settings.
    pub settings: Vec<(String, String)>,
    /// The daemon's process.
    pub daemon: u32,
    /// The daemon's CPU.
    pub daemon_cpu: u32,
    /// The policy's CPUs.
    pub cpus: Vec<u16>,
    /// Since the policy was loaded, in ns.
    pub elapsed_ns: u64,
    /// Number of picks.
    pub decisions: u64,
    /// Number of kernel events.
    pub events: u64,
    /// Latency from the kernel's event until the policy's decision is in effect; absent before the first decision.
    pub decision_latency: Option<Latency>,
    /// Commands the kernel dropped because the task had moved on meanwhile.
    pub outdated: u64,
    /// Events inconsistent with the known state of their task.
    pub strays: u64,
    /// The tasks.
    pub tasks: Vec<TaskTally>,
}

/// Result of a live run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Reason it ended.
    pub end: End,
    /// Final status.
    pub status: Status,
}
