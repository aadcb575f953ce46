//! A workload: tasks, what each does, and the places where they wait for each other.

use crate::behaviour::{Behaviour, BehaviourId, ChannelKind};
use crate::rng::Seed;
use crate::task::Task;
use crate::time::{Span, Time};

/// When a task comes into being.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The host creates it at this time. Tasks of equal time start in the order of the list.
    At(Time),
    /// It exists, blocked, from the beginning and is woken at this time: no fork, hence no fork placement.
    WokenAt(Time),
    /// Another task forks it with `Step::Fork`.
    Forked,
}

/// One task of a workload.
pub struct TaskSpec {
    /// Name for people; need not be unique.
    pub name: String,
    /// When it begins.
    pub start: Start,
    /// Class, nice, affinity and so on. `task.cpu` is where it counts as having run last.
    pub task: Task,
    /// What it does.
    pub behaviour: Box<dyn Behaviour>,
    /// Whether the task belongs to what is being judged, or is competing load from outside.
    pub judged: bool,
}

/// All that one run needs besides machine and policy.
#[derive(Default)]
pub struct Workload {
    /// The tasks; [`BehaviourId`] is the index in this list.
    pub tasks: Vec<TaskSpec>,
    /// The kind of each channel, by number.
    pub channels: Vec<ChannelKind>,
    /// How many locks there are.
    pub locks: u32,
    /// When the run ends at the latest; `None`: when every task has ended.
    pub horizon: Option<Time>,
    /// Measurements begin here.
    pub warmup: Span,
    /// By how much the timers of tasks outside the real-time classes may be late, 0 for exact ones. Linux wakes a
    /// sleeper after its slack, unless another timer or the tick interrupts its CPU at the very instant.
    pub timer_slack: Span,
}

impl Workload {
    /// The index the next task pushed will have.
    #[must_use]
    pub fn next_id(&self) -> BehaviourId {
        BehaviourId(self.tasks.len() as u32)
    }
}

/// Something that can be run again and again: a trace, an experiment, a model.
pub trait WorkloadSource: Sync {
    /// Name for reports.
    fn name(&self) -> &str;
    /// What differs between replications, one sentence for the report.
    fn what_varies(&self) -> &str;
    /// The work of replication `replication` (0, 1, …); equal arguments give equal work.
    fn build(&self, seed: Seed, replication: u32) -> Workload;
}
