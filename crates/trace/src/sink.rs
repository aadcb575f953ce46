//! Where the events of a trace go while it is read.

use crate::event::{Marker, Record};
use crate::tasks::Tasks;
use std::ops::Range;

/// Takes events one after the other.
pub trait Sink {
    /// The next event. They come in order of time and are numbered from 0.
    fn record(&mut self, record: &Record, tasks: &Tasks);

    /// An event that the trace lacks, concluded from what follows. It belongs where its time says, but not before
    /// the event with number `place.start - 1` nor after the one with number `place.end`, which may have been handed
    /// over already. It has no number itself.
    fn late(&mut self, record: &Record, place: Range<u64>, tasks: &Tasks) {
        let _ = place;
        self.record(record, tasks);
    }

    /// A marker.
    fn marker(&mut self, marker: Marker) {
        let _ = marker;
    }
}
