//! What the simulator predicts beside what a race measured.

use crate::failure::Failure;
use crate::{calibrate, output};
use comfy_table::ColumnConstraint;
use goodness_core::{Machine, Seed};
use goodness_race::config::RaceFile;
use goodness_race::engine::Outcome;
use goodness_race::part::Parts;
use goodness_race::place::Place;
use goodness_race::predict::{self, POLICY, Question};
use goodness_report::figure;
use goodness_workload::machine::parse_machine;
use serde::Serialize;

/// One measure of one arm, or why nothing is predicted for the arm.
#[derive(Debug, Serialize)]
pub struct Beside {
    /// The arm.
    arm: String,
    /// The measure; empty where nothing is predicted.
    measure: String,
    /// Its unit.
    unit: &'static str,
    /// What the simulator says.
    predicted: Option<f64>,
    /// What the race says: the mean of its runs.
    measured: Option<f64>,
    /// Measured by predicted.
    ratio: Option<f64>,
    /// This arm by the reference, as predicted: what other load of the machine disturbs least.
    predicted_vs_reference: Option<f64>,
    /// The same as measured.
    measured_vs_reference: Option<f64>,
    /// Why there is no prediction.
    why_not: Option<String>,
}

/// Machine and service times, found before the race.
pub struct Oracle {
    machine: Machine,
    service_times: Vec<(String, f64)>,
}

impl Oracle {
    /// Takes the machine `typed`, or measures this machine where that is empty.
    ///
    /// # Errors
    /// A machine that is wrong or cannot be measured; a load that fails when asked for its service time.
    pub fn ask(typed: &str, file: &RaceFile, parts: &Parts) -> Result<Oracle, Failure> {
        let machine = match typed {
            "" => calibrate::this_machine()?,
            typed => parse_machine(typed).map_err(Failure::usage)?,
        };
        let folder = tempfile::tempdir().map_err(|why| Failure::other(format!("no private folder: {why}")))?;
        let place = Place::new(folder.path().into());
        let asked = predict::service_times(&file.load, parts, &place, file.plan.seed);
        Ok(Oracle { machine, service_times: asked.map_err(|why| Failure::other(why.0))? })
    }

    /// All predictions for what was measured.
    pub fn predict(&self, file: &RaceFile, outcome: &Outcome) -> Vec<Beside> {
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
            match predict::predict(&question) {
                Err(why) => all.push(Beside::nothing(&arm.name, why)),
                Ok(predictions) => all.extend(predictions.into_iter().map(|prediction| {
                    let measured = found.measures.iter().find(|measure| measure.name == prediction.measure);
                    let mean = measured.and_then(|measured| measured.mean);
                    Beside {
                        arm: arm.name.clone(),
                        unit: measured.map_or("", |measured| super::show::unit(measured)),
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
        hold_against(of_reference.map_or("", |arm| arm.name.as_str()), &mut all);
        all
    }
}

/// Fills in what each prediction is by that for the reference arm.
fn hold_against(reference: &str, all: &mut [Beside]) {
    let of_reference = |row: &&Beside| row.arm == reference;
    let bases: Vec<(String, Option<f64>)> =
        all.iter().filter(of_reference).map(|row| (row.measure.clone(), row.predicted)).collect();
    for row in all.iter_mut().filter(|row| row.arm != reference) {
        let base = bases.iter().find(|(measure, _)| *measure == row.measure).and_then(|(_, predicted)| *predicted);
        row.predicted_vs_reference = row.predicted.zip(base).map(|(own, base)| own / base);
    }
}

impl Beside {
    fn nothing(arm: &str, why: String) -> Beside {
        Beside {
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

/// Prints them, where there are any.
pub fn show(all: &[Beside]) {
    if all.is_empty() {
        return;
    }
    let mut table = output::table();
    table.set_header(["arm", "measure", "predicted", "measured", "ratio", "against, pred.", "meas."]);
    for row in all.iter().filter(|row| row.why_not.is_none()) {
        table.add_row([
            row.arm.clone(),
            row.measure.clone(),
            figure::show(row.predicted, row.unit),
            figure::show(row.measured, row.unit),
            figure::ratio(row.ratio),
            row.predicted_vs_reference.map_or_else(String::new, |ratio| figure::ratio(Some(ratio))),
            row.measured_vs_reference.map_or_else(String::new, |ratio| figure::ratio(Some(ratio))),
        ]);
    }
    output::align_right(&mut table, 2..7);
    // Names of measures have no place to break.
    if let Some(column) = table.column_mut(1) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    say!("\npredicted by the simulator ({POLICY}) beside what was measured");
    if !table.is_empty() {
        say!("{table}");
    }
    for row in all {
        if let Some(why) = &row.why_not {
            say!("{}: {why}", row.arm);
        }
    }
}

/// The outcome as JSON, with the predictions where there are any.
pub fn json(outcome: &Outcome, predictions: &[Beside]) -> String {
    let mut value = serde_json::to_value(outcome).expect("an outcome has string keys only");
    if let Some(fields) = value.as_object_mut().filter(|_| !predictions.is_empty()) {
        fields.insert("predictions".into(), serde_json::to_value(predictions).expect("plain fields"));
    }
    serde_json::to_string_pretty(&value).expect("a value is written")
}
