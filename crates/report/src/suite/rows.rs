//! The costs of a suite as a table, a row for each arm on each input.

use super::{Cost, Suite, SuiteArm};
use goodness_table::Kind::{Float, Text};
use goodness_table::{Cell, Column, Table};

/// Columns of [`Suite::costs`]: schema `goodness.suite-costs/1`.
pub const COSTS: &[Column] = &[
    Column { name: "suite", kind: Text, about: "Name of the suite; missing for inputs that were listed." },
    Column { name: "arm", kind: Text, about: "The arm." },
    Column { name: "reference", kind: Text, about: "yes for the arm that the others are compared with, else no." },
    Column { name: "input", kind: Text, about: "The input; missing for the mean over all." },
    Column { name: "metric", kind: Text, about: "Metric that ranks the input; missing for the mean over all." },
    Column { name: "value", kind: Float, about: "Value of that metric, in its unit." },
    Column {
        name: "cost",
        kind: Float,
        about: "Cost relative to the reference, below 1 is better; see docs/suites.md.",
    },
    Column { name: "cost_low", kind: Float, about: "Lower end of the cost's 95 % interval." },
    Column { name: "cost_high", kind: Float, about: "Upper end of the cost's 95 % interval." },
    Column { name: "verdict", kind: Text, about: "better, worse, same or inconclusive; missing for the reference." },
];

impl Suite {
    /// The cost of each arm on each input, then on all.
    #[must_use]
    pub fn costs(&self) -> Table {
        let mut table = Table::new("goodness.suite-costs/1", COSTS);
        for (place, arm) in self.arms.iter().enumerate() {
            for ((input, report), cost) in self.inputs.iter().zip(&self.reports).zip(&arm.on) {
                let metric = input.metric.as_deref();
                let value = metric.and_then(|metric| report.policies.get(place)?.metric(metric)?.value);
                self.push(&mut table, arm, (Some(&input.name), metric, value), *cost);
            }
            self.push(&mut table, arm, (None, None, None), arm.overall);
        }
        table
    }

    fn push(
        &self,
        table: &mut Table,
        arm: &SuiteArm,
        (input, metric, value): (Option<&str>, Option<&str>, Option<f64>),
        cost: Cost,
    ) {
        fn text(text: Option<&str>) -> Cell<'_> {
            text.map_or(Cell::Missing, Cell::Text)
        }
        let ends = cost.ci95.filter(|_| !arm.is_reference);
        table.push(&[
            text(Some(self.name.as_str()).filter(|it| !it.is_empty())),
            Cell::Text(&arm.label),
            Cell::Text(if arm.is_reference { "yes" } else { "no" }),
            text(input),
            text(metric),
            value.into(),
            if arm.is_reference { Some(1.0).into() } else { cost.ratio.into() },
            ends.map(|it| it[0]).into(),
            ends.map(|it| it[1]).into(),
            text(Some(cost.verdict.name()).filter(|_| !arm.is_reference)),
        ]);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::suite;
    use goodness_table::Cell;

    #[test]
    fn every_arm_has_a_row_for_each_input_and_one_for_all() {
        let costs = suite("a").costs();
        assert_eq!(costs.rows(), 2 * 3);
        let cell = |row: usize, name: &str| {
            let column = super::COSTS.iter().position(|it| it.name == name).expect("a column");
            costs.cell(row, column)
        };
        assert!(
            matches!(cell(3, "input"), Cell::Text("a")) && matches!(cell(3, "cost"), Cell::Float(cost) if cost == 0.5)
        );
        assert!(matches!(cell(5, "input"), Cell::Missing) && matches!(cell(5, "verdict"), Cell::Text("better")));
        assert!(
            matches!(cell(0, "cost"), Cell::Float(cost) if cost == 1.0) && matches!(cell(0, "verdict"), Cell::Missing)
        );
    }
}
