//! The time axis of a page, on which schedules and what belongs to them are drawn.

/// Width of the axis, and room before it, in px.
pub(super) const WIDTH: f64 = 900.0;
pub(super) const MARGIN: f64 = 60.0;

/// The place of time `at` on the axis that ends at `end`.
pub(super) fn x(at: u64, end: u64) -> f64 {
    MARGIN + WIDTH * at as f64 / end as f64
}
