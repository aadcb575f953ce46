//! Sources of block-I/O records, and facts about a trace.

use super::disks::{Disks, Processes};
use super::record::BlockRecord;
use crate::error::TraceError;
use crate::reorder::Timed;
use crate::repairs::Repairs;
use goodness_core::Time;

/// Information a format can contain. [`About`](super::About) has the information one trace does contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carries {
    /// The stages between arrival and completion: queue, insert, issue.
    pub stages: bool,
    /// Completions or response times. With them, the gap between a completion and the next arrival is known, and the
    /// work can be replayed as a closed loop; without them only at the recorded times.
    pub completions: bool,
    /// Process of the submitter.
    pub processes: bool,
    /// Flags such as sync, meta and durable.
    pub flags: bool,
}

/// Facts about a trace so far; complete after its last record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The format's registered name.
    pub format: &'static str,
    /// Information the format can contain.
    pub carries: Carries,
    /// The disks.
    pub disks: Disks,
    /// Names of processes.
    pub processes: Processes,
    /// Repairs. Positions are line numbers, or record numbers in binary formats.
    pub repairs: Repairs,
    /// Warnings about missing information, as sentences.
    pub warnings: Vec<String>,
    /// Records read.
    pub records: u64,
    /// Number of these that are arrivals or issues.
    pub begun: u64,
    /// Number of these with a response time.
    pub responses: u64,
    /// Bytes read, after decompression.
    pub bytes: u64,
}

impl About {
    /// True if the trace contains response times, so that its work can be replayed as a closed loop: the next arrival
    /// follows a completion after the recorded gap. Otherwise arrivals can only be repeated at their recorded times.
    #[must_use]
    pub const fn allows_closed_loop(&self) -> bool {
        self.responses > 0
    }
}

/// A record with its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub record: BlockRecord,
    /// Line, or record number in binary formats; from 1.
    pub place: u64,
}

impl Timed for Numbered {
    fn at(&self) -> u64 {
        self.record.at.ns()
    }
    fn set_at(&mut self, at: u64) {
        self.record.at = Time(at);
    }
    fn place(&self) -> u64 {
        self.place
    }
}

/// Source of records, in file order.
pub(crate) trait Source {
    /// The next record, `None` at the end.
    fn next(&mut self, about: &mut About) -> Result<Option<Numbered>, TraceError>;
    /// Bytes read so far.
    fn bytes(&self) -> u64;
    /// The current position, for messages.
    fn reached(&self) -> String;
}
