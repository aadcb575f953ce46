//! One replication in full.

use goodness_observe::{Checked, Measured};
use goodness_report::Timeline;
use goodness_sim::Outcome;

/// One replication of one contender, in full.
pub struct RunResult {
    /// What the metrics say.
    pub measured: Measured,
    /// What the checkers say.
    pub checked: Checked,
    /// What the simulator says.
    pub outcome: Outcome,
    /// Real time it took, in ns, where that was asked for.
    pub wall_ns: Option<u64>,
    /// The schedule, where asked for.
    pub timeline: Option<Timeline>,
    /// The tasks by number.
    pub tasks: Vec<Named>,
    /// What the work says of itself.
    pub remarks: Vec<String>,
}

/// A task as people know it.
#[derive(Clone, Debug)]
pub struct Named {
    /// Name; not unique.
    pub name: String,
    /// Thread id in the recording; number in the run, from 1, where there is none.
    pub id: u64,
    /// Nice at the start; `None` for real-time tasks.
    pub nice: Option<i64>,
    /// Priority as Linux's traces write it.
    pub priority: u32,
}
