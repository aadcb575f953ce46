//! Status and outcome of a live run.

use super::tally::{Latency, TaskTally};
use goodness_sys::Exit;
use serde::{Deserialize, Serialize};

/// Why a live run ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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

/// What is, or was, going on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// How often the policy was asked whom to run.
    pub decisions: u64,
    /// Events the kernel told.
    pub events: u64,
    /// From the kernel's event until what the policy decided is done in the kernel; absent before the first decision.
    pub decision_latency: Option<Latency>,
    /// Commands the kernel dropped because the task had moved on meanwhile.
    pub outdated: u64,
    /// Events that did not fit what was known of their task.
    pub strays: u64,
    /// The tasks.
    pub tasks: Vec<TaskTally>,
}

/// What a live run leaves.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Why it ended.
    pub end: End,
    /// What it amounts to.
    pub status: Status,
}
