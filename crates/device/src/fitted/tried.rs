//! The error of a fitted device on loads that it was not fitted to.

use super::fit::{ACCEPTED, Row};
use serde::{Deserialize, Serialize};

/// The largest errors on some loads, per mille of what was measured; too low by a factor is as wrong as too high by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// Number of loads.
    pub loads: u32,
    /// Error of the I/Os per second.
    pub iops_per_mille: i64,
    /// Error of the 99th percentile of the latency.
    pub p99_per_mille: i64,
}

impl Tried {
    /// The largest errors among `rows`; none if there are no rows.
    #[must_use]
    pub fn of(rows: &[Row]) -> Tried {
        let worst = |off: fn((i64, i64)) -> i64| {
            let all = rows.iter().map(|row| off(row.off()));
            all.max_by(|a, b| Tried::factor(*a).total_cmp(&Tried::factor(*b))).unwrap_or(0)
        };
        Tried { loads: rows.len() as u32, iops_per_mille: worst(|off| off.0), p99_per_mille: worst(|off| off.1) }
    }

    /// The factor between predicted and measured, 1 or more, of an error per mille.
    #[must_use]
    pub fn factor(per_mille: i64) -> f64 {
        let ratio = (1.0 + per_mille as f64 / 1000.0).max(0.001);
        ratio.max(1.0 / ratio)
    }

    /// True if no load is further off than accepted.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.iops_per_mille.unsigned_abs() <= ACCEPTED && self.p99_per_mille.unsigned_abs() <= ACCEPTED
    }

    /// Both errors with sign and per cent: `+8.1 %`.
    #[must_use]
    pub fn in_words(&self) -> [String; 2] {
        [self.iops_per_mille, self.p99_per_mille].map(percent)
    }
}

/// An error per mille with sign and per cent: `−8.1 %`.
#[must_use]
pub fn percent(per_mille: i64) -> String {
    format!("{}{}.{} %", if per_mille < 0 { "−" } else { "+" }, per_mille.abs() / 10, per_mille.abs() % 10)
}
