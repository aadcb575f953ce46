//! Measurements of a recording.

use crate::spec::PolicySpec;
use goodness_observe::Measured;

/// Measurements of a recording, for comparison with replays.
pub struct Recorded {
    /// The policy of the kernel that recorded.
    pub policy: PolicySpec,
    /// Metrics of the recording.
    pub measured: Measured,
    /// CPUs of the recorded machine.
    pub(crate) cpus: usize,
    /// Each replayed task, as recorded.
    pub(crate) tasks: Vec<RecordedTask>,
}

/// A replayed task, as recorded.
pub(crate) struct RecordedTask {
    /// Its number in the recording.
    pub recorded: usize,
    /// Its name; not unique.
    pub name: String,
}
