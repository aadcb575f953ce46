//! One line as a format understood it: thread ids and names as written, nothing concluded yet.

use crate::left::Left;
use crate::record::Context;
use crate::repairs::Repair;
use crate::tasks::Comm;

/// A task as an event names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Party {
    pub pid: u32,
    pub prio: i16,
    pub comm: Comm,
}

/// What one line says happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RawWhat {
    Switch {
        prev: Party,
        next: Party,
        left: Left,
    },
    Waking {
        who: Party,
        target: u32,
    },
    Wakeup {
        who: Party,
        target: u32,
    },
    WakeupNew {
        who: Party,
        target: u32,
    },
    Fork {
        parent: u32,
        parent_comm: Comm,
        child: u32,
        child_comm: Comm,
    },
    Exec {
        pid: u32,
        old_pid: u32,
        comm: Comm,
    },
    Exit {
        who: Party,
    },
    Migrate {
        who: Party,
        from: u32,
        to: u32,
    },
    Marker(Box<str>),
    Lost {
        count: u32,
    },
    /// An event that is not about scheduling; it still shows who ran on its CPU.
    Other,
}

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    /// When, in ns.
    pub at: u64,
    /// Which line of the file, from 1.
    pub line: u64,
    /// Which CPU wrote it.
    pub cpu: u32,
    /// Who ran there, when the line says so.
    pub current: Option<u32>,
    /// The process of `current`.
    pub tgid: Option<u32>,
    /// Name of `current`; may be stale.
    pub comm: Comm,
    pub context: Context,
    /// Whether the CPU was about to switch.
    pub resched: bool,
    pub what: RawWhat,
}

/// What became of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    /// An event.
    Event(Raw),
    /// Nothing to be kept: comment, blank, callchain.
    Nothing,
    /// It cannot be used.
    Unreadable(Repair),
    /// Its time is a count, not seconds.
    NotSeconds,
    /// It does not name the CPU.
    NoCpu,
}
