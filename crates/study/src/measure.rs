//! How a number of a custom study is measured, as its file says it.

use serde::Deserialize;

/// How a number is measured.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Which input; may be left out where there is one only.
    pub input: Option<String>,
    /// Under which policy, as typed.
    pub policy: Option<String>,
    /// Or under all of these, in the order of the metric, smallest first.
    pub order: Option<Vec<String>>,
    /// Name of a metric.
    pub metric: String,
    /// What it is divided by.
    pub by: Option<Divisor>,
    /// One sentence of cause.
    pub note: Option<String>,
}

/// What a metric is divided by; what is left out is as in the measure.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Divisor {
    /// Which input.
    pub input: Option<String>,
    /// Under which policy.
    pub policy: Option<String>,
    /// Which metric.
    pub metric: Option<String>,
}
