//! Load of the disks over time: busy, requests outstanding, and requests held back while a disk has none.

use super::Window;
use super::measured::Values;
use goodness_core::{IoEvent, IoStage, Operation, Span, Time};

/// Requests of a disk, and the time of the last change.
#[derive(Clone, Copy, Debug, Default)]
struct Outstanding {
    waiting: u32,
    in_device: u32,
    since: Time,
}

/// The load of all disks since the end of the warm-up.
#[derive(Clone, Debug, Default)]
pub(super) struct DiskLoad {
    disks: Vec<Outstanding>,
    busy: Span,
    held: Span,
    /// Outstanding requests, each for its time in nanoseconds.
    outstanding: u128,
}

impl DiskLoad {
    /// Follows a request to its next stage. Measuring begins at `from`.
    pub fn observe(&mut self, at: Time, from: Time, event: &IoEvent) {
        let disk = usize::from(event.disk.0);
        if self.disks.len() <= disk {
            self.disks.resize(disk + 1, Outstanding::default());
        }
        self.pass(disk, at, from);
        let of_disk = &mut self.disks[disk];
        // A flush goes to the device unseen by the elevator.
        let waits = u32::from(event.op != Operation::Flush);
        match event.stage {
            IoStage::Inserted => of_disk.waiting += waits,
            IoStage::Absorbed => of_disk.waiting = of_disk.waiting.saturating_sub(1),
            IoStage::Issued => {
                of_disk.waiting = of_disk.waiting.saturating_sub(waits);
                of_disk.in_device += 1;
            }
            IoStage::Completed => of_disk.in_device = of_disk.in_device.saturating_sub(1),
            _ => {}
        }
    }

    /// Accounts for the time of `disk` until `at`.
    fn pass(&mut self, disk: usize, at: Time, from: Time) {
        let Outstanding { waiting, in_device, since } = self.disks[disk];
        let span = at.since(since.max(from).min(at));
        self.disks[disk].since = at;
        self.outstanding += u128::from(waiting + in_device) * u128::from(span.ns());
        if in_device > 0 {
            self.busy += span;
        } else if waiting > 0 {
            self.held += span;
        }
    }

    /// Enters the results; without a disk that had a request there are none.
    pub fn report(&mut self, window: Window, values: &mut Values) {
        (0..self.disks.len()).for_each(|disk| self.pass(disk, window.to, window.from));
        let time = window.length() * self.disks.len() as f64;
        let mut set = |name: &str, sum: f64| {
            values.set(name, (time > 0.0).then(|| sum / time), self.disks.len() as u64);
        };
        set("disk_busy", self.busy.ns() as f64);
        set("queue_depth", self.outstanding as f64);
        set("disk_held", self.held.ns() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{DiskId, RequestId, Submitter};

    const MS: u64 = 1_000_000;

    /// Disk 1 of two over 2 s, of which the first `warmup` ms are not measured.
    fn values(warmup: u64, stages: &[(u64, IoStage, Operation)]) -> [Option<f64>; 3] {
        let mut load = DiskLoad::default();
        let from = Time(warmup * MS);
        for (ms, stage, op) in stages {
            let (stage, op, request) = (*stage, *op, RequestId(0));
            let event = IoEvent {
                disk: DiskId(1),
                stage,
                op,
                sync: true,
                request,
                survivor: request,
                submitter: Submitter(2),
                owner: Submitter(2),
                sector: 0,
                sectors: 8,
                span: Span::ZERO,
            };
            load.observe(Time(ms * MS), from, &event);
        }
        let mut values = Values::default();
        load.report(Window { from, to: Time(2000 * MS) }, &mut values);
        let entered = values.entered();
        ["disk_busy", "queue_depth", "disk_held"]
            .map(|name| entered.iter().find(|value| value.about.name == name).and_then(|value| value.value))
    }

    use IoStage::{Completed, Done, Inserted, Issued};
    use Operation::{Flush, Read};

    #[test]
    fn a_disk_is_held_while_requests_wait_and_it_has_none() {
        let stages = [
            (100, Inserted, Read),
            (150, Inserted, Read),
            (200, Issued, Read),
            (600, Completed, Read),
            (700, Issued, Read),
            (900, Completed, Read),
            (1800, Done, Read),
        ];
        // Held from 100 to 200 and from 600 to 700 ms. Outstanding: 1 for 50 ms, 2 for 450 ms, 1 for 300 ms.
        assert_eq!(values(0, &stages), [Some(0.15), Some(1250.0 / 4000.0), Some(0.05)]);
    }

    #[test]
    fn what_was_outstanding_before_measuring_counts_from_its_beginning_and_until_the_end() {
        let stages = [(100, Inserted, Read), (100, Issued, Read)];
        assert_eq!(values(1000, &stages), [Some(0.5), Some(0.5), Some(0.0)]);
    }

    #[test]
    fn a_flush_does_not_leave_a_request_waiting_behind() {
        let stages = [(0, Inserted, Flush), (0, Issued, Flush), (1000, Completed, Flush)];
        assert_eq!(values(0, &stages), [Some(0.25), Some(0.25), Some(0.0)]);
    }

    #[test]
    fn without_requests_there_is_no_load() {
        assert_eq!(values(0, &[]), [None; 3]);
    }
}
