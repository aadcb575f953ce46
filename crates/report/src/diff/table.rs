//! The differences as a table: schema `goodness.differences/1`.

use super::{Diff, Difference, Finding, TaskName};
use goodness_table::Kind::{Float, Text, Whole};
use goodness_table::{Cell, Column, Table, column};

/// Columns of [`differences`].
pub const DIFFERENCES: &[Column] = &[
    column("a", Text, "Label of the one that the other is compared with."),
    column("b", Text, "Label of the other."),
    column("task", Text, "Name of the task; missing for the metrics of the whole run."),
    column("task_id", Whole, "Number of the task; missing likewise."),
    column("metric", Text, "Name of the metric."),
    column("unit", Text, "Unit of the values."),
    column("value_a", Float, "Mean of A's values."),
    column("value_b", Float, "Mean of B's values."),
    column("ratio", Float, "B / A."),
    column("ratio_low", Float, "Low end of its 95 % interval."),
    column("ratio_high", Float, "High end of its 95 % interval."),
    column("finding", Text, "B against A: equal, same, more, less or undecided."),
];

/// A row for each metric, and for each measure of each task.
#[must_use]
pub fn differences(diff: &Diff) -> Table {
    let mut table = of_metrics(diff);
    add_tasks(&mut table, diff);
    table
}

/// The rows of the metrics alone.
#[must_use]
pub fn of_metrics(diff: &Diff) -> Table {
    let mut table = Table::new("goodness.differences/1", DIFFERENCES);
    diff.metrics.iter().for_each(|it| push(&mut table, diff, None, it));
    table
}

/// The rows of the tasks alone.
#[must_use]
pub fn of_tasks(diff: &Diff) -> Table {
    let mut table = Table::new("goodness.differences/1", DIFFERENCES);
    add_tasks(&mut table, diff);
    table
}

fn add_tasks(table: &mut Table, diff: &Diff) {
    for task in &diff.tasks {
        task.metrics.iter().for_each(|it| push(table, diff, Some(&task.task), it));
    }
}

fn push(table: &mut Table, diff: &Diff, task: Option<&TaskName>, it: &Difference) {
    let [low, high] = it.ci95.map_or([None; 2], |interval| interval.map(Some));
    table.push(&[
        Cell::Text(&diff.a.label),
        Cell::Text(&diff.b.label),
        task.map(|it| it.name.as_str()).into(),
        task.map(|it| it.id).into(),
        Cell::Text(&it.name),
        Cell::Text(&it.unit),
        it.a.into(),
        it.b.into(),
        it.ratio.into(),
        low.into(),
        high.into(),
        Cell::Text(word(it.finding)),
    ]);
}

const fn word(finding: Finding) -> &'static str {
    match finding {
        Finding::Equal => "equal",
        Finding::Same => "same",
        Finding::More => "more",
        Finding::Less => "less",
        Finding::Undecided => "undecided",
    }
}
