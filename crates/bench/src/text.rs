//! Costs as tables of a terminal.

use crate::table::{Missing, RequestRow, Row};
use goodness_report::table;
use std::fmt::Write as _;

/// Costs of decisions, as a table of `width` columns.
#[must_use]
pub fn decisions(rows: &[Row], width: u16) -> String {
    let mut table = table::new(width);
    table.set_header([
        "policy",
        "tasks",
        "CPUs",
        "decision ns",
        "end to end ns",
        "decisions/s",
        "bare ns",
        "vs bare",
        "examined",
    ]);
    for row in rows {
        let optional = |value: Option<f64>, digits: usize| value.map_or("-".into(), |v| format!("{v:.digits$}"));
        table.add_row([
            row.policy.clone(),
            row.tasks.to_string(),
            row.cpus.to_string(),
            format!("{:.1}", row.decision_ns),
            optional(row.end_to_end_ns, 1),
            optional(row.decisions_per_s, 0),
            optional(row.bare_ns, 1),
            row.vs_bare.map_or("-".into(), |ratio| format!("{ratio:.2}×")),
            format!("{:.1}", row.effort),
        ]);
    }
    table::align_right(&mut table, 1..9);
    let mut out = table.to_string();
    for why in [Missing::TooLong, Missing::TooShort] {
        if rows.iter().any(|row| row.missing == Some(why)) {
            let _ = write!(out, "\n\n\"-\": {}.", why.sentence());
        }
    }
    out
}

/// Costs of requests, as a table of `width` columns.
#[must_use]
pub fn requests(rows: &[RequestRow], width: u16) -> String {
    let mut table = table::new(width);
    table.set_header(["elevator", "waiting", "decision ns", "end to end ns", "requests/s", "with events"]);
    for row in rows {
        table.add_row([
            row.elevator.clone(),
            row.waiting.to_string(),
            format!("{:.1}", row.decision_ns),
            format!("{:.1}", row.end_to_end_ns),
            format!("{:.0}", row.requests_per_s),
            format!("{:.0}", row.watched_per_s),
        ]);
    }
    table::align_right(&mut table, 1..6);
    table.to_string()
}
