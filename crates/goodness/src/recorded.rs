//! Measurements of a recording.

use crate::spec::PolicySpec;
use goodness_observe::{Measured, TaskMeasured};

/// Measurements of a recording, for comparison with replays.
pub struct Recorded {
    /// The policy of the kernel that recorded.
    pub policy: PolicySpec,
    /// Metrics of the recording.
    pub measured: Measured,
    /// Facts that a prediction needs and the recording does not show, as sentences.
    pub lacks: Vec<String>,
    /// CPUs of the recorded machine.
    pub(crate) cpus: usize,
    /// Each replayed task, as recorded.
    pub(crate) tasks: Vec<RecordedTask>,
}

impl Recorded {
    /// Each replayed task with its name, as recorded; tasks that never ran have none.
    pub fn tasks(&self) -> impl Iterator<Item = (&str, &TaskMeasured)> {
        let measured = |task: &RecordedTask| self.measured.tasks.get(task.recorded);
        self.tasks.iter().filter_map(move |task| Some((task.name.as_str(), measured(task)?)))
    }
}

/// A replayed task, as recorded.
pub(crate) struct RecordedTask {
    /// Its number in the recording.
    pub recorded: usize,
    /// Its name; not unique.
    pub name: String,
}
