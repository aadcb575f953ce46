//! Steps of a write to a RAID 5, row by row: reads, then data and parity writes.

use crate::jobs::{Job, Row, Step};
use crate::parity::RowWrite;
use crate::storage::Storage;
use goodness_core::storage::VolumeId;
use goodness_core::{Io, Operation};

impl Storage {
    /// A job for each row that `io` writes to.
    pub(crate) fn write_rows(&mut self, volume: VolumeId, of: u32, io: &Io) {
        let per_row = self.volumes[usize::from(volume.0)].row();
        let (mut at, end) = (io.sector, io.end());
        while at < end {
            let (row, from) = (at / per_row, at % per_row);
            let to = per_row.min(from + (end - at));
            let write = RowWrite { row, from, to };
            self.desk.jobs[of as usize].left += 1;
            let about = Row { of, volume: volume.0, write, step: Step::Waiting, next: None };
            let job = self.desk.begin(io, Some(about));
            match self.rows.insert((volume.0, row), job) {
                None => self.start_row(job),
                Some(last) => {
                    self.desk.jobs[last as usize].row.as_mut().expect("a write to a row").next = Some(job);
                    self.rows_waiting += 1;
                }
            }
            at += to - from;
        }
    }

    /// Starts a write to an idle row.
    fn start_row(&mut self, job: u32) {
        self.step_row(job, Step::Reading);
        if self.desk.jobs[job as usize].left == 0 {
            self.step_row(job, Step::Writing);
        }
    }

    /// Adds the next I/O of a row write to the batches.
    pub(crate) fn step_row(&mut self, job: u32, step: Step) {
        let Job { io, row: Some(mut row), .. } = self.desk.jobs[job as usize] else { return };
        row.step = step;
        self.desk.jobs[job as usize].row = Some(row);
        let volume = &self.volumes[usize::from(row.volume)];
        match step {
            Step::Waiting => {}
            Step::Reading => {
                let read = Io { op: Operation::Read, sync: true, durable: false, ..io };
                row.write.reads(volume, |part| self.desk.add(volume, part, job, &read));
            }
            Step::Writing => row.write.writes(volume, |part| self.desk.add(volume, part, job, &io)),
        }
    }

    /// The next write to the row of `done`, if one waits.
    pub(crate) fn start_next(&mut self, done: Row) {
        match done.next {
            None => {
                self.rows.remove(&(done.volume, done.write.row));
            }
            Some(next) => {
                self.rows_waiting -= 1;
                self.start_row(next);
            }
        }
    }
}
