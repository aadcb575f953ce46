//! Costs of decisions and requests in long form, one value a row.

use crate::table::{RequestRow, Row};
use goodness_table::Kind::Whole;
use goodness_table::long::{ARM, METRIC, SETTINGS, UNIT, VALUE};
use goodness_table::{Cell, Column, Table, column};

/// Columns: schema `goodness.bench-values/1`.
pub const VALUES: &[Column] = &[
    ARM,
    SETTINGS,
    column("tasks", Whole, "Tasks; missing for elevators."),
    column("cpus", Whole, "CPUs; missing for elevators."),
    column("waiting", Whole, "Requests that wait; missing for policies."),
    METRIC,
    UNIT,
    VALUE,
];

/// A row's place in the table: the policy or elevator as typed, tasks, CPUs, waiting requests.
struct Place<'a>(&'a str, Option<u64>, Option<u64>, Option<u64>);

impl Place<'_> {
    fn push(&self, table: &mut Table, metric: &str, unit: &str, value: Option<f64>) {
        let Place(typed, tasks, cpus, waiting) = *self;
        let (arm, settings) = typed.split_once(':').unwrap_or((typed, ""));
        let (texts, sizes) = ([arm, settings].map(Cell::Text), [tasks, cpus, waiting].map(Cell::from));
        table.push(&[&texts[..], &sizes, &[Cell::Text(metric), Cell::Text(unit), value.into()]].concat());
    }
}

/// The costs of policies.
#[must_use]
pub fn decisions(rows: &[Row]) -> Table {
    let mut table = Table::new("goodness.bench-values/1", VALUES);
    for row in rows {
        let place = Place(&row.policy, Some(row.tasks as u64), Some(row.cpus as u64), None);
        let mut push = |metric, unit, value| place.push(&mut table, metric, unit, value);
        push("decision", "ns", Some(row.decision_ns));
        push("end_to_end", "ns", row.end_to_end_ns);
        push("decisions", "1/s", row.decisions_per_s);
        push("bare_loop", "ns", row.bare_ns);
        push("vs_bare", "ratio", row.vs_bare);
        push("effort", "count", Some(row.effort));
    }
    table
}

/// The costs of elevators.
#[must_use]
pub fn requests(rows: &[RequestRow]) -> Table {
    let mut table = Table::new("goodness.bench-values/1", VALUES);
    for row in rows {
        let place = Place(&row.elevator, None, None, Some(row.waiting.into()));
        let mut push = |metric, unit, value| place.push(&mut table, metric, unit, Some(value));
        push("decision", "ns", row.decision_ns);
        push("end_to_end", "ns", row.end_to_end_ns);
        push("requests", "1/s", row.requests_per_s);
        push("requests_watched", "1/s", row.watched_per_s);
    }
    table
}
