//! Programmes as far as they are recovered.

use crate::program::Op;
use goodness_core::{CpuId, Span, Start, TaskId};

/// A programme as far as it was recovered.
#[derive(Debug)]
pub struct Draft {
    /// The task's number in the recording.
    pub recorded: TaskId,
    /// Start of the task.
    pub start: Start,
    /// Its CPU at the beginning.
    pub cpu: CpuId,
    /// The programme. Forks name tasks of the recording, turns and answers name messages.
    pub ops: Vec<Op>,
    /// Recorded time that it waited for its periodic timer.
    pub timed: Span,
}
