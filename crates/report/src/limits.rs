//! Figures of the limits of groups, as cells of a table.

use crate::figure;
use crate::groups::GroupReport;

/// Headings of [`cells`].
pub const HEAD: [&str; 6] = ["group", "periods", "throttled", "time throttled", "bursts", "time of bursts"];

/// The figures of a group as text, under [`HEAD`].
#[must_use]
pub fn cells(group: &GroupReport) -> [String; 6] {
    [
        figure::name(&group.name),
        group.nr_periods.to_string(),
        group.nr_throttled.to_string(),
        figure::time(Some(group.throttled_ns)),
        group.nr_bursts.to_string(),
        figure::time(Some(group.burst_ns)),
    ]
}
