//! The steps of a write to a RAID 5: row by row, what must be read, then the data and the parity.

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
            let about = Row { of, volume: volume.0, write, step: Step::Waiting };
            let job = self.desk.begin(io, Some(about));
            self.rows.push(job);
            self.start_row(job);
            at += to - from;
        }
    }

    /// Where a row's write is; `None` of another job.
    pub(crate) fn step(&self, job: u32) -> Option<Step> {
        self.desk.jobs[job as usize].row.map(|row| row.step)
    }

    /// Starts a write to a row unless an earlier one to the same row is under way.
    fn start_row(&mut self, job: u32) {
        let row = self.desk.jobs[job as usize].row.expect("only writes to rows start so");
        let is_same = |other: &u32| {
            let other = self.desk.jobs[*other as usize].row.expect("only writes to rows are listed");
            (other.volume, other.write.row) == (row.volume, row.write.row)
        };
        if self.rows.iter().find(|other| is_same(other)) != Some(&job) {
            return;
        }
        self.step_row(job, Step::Reading);
        if self.desk.jobs[job as usize].left == 0 {
            self.step_row(job, Step::Writing);
        }
    }

    /// Puts what a write to a row does next into the batches.
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
        let is_same = |job: &u32| {
            let row = self.desk.jobs[*job as usize].row.expect("only writes to rows are listed");
            (row.volume, row.write.row) == (done.volume, done.write.row)
        };
        if let Some(next) = self.rows.iter().copied().find(is_same) {
            self.start_row(next);
        }
    }
}
