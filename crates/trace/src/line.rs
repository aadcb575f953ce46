//! One line as its format parsed it: thread ids and names as written, nothing inferred yet.

use crate::event::{Context, SchedEvent};
use crate::repairs::Repair;
use crate::tasks::Comm;

/// A task as a line names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedTask {
    /// Thread id, never 0 (the idle task).
    pub pid: u32,
    /// Name, if the line has one.
    pub comm: Comm,
}

/// The event of one line: tasks are named, and the running task is not looked up yet.
pub(crate) type LineEvent = SchedEvent<NamedTask, ()>;

/// Contents of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A scheduling event.
    Sched(LineEvent),
    /// A text written to `trace_marker`.
    Marker(Box<str>),
    /// Another event; it still shows the task that runs on its CPU.
    Other,
}

/// One parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventLine {
    /// Time in ns.
    pub at: u64,
    /// Line number in the file, from 1.
    pub line: u64,
    /// CPU that wrote it.
    pub cpu: u32,
    /// Thread id of the task running there, if the line contains it; 0 for the idle task.
    pub current: Option<u32>,
    /// The process of `current`.
    pub tgid: Option<u32>,
    /// Name of `current`; may be stale.
    pub comm: Comm,
    pub context: Context,
    /// True if the CPU was about to switch.
    pub resched: bool,
    pub content: Content,
}

/// Result of parsing a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// An event.
    Event(EventLine),
    /// Ignored: comment, blank line, call chain.
    Nothing,
    /// It cannot be used.
    Unreadable(Repair),
    /// Its time is a count, not seconds.
    NotSeconds,
    /// It does not name the CPU.
    NoCpu,
}
