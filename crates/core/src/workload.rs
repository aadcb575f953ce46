//! A workload: tasks, their behaviours, and the channels and locks between them.

use crate::behaviour::{Behaviour, Channel, ChannelKind};
use crate::fault::MachineFault;
use crate::group::Groups;
use crate::lock::{LockId, LockKind};
use crate::rng::Seed;
use crate::storage::StorageSpec;
use crate::task::{Task, TaskId};
use crate::time::{Span, Time};

/// Longest run of a workload: a day. A choice: far below the end of 64-bit nanoseconds (584 years), and short enough
/// that even all ticks of it are simulated in minutes.
pub const HORIZON_MAX: Span = Span::from_s(24 * 3600);

/// An event that a task waits for, besides a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Awaited {
    /// A wake on a channel.
    Channel(Channel),
    /// A lock.
    Lock(LockId),
}

/// Beginning of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The host creates it at this time. Tasks of equal time start in the order of the list.
    At(Time),
    /// Exists blocked from the start, and is woken at this time. Not a fork, so without fork placement.
    WokenAt(Time),
    /// Forked by another task with `Step::Fork`.
    Forked,
}

/// One task of a workload.
pub struct TaskSpec {
    /// Name for people; need not be unique.
    pub name: String,
    /// Its beginning.
    pub start: Start,
    /// Class, nice, affinity and so on. `task.cpu` is its initial last CPU.
    pub task: Task,
    /// Its behaviour.
    pub behaviour: Box<dyn Behaviour>,
    /// True if the comparison judges the task; false for competing load.
    pub judged: bool,
}

/// An actor outside the machine, such as a client on the network. It acts at once and uses no CPU of the machine.
pub struct Outsider {
    /// Name for people; need not be unique.
    pub name: String,
    /// Its beginning.
    pub start: Time,
    /// Its behaviour. It may sleep, wait on channels, wake (tasks see an interrupt) and exit; anything else ends the
    /// run with an error.
    pub behaviour: Box<dyn Behaviour>,
}

/// Remarks on the finished run as sentences.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarked {
    /// For people, for example how far a replay was from the recording.
    pub notes: Vec<String>,
    /// Reasons not to trust the run.
    pub doubts: Vec<String>,
}

/// Gives the remarks when the run is over.
pub type Remarks = Box<dyn FnOnce() -> Remarked + Send>;

/// All that one run needs besides machine and policy.
#[derive(Default)]
pub struct Workload {
    /// The tasks; a [`BehaviourId`](crate::BehaviourId) is an index into this list.
    pub tasks: Vec<TaskSpec>,
    /// The number of tasks, the last ones, that belong to the machine. They exist from the start, are woken by the host
    /// alone and never end, so a run without a horizon ends when all others have ended.
    pub workers: usize,
    /// Of these, the last ones that sleep until a task has ended: one on any CPU, then one on each.
    pub reapers: usize,
    /// Outsiders: actors that are not on the machine.
    pub outside: Vec<Outsider>,
    /// The kind of each channel, by number.
    pub channels: Vec<ChannelKind>,
    /// The kind of each lock, by number.
    pub locks: Vec<LockKind>,
    /// The groups of the tasks.
    pub groups: Groups,
    /// Latest end of the run; `None`: when every task has ended.
    pub horizon: Option<Time>,
    /// Start of the measurements.
    pub warmup: Span,
    /// Timer slack of tasks outside the real-time classes; 0 for exact timers. As in Linux, a sleeper wakes after its
    /// slack, unless another timer or the tick interrupts its CPU at its due time.
    pub timer_slack: Span,
    /// The CPU time of the tasks was recorded, so it contains what the kernel did for them after wake-ups.
    pub is_recorded: bool,
    /// Disks, volumes and files; empty without I/O.
    pub storage: StorageSpec,
    /// Faults of the machine, in any order.
    pub faults: Vec<MachineFault>,
    /// Remarks on the finished run, for the report.
    pub remarks: Option<Remarks>,
}

/// Repeatable work: a trace, an experiment, a model.
pub trait WorkloadSource: Send + Sync {
    /// Name for reports.
    fn name(&self) -> &str;
    /// Differences between replications, in one sentence, for the report.
    fn what_varies(&self) -> &str;
    /// The work of replication `replication` (0, 1, …); equal arguments give equal work.
    fn build(&self, seed: Seed, replication: u32) -> Workload;

    /// Number of CPUs of the machine that it was recorded on; `None` for work that no machine has run.
    fn cpus(&self) -> Option<usize> {
        None
    }

    /// Displayed number of a task: its recorded thread id, else its number from 1 (in traces, thread 0 is the idle
    /// task).
    fn id_of(&self, task: TaskId) -> u64 {
        u64::from(task.0) + 1
    }

    /// Place of a task in its file, for messages: `x.toml, line 3`. `None` if it is in no file.
    fn place_of(&self, task: TaskId) -> Option<String> {
        let _ = task;
        None
    }

    /// Place of its first disk in the file, for messages. `None` without a disk or a file.
    fn place_of_storage(&self) -> Option<String> {
        None
    }

    /// Name in the file of what a task waits for; `None` without one.
    fn name_of(&self, awaited: Awaited) -> Option<String> {
        let _ = awaited;
        None
    }

    /// True if it has a disk whose elevator is left open.
    fn asks_for_elevator(&self) -> bool {
        false
    }

    /// True if tasks may still wait when nothing can happen any more. A recording may end before the awaited events;
    /// written work should not.
    fn may_end_waiting(&self) -> bool {
        false
    }
}
