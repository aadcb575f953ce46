//! Requests that wait too long to be dispatched, and I/Os that wait too long for a slot, without which they are none.

use goodness_core::{IoEvent, IoStage, Operation, Span, Submitter, Time};
use goodness_queues::{Nodes, Tree};

/// A request that waited longer than this for its device counts as starved. A choice: longer than the read deadline of
/// Linux's deadline elevators by a factor of two.
const STARVED: Span = Span::from_s(1);

/// An I/O that waits for a slot.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    submitter: Submitter,
    since: Time,
}

/// I/Os that wait for a slot. Memory is taken only if more wait than ever before.
#[derive(Clone, Debug, Default)]
struct WithoutSlot {
    /// Numbers of waiters by disk and direction, in the order of their first sectors.
    by_sector: Vec<[Tree; 2]>,
    nodes: Nodes<0>,
    /// By number; those of no I/O are `free`.
    waiters: Vec<Waiter>,
    free: Vec<u32>,
}

impl WithoutSlot {
    fn push(&mut self, since: Time, event: &IoEvent) {
        let (disk, waiter) = (usize::from(event.disk.0), Waiter { submitter: event.submitter, since });
        if self.by_sector.len() <= disk {
            self.by_sector.resize_with(disk + 1, Default::default);
        }
        let number = self.free.pop().unwrap_or(self.waiters.len() as u32);
        if number as usize == self.waiters.len() {
            self.waiters.push(waiter);
            self.nodes.reserve(self.waiters.len());
            self.free.reserve(self.waiters.len());
        }
        self.waiters[number as usize] = waiter;
        let tree = &mut self.by_sector[disk][event.op.direction()];
        tree.insert(&mut self.nodes, number, event.sector as i64, []);
    }

    /// The I/Os of this submitter that begin within these sectors, which became one request, wait no more. Returns
    /// since when the oldest did.
    fn take(&mut self, event: &IoEvent) -> Option<Time> {
        let tree = &mut self.by_sector.get_mut(usize::from(event.disk.0))?[event.op.direction()];
        let end = (event.sector + u64::from(event.sectors.max(1))) as i64;
        let mut oldest: Option<Time> = None;
        let mut next = tree.first_from(&self.nodes, event.sector as i64);
        while let Some(number) = next.filter(|number| self.nodes.key(*number) < end) {
            next = tree.next(&self.nodes, number);
            let Waiter { submitter, since } = self.waiters[number as usize];
            if submitter == event.submitter {
                tree.remove(&mut self.nodes, number);
                self.free.push(number);
                oldest = Some(oldest.map_or(since, |it| it.min(since)));
            }
        }
        oldest
    }

    /// Since when each waits.
    fn since(&self) -> impl Iterator<Item = Time> {
        let all = self.by_sector.iter().flatten().flat_map(|tree| tree.iter(&self.nodes));
        all.map(|number| self.waiters[number as usize].since)
    }
}

/// Since when requests wait, and I/Os for a slot.
#[derive(Clone, Debug, Default)]
pub(super) struct Starved {
    /// Arrival time of each request that is not dispatched, by disk and request.
    waiting: Vec<Vec<Time>>,
    without_slot: WithoutSlot,
    count: u64,
}

impl Starved {
    /// Follows an event; a request counts if it was dispatched while `measuring`.
    pub fn observe(&mut self, at: Time, event: &IoEvent, measuring: bool) {
        match event.stage {
            IoStage::Waits => self.without_slot.push(at, event),
            IoStage::Inserted => *self.waiting(event) = self.without_slot.take(event).unwrap_or(at),
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
        let Some(since) = self.without_slot.take(event) else { return };
        let waiting = self.waiting(event);
        if *waiting != Time::NEVER {
            *waiting = since.min(*waiting);
        }
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
        let without_slot = self.without_slot.since().filter(|since| is_starved(*since)).count() as u64;
        (self.count, requests + without_slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{DiskId, RequestId};

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
    fn of_waiting_ios_that_became_one_request_none_waits_any_more() {
        let waits = [(0, IoStage::Waits, 8), (0, IoStage::Waits, 12)];
        let served = [(100, IoStage::Inserted, 8), (200, IoStage::Issued, 8)];
        assert_eq!(starved(&[&waits[..], &served].concat()), (0, 0));
        assert_eq!(starved(&waits), (0, 2), "the control: without a request both wait");
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
