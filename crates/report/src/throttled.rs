//! Times in which tasks that want to run are out of quota.

use goodness_core::TaskId;

/// A time in which a task was runnable, and a limit on its group kept it from running. Times in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled {
    /// The task.
    pub task: TaskId,
    /// Its begin.
    pub from: u64,
    /// Its end.
    pub to: u64,
}
