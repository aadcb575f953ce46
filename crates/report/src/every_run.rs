//! Every value of every run, as a part of a report.

use crate::keyed::{self, keyed_by_name};
use serde::{Deserialize, Serialize};

/// Every run of a policy on one input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyRuns {
    /// The policy's label, as in [`Report::labels`](crate::Report::labels).
    pub policy: String,
    /// The input's name.
    pub input: String,
    /// Number of the first run; the others follow it.
    pub first: u32,
    /// Requests answered in each run; empty for work without requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<u64>,
    /// The metrics that some run measured.
    #[serde(with = "keyed")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, RunValues>"))]
    pub values: Vec<RunValues>,
}

/// The values of one metric, by run; `None` where the run did not measure it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct RunValues {
    /// Registered name of the metric; the key in JSON.
    #[serde(skip)]
    pub name: String,
    /// Values in the metric's unit.
    pub values: Vec<Option<f64>>,
}

keyed_by_name!(RunValues);
