//! Estimates the device's peak rate from the requests it was given.
//!
//! Requests are counted over intervals of at most a second. An interval's rate counts if most of its requests were
//! sequential or it was the highest so far; it weighs more the longer and more sequential the interval was.

use super::settings::Times;
use goodness_core::{IoContext, QueueFacts, Request, Span, Time};

/// Rates are sectors a microsecond, times this.
const ONE: u64 = 1 << 16;
/// An interval that is long enough to stop.
const FULL: Span = Span::from_s(1);
/// Least duration and number of requests of an interval that counts.
const USEFUL: Span = Span::from_ms(300);
const USEFUL_REQUESTS: u64 = 32;
/// The device idle for so long: the interval ends.
const LONG_IDLE: Span = Span::from_ms(100);
/// Time after a completion within which a request still counts as following it.
const FOLLOWS: Span = Span::from_ms(2);
/// Highest plausible rate, in sectors per microsecond.
const CREDIBLE: u64 = 20 * ONE;
/// Rate below which the device was certainly busy with other work: 1/1024 sector per microsecond.
const SLOW: u64 = ONE >> 10;

/// A reference device: its rate, and the time a large application loads from it.
struct Reference {
    rate: u64,
    time: Span,
}
const ROTATING: Reference = Reference { rate: 14_000, time: Span::from_ms(7_000) };
const FLASH: Reference = Reference { rate: 33_000, time: Span::from_ms(2_500) };
/// Bounds of the time for which an interactive queue is raised.
const SHORTEST: Span = Span::from_s(3);
const LONGEST: Span = Span::from_s(25);

/// The estimate, and the current interval.
#[derive(Clone, Debug)]
pub struct PeakRate {
    rate: u64,
    reference: &'static Reference,
    rotational: bool,
    first: Time,
    last: Time,
    last_completion: Time,
    requests: u64,
    sequential: u64,
    sectors: u64,
    /// The largest of up to 32 recent requests.
    largest: u64,
}

impl std::fmt::Debug for Reference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} sectors/us/65536, {}", self.rate, self.time)
    }
}

impl PeakRate {
    /// The first guess: two thirds of the reference.
    pub fn new(facts: &QueueFacts) -> PeakRate {
        let reference = if facts.rotational { &ROTATING } else { &FLASH };
        PeakRate {
            rate: reference.rate * 2 / 3,
            reference,
            rotational: facts.rotational,
            first: Time::ZERO,
            last: Time::ZERO,
            last_completion: Time::ZERO,
            requests: 0,
            sequential: 0,
            sectors: 0,
            largest: 0,
        }
    }

    /// True if seeks take time, as on a rotating disk.
    pub fn is_rotational(&self) -> bool {
        self.rotational
    }

    /// Least cost of a seek.
    pub fn seek(&self) -> Span {
        if self.rotational { Span::from_ms(8) } else { Span::from_ms(2) }
    }

    /// Sectors that the device serves in `span` at best.
    pub fn sectors_in(&self, span: Span) -> u64 {
        self.rate * (span.0 / 1000) / ONE
    }

    /// Raising time of an interactive queue: the time to load a large application from this device.
    pub fn interactive(&self) -> Span {
        let ms = self.reference.rate * (self.reference.time.0 / 1_000_000) / self.rate;
        Span::from_ms(ms).clamp(SHORTEST, LONGEST)
    }

    /// True if a request so far from the one before it counts as a seek.
    pub fn is_seek(&self, distance: u64, sectors: u32) -> bool {
        distance > Times::SEEK_SECTORS && (self.rotational || sectors < Times::SMALL_SECTORS)
    }

    /// The device gets a request that starts `distance` from the end of the previous one. Returns whether the estimate
    /// may have changed.
    pub fn dispatched(&mut self, cx: &IoContext, distance: u64, request: &Request) -> bool {
        if self.requests == 0 {
            self.restart(cx.now, request);
            return false;
        }
        let idle_for_long = cx.now.since(self.last) > LONG_IDLE && cx.in_flight == 0;
        if !idle_for_long {
            self.count(cx, distance, request);
            if cx.now.since(self.first) < FULL {
                self.last = cx.now;
                return false;
            }
        }
        let until = if idle_for_long { self.last } else { cx.now };
        let changed = self.conclude(until);
        self.restart(cx.now, request);
        changed
    }

    fn count(&mut self, cx: &IoContext, distance: u64, request: &Request) {
        self.requests += 1;
        let follows = cx.in_flight > 0 || cx.now.since(self.last_completion) < FOLLOWS;
        if follows && !self.is_seek(distance, request.sectors) {
            self.sequential += 1;
        }
        let sectors = u64::from(request.sectors);
        self.sectors += sectors;
        self.largest = if self.requests.is_multiple_of(32) { sectors } else { self.largest.max(sectors) };
    }

    /// The device completed a request. Returns whether the estimate may have changed.
    pub fn completed(&mut self, now: Time) -> bool {
        let took = now.since(self.last_completion);
        let mut changed = false;
        if took > FOLLOWS && self.largest * ONE / (took.0 / 1000) < SLOW {
            changed = self.conclude(self.last);
            self.requests = 0;
        }
        self.last_completion = now;
        changed
    }

    fn restart(&mut self, now: Time, request: &Request) {
        (self.first, self.last) = (now, now);
        (self.requests, self.sequential) = (1, 0);
        self.sectors = u64::from(request.sectors);
        self.largest = self.sectors;
    }

    /// Ends the interval at the last dispatch or completion, whichever is later.
    fn conclude(&mut self, last_dispatch: Time) -> bool {
        let span = Span(last_dispatch.max(self.last_completion).0.saturating_sub(self.first.0));
        if self.requests < USEFUL_REQUESTS || last_dispatch.0.saturating_sub(self.first.0) < USEFUL.0 {
            return false;
        }
        let rate = self.sectors * ONE / (span.0 / 1000).max(1);
        let mostly_random = self.sequential < 3 * self.requests / 4;
        if (mostly_random && rate <= self.rate) || rate > CREDIBLE {
            return false;
        }
        let weight = (9 * self.sequential / self.requests * span.0 / FULL.0).min(8);
        let divisor = 10 - weight;
        self.rate = (self.rate * (divisor - 1) / divisor + rate / divisor).max(1);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::verb_driver::facts;

    #[test]
    fn the_first_guess_gives_10500_ms_on_disks_and_3750_ms_on_flash() {
        // T-BFQ-5
        let first = |rotational| PeakRate::new(&QueueFacts { rotational, ..facts() });
        assert_eq!((first(true).rate, first(false).rate), (9_333, 22_000));
        assert_eq!(first(true).interactive(), Span::from_ms(10_500));
        assert_eq!(first(false).interactive(), Span::from_ms(3_750));
    }

    #[test]
    fn the_time_of_raising_lies_between_3_and_25_s() {
        let mut rate = PeakRate::new(&facts());
        rate.rate = 1;
        assert_eq!(rate.interactive(), Span::from_s(25));
        rate.rate = 1 << 20;
        assert_eq!(rate.interactive(), Span::from_s(3));
    }

    #[test]
    fn at_1000_sectors_in_4096_us_the_budget_of_125_ms_is_30_517_sectors() {
        let mut rate = PeakRate::new(&facts());
        rate.rate = 16_000;
        assert_eq!(rate.sectors_in(Span::from_ms(125)), 30_517);
        assert_eq!(rate.sectors_in(Span(4_096_000)), 1000);
    }

    #[test]
    fn a_seek_is_more_than_800_sectors_and_on_flash_a_small_request_too() {
        let seeks = |rotational, distance, sectors| {
            PeakRate::new(&QueueFacts { rotational, ..facts() }).is_seek(distance, sectors)
        };
        assert_eq!([seeks(true, 800, 8), seeks(true, 801, 8), seeks(true, 801, 64)], [false, true, true]);
        assert_eq!([seeks(false, 800, 8), seeks(false, 801, 63), seeks(false, 801, 64)], [false, true, false]);
    }
}
