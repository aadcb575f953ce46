//! Every piece of I/O becomes part of one request, every request is dispatched and completed once, and no sector is lost or
//! invented on the way.

use super::Invariant;
use goodness_core::{IoEvent, IoStage};

pub(super) const INVARIANT: Invariant = Invariant {
    name: "once_per_request",
    summary: "Each request is inserted, dispatched and completed exactly once, and all sectors asked for are done.",
};

/// Where a request's slot stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Slot {
    #[default]
    Free,
    Waiting,
    InDevice,
}

/// One disk.
#[derive(Clone, Debug, Default)]
struct Disk {
    slots: Vec<Slot>,
    /// Pieces and sectors asked for and not done.
    pieces: i64,
    sectors: i64,
    /// Sectors that requests completed and pieces did not yet report as done.
    carried: i64,
}

/// All disks, by number.
#[derive(Clone, Debug, Default)]
pub(super) struct OncePerRequest(Vec<Disk>);

impl OncePerRequest {
    /// Follows `event`; says what is wrong with it, if anything is.
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
            IoStage::BackMerged | IoStage::FrontMerged => disk.expect_outside(event, None),
            IoStage::Inserted => disk.expect(event, Slot::Free, Slot::Waiting),
            IoStage::Absorbed => disk.expect_outside(event, Some(Slot::Free)),
            IoStage::Issued => disk.expect(event, Slot::Waiting, Slot::InDevice),
            IoStage::Completed => {
                disk.carried += sectors;
                disk.expect(event, Slot::InDevice, Slot::Free)
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

    /// What is left over when nothing can happen any more, or (`quiet` is false) at a horizon.
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
    /// The request of `event` grows or is absorbed: it must not be in the device. It may be in a plug, which is before it is
    /// inserted.
    fn expect_outside(&mut self, event: &IoEvent, after: Option<Slot>) -> Option<String> {
        let stood = *self.slot(event);
        let before = if stood == Slot::InDevice { Slot::Waiting } else { stood };
        self.expect(event, before, after.unwrap_or(stood))
    }

    fn slot(&mut self, event: &IoEvent) -> &mut Slot {
        let index = event.request.index();
        if self.slots.len() <= index {
            self.slots.resize(index + 1, Slot::Free);
        }
        &mut self.slots[index]
    }

    /// The slot of `event` must stand at `before` and goes to `after`.
    fn expect(&mut self, event: &IoEvent, before: Slot, after: Slot) -> Option<String> {
        let index = event.request.index();
        let stood = std::mem::replace(self.slot(event), after);
        let (number, stage) = (event.disk.0, event.stage);
        (stood != before).then(|| format!("disk {number}, request {index}: {stage:?} while it was {stood:?}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{DiskId, Operation, RequestId, Span, Submitter};

    fn event(stage: IoStage, request: u32) -> IoEvent {
        IoEvent {
            disk: DiskId(0),
            stage,
            op: Operation::Read,
            sync: true,
            request: RequestId(request),
            submitter: Submitter(0),
            sector: 80,
            sectors: 8,
            span: Span::ZERO,
        }
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
        assert_eq!(follow(&[(Queued, 0), (Queued, 0), (Inserted, 0), (Absorbed, 1)]).1, None);
        let (_, wrong) = follow(&[(Queued, 0), (Inserted, 0), (Issued, 0), (BackMerged, 0)]);
        assert!(wrong.is_some_and(|text| text.contains("BackMerged while it was InDevice")));
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
