//! Where records of block I/O come from, and what is known of their trace.

use super::disks::{Disks, Processes};
use super::record::BlockRecord;
use crate::error::TraceError;
use crate::reorder::Timed;
use crate::repairs::Repairs;
use goodness_core::Time;

/// What a format can tell. What one trace of it does tell, its [`About`](super::About) says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carries {
    /// The stations between arrival and completion: queue, insert, issue.
    pub stages: bool,
    /// Completions or response times: how long the device took. With them the gap between a completion and the next
    /// arrival is known, so that work can be replayed in a closed loop; without them only at the recorded instants.
    pub completions: bool,
    /// Who asked.
    pub processes: bool,
    /// Marks such as sync, meta and durable.
    pub flags: bool,
}

/// What is known of a trace of block I/O so far; complete when its last record has been given out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The format's registered name.
    pub format: &'static str,
    /// What the format can tell.
    pub carries: Carries,
    /// The disks.
    pub disks: Disks,
    /// Names of processes.
    pub processes: Processes,
    /// What had to be repaired. Places are numbers of lines, of records in binary formats.
    pub repairs: Repairs,
    /// Sentences about what this trace cannot tell.
    pub warnings: Vec<String>,
    /// Records given out.
    pub records: u64,
    /// Of these, arrivals and issues.
    pub begun: u64,
    /// Of these, those with a response time.
    pub responses: u64,
    /// Bytes read, after decompression.
    pub bytes: u64,
}

impl About {
    /// Whether the trace says how long I/O took, so that its work can be replayed in a closed loop: the next arrival a
    /// recorded gap after a completion. Otherwise arrivals can only be repeated at their recorded instants.
    #[must_use]
    pub const fn allows_closed_loop(&self) -> bool {
        self.responses > 0
    }
}

/// A record and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub record: BlockRecord,
    /// Line, or number of the record in binary formats; from 1.
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

/// Where records come from, in the order of the file.
pub(crate) trait Source {
    /// The next record, `None` at the end.
    fn next(&mut self, about: &mut About) -> Result<Option<Numbered>, TraceError>;
    /// Bytes read so far.
    fn bytes(&self) -> u64;
    /// The place reached, for sentences.
    fn reached(&self) -> String;
}
