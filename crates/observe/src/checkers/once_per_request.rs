//! Every I/O is part of one request, and every request is dispatched and completed once, with the sectors it was
//! inserted with plus those merged into it.

use super::Invariant;
use goodness_core::{IoEvent, IoStage, RequestId};

pub(super) const INVARIANT: Invariant = Invariant {
    name: "once_per_request",
    summary: "Each request is inserted, dispatched and completed exactly once, with the sectors of all that joined it.",
};

/// State of a request's slot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Slot {
    #[default]
    Free,
    Waiting,
    InDevice,
}

/// The expected state of a request.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    stands: Slot,
    /// Of a request in use: its first sector, and the one after its last.
    start: u64,
    end: u64,
}

/// State of one disk.
#[derive(Clone, Debug, Default)]
struct Disk {
    requests: Vec<Request>,
    /// I/Os and sectors submitted and not completed.
    pieces: i64,
    sectors: i64,
    /// Sectors in completed requests whose I/Os are not yet reported as done.
    carried: i64,
}

/// All disks, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct OncePerRequest(Vec<Disk>);

impl OncePerRequest {
    /// Follows `event`. Returns its violation, if any.
    pub fn observe(&mut self, event: &IoEvent) -> Option<String> {
        let number = usize::from(event.disk.0);
        if self.0.len() <= number {
            self.0.resize_with(number + 1, Disk::default);
        }
        let disk = &mut self.0[number];
        let sectors = i64::from(event.sectors);
        match event.stage {
            IoStage::Queued => {
                disk.pieces += 1;
                disk.sectors += sectors;
                None
            }
            IoStage::Released | IoStage::Waits => None,
            IoStage::BackMerged | IoStage::FrontMerged => {
                disk.expect_outside(event, None).or_else(|| disk.grow(event, event.request))
            }
            IoStage::Inserted => {
                let wrong = disk.expect(event, Slot::Free, Slot::Waiting);
                let request = disk.request(event.request);
                (request.start, request.end) = (event.sector, event.sector + u64::from(event.sectors));
                wrong
            }
            IoStage::Absorbed => {
                let was_waiting = disk.request(event.request).stands == Slot::Waiting;
                let wrong = disk.expect_outside(event, Some(Slot::Free));
                let moved = || was_waiting.then(|| disk.expect_sectors(event)).flatten();
                wrong.or_else(moved).or_else(|| disk.grow(event, event.survivor))
            }
            IoStage::Issued => disk.expect(event, Slot::Waiting, Slot::InDevice).or_else(|| disk.expect_sectors(event)),
            IoStage::Completed => {
                disk.carried += sectors;
                disk.expect(event, Slot::InDevice, Slot::Free).or_else(|| disk.expect_sectors(event))
            }
            IoStage::Done => {
                disk.pieces -= 1;
                disk.sectors -= sectors;
                disk.carried -= sectors;
                let wrong = disk.pieces < 0 || disk.carried < 0;
                wrong.then(|| format!("disk {number}: sector {} is done and was not carried", event.sector))
            }
        }
    }

    /// Violations at the end: requests left over when nothing is scheduled (`quiet`), or at a horizon.
    pub fn at_end(&self, quiet: bool) -> Option<String> {
        // A piece that was cut into several requests may be carried in part when a run ends by the clock.
        let left = |disk: &Disk| {
            quiet && (disk.pieces != 0 || disk.sectors != 0 || disk.carried != 0) || disk.carried > disk.sectors
        };
        let number = self.0.iter().position(left)?;
        let Disk { pieces, sectors, carried, .. } = &self.0[number];
        Some(format!(
            "disk {number}: {pieces} pieces of I/O with {sectors} sectors were never done, and {carried} sectors were \
             completed for nobody"
        ))
    }
}

impl Disk {
    /// The request of `event` grows or is absorbed: it must not be in the device. It may be in a plug, which is before
    /// it is inserted.
    fn expect_outside(&mut self, event: &IoEvent, after: Option<Slot>) -> Option<String> {
        let stood = self.request(event.request).stands;
        let before = if stood == Slot::InDevice { Slot::Waiting } else { stood };
        self.expect(event, before, after.unwrap_or(stood))
    }

    fn request(&mut self, id: RequestId) -> &mut Request {
        if self.requests.len() <= id.index() {
            self.requests.resize(id.index() + 1, Request::default());
        }
        &mut self.requests[id.index()]
    }

    /// Adds the sectors of `event` to the waiting request `id`, at its end or start. A request in a plug reports all of
    /// them when it is inserted.
    fn grow(&mut self, event: &IoEvent, id: RequestId) -> Option<String> {
        let (number, stage) = (event.disk.0, event.stage);
        let (from, to) = (event.sector, event.sector + u64::from(event.sectors));
        let request = self.request(id);
        match stage {
            IoStage::Absorbed if request.stands != Slot::Waiting => {
                let stood = request.stands;
                return Some(format!("disk {number}, request {}: it is {stood:?} and swallows another", id.0));
            }
            _ if request.stands == Slot::Free => {}
            IoStage::FrontMerged if to == request.start => request.start = from,
            IoStage::BackMerged | IoStage::Absorbed if from == request.end => request.end = to,
            _ => {
                let Request { start, end, .. } = *request;
                return Some(format!(
                    "disk {number}, request {}: {stage:?} of sectors {from} to {to}, which do not touch its {start} to \
                        {end}",
                    id.0
                ));
            }
        }
        None
    }

    /// Checks that the request of `event` has the sectors that were merged into it.
    fn expect_sectors(&mut self, event: &IoEvent) -> Option<String> {
        let (from, to) = (event.sector, event.sector + u64::from(event.sectors));
        let Request { start, end, .. } = *self.request(event.request);
        let (number, index, stage) = (event.disk.0, event.request.index(), event.stage);
        ((from, to) != (start, end)).then(|| {
            format!(
                "disk {number}, request {index}: {stage:?} with sectors {from} to {to} where {start} to {end} joined it"
            )
        })
    }

    /// Moves the slot of `event` from `before` to `after`. A violation if it is in another state.
    fn expect(&mut self, event: &IoEvent, before: Slot, after: Slot) -> Option<String> {
        let index = event.request.index();
        let stood = std::mem::replace(&mut self.request(event.request).stands, after);
        let (number, stage) = (event.disk.0, event.stage);
        (stood != before).then(|| format!("disk {number}, request {index}: {stage:?} while it was {stood:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{DiskId, Operation, Span, Submitter};

    fn event(stage: IoStage, request: u32) -> IoEvent {
        IoEvent {
            disk: DiskId(0),
            stage,
            op: Operation::Read,
            sync: true,
            request: RequestId(request),
            survivor: RequestId(request),
            submitter: Submitter(0),
            owner: Submitter(0),
            sector: 80,
            sectors: 8,
            span: Span::ZERO,
        }
    }

    /// Request 1, which starts at `sector`, is merged into request 0.
    fn absorbed(sector: u64) -> IoEvent {
        IoEvent { sector, survivor: RequestId(0), ..event(IoStage::Absorbed, 1) }
    }

    fn follow(stages: &[(IoStage, u32)]) -> (OncePerRequest, Option<String>) {
        let mut checker = OncePerRequest::default();
        let wrong = stages.iter().find_map(|(stage, request)| checker.observe(&event(*stage, *request)));
        (checker, wrong)
    }

    #[test]
    fn a_request_that_goes_its_way_is_sound() {
        use IoStage::*;
        let (checker, wrong) = follow(&[(Queued, 0), (Inserted, 0), (Issued, 0), (Completed, 0), (Done, 0)]);
        assert_eq!(wrong, None);
        assert_eq!(checker.at_end(true), None);
    }

    #[test]
    fn a_request_dispatched_twice_is_found() {
        use IoStage::*;
        let (_, wrong) = follow(&[(Queued, 0), (Inserted, 0), (Issued, 0), (Issued, 0)]);
        assert!(wrong.is_some_and(|text| text.contains("Issued while it was InDevice")));
    }

    #[test]
    fn a_request_may_be_absorbed_while_it_is_plugged_but_not_in_the_device() {
        use IoStage::*;
        let (mut checker, _) = follow(&[(Queued, 0), (Queued, 0), (Inserted, 0)]);
        assert_eq!(checker.observe(&absorbed(88)), None);
        let (_, wrong) = follow(&[(Queued, 0), (Inserted, 0), (Issued, 0), (BackMerged, 0)]);
        assert!(wrong.is_some_and(|text| text.contains("BackMerged while it was InDevice")));
    }

    #[test]
    fn a_request_has_the_sectors_of_all_that_joined_it_and_no_others() {
        use IoStage::*;
        let (mut checker, _) = follow(&[(Inserted, 0), (Inserted, 1)]);
        let mut said = |stage, request, sector, sectors| {
            let wrong = checker.observe(&IoEvent { sector, sectors, ..event(stage, request) });
            wrong.unwrap_or_default()
        };
        assert_eq!(said(BackMerged, 0, 88, 8), "");
        assert_eq!(said(FrontMerged, 0, 72, 8), "");
        assert!(said(BackMerged, 0, 104, 8).contains("do not touch its 72 to 96"));
        assert_eq!(said(Issued, 0, 72, 24), "");
        assert!(said(Completed, 0, 72, 16).contains("72 to 88 where 72 to 96 joined it"));
        // As many sectors, but others.
        assert!(said(Issued, 1, 88, 8).contains("88 to 96 where 80 to 88 joined it"));
    }

    #[test]
    fn who_swallows_another_waits_ends_where_it_begins_and_goes_on_with_both() {
        use IoStage::*;
        let swallows = |stages: &[(IoStage, u32)], sector| {
            let (mut checker, _) = follow(stages);
            let wrong = checker.observe(&absorbed(sector)).unwrap_or_default();
            (wrong, checker.observe(&IoEvent { sectors: 16, ..event(Issued, 0) }).unwrap_or_default())
        };
        assert_eq!(swallows(&[(Inserted, 0)], 88), (String::new(), String::new()));
        let (wrong, issued) = swallows(&[(Inserted, 0)], 96);
        assert!(wrong.contains("do not touch") && issued.contains("where 80 to 88 joined it"));
        assert!(swallows(&[], 88).0.contains("it is Free and swallows another"));
        assert!(swallows(&[(Inserted, 0), (Inserted, 1)], 88).0.contains("with sectors 88 to 96 where 80 to 88"));
    }

    #[test]
    fn a_piece_that_is_never_done_is_found_where_nothing_can_happen_any_more() {
        use IoStage::*;
        let (checker, _) = follow(&[(Queued, 0), (Inserted, 0)]);
        assert!(checker.at_end(true).is_some_and(|text| text.contains("1 pieces")));
        assert_eq!(checker.at_end(false), None, "at a horizon it may be under way");
    }

    #[test]
    fn sectors_done_that_no_request_carried_are_found() {
        use IoStage::*;
        let (_, wrong) = follow(&[(Queued, 0), (Inserted, 0), (Done, 0)]);
        assert!(wrong.is_some());
    }

    #[test]
    fn a_piece_cut_into_two_requests_may_be_carried_in_part_at_a_horizon_but_not_at_the_end() {
        use IoStage::*;
        let mut checker = OncePerRequest::default();
        let whole = IoEvent { sectors: 16, ..event(Queued, 0) };
        let stages = [whole, event(Inserted, 0), event(Inserted, 1), event(Issued, 0), event(Completed, 0)];
        assert!(stages.iter().all(|event| checker.observe(event).is_none()));
        assert_eq!(checker.at_end(false), None);
        assert!(checker.at_end(true).is_some());
    }
}
