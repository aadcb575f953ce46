//! The rows of studies as a table, for data frames.

use crate::conducting::Conducted;
use goodness_table::Kind::{Float, Text, Whole};
use goodness_table::{Cell, Column, Table, column};

/// Columns of [`table`]: schema `goodness.study-rows/1`.
pub const ROWS: &[Column] = &[
    column("study", Text, "Name of the study."),
    column("seed", Whole, "Random seed."),
    column("runs", Whole, "Replications of each run."),
    column("quantity", Text, "What was measured."),
    column("unit", Text, "Unit of the values; missing for plain numbers."),
    column("published", Float, "Published value; missing if the publication has no number."),
    column("simulated", Float, "Simulated value; missing if it could not be measured."),
    column("low", Float, "Lower end of the simulated value's 95 % interval."),
    column("high", Float, "Upper end of the simulated value's 95 % interval."),
    column("verdict", Text, "reproduced, direction, not reproduced or unpublished."),
];

/// The rows of all studies, published beside simulated.
#[must_use]
pub fn table(studies: &[Conducted]) -> Table {
    let mut table = Table::new("goodness.study-rows/1", ROWS);
    for conducted in studies {
        for row in conducted.rows() {
            table.push(&[
                Cell::Text(conducted.study().name),
                Cell::Whole(conducted.seed()),
                Cell::Whole(u64::from(conducted.runs())),
                Cell::Text(&row.quantity),
                Some(row.unit.as_str()).filter(|unit| !unit.is_empty()).into(),
                row.published.into(),
                row.simulated.into(),
                row.ci95.map(|ends| ends[0]).into(),
                row.ci95.map(|ends| ends[1]).into(),
                Cell::Text(row.verdict.words()),
            ]);
        }
    }
    table
}
