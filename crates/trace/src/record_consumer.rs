//! Receiver of the events while a trace is read.

use crate::event::{Marker, Record};
use crate::tasks::Tasks;
use std::ops::Range;

/// Takes events one at a time.
pub trait RecordConsumer {
    /// Takes the next event. Events come in order of time and are numbered from 0.
    fn record(&mut self, record: &Record, tasks: &Tasks);

    /// An inferred event that is missing in the trace. Its position follows from its time, but lies after the event
    /// with number `place.start - 1` and before the one with number `place.end`, which may have been passed on already.
    /// It has no number itself.
    fn late(&mut self, record: &Record, place: Range<u64>, tasks: &Tasks) {
        let _ = place;
        self.record(record, tasks);
    }

    /// A marker.
    fn marker(&mut self, marker: Marker) {
        let _ = marker;
    }
}
