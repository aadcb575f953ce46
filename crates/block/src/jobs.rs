//! I/O in flight above the disks, and I/O about to be submitted to them.

use crate::parity::RowWrite;
use crate::volume::{Part, Volume};
use goodness_core::Io;

/// An I/O in flight above the disks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    /// The submitted I/O, with the submitter's tag.
    pub io: Io,
    /// Parts that are not done.
    pub left: u32,
    /// Parts that wait for a request.
    pub unadmitted: u32,
    /// The row write this belongs to, on a RAID 5.
    pub row: Option<Row>,
}

/// One write to one row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The job it is a part of.
    pub of: u32,
    pub volume: u16,
    pub write: RowWrite,
    pub step: Step,
    /// The next write to the same row.
    pub next: Option<u32>,
}

/// Progress of a row write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Waits for an earlier write to the row.
    Waiting,
    Reading,
    Writing,
}

/// Jobs by number, and a batch for each disk.
#[derive(Debug)]
pub(crate) struct Desk {
    pub jobs: Vec<Job>,
    free: Vec<u32>,
    /// By disk: end of the last part sent there.
    pub heads: Vec<u64>,
    /// By disk: parts to be sent.
    pub batches: Vec<Vec<Io>>,
}

impl Desk {
    pub fn new(disks: usize) -> Desk {
        Desk { jobs: Vec::new(), free: Vec::new(), heads: vec![0; disks], batches: vec![Vec::new(); disks] }
    }

    /// A job for `io`.
    #[inline]
    pub fn begin(&mut self, io: &Io, row: Option<Row>) -> u32 {
        let job = Job { io: *io, left: 0, unadmitted: 0, row };
        if let Some(free) = self.free.pop() {
            self.jobs[free as usize] = job;
            return free;
        }
        self.jobs.push(job);
        u32::try_from(self.jobs.len() - 1).expect("fewer than 2^32 pieces of I/O are under way")
    }

    /// `job` is over.
    #[inline]
    pub fn end(&mut self, job: u32) {
        self.free.push(job);
    }

    /// Adds the part of `job` at this place; otherwise like `io`.
    #[inline]
    pub fn add(&mut self, volume: &Volume, (place, sector, sectors): Part, job: u32, io: &Io) {
        let disk = usize::from(volume.pieces[place].disk.0);
        self.heads[disk] = sector + u64::from(sectors);
        self.push(disk, Io { sector, sectors, ..*io }, job);
    }

    /// Adds `io`, a part of `job`, for `disk`.
    #[inline]
    pub fn push(&mut self, disk: usize, io: Io, job: u32) {
        self.batches[disk].push(Io { tag: u64::from(job), ..io });
        self.jobs[job as usize].left += 1;
    }
}
