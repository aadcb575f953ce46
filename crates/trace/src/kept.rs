//! Records in memory, on their way from the reader to their places.

use crate::event::Record;
use crate::place_repairs::place_repairs;
use std::ops::Range;

/// Initial capacity, in records.
const ROOM_MIN: usize = 1024;

/// Records that were read, in order, and those that belong between them. Capacity grows by a quarter, not to the
/// double: while records move, at most 2.25 × 40 = 90 bytes are held for each.
#[derive(Clone, Default)]
pub(crate) struct Kept {
    /// Records in order of time, as they were read.
    pub records: Vec<Record>,
    /// Records that came late, each with the place in `records` before which it belongs.
    late: Vec<(u64, Record)>,
    /// The reader's number of the first record.
    first: u64,
}

impl Kept {
    /// Keeps the next record.
    pub fn push(&mut self, record: &Record) {
        let records = &mut self.records;
        if records.len() == records.capacity() {
            records.reserve_exact((records.len() / 4).max(ROOM_MIN));
        }
        records.push(*record);
    }

    /// Keeps a record that belongs to `place`, by the reader's numbers.
    pub fn push_late(&mut self, record: &Record, place: Range<u64>) {
        let [start, end] = [place.start, place.end].map(|number| number.saturating_sub(self.first));
        let within = self.records.get(start as usize..end as usize).unwrap_or_default();
        let before = start + within.partition_point(|r| r.at <= record.at) as u64;
        self.late.push((before, *record));
    }

    /// Moves all records of `tasks` tasks to their places.
    pub fn place(&mut self, tasks: usize) {
        place_repairs(&mut self.records, std::mem::take(&mut self.late), tasks);
    }

    /// Number of records that precede the one with this index when all are in their places.
    pub fn before(&self, index: usize) -> usize {
        index + self.late.iter().filter(|(before, _)| *before <= index as u64).count()
    }

    /// Forgets the first `count` records, and those that belong before them.
    pub fn forget(&mut self, count: usize) {
        self.records.drain(..count);
        self.first += count as u64;
        self.late.retain_mut(|(before, _)| {
            let is_kept = *before > count as u64;
            *before = before.saturating_sub(count as u64);
            is_kept
        });
    }
}
