//! Starvation within a device: no command stays there many times longer than the device's own age limit.

use super::Invariant;
use goodness_core::{IoEvent, IoStage, Span, Time};

pub(super) const INVARIANT: Invariant = Invariant {
    name: "bounded_service",
    summary: "No command stays in a device longer than ten times the age limit of the device.",
};

/// Multiple of the age limit. A choice: a device that serves the oldest every second time needs two limits, and a flush
/// waits for all that was written before.
const MULTIPLE: u64 = 10;

/// The commands in the devices.
#[derive(Clone, Debug, Default)]
pub(crate) struct BoundedService {
    /// Age limit of each disk; those without one are not checked.
    pub age_limits: Vec<Option<Span>>,
    /// Time of issue of each command in a device, by disk and request.
    issued: Vec<Vec<Time>>,
}

impl BoundedService {
    /// Follows `event` at `at`. Returns its violation, if any.
    pub fn observe(&mut self, at: Time, event: &IoEvent) -> Option<String> {
        let (disk, request) = (usize::from(event.disk.0), event.request.index());
        let limit = self.limit(disk)?;
        match event.stage {
            IoStage::Issued => *self.issued(disk, request) = at,
            IoStage::Completed => {
                let since = std::mem::replace(self.issued(disk, request), Time::NEVER);
                return said(disk, request, since, at, limit);
            }
            _ => {}
        }
        None
    }

    /// The violation of a command that is in a device at the end.
    pub fn at_end(&self, end: Time) -> Option<String> {
        self.issued.iter().enumerate().find_map(|(disk, issued)| {
            let limit = self.limit(disk)?;
            issued.iter().enumerate().find_map(|(request, since)| said(disk, request, *since, end, limit))
        })
    }

    /// Longest stay in `disk`, if there is one.
    fn limit(&self, disk: usize) -> Option<Span> {
        self.age_limits.get(disk).copied().flatten().map(|limit| Span(limit.ns().saturating_mul(MULTIPLE)))
    }

    fn issued(&mut self, disk: usize, request: usize) -> &mut Time {
        if self.issued.len() <= disk {
            self.issued.resize_with(disk + 1, Vec::new);
        }
        let of_disk = &mut self.issued[disk];
        if of_disk.len() <= request {
            of_disk.resize(request + 1, Time::NEVER);
        }
        &mut of_disk[request]
    }
}

/// The violation of a command that was issued at `since`.
fn said(disk: usize, request: usize, since: Time, at: Time, limit: Span) -> Option<String> {
    let is_late = since < at && at.since(since) > limit;
    is_late.then(|| {
        format!(
            "disk {disk}, request {request}: in the device for {} since {since}, longer than {limit}, {MULTIPLE} times \
             the age limit of the device",
            at.since(since)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{DiskId, Operation, RequestId, Submitter};

    const LIMIT: Span = Span::from_ms(100);

    fn event(disk: u16, stage: IoStage) -> IoEvent {
        let request = RequestId(3);
        IoEvent {
            disk: DiskId(disk),
            stage,
            op: Operation::Read,
            sync: true,
            request,
            survivor: request,
            submitter: Submitter(0),
            owner: Submitter(0),
            sector: 8,
            sectors: 8,
            span: Span::ZERO,
        }
    }

    /// Violation of a command of `disk` that is issued at 1 ms and completes at `until`, if given.
    fn found(disk: u16, until: Option<u64>) -> (Option<String>, Option<String>) {
        let mut checker = BoundedService { age_limits: vec![None, Some(LIMIT)], ..BoundedService::default() };
        assert_eq!(checker.observe(Time(1_000_000), &event(disk, IoStage::Issued)), None);
        let completed = until.and_then(|at| checker.observe(Time(at), &event(disk, IoStage::Completed)));
        (completed, checker.at_end(Time(5_000_000_000)))
    }

    #[test]
    fn ten_age_limits_are_allowed_and_a_nanosecond_more_is_not() {
        assert_eq!(found(1, Some(1_001_000_000)), (None, None));
        let late = found(1, Some(1_001_000_001)).0.expect("too long");
        assert!(late.contains("disk 1, request 3: in the device for 1.000000001s since 1ms"), "{late}");
        assert!(late.contains("longer than 1s, 10 times"), "{late}");
    }

    #[test]
    fn a_command_that_never_completes_is_found_at_the_end() {
        assert!(found(1, None).1.is_some_and(|text| text.contains("for 4.999s")));
    }

    #[test]
    fn a_device_without_an_age_limit_is_not_checked() {
        assert_eq!(found(0, None), (None, None));
        assert_eq!(found(2, None), (None, None));
    }
}
