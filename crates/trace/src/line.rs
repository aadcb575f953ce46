//! One line as its format understood it: thread ids and names as written, nothing concluded yet.

use crate::event::{Context, SchedEvent};
use crate::repairs::Repair;
use crate::tasks::Comm;

/// A task as a line names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NamedTask {
    /// Thread id; not 0, which is the idle task.
    pub pid: u32,
    /// Name, if the line has one.
    pub comm: Comm,
}

/// What happened, as one line says it: tasks are named, and who ran is not looked up yet.
pub(crate) type LineEvent = SchedEvent<NamedTask, ()>;

/// What one line tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A scheduling event.
    Sched(LineEvent),
    /// A text written to `trace_marker`.
    Marker(Box<str>),
    /// Another event; it still shows who ran on its CPU.
    Other,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EventLine {
    /// When, in ns.
    pub at: u64,
    /// Which line of the file, from 1.
    pub line: u64,
    /// Which CPU wrote it.
    pub cpu: u32,
    /// Thread id of who ran there, when the line says so; 0 for the idle task.
    pub current: Option<u32>,
    /// The process of `current`.
    pub tgid: Option<u32>,
    /// Name of `current`; may be stale.
    pub comm: Comm,
    pub context: Context,
    /// Whether the CPU was about to switch.
    pub resched: bool,
    pub content: Content,
}

/// What became of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// An event.
    Event(EventLine),
    /// Nothing to be kept: comment, blank, callchain.
    Nothing,
    /// It cannot be used.
    Unreadable(Repair),
    /// Its time is a count, not seconds.
    NotSeconds,
    /// It does not name the CPU.
    NoCpu,
}
