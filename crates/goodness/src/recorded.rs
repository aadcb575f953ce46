//! Measurements of a recording.

use crate::contender::Contender;
use crate::run::Named;
use crate::spec::{ElevatorSpec, PolicySpec};
use goodness_core::{Span, WorkloadSource};
use goodness_observe::{About, ByFifth, METRICS, Measured, TaskMeasured};
use goodness_stats::summary::standard_deviation;

/// Measurements of a recording, for comparison with replays.
pub struct Recorded {
    /// The policy of the kernel that recorded.
    pub policy: PolicySpec,
    /// The elevator of its disks, if it is a trace of block I/O.
    pub elevator: Option<ElevatorSpec>,
    /// Metrics of the recording.
    pub measured: Measured,
    /// CPU time by task of the recording and fifth of the window; empty for a trace of block I/O.
    pub(crate) fifths: Vec<ByFifth>,
    /// The longest lull ([`goodness_observe::Lull`]); `None` without requests.
    pub(crate) lull: Option<Span>,
    /// Standard error of the logarithm of each metric, from the differences between fifths; empty for a trace of block
    /// I/O.
    pub(crate) batch_errors: Vec<Option<f64>>,
    /// Facts that a prediction needs and the recording does not show, as sentences.
    pub lacks: Vec<String>,
    /// The work with the tasks that are not judged, if the arms leave them out: a replay is compared with the recording
    /// under the same conditions.
    pub(crate) whole: Option<Box<dyn WorkloadSource>>,
    /// CPUs that its judged tasks may use.
    pub(crate) cpus: u32,
    /// Each task of the replay that is compared, as recorded.
    pub(crate) tasks: Vec<RecordedTask>,
}

impl Recorded {
    /// Length of the window that is measured.
    pub(crate) fn length(&self) -> Span {
        self.measured.window.to.since(self.measured.window.from)
    }

    /// The policy and the elevator that recorded.
    #[must_use]
    pub fn contender(&self) -> Contender {
        Contender { elevator: self.elevator.clone(), ..Contender::policy(self.policy.clone()) }
    }

    /// Each replayed task with its name, as recorded; tasks that never ran have none.
    pub fn tasks(&self) -> impl Iterator<Item = (&str, &TaskMeasured)> {
        let measured = |task: &RecordedTask| self.measured.tasks.get(task.recorded);
        self.tasks.iter().filter_map(move |task| Some((task.named.name.as_str(), measured(task)?)))
    }
}

/// Fewest observations of a metric in each fifth. A choice: of fewer, chance decides.
const FEWEST_IN_A_BATCH: u64 = 10;

/// Standard errors of the logarithms of all metrics over a window, from its batches (batch means): their standard
/// deviation over the root of their number. `None` for a metric that some batch shows too few observations of.
pub(crate) fn batch_errors(batches: &[Measured]) -> Vec<Option<f64>> {
    let log = |metric: &About, batch: &Measured| {
        let own = batch.get(metric.name);
        own.value.filter(|value| *value > 0.0 && own.samples >= FEWEST_IN_A_BATCH).map(f64::ln)
    };
    let error = |metric: &About| {
        let logs: Vec<f64> = batches.iter().map(|batch| log(metric, batch)).collect::<Option<_>>()?;
        Some(standard_deviation(&logs)? / (logs.len() as f64).sqrt())
    };
    METRICS.iter().map(error).collect()
}

/// A replayed task, as recorded.
pub(crate) struct RecordedTask {
    /// Its number in the recording.
    pub recorded: usize,
    /// As it is shown.
    pub named: Named,
}
