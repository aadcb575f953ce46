//! A whole trace in memory, repaired and in order of time.

use crate::event::{Marker, Record};
use crate::metadata::Metadata;
use crate::repairs::Repairs;
use crate::tasks::Tasks;
use goodness_core::{Span, Time};

/// A whole trace in memory.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// The file's name, or `-`.
    pub name: String,
    /// Metadata.
    pub metadata: Metadata,
    /// Tasks.
    pub tasks: Tasks,
    /// Events in order of time; equal times in the order of the trace.
    pub records: Vec<Record>,
    /// Markers in order of time.
    pub markers: Vec<Marker>,
    /// Repairs.
    pub repairs: Repairs,
    /// Warnings about missing information, as sentences.
    pub warnings: Vec<String>,
    /// Start of the window that was read, if it is not the whole trace.
    pub cut_from: Option<Time>,
    /// End of the window that was read, if the trace goes on behind it.
    pub cut_at: Option<Time>,
}

impl Recording {
    /// Time of the first event, or the start of the window that was read: its CPUs may idle then.
    #[must_use]
    pub fn start(&self) -> Time {
        self.cut_from.unwrap_or_else(|| self.records.first().map_or(Time::ZERO, |r| r.at))
    }

    /// Time of the last event, or the end of the window that was read.
    #[must_use]
    pub fn end(&self) -> Time {
        self.cut_at.unwrap_or_else(|| self.records.last().map_or(Time::ZERO, |r| r.at))
    }

    /// From its start to its end.
    #[must_use]
    pub fn duration(&self) -> Span {
        self.end().since(self.start())
    }
}
