//! One replication in full.

use goodness_observe::{Checked, Measured};
use goodness_report::Timeline;
use goodness_sim::Outcome;

/// Result of one replication of one contender.
pub struct RunResult {
    /// Metrics.
    pub measured: Measured,
    /// Results of the checkers.
    pub checked: Checked,
    /// Outcome of the simulation.
    pub outcome: Outcome,
    /// Wall-clock time of the run in ns, if requested.
    pub wall_ns: Option<u64>,
    /// The schedule, if requested.
    pub timeline: Option<Timeline>,
    /// The tasks by number.
    pub tasks: Vec<Named>,
    /// Remarks of the work.
    pub remarks: Vec<String>,
}

/// Name and number of a task, for display.
#[derive(Clone, Debug)]
pub struct Named {
    /// Name; not unique.
    pub name: String,
    /// Thread id in the recording, else the task's number in the run, from 1.
    pub id: u64,
    /// Nice at the start; `None` for real-time tasks.
    pub nice: Option<i64>,
    /// Priority as Linux's traces write it.
    pub priority: u32,
}
