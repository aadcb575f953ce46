//! A workload: tasks, what each does, and the places where they wait for each other.

use crate::behaviour::{Behaviour, Channel, ChannelKind, LockId};
use crate::rng::Seed;
use crate::storage::StorageSpec;
use crate::task::{Task, TaskId};
use crate::time::{Span, Time};

/// The longest run of a workload from outside: a day. A choice: it is far from where 64-bit nanoseconds end (584
/// years), and even a scheduler's every tick of it can be simulated in minutes.
pub const HORIZON_MAX: Span = Span::from_s(24 * 3600);

/// An event that a task waits for, besides a timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Awaited {
    /// A wake on a channel.
    Channel(Channel),
    /// Its turn with a lock.
    Lock(LockId),
}

/// Beginning of a task.
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
    /// Its beginning.
    pub start: Start,
    /// Class, nice, affinity and so on. `task.cpu` is where it counts as having run last.
    pub task: Task,
    /// Its behaviour.
    pub behaviour: Box<dyn Behaviour>,
    /// True if the task belongs to what is being judged; false for competing load from outside.
    pub judged: bool,
}

/// Somebody outside the machine: a client on the network, a disk. It acts at once and uses none of the machine's CPUs.
pub struct Outsider {
    /// Name for people; need not be unique.
    pub name: String,
    /// Its beginning.
    pub start: Time,
    /// Its behaviour. It may sleep, wait on channels, wake (tasks see an interrupt) and exit; anything else ends the
    /// run
    /// with an error.
    pub behaviour: Box<dyn Behaviour>,
}

/// Says in sentences how the work went, such as how far a replay was from what was recorded.
pub type Remarks = Box<dyn FnOnce() -> Vec<String> + Send>;

/// All that one run needs besides machine and policy.
#[derive(Default)]
pub struct Workload {
    /// The tasks; a [`BehaviourId`](crate::BehaviourId) is an index in this list.
    pub tasks: Vec<TaskSpec>,
    /// Outsiders: actors that are not on the machine.
    pub outside: Vec<Outsider>,
    /// The kind of each channel, by number.
    pub channels: Vec<ChannelKind>,
    /// Number of locks.
    pub locks: u32,
    /// Latest end of the run; `None`: when every task has ended.
    pub horizon: Option<Time>,
    /// Measurements begin here.
    pub warmup: Span,
    /// By how much the timers of tasks outside the real-time classes may be late, 0 for exact ones. Linux wakes a
    /// sleeper after its slack, unless another timer or the tick interrupts its CPU at the very instant.
    pub timer_slack: Span,
    /// Disks, volumes and files; empty where nobody does I/O.
    pub storage: StorageSpec,
    /// Remarks of the work once the run has ended, for the report.
    pub remarks: Option<Remarks>,
}

/// Something that can be run again and again: a trace, an experiment, a model.
pub trait WorkloadSource: Sync {
    /// Name for reports.
    fn name(&self) -> &str;
    /// One sentence on how replications differ, for the report.
    fn what_varies(&self) -> &str;
    /// The work of replication `replication` (0, 1, …); equal arguments give equal work.
    fn build(&self, seed: Seed, replication: u32) -> Workload;

    /// The number by which people know a task: its thread id where it was recorded, else its number from 1 (in
    /// traces, thread 0 is the idle task).
    fn id_of(&self, task: TaskId) -> u64 {
        u64::from(task.0) + 1
    }

    /// Place in a file where a task is written down, for messages: `x.toml, line 3`. `None` where it is not in a file.
    fn place_of(&self, task: TaskId) -> Option<String> {
        let _ = task;
        None
    }

    /// Place where its first disk is written down, for messages. `None` where it has none, or is not in a file.
    fn place_of_storage(&self) -> Option<String> {
        None
    }

    /// The name that the file gives to what a task waits for; `None` where it has none.
    fn name_of(&self, awaited: Awaited) -> Option<String> {
        let _ = awaited;
        None
    }

    /// True if it has a disk whose elevator it leaves open.
    fn asks_for_elevator(&self) -> bool {
        false
    }

    /// True if tasks may still wait when nobody can act any more. A recording may end before what
    /// its tasks waited for; work that someone wrote should not.
    fn may_end_waiting(&self) -> bool {
        false
    }
}
