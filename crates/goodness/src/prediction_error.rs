//! The error of a prediction: of the replay, of such a change, or of the model.

use crate::change_error::error_of;
use crate::contender::Contender;
use crate::device_error::FittedDisk;
use crate::model_error::model_error;
use goodness_report::model::{Fidelity, FidelityMetric};

/// What a prediction rests on.
#[derive(Clone, Copy)]
pub(crate) struct Basis<'a> {
    /// The error of the replay, if one was measured.
    pub fidelity: Option<&'a Fidelity>,
    /// True if the work is a recording, or recordings; false if it is modelled.
    pub is_recording: bool,
    /// CPUs of the machine.
    pub machine: u32,
    /// CPUs that the judged tasks may use.
    pub cpus: u32,
    /// Disks whose devices were fitted to real ones.
    pub disks: &'a [FittedDisk],
}

impl Basis<'_> {
    /// By how much `metric`, predicted to be `ratio` times as large under `arm` as under `reference`, may be off, as a
    /// factor less 1: by the error of the replay, or by that of such a change where it is larger; of work that is not a
    /// recording by the model's under `arm`; by that of a fitted device if it is the largest. `None` if none was
    /// measured.
    pub fn error(&self, contenders: [&Contender; 2], metric: &str, ratio: Option<f64>) -> Option<f64> {
        let of_disks = self.disks.iter().filter_map(|disk| disk.error(metric));
        of_disks.chain(self.of_schedulers(contenders, metric, ratio)).max_by(f64::total_cmp)
    }

    /// The same without the error of devices.
    fn of_schedulers(&self, [reference, arm]: [&Contender; 2], metric: &str, ratio: Option<f64>) -> Option<f64> {
        if !self.is_recording {
            return model_error(arm, self.cpus, metric);
        }
        let of_replay = self.fidelity?.metrics.iter().find(|it| it.name == metric);
        let is_moved = arm.edits.iter().any(|edit| edit.kind() == "affinity");
        let cpus = if is_moved { self.machine } else { self.cpus };
        let of_change = error_of(reference, arm, cpus, metric, ratio);
        of_replay.and_then(FidelityMetric::factor).into_iter().chain(of_change).max_by(f64::total_cmp)
    }

    /// The error of comparing `arm` with `reference`: where the work is modelled, the larger one of both.
    pub fn of_comparison(&self, [reference, arm]: [&Contender; 2], metric: &str, ratio: Option<f64>) -> Option<f64> {
        let own = self.error([reference, arm], metric, ratio);
        let other = if self.is_recording { None } else { self.error([reference, reference], metric, ratio) };
        own.into_iter().chain(other).max_by(f64::total_cmp)
    }
}
