//! The requests that wait for each disk, and how many each disk has, from the events of a run.

use goodness_core::{DiskId, IoEvent, IoStage, Operation, RequestId, Submitter, Time};
use std::collections::BTreeMap;

/// A request that waits for its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    request: RequestId,
    pub op: Operation,
    pub sector: u64,
    pub sectors: u32,
    /// The first submitter.
    pub by: Submitter,
    pub since: Time,
}

/// The queues of all disks.
#[derive(Debug, Default)]
pub(super) struct DiskQueues(BTreeMap<DiskId, DiskQueue>);

#[derive(Debug, Default)]
struct DiskQueue {
    /// In order of insertion.
    waiting: Vec<Waiting>,
    in_flight: u32,
}

impl DiskQueues {
    /// The requests that wait for `disk`, in order of insertion.
    pub fn waiting(&self, disk: DiskId) -> &[Waiting] {
        self.0.get(&disk).map_or(&[], |queue| &queue.waiting)
    }

    /// Number of requests that `disk` has and has not completed.
    pub fn in_flight(&self, disk: DiskId) -> u32 {
        self.0.get(&disk).map_or(0, |queue| queue.in_flight)
    }

    pub fn apply(&mut self, at: Time, io: &IoEvent) {
        let queue = self.0.entry(io.disk).or_default();
        let IoEvent { request, op, sector, sectors, submitter: by, .. } = *io;
        match io.stage {
            IoStage::Inserted => queue.waiting.push(Waiting { request, op, sector, sectors, by, since: at }),
            IoStage::BackMerged => queue.grow(request, None, sectors),
            IoStage::FrontMerged => queue.grow(request, Some(sector), sectors),
            IoStage::Absorbed => {
                queue.remove(request);
                queue.grow(io.survivor, None, sectors);
            }
            IoStage::Issued => {
                queue.remove(request);
                queue.in_flight += 1;
            }
            IoStage::Completed => queue.in_flight = queue.in_flight.saturating_sub(1),
            IoStage::Queued | IoStage::Released | IoStage::Waits | IoStage::Done => {}
        }
    }
}

impl DiskQueue {
    fn grow(&mut self, request: RequestId, begin: Option<u64>, sectors: u32) {
        if let Some(it) = self.waiting.iter_mut().find(|it| it.request == request) {
            it.sector = begin.unwrap_or(it.sector);
            it.sectors += sectors;
        }
    }

    fn remove(&mut self, request: RequestId) {
        self.waiting.retain(|it| it.request != request);
    }
}
