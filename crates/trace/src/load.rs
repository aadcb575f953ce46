//! Keeps a trace in memory.

use crate::compress::Input;
use crate::error::TraceError;
use crate::event::{Marker, Record};
use crate::excerpt::Excerpt;
use crate::kept::Kept;
use crate::read::{TraceFacts, read_excerpt};
use crate::record_consumer::RecordConsumer;
use crate::recording::Recording;
use crate::tasks::Tasks;
use std::ops::Range;
use std::path::Path;

/// Reads the trace at `path` (`-` is standard input) as a whole.
///
/// # Errors
/// See [`TraceError`].
pub fn load(path: &Path) -> Result<Recording, TraceError> {
    load_input(Input::open(path)?)
}

/// Reads a trace as a whole.
///
/// # Errors
/// See [`TraceError`].
pub fn load_input(input: Input) -> Result<Recording, TraceError> {
    load_excerpt(input, Excerpt::WHOLE)
}

/// Reads a part of a trace. What comes before it takes no memory.
///
/// # Errors
/// See [`read_excerpt`].
pub fn load_excerpt(input: Input, excerpt: Excerpt) -> Result<Recording, TraceError> {
    let name = input.name.clone();
    let mut keep = Keep::default();
    let facts = read_excerpt(input, excerpt, &mut keep)?;
    keep.kept.place(facts.tasks.len());
    let mut records = keep.kept.records;
    records.shrink_to_fit();
    Ok(Recording { records, markers: keep.markers, ..with_facts(name, facts) })
}

/// A recording called `name` with these facts and without events.
pub(crate) fn with_facts(name: String, facts: TraceFacts) -> Recording {
    let TraceFacts { metadata, tasks, repairs, warnings, cut_from, cut_at, .. } = facts;
    Recording { name, metadata, tasks, repairs, warnings, cut_from, cut_at, ..Recording::default() }
}

/// Keeps all records and markers.
#[derive(Default)]
struct Keep {
    kept: Kept,
    markers: Vec<Marker>,
}

impl RecordConsumer for Keep {
    fn record(&mut self, record: &Record, _: &Tasks) {
        self.kept.push(record);
    }

    fn late(&mut self, record: &Record, place: Range<u64>, _: &Tasks) {
        self.kept.push_late(record, place);
    }

    fn marker(&mut self, marker: Marker) {
        self.markers.push(marker);
    }
}
