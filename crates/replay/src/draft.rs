//! Programmes as far as they are recovered.

use crate::program::Op;
use goodness_core::{CpuId, Start, TaskId};

/// A programme as far as it was recovered.
#[derive(Debug)]
pub struct Draft {
    /// Whose: the number in the recording.
    pub recorded: TaskId,
    /// How the task begins.
    pub start: Start,
    /// Its CPU at the beginning.
    pub cpu: CpuId,
    /// The programme; forks name tasks of the recording, turns and answers what they begin with.
    pub ops: Vec<Op>,
}
