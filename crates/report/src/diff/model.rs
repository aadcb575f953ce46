//! What `goodness diff` found, in the order of the schema `goodness.diff/1`.

use crate::keyed::{self, keyed_by_name};
use crate::model::{Better, Build, Trust};
use crate::rule::Rule;
use serde::{Deserialize, Serialize};

/// Name and version of the schema.
pub const SCHEMA: &str = "goodness.diff/1";

/// The differences of B from A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diff {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// The program that wrote this.
    pub goodness: Build,
    /// What was compared.
    pub kind: Kind,
    /// The one that the other is compared with.
    pub a: Side,
    /// The other.
    pub b: Side,
    /// The values behind an interval, in words.
    pub samples: String,
    /// The answer.
    pub verdict: Verdict,
    /// Trust in the replays; `None` if nothing was replayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust: Option<Trust>,
    /// The first decision that differs; `None` if none does, or if schedules were not compared.
    pub first_difference: Option<FirstDifference>,
    /// Metrics measured on both sides.
    #[serde(with = "keyed")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, Difference>"))]
    pub metrics: Vec<Difference>,
    /// Tasks of both sides.
    pub tasks: Vec<TaskDifference>,
    /// Conditions under which the comparison fails.
    pub gates: Vec<Gate>,
    /// Remarks, as sentences.
    pub notes: Vec<String>,
}

/// What was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Two arms on one input, run with the same seeds.
    #[default]
    Arms,
    /// Two recordings as they were made.
    Recordings,
    /// Two saved results.
    Results,
}

/// One of the two.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Side {
    /// Its name: the arm, the recording, or the policy in a result.
    pub label: String,
    /// The input, or the file.
    pub input: String,
}

/// The answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing differs by more than chance explains.
    #[default]
    None,
    /// A decision or a metric differs.
    Different,
}

/// The first decision that differs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FirstDifference {
    /// Number of the run, from 0.
    pub replication: u32,
    /// Seed of the runs.
    pub seed: u64,
    /// Time of the decision in the run, in ns; of the earlier one if their times differ.
    pub at_ns: u64,
    /// CPU whose next task was chosen, or on which a task was placed by A; `None` for a disk.
    pub cpu: Option<u32>,
    /// Disk that was given a request; `None` for a CPU.
    pub disk: Option<u32>,
    /// Task that was placed or moved; `None` if the next task of a CPU was chosen.
    pub placed: Option<TaskName>,
    /// What A did.
    pub a: Choice,
    /// What B did.
    pub b: Choice,
}

/// What one side did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Choice {
    /// In words: `picks hog 1`.
    pub did: String,
    /// Task that runs on the CPU from then on; `None` if it idles.
    pub picked: Option<TaskName>,
    /// Task that ran on the CPU until then.
    pub running: Option<TaskName>,
    /// Tasks that waited there, in order of arrival.
    pub queue: Vec<Queued>,
    /// Slices around the decision, by end: some before it, some after.
    pub schedule: Vec<Slice>,
    /// The rule by which the policy or the elevator has its choice ahead of the one of the other side, or holds that
    /// one back, or by which the policy placed the task; `None` if that choice does not wait here, or the rule is not
    /// told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// Requests that waited for the disk, in order of arrival.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<QueuedRequest>,
    /// Requests that the disk had and had not completed; `None` for a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<u32>,
}

/// A task by name and number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskName {
    /// Name; not unique.
    pub name: String,
    /// Thread id in the recording, else the task's number in the run, from 1.
    pub id: u64,
}

/// A task on a CPU without interruption.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slice {
    /// The task.
    #[serde(flatten)]
    pub task: TaskName,
    /// CPU.
    pub cpu: u32,
    /// Time of the switch-in, in ns.
    pub start_ns: u64,
    /// Time of the switch-out, in ns.
    pub end_ns: u64,
}

/// A task that waits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Queued {
    /// The task.
    #[serde(flatten)]
    pub task: TaskName,
    /// Time since it became runnable or left the CPU, in ns.
    pub waited_ns: u64,
}

/// A request that waits for a disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QueuedRequest {
    /// `read`, `write`, `discard` or `flush`.
    pub operation: String,
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u32,
    /// The first submitter; `None` for the kernel, which writes back pages.
    pub by: Option<TaskName>,
    /// Time since it became a request, in ns.
    pub waited_ns: u64,
}

/// One metric on both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Difference {
    /// Registered name; the key in JSON.
    #[serde(skip)]
    pub name: String,
    /// As in `goodness.report/1`.
    pub unit: String,
    /// The good direction.
    pub better: Better,
    /// Mean of A's values.
    pub a: Option<f64>,
    /// Mean of B's values.
    pub b: Option<f64>,
    /// B / A.
    pub ratio: Option<f64>,
    /// 95 % confidence interval of the ratio; `None` if it cannot be stated.
    pub ci95: Option<[f64; 2]>,
    /// What B is against A, corrected for the number of metrics.
    pub finding: Finding,
}

/// B against A in one metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// Every run has the same value on both sides.
    Equal,
    /// Any difference is smaller than 1 %.
    Same,
    /// Larger.
    More,
    /// Smaller.
    Less,
    /// The values do not decide.
    #[default]
    Undecided,
}

impl Finding {
    /// True if the sides differ by more than chance explains.
    #[must_use]
    pub const fn is_different(self) -> bool {
        matches!(self, Finding::More | Finding::Less)
    }
}

/// One task on both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TaskDifference {
    /// The task; of recordings all tasks of that name together, under number 0.
    #[serde(flatten)]
    pub task: TaskName,
    /// Its measures.
    #[serde(with = "keyed")]
    #[cfg_attr(feature = "schema", schemars(with = "std::collections::BTreeMap<String, Difference>"))]
    pub metrics: Vec<Difference>,
}

/// A condition under which the comparison fails.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Gate {
    /// As typed: `request_latency_p99 > +5%`.
    pub condition: String,
    /// The answer.
    pub outcome: Outcome,
    /// Reason, as a sentence.
    pub because: String,
}

/// Answer to a gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The condition is not met: all is well.
    Holds,
    /// The condition is met.
    Fails,
    /// The values do not decide.
    #[default]
    Inconclusive,
}

impl Outcome {
    /// The word used in JSON and in text.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::Fails => "fails",
            Outcome::Inconclusive => "inconclusive",
        }
    }
}

impl Diff {
    /// An empty comparison of this program version.
    #[must_use]
    pub fn new(kind: Kind, a: Side, b: Side) -> Diff {
        Diff {
            schema: SCHEMA.into(),
            goodness: Build { version: env!("CARGO_PKG_VERSION").into(), commit: None },
            kind,
            a,
            b,
            samples: String::new(),
            verdict: Verdict::None,
            trust: None,
            first_difference: None,
            metrics: Vec::new(),
            tasks: Vec::new(),
            gates: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Remarks, as sentences: the reasons not to trust it that the headline leaves out, then the notes.
    pub(super) fn remarks(&self) -> Vec<String> {
        let left_out = self.trust.iter().flat_map(|it| it.because.iter().skip(1));
        left_out.map(|it| format!("Untrusted, too: {}.", it.trim_end_matches('.'))).chain(self.notes.clone()).collect()
    }

    /// True if it rests on replays that cannot be relied on.
    #[must_use]
    pub fn is_untrusted(&self) -> bool {
        self.trust.as_ref().is_some_and(Trust::is_untrusted)
    }

    /// Draws the verdict from what was found.
    pub fn conclude(&mut self) {
        let differs = self.metrics.iter().any(|it| it.finding.is_different());
        let is_different = differs || self.first_difference.is_some();
        self.verdict = if is_different { Verdict::Different } else { Verdict::None };
    }

    /// The worst answer of the gates; `None` without gates.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        let has = |outcome| self.gates.iter().any(|gate| gate.outcome == outcome);
        [Outcome::Fails, Outcome::Inconclusive, Outcome::Holds].into_iter().find(|it| has(*it))
    }
}

keyed_by_name!(Difference);
