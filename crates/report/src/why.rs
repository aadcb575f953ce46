//! Why latencies are long: `goodness.why/1`, as JSON, as tables, and as text for a terminal.

mod causes;
mod headline;
mod page;
mod picture;
pub mod tables;
mod text;
mod words;

use crate::rule::Rule;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

pub use headline::headline;
pub use page::page;
pub use text::text;
pub use words::{part as said, who};

/// Name and version of the schema.
pub const SCHEMA: &str = "goodness.why/1";

/// The longest latencies of a recording or a run, and what they were spent on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Why {
    /// [`SCHEMA`].
    pub schema: String,
    /// Name of the recording, file or workload.
    pub input: String,
    /// The policy of the simulated run; `null` for a recording as it is.
    pub policy: Option<String>,
    /// Seed of the simulated run.
    pub seed: Option<u64>,
    /// What a latency is: `waits` for a CPU, or `requests`.
    pub of: String,
    /// Whose requests to whom, or which tasks wait.
    pub whom: String,
    /// Number of latencies.
    pub count: u64,
    /// Their mean.
    pub mean_ns: Option<u64>,
    /// Their 99th percentile.
    pub p99_ns: Option<u64>,
    /// The longest.
    pub worst_ns: Option<u64>,
    /// The longest 1 %, ten at least, added up.
    pub tail: Tail,
    /// The longest, longest first.
    pub worst: Vec<Latency>,
    /// What the latencies do without what they are blamed on, by simulation.
    pub checks: Vec<Check>,
    /// What would move the latencies and the throughput, by simulation.
    pub profile: Vec<Lever>,
    /// Reasons not to trust the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// What to know about the figures.
    pub notes: Vec<String>,
}

/// Latencies added up.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tail {
    /// Number of latencies.
    pub count: u64,
    /// The shortest of them.
    pub from_ns: u64,
    /// Their sum.
    pub total_ns: u64,
    /// What it was spent on, largest first. The parts sum to it.
    pub parts: Vec<Part>,
    /// The locks for which it waited, the longest first. Their time is in the parts, too: what their holders did.
    pub locks: Vec<LockPart>,
}

/// One lock in a sum of latencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LockPart {
    /// Name of the lock.
    pub lock: String,
    /// Who held it for most of the time: a task, or several of one name.
    pub holder: String,
    /// Time spent asleep for it.
    pub total_ns: u64,
    /// Its part of the sum.
    pub share: f64,
}

impl LockPart {
    /// Name of the cause in [`Part`] and [`Check`].
    pub const CAUSE: &str = "lock";

    /// The same as a cause.
    #[must_use]
    pub fn part(&self) -> Part {
        let culprit = Some(self.lock.clone());
        Part { cause: Self::CAUSE.into(), culprit, total_ns: self.total_ns, share: self.share, rule: None }
    }
}

/// One cause in a sum of latencies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Part {
    /// Name of the cause.
    pub cause: String,
    /// Whom it is blamed on: a task, several of one name, or a group.
    pub culprit: Option<String>,
    /// Time spent on it.
    pub total_ns: u64,
    /// Its part of the sum.
    pub share: f64,
    /// The rule of the policy that accounts for most of it.
    pub rule: Option<Rule>,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Who {
    /// Name.
    pub name: String,
    /// Thread id of the recording, or number of the run.
    pub id: u64,
}

/// One latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Latency {
    /// Its begin.
    pub at_ns: u64,
    /// Its length; its links sum to it.
    pub length_ns: u64,
    /// The task that waited, or whose request it is.
    pub task: Who,
    /// Its beginning: `woken`, `lost_cpu`, `asked`, `submitted`, or `not_told`.
    pub began: String,
    /// The task that woke it.
    pub woken_by: Option<Who>,
    /// True if it had not ended when the recording or the run did.
    pub is_open: bool,
    /// What it was spent on, in order of time, from its begin to its end.
    pub chain: Vec<Link>,
}

impl Latency {
    /// The longest of its links, of equals the first.
    #[must_use]
    pub fn longest(&self) -> Option<&Link> {
        self.chain.iter().min_by_key(|link| Reverse(link.length_ns))
    }
}

/// A part of one latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Link {
    /// Its begin.
    pub from_ns: u64,
    /// Its length.
    pub length_ns: u64,
    /// The task on which the latency depended.
    pub task: Who,
    /// CPU on which it ran or for which it waited.
    pub cpu: u32,
    /// Name of the cause.
    pub cause: String,
    /// The task that it waited behind, or the group whose limit stopped it.
    pub culprit: Option<Who>,
    /// The rule of the policy.
    pub rule: Option<Rule>,
    /// The rule by which the policy placed the task on this CPU, where its wait there begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed: Option<Rule>,
    /// The lock for which a task slept meanwhile; the task on which the latency depended kept it from going on.
    pub lock: Option<Held>,
    /// Requests that the disk served meanwhile, and how many of them were writes.
    pub served_first: Option<[u32; 2]>,
    /// The task whose requests most of these are; write-back is of the task that wrote.
    #[serde(default)]
    pub served_most: Option<Who>,
}

/// A lock that a task waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Held {
    /// Name of the lock.
    pub name: String,
    /// The task that sleeps for it.
    pub waiter: Who,
    /// The task that releases it, or that held it when the other fell asleep.
    pub holder: Who,
}

/// What a run without the blamed cause shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Check {
    /// Name of the cause.
    pub cause: String,
    /// Whom it is blamed on.
    pub culprit: Option<String>,
    /// How it was removed.
    pub removed: String,
    /// Part of the longest latencies that it is blamed for.
    pub blamed: f64,
    /// Mean of the longest latencies with it.
    pub with_ns: f64,
    /// The same without it.
    pub without_ns: Option<f64>,
    /// Part of the longest latencies that its removal took away; negative if they grew.
    pub gone: Option<f64>,
    /// `holds`, `partly`, or `fails`; `not_checked` with a reason in `because`.
    pub verdict: String,
    /// Reason for the verdict, as a sentence.
    pub because: String,
}

impl Check {
    /// End of an edit that leaves half of what it takes away.
    const HALF: &str = "=50%";

    /// True if half of the cause was taken away, and not all of it.
    pub(crate) fn is_half(&self) -> bool {
        self.removed.ends_with(Self::HALF)
    }

    /// Part of the longest latencies that its removal takes away if the blame is right.
    pub(crate) fn expected(&self) -> f64 {
        if self.is_half() { self.blamed / 2.0 } else { self.blamed }
    }
}

/// What there is less of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LeverKind {
    /// CPU time of tasks.
    Compute,
    /// Time for which a lock is held.
    Hold,
    /// Time that a disk takes.
    Service,
}

/// What less of something would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lever {
    /// What is shortened.
    pub kind: LeverKind,
    /// Name of the tasks, of the lock, or of the disk.
    pub what: String,
    /// By how much: 0.05 for 5 %.
    pub less: f64,
    /// Change of the 99th percentile, as a part of it.
    pub p99: Option<f64>,
    /// Change of the throughput, as a part of it.
    pub throughput: Option<f64>,
    /// The 95 % interval of the first change: of runs with the same seeds, with and without.
    #[serde(default)]
    pub p99_ci95: Option<[f64; 2]>,
    /// That of the second.
    #[serde(default)]
    pub throughput_ci95: Option<[f64; 2]>,
    /// True if the 99th percentile is shown to change, in spite of the number of things tried.
    #[serde(default)]
    pub is_p99_told: bool,
    /// True if the throughput is.
    #[serde(default)]
    pub is_throughput_told: bool,
}
