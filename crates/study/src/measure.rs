//! Measures of a custom study's numbers, as its file states them.

use serde::Deserialize;

/// The measure of a number.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Input; may be omitted if there is only one.
    pub input: Option<String>,
    /// Under which policy, as typed.
    pub policy: Option<String>,
    /// Or under all of these, in the order of the metric, smallest first.
    pub order: Option<Vec<String>>,
    /// Name of a metric.
    pub metric: String,
    /// Divisor.
    pub by: Option<Divisor>,
    /// Explanation in one sentence.
    pub note: Option<String>,
}

/// Divisor of a metric. Omitted fields are as in the measure.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Divisor {
    /// Input.
    pub input: Option<String>,
    /// Under which policy.
    pub policy: Option<String>,
    /// Metric.
    pub metric: Option<String>,
}
