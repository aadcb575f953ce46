//! The result of a comparison, in the order of the schema `goodness.report/1`.
//!
//! Scripts depend on the schema: fields are added, never renamed or moved. Parts for people only (notes, distributions,
//! the command to reproduce) are in [`Details`] and [`PolicyReport::distributions`], which the JSON omits when empty. A
//! value that was not measured is `None`, written `null`, never 0.

pub use crate::details::{Counted, Details, EffectRow, Effects, MetricAbout};
use crate::every_run::PolicyRuns;
use crate::groups::GroupReport;
use crate::keyed::{self, keyed_by_name};
pub use goodness_observe::Better;
pub use goodness_stats::compare::Verdict;
use serde::{Deserialize, Serialize};

/// Name and version of the schema.
pub const SCHEMA: &str = "goodness.report/1";

/// Everything that one `goodness compare` or `goodness run` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The program that wrote this.
    pub goodness: Build,
    /// The input of the runs.
    pub input: Input,
    /// Machine.
    pub machine: MachineSummary,
    /// Seed of the first replication; the others are derived from it.
    pub seed: u64,
    /// Replications of each policy.
    pub runs_per_policy: u32,
    /// Simulated time of one replication, in ns.
    pub simulated_ns: u64,
    /// Fidelity of the replay to the recording; `None` if the input is not a recording.
    pub fidelity: Option<Fidelity>,
    /// Trust in the verdicts; `None` if the input is not a recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// Sampling unit of a value.
    #[serde(default, skip_serializing_if = "Sampling::is_of_runs")]
    pub sampling: Sampling,
    /// Policies in the requested order.
    pub policies: Vec<PolicyReport>,
    /// Every value of every run, for each policy and input.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<PolicyRuns>,
    /// For people, beyond the schema.
    #[serde(default, skip_serializing_if = "Details::is_empty")]
    pub details: Details,
}

/// Sampling unit of a metric's values; intervals are over these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Sampling {
    /// A run of the work.
    #[default]
    Runs,
    /// A replay of one recording. Intervals are wider by what recordings of one load were measured to differ.
    Replays,
    /// One of so many recordings of a load: the mean of its replays.
    Recordings(u32),
    /// The recording that is the arm, as it was made; nothing was replayed. Intervals as for [`Sampling::Replays`].
    Arms,
}

/// Trust in the verdicts, with reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trust {
    /// The answer.
    pub verdict: TrustVerdict,
    /// Reasons against, as sentences.
    pub because: Vec<String>,
}

/// Trusted or untrusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TrustVerdict {
    /// The replay meets the bounds that the verdicts rely on.
    Trusted,
    /// It does not.
    Untrusted,
}

/// The program that wrote a report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Build {
    /// Version of the crate.
    pub version: String,
    /// Git commit it was built from, if known.
    pub commit: Option<String>,
}

/// Kind of input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum InputKind {
    /// A recorded trace, replayed.
    Trace,
    /// An experiment file.
    Experiment,
    /// A built-in workload.
    #[default]
    Workload,
    /// An rt-app file.
    RtApp,
    /// A fio job.
    Fio,
}

impl InputKind {
    /// The word used in JSON and in text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            InputKind::Trace => "trace",
            InputKind::Experiment => "experiment",
            InputKind::Workload => "workload",
            InputKind::RtApp => "rtapp",
            InputKind::Fio => "fio",
        }
    }
}

/// Input of the runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Input {
    /// Its kind.
    pub kind: InputKind,
    /// Its file name or registered name.
    pub name: String,
    /// Hash of the file; `None` for built-in workloads.
    pub sha256: Option<String>,
    /// Events lost by the recording; `None` if the format does not report it or the input is not a recording.
    pub lost_events: Option<u64>,
}

/// Description of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MachineSummary {
    /// Preset or file.
    pub name: String,
    /// Number of CPUs.
    pub cpus: u32,
    /// Timer interrupts per second and CPU.
    pub hz: u32,
}

/// Error of a replay under the recording's policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fidelity {
    /// Policy used in place of the recording kernel's.
    pub policy: String,
    /// Compared metrics.
    #[serde(with = "keyed")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, FidelityMetric>"))]
    pub metrics: Vec<FidelityMetric>,
    /// Facts that a prediction needs and the recording does not show, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lacks: Vec<String>,
}

/// One metric, recorded and replayed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FidelityMetric {
    /// Registered name of the metric; the key in JSON.
    #[serde(skip)]
    pub name: String,
    /// In the recording itself.
    pub recorded: Option<f64>,
    /// In the replay.
    pub replayed: Option<f64>,
    /// |replayed − recorded| / recorded.
    pub error: Option<f64>,
    /// Unit of both values, as in [`MetricSummary::unit`].
    #[serde(default)]
    pub unit: String,
    /// The largest error this project promises for the metric, if it promises one.
    #[serde(default)]
    pub tolerance: Option<f64>,
}

/// Results of one policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PolicyReport {
    /// Registered name: `eevdf`.
    pub name: String,
    /// All tunables with the values used, in order of declaration.
    #[serde(with = "keyed")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, Setting>"))]
    pub settings: Vec<Setting>,
    /// True if the others are compared with this one.
    pub is_reference: bool,
    /// Metrics.
    #[serde(with = "keyed")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, MetricSummary>"))]
    pub metrics: Vec<MetricSummary>,
    /// The tasks of the first replication.
    pub tasks: Vec<TaskReport>,
    /// Beyond the schema: the groups with a limit, in the first replication.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupReport>,
    /// Scheduling decisions over all replications.
    pub decisions: Option<u64>,
    /// Wall-clock time of all replications in ns; `None` unless requested, because it is the only figure that differs
    /// from run to run.
    pub simulation_wall_ns: Option<u64>,
    /// Broken invariants; a run with any proves nothing.
    pub violations: Vec<Violation>,
    /// Not in the schema: the policy as requested, `eevdf:base_slice=3ms`, which distinguishes two arms of one policy.
    /// If empty, [`Report::labels`] makes one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label: String,
    /// Commands that apply it to the recorded machine; `None` for the reference, for work that is not a recording, and
    /// where it takes another machine or kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    /// Beyond the schema: points of the distributions behind the metrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub distributions: Vec<Distribution>,
}

/// Commands that bring an arm to a machine, and those that take it back. Each is a line for a shell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Application {
    /// Commands that apply it, in order.
    pub apply: Vec<String>,
    /// Commands that undo it, each of the one at its place.
    pub undo: Vec<String>,
}

impl Application {
    /// Adds a command and the one that takes it back.
    pub fn add(&mut self, apply: String, undo: String) {
        self.apply.push(apply);
        self.undo.push(undo);
    }
}

/// One tunable with its value as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Setting {
    /// Name of the tunable; the key in JSON.
    #[serde(skip)]
    pub name: String,
    /// Value as typed.
    pub value: String,
}

/// One metric over all replications of a policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MetricSummary {
    /// Registered name; the key in JSON.
    #[serde(skip)]
    pub name: String,
    /// `ns`, `count`, `1/s`, `share` (0 to 1, shown as a percentage), `ratio`, or another unit, shown unchanged.
    pub unit: String,
    /// The good direction.
    pub better: Better,
    /// Estimate over the replications; `None` if nothing was measured.
    pub value: Option<f64>,
    /// 95 % confidence interval, low and high; `None` for fewer than two replications.
    pub ci95: Option<[f64; 2]>,
    /// Observations behind the value, over all replications.
    pub samples: u64,
    /// Measured error of the prediction: of the replay, of such a change, or of the model on several CPUs. A kernel's
    /// value is within this factor, in either direction, in 95 % of cases. `None` where it was not measured.
    #[serde(default)]
    pub error_factor: Option<f64>,
    /// Comparison with the reference; `None` for the reference itself or without one.
    pub vs_reference: Option<VsReference>,
}

/// A policy against the reference in one metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VsReference {
    /// Value / value of the reference, paired by seed.
    pub ratio: Option<f64>,
    /// 95 % confidence interval of the ratio, low and high.
    pub ci95: Option<[f64; 2]>,
    /// Verdict of the comparison.
    pub verdict: Verdict,
}

/// One task in the first replication of a policy. Times in ns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskReport {
    /// Name; not unique.
    pub name: String,
    /// Thread id in the recording (may be reused), else the task's number in the run, from 1.
    pub id: u64,
    /// Nice at the end of the run; `None` for real-time tasks.
    pub nice: Option<i64>,
    /// On a CPU.
    pub cpu_time_ns: u64,
    /// Runnable, without a CPU.
    pub wait_ns: u64,
    /// Blocked.
    pub sleep_ns: u64,
    /// Times it left a CPU. A task that is running at the end was switched in once more.
    pub switches: u64,
    /// Times it was woken.
    pub wakeups: u64,
    /// Median of its wake-up latencies; `None` when it was never woken.
    pub wakeup_latency_p50_ns: Option<u64>,
    /// 99th percentile of its wake-up latencies.
    pub wakeup_latency_p99_ns: Option<u64>,
    /// The longest.
    pub wakeup_latency_max_ns: Option<u64>,
    /// Not in the schema: its block I/O; `None` if it did none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io: Option<TaskIoReport>,
}

/// The block I/O of one task in the first replication of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskIoReport {
    /// I/Os completed.
    pub done: u64,
    /// Bytes of these I/Os.
    pub bytes: u64,
    /// Median latency of its reads in ns; `None` without any.
    pub read_latency_p50_ns: Option<u64>,
    /// 99th percentile of the same.
    pub read_latency_p99_ns: Option<u64>,
    /// Median latency of its writes and discards in ns.
    pub write_latency_p50_ns: Option<u64>,
    /// 99th percentile of the same.
    pub write_latency_p99_ns: Option<u64>,
}

/// An invariant that a run broke.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Violation {
    /// Name of the checker.
    pub checker: String,
    /// Simulated time of the first violation, in ns.
    pub at_ns: u64,
    /// Description of the violation: what happened, to which task, where.
    pub message: String,
    /// The command that shows it again.
    pub reproduce: String,
}

/// Points of one distribution over all replications of a policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Family of metrics it belongs to, for example `wakeup_latency`.
    pub metric: String,
    /// As in [`MetricSummary::unit`].
    pub unit: String,
    /// Observations.
    pub samples: u64,
    /// `[quantile, value]`, both ascending; [`QUANTILES`] is a good choice.
    pub quantiles: Vec<[f64; 2]>,
}

/// Quantiles for latency curves: even in the body, ever finer in the tail.
pub const QUANTILES: [f64; 37] = [
    0.0, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8,
    0.85, 0.875, 0.9, 0.925, 0.95, 0.9625, 0.975, 0.9825, 0.99, 0.9925, 0.995, 0.9975, 0.999, 0.9995, 0.9999, 0.99999,
    1.0,
];

impl Sampling {
    fn is_of_runs(&self) -> bool {
        *self == Sampling::Runs
    }
}

impl FidelityMetric {
    /// By how much the replay is off in either direction, as a factor less 1: 1 for twice and for half the recorded
    /// value.
    #[must_use]
    pub fn factor(&self) -> Option<f64> {
        match (self.recorded?, self.replayed?) {
            (recorded, replayed) if recorded > 0.0 && replayed > 0.0 => {
                Some((replayed / recorded).max(recorded / replayed) - 1.0)
            }
            _ => self.error,
        }
    }

    /// True if the error is within the promise. `None` if nothing is promised or the recording does not contain the
    /// metric. An unknown error breaks the promise.
    #[must_use]
    pub fn keeps_promise(&self) -> Option<bool> {
        let promised = self.tolerance.filter(|_| self.recorded.is_some())?;
        Some(self.error.is_some_and(|error| error <= promised))
    }

    /// True if the metric misses its promised bound.
    #[must_use]
    pub fn misses_promise(&self) -> bool {
        self.keeps_promise() == Some(false)
    }

    /// True if a bound is promised for a metric the recording does not contain.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.tolerance.is_some() && self.keeps_promise().is_none()
    }
}

keyed_by_name!(FidelityMetric, MetricSummary, Setting);

impl Default for Report {
    /// An empty report of this program version.
    fn default() -> Report {
        Report {
            schema: SCHEMA.into(),
            goodness: Build { version: env!("CARGO_PKG_VERSION").into(), commit: None },
            input: Input::default(),
            machine: MachineSummary::default(),
            seed: 0,
            runs_per_policy: 0,
            simulated_ns: 0,
            fidelity: None,
            trust: None,
            sampling: Sampling::default(),
            policies: Vec::new(),
            runs: Vec::new(),
            details: Details::default(),
        }
    }
}

impl Report {
    /// A copy without the values of single runs, for pages.
    #[must_use]
    pub fn without_runs(&self) -> Report {
        Report {
            schema: self.schema.clone(),
            goodness: self.goodness.clone(),
            input: self.input.clone(),
            machine: self.machine.clone(),
            fidelity: self.fidelity.clone(),
            trust: self.trust.clone(),
            policies: self.policies.clone(),
            runs: Vec::new(),
            details: self.details.clone(),
            ..*self
        }
    }

    /// The word for a row of the tables.
    #[must_use]
    pub fn row(&self) -> &'static str {
        if self.details.has_arms { "arm" } else { "policy" }
    }

    /// The word for several rows.
    #[must_use]
    pub fn rows(&self) -> &'static str {
        if self.details.has_arms { "arms" } else { "policies" }
    }

    /// The sentence for a report without a metric that ranks.
    #[must_use]
    pub(crate) fn unranked(&self) -> String {
        format!("Nothing that could rank the {} was measured.", self.rows())
    }
}

impl PolicyReport {
    /// The metric of that name.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<&MetricSummary> {
        self.metrics.iter().find(|m| m.name == name)
    }
}
