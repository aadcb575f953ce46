//! The two ways in: [`read`] hands over one event after the other and forgets it, [`load`] keeps them all.

use crate::compress::Input;
use crate::error::TraceError;
use crate::formats::FORMATS;
use crate::metadata::Metadata;
use crate::record::{Marker, Record};
use crate::recording::Recording;
use crate::repairs::Repairs;
use crate::tasks::Tasks;
use std::io::Read;
use std::path::Path;

/// Takes events one after the other.
pub trait Sink {
    /// The next event. Recorded ones come in order of time.
    fn record(&mut self, record: &Record, tasks: &Tasks);

    /// An event concluded afterwards. It belongs before the event handed over as number `before` (from 0), or later
    /// if its time says so, and it must stand before number `until`.
    fn late(&mut self, record: &Record, before: u64, until: u64, tasks: &Tasks) {
        let _ = (before, until);
        self.record(record, tasks);
    }

    /// A marker.
    fn marker(&mut self, marker: Marker) {
        let _ = marker;
    }
}

/// What is known once a trace has been read.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// What the trace says about itself.
    pub metadata: Metadata,
    /// Who took part.
    pub tasks: Tasks,
    /// What had to be repaired.
    pub repairs: Repairs,
    /// Sentences about what this trace cannot tell.
    pub warnings: Vec<String>,
    /// Lines read.
    pub lines: u64,
    /// Bytes of text read, after decompression.
    pub bytes: u64,
}

/// Reads a trace in constant memory (it grows with the number of tasks, not with the number of events).
///
/// # Errors
/// See [`TraceError`]. What can be used is used; only a trace without any usable part is refused.
pub fn read(mut input: Input, sink: &mut impl Sink) -> Result<Outcome, TraceError> {
    let _ = sink;
    let mut head = vec![0; 64];
    let len = input.read(&mut head).unwrap_or(0);
    Err(TraceError::NotATrace {
        path: input.name,
        formats: FORMATS.iter().map(|f| f.name).collect::<Vec<_>>().join(", "),
        begins: head[..len].escape_ascii().to_string(),
        remedy: String::new(),
    })
}

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
    let name = input.name.clone();
    let mut recording = Recording { name, ..Recording::default() };
    struct Keep<'a>(&'a mut Recording);
    impl Sink for Keep<'_> {
        fn record(&mut self, record: &Record, _: &Tasks) {
            self.0.records.push(*record);
        }
    }
    let outcome = read(input, &mut Keep(&mut recording))?;
    recording.metadata = outcome.metadata;
    recording.tasks = outcome.tasks;
    recording.repairs = outcome.repairs;
    recording.warnings = outcome.warnings;
    Ok(recording)
}
