//! Findings of a study, as its tests look them up.

use goodness_study::{Findings, Row};

/// The first row whose quantity starts so.
pub fn row<'a>(findings: &'a Findings, start: &str) -> &'a Row {
    findings.rows.iter().find(|row| row.quantity.starts_with(start)).unwrap_or_else(|| panic!("no row {start}"))
}
