//! Requests that wait too long to be dispatched, and I/Os that wait too long for a slot, without which they are none.

use goodness_core::{DiskId, IoEvent, IoStage, Operation, Span, Time};
use std::collections::VecDeque;

/// A request that waited longer than this for its device counts as starved. A choice: longer than the read deadline of
/// Linux's deadline elevators by a factor of two.
const STARVED: Span = Span::from_s(1);

/// I/Os of a submitter for which there is room from the first on. A choice: more than one keeps in flight mostly.
const ROOM: usize = 64;

/// An I/O that waits for a slot.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    disk: DiskId,
    /// Its first sector.
    sector: u64,
    since: Time,
}

/// Since when requests wait, and I/Os for a slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Starved {
    /// Arrival time of each request that is not dispatched, by disk and request.
    waiting: Vec<Vec<Time>>,
    /// I/Os that wait for a slot, by submitter and direction, in order of arrival: the oldest mostly gets one first.
    without_slot: Vec<[VecDeque<Waiter>; 2]>,
    count: u64,
}

impl Starved {
    /// Follows an event; a request counts if it was dispatched while `measuring`.
    pub fn observe(&mut self, at: Time, event: &IoEvent, measuring: bool) {
        match event.stage {
            IoStage::Waits => self.waits(at, event),
            IoStage::Inserted => *self.waiting(event) = self.has_slot(event).unwrap_or(at),
            IoStage::BackMerged | IoStage::FrontMerged => self.joins(event),
            IoStage::Absorbed => *self.waiting(event) = Time::NEVER,
            IoStage::Issued => {
                let since = std::mem::replace(self.waiting(event), Time::NEVER);
                let waited = event.span.max(at.since(since.min(at)));
                self.count += u64::from(measuring && event.op != Operation::Flush && waited > STARVED);
            }
            IoStage::Queued | IoStage::Released | IoStage::Completed | IoStage::Done => {}
        }
    }

    /// An I/O that waited for a slot has joined a request, which then waits as long. A request that is not inserted
    /// yet waits since it will be.
    fn joins(&mut self, event: &IoEvent) {
        let Some(since) = self.has_slot(event) else { return };
        let waiting = self.waiting(event);
        if *waiting != Time::NEVER {
            *waiting = since.min(*waiting);
        }
    }

    fn waits(&mut self, since: Time, event: &IoEvent) {
        let submitter = event.submitter.index();
        if self.without_slot.len() <= submitter {
            self.without_slot.resize_with(submitter + 1, Default::default);
        }
        let (disk, sector) = (event.disk, event.sector);
        let waiters = &mut self.without_slot[submitter][event.op.direction()];
        if waiters.capacity() == 0 {
            waiters.reserve(ROOM);
        }
        waiters.push_back(Waiter { disk, sector, since });
    }

    /// The oldest I/O of this submitter within these sectors waits for a slot no more. Returns since when it did.
    fn has_slot(&mut self, event: &IoEvent) -> Option<Time> {
        let waiters = &mut self.without_slot.get_mut(event.submitter.index())?[event.op.direction()];
        let sectors = event.sector..event.sector + u64::from(event.sectors.max(1));
        let is_within = |it: &Waiter| it.disk == event.disk && sectors.contains(&it.sector);
        // Of several that became one request, the oldest counts.
        let mut oldest = None;
        while let Some(waiter) = waiters.iter().position(is_within).and_then(|place| waiters.remove(place)) {
            oldest = oldest.min(Some(waiter.since)).or(Some(waiter.since));
        }
        oldest
    }

    fn waiting(&mut self, event: &IoEvent) -> &mut Time {
        let (disk, request) = (usize::from(event.disk.0), event.request.index());
        if self.waiting.len() <= disk {
            self.waiting.resize_with(disk + 1, Vec::new);
        }
        let of_disk = &mut self.waiting[disk];
        if of_disk.len() <= request {
            of_disk.resize(request + 1, Time::NEVER);
        }
        &mut of_disk[request]
    }

    /// Requests that were dispatched too late, and requests and I/Os that wait for too long at `end`.
    pub fn finish(&self, end: Time) -> (u64, u64) {
        let is_starved = |since: Time| since < end && end.since(since) > STARVED;
        let requests = self.waiting.iter().flatten().filter(|since| is_starved(**since)).count() as u64;
        let without_slot =
            self.without_slot.iter().flatten().flatten().filter(|it| is_starved(it.since)).count() as u64;
        (self.count, requests + without_slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{RequestId, Submitter};

    /// Starved after these events, each at a millisecond, of a write of 8 sectors: dispatched too late, and waiting
    /// after three seconds.
    fn starved(events: &[(u64, IoStage, u64)]) -> (u64, u64) {
        let (request, submitter, span) = (RequestId(0), Submitter(2), Span::ZERO);
        let mut starved = Starved::default();
        for (ms, stage, sector) in events {
            let event = IoEvent {
                disk: DiskId(0),
                stage: *stage,
                op: Operation::Write,
                sync: true,
                request,
                survivor: request,
                submitter,
                owner: submitter,
                sector: *sector,
                sectors: 8,
                span,
            };
            starved.observe(Time(ms * 1_000_000), &event, true);
        }
        starved.finish(Time(3_000_000_000))
    }

    #[test]
    fn an_io_that_waits_for_a_slot_at_the_end_is_starved_unless_it_has_just_come_or_its_group_is_limited() {
        assert_eq!(starved(&[(0, IoStage::Queued, 8), (0, IoStage::Waits, 8), (0, IoStage::Waits, 8)]), (0, 2));
        assert_eq!(starved(&[(0, IoStage::Queued, 8), (2_500, IoStage::Waits, 8)]), (0, 0));
        assert_eq!(starved(&[(0, IoStage::Queued, 8)]), (0, 0), "a limit of its group holds it");
    }

    #[test]
    fn the_wait_for_a_slot_counts_with_that_for_the_device() {
        use IoStage::{BackMerged, Inserted, Issued, Waits};
        assert_eq!(starved(&[(0, Waits, 8), (600, Inserted, 8), (1_200, Issued, 8)]), (1, 0));
        assert_eq!(starved(&[(600, Waits, 8), (600, Inserted, 8), (1_200, Issued, 8)]), (0, 0));
        assert_eq!(starved(&[(0, Waits, 8), (600, Inserted, 16), (1_200, Issued, 16)]), (0, 1), "another one's slot");
        let joins = [(0, Waits, 16), (600, Inserted, 8), (600, BackMerged, 16), (1_200, Issued, 8)];
        assert_eq!(starved(&joins), (1, 0));
    }
}
