//! The simulator's predictions, compared with what a race measured.

mod simulation;

pub use simulation::POLICY;

use crate::config::RaceFile;
use crate::engine::Outcome;
use crate::subprocess::Launcher;
use crate::workspace::Workspace;
use goodness::{Refusal, calibrate};
use goodness_core::{Machine, Seed};
use serde::Serialize;
use simulation::{Question, predict, service_times};
use std::path::Path;

/// One measure of one arm as predicted and as measured, or the reason there is no prediction.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PredictedMeasure {
    /// The arm.
    pub arm: String,
    /// The measure; empty if nothing is predicted.
    pub measure: String,
    /// Its unit.
    pub unit: &'static str,
    /// Predicted value.
    pub predicted: Option<f64>,
    /// Measured value: the mean of the runs.
    pub measured: Option<f64>,
    /// Measured by predicted.
    pub ratio: Option<f64>,
    /// Predicted ratio of this arm to the reference, which is least affected by other load.
    pub predicted_vs_reference: Option<f64>,
    /// The same as measured.
    pub measured_vs_reference: Option<f64>,
    /// Reason there is no prediction.
    pub why_not: Option<String>,
}

/// Machine and service times, found before the race.
pub struct Predictor {
    machine: Machine,
    service_times: Vec<(String, f64)>,
}

impl Predictor {
    /// Reads the machine `typed`, or measures this machine if empty. Measuring the load's service time uses the folder
    /// `private`.
    ///
    /// # Errors
    /// A machine that is invalid or cannot be measured, or a load that fails during the measurement.
    pub fn prepare(typed: &str, file: &RaceFile, launcher: &Launcher, private: &Path) -> Result<Predictor, Refusal> {
        let machine = match typed {
            "" => calibrate::this_machine()?,
            typed => goodness::machine(typed)?,
        };
        let workspace = Workspace::new(private.into());
        let asked = service_times(&file.load, launcher, &workspace, file.plan.seed);
        Ok(Predictor { machine, service_times: asked.map_err(|why| Refusal::failed(why.0))? })
    }

    /// All predictions for the measured outcome.
    #[must_use]
    pub fn predict(&self, file: &RaceFile, outcome: &Outcome) -> Vec<PredictedMeasure> {
        let of_reference = outcome.arms.iter().find(|arm| arm.is_reference);
        let reference = |name: &str| {
            let own = self.service_times.iter().find(|(known, _)| known == name).map(|(_, value)| *value);
            let measured = || of_reference?.measures.iter().find(|measure| measure.name == name)?.mean;
            own.or_else(measured)
        };
        let mut all = Vec::new();
        for (arm, found) in file.plan.arms.iter().zip(&outcome.arms) {
            let (load, settings) = (file.load.as_str(), file.settings.as_slice());
            let seed = Seed(file.plan.seed.0);
            let question = Question { load, settings, arm, machine: &self.machine, seed, reference: &reference };
            match predict(&question) {
                Err(why) => all.push(PredictedMeasure::nothing(&arm.name, why)),
                Ok(predictions) => all.extend(predictions.into_iter().map(|prediction| {
                    let measured = found.measures.iter().find(|measure| measure.name == prediction.measure);
                    let mean = measured.and_then(|measured| measured.mean);
                    PredictedMeasure {
                        arm: arm.name.clone(),
                        unit: measured.map_or("", |measured| measured.shown_unit()),
                        predicted: Some(prediction.value),
                        measured: mean,
                        ratio: mean.map(|mean| prediction.ratio(mean)),
                        predicted_vs_reference: None,
                        measured_vs_reference: measured
                            .and_then(|measured| measured.vs_reference.as_ref())
                            .and_then(|versus| versus.ratio),
                        why_not: None,
                        measure: prediction.measure,
                    }
                })),
            }
        }
        compare_with_reference(of_reference.map_or("", |arm| arm.name.as_str()), &mut all);
        all
    }
}

/// Computes each prediction's ratio to that of the reference arm.
fn compare_with_reference(reference: &str, all: &mut [PredictedMeasure]) {
    let of_reference = |row: &&PredictedMeasure| row.arm == reference;
    let bases: Vec<(String, Option<f64>)> =
        all.iter().filter(of_reference).map(|row| (row.measure.clone(), row.predicted)).collect();
    for row in all.iter_mut().filter(|row| row.arm != reference) {
        let base = bases.iter().find(|(measure, _)| *measure == row.measure).and_then(|(_, predicted)| *predicted);
        row.predicted_vs_reference = row.predicted.zip(base).map(|(own, base)| own / base);
    }
}

impl PredictedMeasure {
    fn nothing(arm: &str, why: String) -> PredictedMeasure {
        PredictedMeasure {
            arm: arm.into(),
            measure: String::new(),
            unit: "",
            predicted: None,
            measured: None,
            ratio: None,
            predicted_vs_reference: None,
            measured_vs_reference: None,
            why_not: Some(why),
        }
    }
}

/// The outcome with its predictions, if any: schema `goodness.race/1`.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Document<'a> {
    /// What was measured.
    #[serde(flatten)]
    pub outcome: &'a Outcome,
    /// What the simulator predicts; only if that was asked for.
    #[serde(skip_serializing_if = "is_empty")]
    pub predictions: &'a [PredictedMeasure],
}

fn is_empty(predictions: &&[PredictedMeasure]) -> bool {
    predictions.is_empty()
}
