//! Why latencies are long: `goodness.why/1`, as JSON, as a table, and as text for a terminal.

mod text;
mod words;

use crate::rule::Rule;
use goodness_table::Kind::{Float, Text, Whole};
use goodness_table::{Cell, Column, Table};
use serde::{Deserialize, Serialize};

pub use text::text;
pub use words::part as said;

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
    /// Its beginning: `woken`, `lost_cpu`, `asked`, or `not_told`.
    pub began: String,
    /// The task that woke it.
    pub woken_by: Option<Who>,
    /// True if it had not ended when the recording or the run did.
    pub is_open: bool,
    /// What it was spent on, in order of time, from its begin to its end.
    pub chain: Vec<Link>,
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
    /// Requests that the disk served meanwhile, and how many of them were writes.
    pub served_first: Option<[u32; 2]>,
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

/// What less of something would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Lever {
    /// What is shortened: the CPU time of these tasks.
    pub what: String,
    /// By how much: 0.05 for 5 %.
    pub less: f64,
    /// Change of the 99th percentile, as a part of it.
    pub p99: Option<f64>,
    /// Change of the throughput, as a part of it.
    pub throughput: Option<f64>,
}

/// Columns of [`table`].
pub const LINKS: &[Column] = &[
    Column { name: "input", kind: Text, about: "Name of the recording, file or workload." },
    Column { name: "policy", kind: Text, about: "Policy of the simulated run; missing for a recording as it is." },
    Column { name: "rank", kind: Whole, about: "Rank of the latency, 1 for the longest." },
    Column { name: "task", kind: Text, about: "Task that waited, or whose request it is." },
    Column { name: "id", kind: Whole, about: "Its thread id, or its number in the run." },
    Column { name: "length", kind: Whole, about: "Length of the latency in ns." },
    Column { name: "link", kind: Whole, about: "Number of the link in the chain, from 1." },
    Column { name: "from", kind: Whole, about: "Begin of the link in ns." },
    Column { name: "span", kind: Whole, about: "Length of the link in ns." },
    Column { name: "share", kind: Float, about: "Its part of the latency." },
    Column { name: "of", kind: Text, about: "Task on which the latency depended meanwhile." },
    Column { name: "cpu", kind: Whole, about: "CPU on which it ran or for which it waited." },
    Column { name: "cause", kind: Text, about: "Cause." },
    Column { name: "culprit", kind: Text, about: "Task that it waited behind, or group whose limit stopped it." },
    Column { name: "rule", kind: Text, about: "Rule of the policy." },
];

/// The longest latencies, a row for each link of their chains: schema `goodness.why-links/1`.
#[must_use]
pub fn table(why: &Why) -> Table {
    let mut table = Table::new("goodness.why-links/1", LINKS);
    for (rank, latency) in (1..).zip(&why.worst) {
        for (number, link) in (1..).zip(&latency.chain) {
            table.push(&[
                Cell::Text(&why.input),
                why.policy.as_deref().into(),
                Cell::Whole(rank),
                Cell::Text(&latency.task.name),
                Cell::Whole(latency.task.id),
                Cell::Whole(latency.length_ns),
                Cell::Whole(number),
                Cell::Whole(link.from_ns),
                Cell::Whole(link.length_ns),
                Cell::Float(link.length_ns as f64 / latency.length_ns.max(1) as f64),
                Cell::Text(&link.task.name),
                Cell::Whole(link.cpu.into()),
                Cell::Text(&link.cause),
                link.culprit.as_ref().map(|who| who.name.as_str()).into(),
                link.rule.as_ref().map(|rule| rule.name.as_str()).into(),
            ]);
        }
    }
    table
}
