//! The part of a report that is text for readers, beyond the schema.

use serde::{Deserialize, Serialize};

/// Text for readers, beyond the schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Details {
    /// Command line that reproduces this report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Sampling unit with its number: `10 replays of this one recording`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<String>,
    /// Differences between the replications, in one sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub what_varies: Option<String>,
    /// The metric that ranks the policies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ranked_by: Option<String>,
    /// Description of each metric, in one sentence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricAbout>,
    /// True if the rows are arms: each is the same work with changes, not only another policy.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_arms: bool,
    /// Effects of policies and elevators, alone and combined, if several of both were run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<Effects>,
    /// Sentences about the work.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workload_notes: Vec<String>,
    /// Sentences about the machine model and how its costs were measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine_notes: Vec<String>,
    /// Sentences to read before believing a number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Repairs made to the recording.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Counted>,
    /// Gaps of the recording.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unknowns: Vec<Counted>,
}

/// Main effects and interaction of two crossed factors in one metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effects {
    /// Name of the metric.
    pub metric: String,
    /// Effects of each factor's levels against its first, then the interactions.
    pub rows: Vec<EffectRow>,
}

/// One effect.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EffectRow {
    /// `policy`, `elevator` or `interaction`.
    pub factor: String,
    /// The level, or the pair.
    pub level: String,
    /// Ratio to the first level. For a pair: ratio to the product of the single effects.
    pub ratio: f64,
    /// 95 % confidence interval of the ratio.
    pub ci95: Option<[f64; 2]>,
}

/// A metric's name and meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricAbout {
    /// Registered name.
    pub name: String,
    /// Name for people, without a capital: `p99 request latency`.
    #[serde(default)]
    pub title: String,
    /// Summary in one sentence.
    pub summary: String,
}

/// Something that happened a number of times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counted {
    /// The thing counted, as a phrase that follows a number: `switches without a wake-up`.
    pub what: String,
    /// Number of times.
    pub count: u64,
}

impl Details {
    /// True if there is nothing to report.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Details::default()
    }
}
