//! What a recording says of itself.

use crate::spec::PolicySpec;
use goodness_observe::Measured;

/// What a recording says of itself, to hold replays against.
pub struct Recorded {
    /// The policy of the kernel that recorded.
    pub policy: PolicySpec,
    /// What the metrics say of the recording itself.
    pub measured: Measured,
    /// Each replayed task's number in the recording.
    pub(crate) tasks: Vec<usize>,
}
