//! The long form of results: one value a row. Its columns have the same names and meanings in every table.

use crate::table::Kind::{Float, Text, Whole};
use crate::table::{Cell, Column, Table, column};

/// What was run.
pub const INPUT: Column = column("input", Text, "Name of the recording, file, workload or race.");
/// One of those that are compared.
pub const ARM: Column =
    column("arm", Text, "Label of the policy, elevator or change; simulated or played where these are compared.");
/// What is set in the arm.
pub const SETTINGS: Column = column(
    "settings",
    Text,
    "Settings of the arm other than auto: name=value, separated by commas; of a race as text.",
);
/// Where it ran.
pub const MACHINE: Column =
    column("machine", Text, "Name of the simulated machine; of measurements the release of the kernel.");
/// What decides chance.
pub const SEED: Column = column("seed", Whole, "Random seed; it and the run's number make the replication.");
/// One of several.
pub const RUN: Column = column("run", Whole, "Number of the replication or block, from 0.");
/// Of whom the value is.
pub const TASK: Column = column("task", Text, "Name of the task, not unique; missing for values of the whole run.");
/// Number of the task.
pub const TASK_ID: Column =
    column("id", Whole, "Thread id in a recording or a live run, else the task's number in the run, from 1.");
/// What was measured.
pub const METRIC: Column = column("metric", Text, "Name of the metric.");
/// Its unit.
pub const UNIT: Column = column("unit", Text, "Unit of the values: ns, 1/s, share (0 to 1), ratio, count, or another.");
/// The value.
pub const VALUE: Column = column("value", Float, "Value in this run; missing if the run did not measure it.");
/// Measured error of a predicted value, as a factor.
pub const ERROR_FACTOR: Column = column(
    "error_factor",
    Float,
    "Measured error of the prediction: a kernel's value is within this factor, in either direction, in 95 % of cases; \
     missing where it was not measured.",
);

/// Columns of values of whole runs: schema `goodness.runs/1`.
pub const RUNS: &[Column] = &[INPUT, ARM, SETTINGS, MACHINE, SEED, RUN, METRIC, UNIT, VALUE];

/// Columns of values of simulated runs: schema `goodness.predicted-runs/1`.
pub const PREDICTED_RUNS: &[Column] = &[INPUT, ARM, SETTINGS, MACHINE, SEED, RUN, METRIC, UNIT, VALUE, ERROR_FACTOR];

/// Columns of values of tasks: schema `goodness.task-runs/1`.
pub const TASK_RUNS: &[Column] = &[INPUT, ARM, SETTINGS, MACHINE, SEED, RUN, TASK, TASK_ID, METRIC, UNIT, VALUE];

/// An empty table of values of whole runs.
#[must_use]
pub fn runs() -> Table {
    Table::new("goodness.runs/1", RUNS)
}

/// An empty table of values of simulated runs.
#[must_use]
pub fn predicted_runs() -> Table {
    Table::new("goodness.predicted-runs/1", PREDICTED_RUNS)
}

/// An empty table of values of tasks.
#[must_use]
pub fn task_runs() -> Table {
    Table::new("goodness.task-runs/1", TASK_RUNS)
}

/// One run: what its rows have in common. `None` where a column has no meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OneRun<'a> {
    /// As in [`INPUT`].
    pub input: Option<&'a str>,
    /// As in [`ARM`].
    pub arm: Option<&'a str>,
    /// As in [`SETTINGS`].
    pub settings: Option<&'a str>,
    /// As in [`MACHINE`].
    pub machine: Option<&'a str>,
    /// As in [`SEED`].
    pub seed: Option<u64>,
    /// As in [`RUN`].
    pub run: Option<u64>,
}

impl OneRun<'_> {
    fn cells(&self) -> [Cell<'_>; 6] {
        let OneRun { input, arm, settings, machine, seed, run } = *self;
        [input.into(), arm.into(), settings.into(), machine.into(), seed.into(), run.into()]
    }

    /// Adds a value of the run to a table of [`runs`].
    pub fn push(&self, table: &mut Table, metric: &str, unit: &str, value: Option<f64>) {
        let [input, arm, settings, machine, seed, run] = self.cells();
        let row = [input, arm, settings, machine, seed, run, Cell::Text(metric), Cell::Text(unit), value.into()];
        table.push(&row);
    }

    /// Adds a value of the run, with its [`ERROR_FACTOR`], to a table of [`predicted_runs`].
    pub fn push_predicted(
        &self,
        table: &mut Table,
        (metric, unit): (&str, &str),
        value: Option<f64>,
        error_factor: Option<f64>,
    ) {
        let [input, arm, settings, machine, seed, run] = self.cells();
        let (metric, unit) = (Cell::Text(metric), Cell::Text(unit));
        table.push(&[input, arm, settings, machine, seed, run, metric, unit, value.into(), error_factor.into()]);
    }

    /// Adds a value of a task, by name and number, or of the whole run, to a table of [`task_runs`].
    pub fn push_of(
        &self,
        table: &mut Table,
        task: Option<(&str, u64)>,
        (metric, unit): (&str, &str),
        value: Option<f64>,
    ) {
        let [input, arm, settings, machine, seed, run] = self.cells();
        let (name, id) = (task.map(|it| it.0).into(), task.map(|it| it.1).into());
        let (metric, unit) = (Cell::Text(metric), Cell::Text(unit));
        table.push(&[input, arm, settings, machine, seed, run, name, id, metric, unit, value.into()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csv::render;

    #[test]
    fn a_row_has_what_is_known_of_its_run_and_nothing_in_place_of_the_rest() {
        let run = OneRun { input: Some("mixed"), arm: Some("rr"), run: Some(2), ..OneRun::default() };
        let mut table = runs();
        run.push(&mut table, "throughput", "1/s", Some(2.5));
        assert_eq!(render(&table).lines().nth(1), Some("mixed,rr,,,,2,throughput,1/s,2.5"));
        let mut table = task_runs();
        run.push_of(&mut table, Some(("hog", 7)), ("cpu_time", "ns"), Some(1e6));
        run.push_of(&mut table, None, ("decisions", "count"), None);
        let text = render(&table);
        let rows: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(rows, ["mixed,rr,,,,2,hog,7,cpu_time,ns,1000000", "mixed,rr,,,,2,,,decisions,count,"]);
    }
}
