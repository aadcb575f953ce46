//! The groups with a limit as a table.

use super::{ARM, column};
use crate::model::Report;
use goodness_table::Kind::{Text, Whole};
use goodness_table::{Cell, Column, Table};

/// Columns of [`groups`]: schema `goodness.groups/1`.
pub const GROUPS: &[Column] = &[
    ARM,
    column("group", Text, "Name of a group with a limit on its CPU time."),
    column("periods", Whole, "Ends of periods; none while the group uses nothing."),
    column("throttled_periods", Whole, "Periods at whose end it was throttled on a CPU."),
    column("throttled", Whole, "Sum over the CPUs of the time throttled, in ns."),
    column("bursts", Whole, "Periods in which it used more than its quota."),
    column("burst", Whole, "CPU time beyond the quota in those periods, in ns."),
];

/// The groups with a limit in each arm's first run.
#[must_use]
pub fn groups(report: &Report) -> Table {
    let mut table = Table::new("goodness.groups/1", GROUPS);
    for (label, policy) in report.labels().iter().zip(&report.policies) {
        for group in &policy.groups {
            table.push(&[
                Cell::Text(label),
                Cell::Text(&group.name),
                Cell::Whole(group.nr_periods),
                Cell::Whole(group.nr_throttled),
                Cell::Whole(group.throttled_ns),
                Cell::Whole(group.nr_bursts),
                Cell::Whole(group.burst_ns),
            ]);
        }
    }
    table
}
