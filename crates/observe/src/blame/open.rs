//! I/Os that are not done when the run ends: the stations that they have reached.

use super::Late;
use super::disks::{Disks, IoTimes, ServedFirst, is_write_back};
use goodness_core::{IoEvent, IoStage, RequestId, TaskId, Time};
use std::collections::BTreeMap;

/// An I/O that is not done.
#[derive(Clone, Copy, Debug)]
struct OpenIo {
    late: Late,
    queued: IoEvent,
    /// The block layer looked for a slot; until then a limit of its group holds it.
    released: Option<Time>,
    /// The request that has it, or its last part.
    request: Option<RequestId>,
    /// Sectors that the device has not got.
    left: u64,
    issued: Option<Time>,
}

/// I/Os that may be open at the end.
#[derive(Debug, Default)]
pub(super) struct OpenIos {
    /// End of the run, if it is asked for any.
    end: Option<Time>,
    all: Vec<OpenIo>,
}

impl OpenIos {
    /// Follows those of `wanted` that have no end.
    pub fn new(wanted: &BTreeMap<Late, usize>) -> OpenIos {
        OpenIos { end: wanted.keys().find(|late| late.is_open).map(|late| late.to), all: Vec::new() }
    }

    /// Follows an event. An I/O is open as long as it is not done; of those that begin together, others may be.
    pub fn follow(&mut self, at: Time, event: &IoEvent, wanted: &BTreeMap<Late, usize>) {
        let Some(to) = self.end else { return };
        match event.stage {
            IoStage::Queued => {
                let late = Late { task: TaskId(event.submitter.0), from: at, to, is_open: true };
                if wanted.contains_key(&late) {
                    let left = sectors(event);
                    let io = OpenIo { late, queued: *event, released: None, request: None, left, issued: None };
                    self.all.push(io);
                }
            }
            IoStage::Done => {
                let is_it = |io: &OpenIo| {
                    (io.queued.disk, io.queued.submitter, io.queued.sector)
                        == (event.disk, event.submitter, event.sector)
                        && io.late.from + event.span == at
                };
                if let Some(place) = self.all.iter().position(is_it) {
                    self.all.remove(place);
                }
            }
            _ => self.all.iter_mut().for_each(|io| io.follow(at, event)),
        }
    }

    /// The latencies that are open, with their stations.
    pub fn finish(self, disks: &Disks) -> Vec<(Late, IoTimes)> {
        self.all.into_iter().map(|io| (io.late, io.times(disks))).collect()
    }
}

impl OpenIo {
    fn follow(&mut self, at: Time, event: &IoEvent) {
        let start = event.sector.max(self.queued.sector);
        let end = (event.sector + sectors(event)).min(self.queued.sector + sectors(&self.queued));
        let is_it = event.disk == self.queued.disk && event.op.direction() == self.queued.op.direction() && start < end;
        if !is_it || self.issued.is_some() {
            return;
        }
        match event.stage {
            IoStage::Released | IoStage::Waits => drop(self.released.get_or_insert(at)),
            IoStage::Inserted | IoStage::BackMerged | IoStage::FrontMerged | IoStage::Absorbed => {
                self.released.get_or_insert(at);
                self.request = Some(event.survivor);
            }
            IoStage::Issued => {
                self.request = Some(event.request);
                self.left = self.left.saturating_sub(end - start);
                self.issued = (self.left == 0).then_some(at);
            }
            IoStage::Queued | IoStage::Completed | IoStage::Done => {}
        }
    }

    fn times(&self, disks: &Disks) -> IoTimes {
        let Late { from: queued, to, .. } = self.late;
        let (released, issued) = (self.released.unwrap_or(to), self.issued.unwrap_or(to));
        let first = ServedFirst {
            is_write_back: is_write_back(self.queued.op, self.queued.sync),
            ..disks.served_first((self.queued.disk, self.request), released, issued)
        };
        IoTimes { queued, released, issued, first }
    }
}

/// Sectors of an event; a flush, which has none, counts as one.
fn sectors(event: &IoEvent) -> u64 {
    u64::from(event.sectors.max(1))
}
