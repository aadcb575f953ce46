//! Keeps a trace in memory.

use crate::compress::Input;
use crate::error::TraceError;
use crate::event::{Marker, Record};
use crate::excerpt::Excerpt;
use crate::place_repairs::place_repairs;
use crate::read::read_excerpt;
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
    let mut keep = Keep { recording: Recording { name: input.name.clone(), ..Recording::default() }, late: Vec::new() };
    let info = read_excerpt(input, excerpt, &mut keep)?;
    let Keep { mut recording, late } = keep;
    place_repairs(&mut recording.records, late, info.tasks.len());
    recording.records.shrink_to_fit();
    recording.metadata = info.metadata;
    recording.tasks = info.tasks;
    recording.repairs = info.repairs;
    recording.warnings = info.warnings;
    (recording.cut_from, recording.cut_at) = (info.cut_from, info.cut_at);
    Ok(recording)
}

/// Initial capacity, in records.
const ROOM_MIN: usize = 1024;

/// Keeps all records. Capacity grows by a quarter, not to the double: while records move, at most 2.25 × 40 = 90 bytes
/// are held for each.
struct Keep {
    recording: Recording,
    late: Vec<(u64, Record)>,
}

impl RecordConsumer for Keep {
    fn record(&mut self, record: &Record, _: &Tasks) {
        let records = &mut self.recording.records;
        if records.len() == records.capacity() {
            records.reserve_exact((records.len() / 4).max(ROOM_MIN));
        }
        records.push(*record);
    }

    fn late(&mut self, record: &Record, place: Range<u64>, _: &Tasks) {
        let records = &self.recording.records;
        let place = place.start as usize..place.end as usize;
        let within = records.get(place.clone()).unwrap_or_default();
        let before = place.start + within.partition_point(|r| r.at <= record.at);
        self.late.push((before as u64, *record));
    }

    fn marker(&mut self, marker: Marker) {
        self.recording.markers.push(marker);
    }
}
