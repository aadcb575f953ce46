//! Measurements of a recording.

use crate::spec::PolicySpec;
use goodness_observe::Measured;

/// Measurements of a recording, for comparison with replays.
pub struct Recorded {
    /// The policy of the kernel that recorded.
    pub policy: PolicySpec,
    /// Metrics of the recording.
    pub measured: Measured,
    /// Each replayed task's number in the recording.
    pub(crate) tasks: Vec<usize>,
}
