//! A device whose time runs faster or slower: everything in it takes a part of what its model says.

use goodness_core::{Device, DeviceFacts, Request, RequestId, Span, Time};

/// A device that takes `percent` of the time of another one.
pub struct Dilated<D> {
    device: D,
    percent: u32,
}

impl<D: Device> Dilated<D> {
    /// `device`, which takes `percent` of its time; 100 is the device itself, and 0 counts as 1.
    pub fn new(device: D, percent: u32) -> Dilated<D> {
        Dilated { device, percent: percent.max(1) }
    }

    /// The time in the device, not past its next event.
    fn inside(&self, now: Time) -> Time {
        let ns = u128::from(now.0) * 100 / u128::from(self.percent);
        Time(u64::try_from(ns).unwrap_or(u64::MAX)).min(self.device.next_event())
    }
}

impl<D> Dilated<D> {
    /// Nanoseconds in the device, as they are outside.
    fn outside(&self, ns: u64) -> u64 {
        let outside = (u128::from(ns) * u128::from(self.percent)).div_ceil(100);
        u64::try_from(outside).unwrap_or(u64::MAX)
    }
}

impl<D: Device> Device for Dilated<D> {
    fn facts(&self) -> DeviceFacts {
        let mut facts = self.device.facts();
        facts.age_limit = facts.age_limit.map(|limit| Span(self.outside(limit.ns())));
        facts
    }

    fn start(&mut self, now: Time, id: RequestId, request: &Request) {
        let now = self.inside(now);
        self.device.start(now, id, request);
    }

    fn next_event(&self) -> Time {
        match self.device.next_event() {
            Time::NEVER => Time::NEVER,
            Time(ns) => Time(self.outside(ns)),
        }
    }

    fn advance(&mut self, _: Time, done: &mut Vec<RequestId>) {
        let now = self.device.next_event();
        self.device.advance(now, done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::null::{Null, Settings};
    use goodness_core::{Io, Submitter};

    /// The end of a request that starts at 1 ms, on a device of 10 µs.
    fn done_at(percent: u32) -> Time {
        let settings = Settings { latency: Span::from_us(10), ..Settings::default() };
        let mut device = Dilated::new(Null::new(&settings), percent);
        assert_eq!(device.next_event(), Time::NEVER);
        let request = Request::of(&Io::read(Submitter(0), 0, 8), Time::ZERO);
        device.start(Time(1_000_000), RequestId(0), &request);
        let mut done = Vec::new();
        let at = device.next_event();
        device.advance(at, &mut done);
        assert_eq!((done.len(), device.next_event()), (1, Time::NEVER));
        at
    }

    #[test]
    fn its_limit_of_age_is_in_the_same_time() {
        let limit = |percent| {
            let flash = crate::by_name("nvme", goodness_core::Seed(1)).expect("a device");
            Dilated::new(flash, percent).facts().age_limit.expect("a limit").ns()
        };
        assert!(limit(100) > 0);
        assert_eq!((limit(300), limit(50)), (3 * limit(100), limit(100).div_ceil(2)));
    }

    #[test]
    fn a_device_takes_the_part_of_its_time_that_it_is_given() {
        assert_eq!([100, 50, 25, 200].map(done_at), [10_000, 5_000, 2_500, 20_000].map(|ns| Time(1_000_000 + ns)));
    }
}
