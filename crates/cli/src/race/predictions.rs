//! The simulator's predictions, compared with what a race measured, on a terminal.

use crate::output;
use comfy_table::ColumnConstraint;
use goodness_race::prediction::{POLICY, PredictedMeasure};
use goodness_report::figure;

/// Prints the predictions, if any.
pub fn show(all: &[PredictedMeasure]) {
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
