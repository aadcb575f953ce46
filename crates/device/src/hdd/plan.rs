//! Plan of an access: the address ranges that pass under the heads, and when. It is computed in full when the access
//! starts; an interruption asks how far it got.

use super::geometry::Arm;
use super::mechanics::Mechanics;

/// Addresses in order, read or written as they pass.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    first: u64,
    count: u32,
    /// Time in ns at which its first sector starts to pass.
    begin: u64,
    /// Time per sector in picoseconds; 0 if all of it is available at `begin` (read before earlier addresses).
    sector: u64,
    arm: Arm,
}

impl Chunk {
    fn end(&self) -> u64 {
        self.first + u64::from(self.count)
    }

    /// True if sectors from `first` at `begin` follow without a gap, except for rounding.
    fn goes_on(&self, first: u64, begin: u64) -> bool {
        self.sector > 0 && self.end() == first && begin.abs_diff(self.ready(u64::from(self.count) - 1)) < 10
    }

    /// Time its `nth` sector has passed.
    fn ready(&self, nth: u64) -> u64 {
        self.begin + ((nth + 1) * self.sector).div_ceil(1000)
    }
}

/// Options of an access.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner {
    /// It is a write: settle before.
    pub write: bool,
    /// Start at any sector of the request and read the rest on the next revolution (zero-latency access).
    pub zero_latency: bool,
    /// Keep sectors that pass before the request on its first track.
    pub free_blocks: bool,
}

/// Time an access took, by part, for statistics.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cost {
    /// Nanoseconds of the first seek, with head switch and settling.
    pub seek: u64,
    /// Nanoseconds of rotation until the first wanted sector.
    pub latency: u64,
}

/// An access and the read-ahead behind it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    chunks: Vec<Chunk>,
    /// Final position of the arm.
    arm: Arm,
    /// Nanosecond at which the last chunk has passed.
    end: u64,
    /// The address after the last.
    next: u64,
    manner: Manner,
}

impl Plan {
    /// Restarts the plan: the arm leaves `arm` at time `at` (ns) for address `start`.
    pub fn restart(&mut self, arm: Arm, at: u64, start: u64, manner: Manner) {
        self.chunks.clear();
        (self.arm, self.end, self.next, self.manner) = (arm, at, start, manner);
    }

    /// Extends the plan to address `limit`. Addresses below `wanted` belong to the request, the rest is read-ahead.
    /// Writing starts no earlier than `data_ready` (ns).
    pub fn extend(&mut self, m: &Mechanics, wanted: u64, limit: u64, data_ready: u64) -> Cost {
        let mut cost = Cost::default();
        let mut first = self.chunks.is_empty();
        while self.next < limit {
            let seek = m.seek(self.arm, m.geometry.locate(self.next).arm, self.manner.write);
            let arrive = (self.end + seek).max(data_ready);
            let latency = self.track(m, arrive, wanted, limit, first);
            if first {
                cost = Cost { seek, latency };
                first = false;
            }
        }
        cost
    }

    /// Plans the part on one track, reached at `arrive`. Returns the time in ns until the next address passes.
    fn track(&mut self, m: &Mechanics, arrive: u64, wanted: u64, limit: u64, first: bool) -> u64 {
        let place = m.geometry.locate(self.next);
        let landing = m.landing(arrive, &place);
        let index_of = |address: u64| place.index + (address.min(place.end) - self.next) as u32;
        let after = |index: u32| (index + place.slots - landing.index) % place.slots;
        // From the landing's own angle, so that rounding does not add up from stretch to stretch.
        let at = |slots: u32| {
            arrive + (landing.wait + m.passing(slots, place.slots) as i64).max(0).unsigned_abs().div_ceil(1000)
        };
        let (start, stop, wanted_stop) = (place.index, index_of(limit), index_of(wanted.max(self.next)));
        let passed = landing.index > start;
        let free = self.manner.free_blocks && first;
        let address = |index: u32| place.first + u64::from(index - place.first_index);
        let chunks = &mut self.chunks;
        let mut push = |from: u32, to: u32, begin: u64, sector: u64| {
            let count = to.saturating_sub(from);
            let first = address(from);
            match chunks.last_mut() {
                _ if count == 0 => {}
                Some(last) if last.goes_on(first, begin) && last.sector == sector => last.count += count,
                _ => chunks.push(Chunk { first, count, begin, sector, arm: place.arm }),
            }
        };
        let sector = m.passing(1, place.slots);
        let inside = passed && landing.index < wanted_stop.max(if free { place.slots } else { 0 });
        if self.manner.zero_latency && start < wanted_stop && inside {
            // From the landing to the end of what is kept, then round to its beginning.
            let from = if free { place.first_index } else { start };
            let held = if free { stop } else { stop.min(wanted_stop) };
            let round = at(after(from) + landing.index.min(stop).saturating_sub(from));
            push(from, landing.index.min(stop), at(after(from)), sector);
            push(landing.index, held, round, 0);
            self.end = round;
            self.next = address(held.max(landing.index.min(stop)) - 1) + 1;
        } else {
            let from = match (free, passed) {
                (true, true) => place.first_index,
                (true, false) => landing.index.max(place.first_index),
                (false, _) => start,
            };
            push(from, stop, at(after(from)), sector);
            self.end = at(after(from) + (stop - from));
            self.next = address(stop - 1) + 1;
        }
        self.arm = place.arm;
        at(after(start)) - arrive
    }

    /// Drops everything that had passed by `now`.
    pub fn forget(&mut self, now: u64) {
        let passed = |chunk: &Chunk| chunk.ready(u64::from(chunk.count) - 1) <= now;
        let old = self.chunks.iter().take_while(|chunk| passed(chunk)).count();
        self.chunks.drain(..old.min(self.chunks.len().saturating_sub(1)));
    }

    /// Nanosecond at which it ends.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.end
    }

    /// First address of the plan.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.chunks.first().map_or(self.next, |chunk| chunk.first)
    }

    /// Address after the last of the plan.
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.next
    }

    /// First address that has not passed by `now`.
    #[must_use]
    pub fn reached(&self, now: u64) -> u64 {
        for chunk in &self.chunks {
            if chunk.ready(u64::from(chunk.count) - 1) > now {
                let passed = (now.saturating_sub(chunk.begin) * 1000).checked_div(chunk.sector).unwrap_or(0);
                return chunk.first + passed;
            }
        }
        self.next
    }

    /// Position of the arm at `now`.
    #[must_use]
    pub fn arm(&self, now: u64) -> Arm {
        let begun = self.chunks.iter().rev().find(|chunk| chunk.begin <= now);
        begun.or(self.chunks.first()).map_or(self.arm, |chunk| chunk.arm)
    }

    /// Time everything before `end` has passed.
    #[must_use]
    pub fn ready(&self, end: u64) -> u64 {
        let mut ready = 0;
        for chunk in self.chunks.iter().take_while(|chunk| chunk.first < end) {
            ready = ready.max(chunk.ready(end.min(chunk.end()) - chunk.first - 1));
        }
        ready
    }

    /// Earliest time in ns at which a bus taking `per_sector` ns per sector can have sent `start..end` in order.
    /// Addresses outside the plan are already in the buffer.
    #[must_use]
    pub fn sent(&self, start: u64, end: u64, per_sector: u64) -> u64 {
        let mut sent = 0;
        for chunk in self.chunks.iter().take_while(|chunk| chunk.first < end) {
            let (low, high) = (chunk.first.max(start), chunk.end().min(end));
            if low < high {
                // The bus is slower than the media, or faster: either the first or the last sector binds.
                let by_first = chunk.ready(low - chunk.first) + (end - low) * per_sector;
                let by_last = chunk.ready(high - 1 - chunk.first) + (end - high + 1) * per_sector;
                sent = sent.max(by_first).max(by_last);
            }
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::{Geometry, Order, Zone};
    use super::super::seek::{Curve, SeekTimes};
    use super::*;

    /// Tracks of 100 sectors of 60 us, 2 surfaces, track skew 10 sectors, cylinder skew 20.
    fn mechanics() -> Mechanics {
        let zone =
            Zone { first: 0, last: 99, sectors: 100, track_skew: 10, cylinder_skew: 20, unused_front: 0, spares: 0 };
        Mechanics {
            geometry: Geometry::new(2, Order::CylinderFirst, &[zone], u64::MAX),
            seeks: SeekTimes::new(&Curve::Table(vec![(1, 1000)]), 100),
            revolution: 6_000_000_000,
            head_switch: 300_000,
            write_settle: 0,
        }
    }

    fn plan(at: u64, start: u64, wanted: u64, limit: u64, manner: Manner) -> (Plan, Cost) {
        let mut plan = Plan::default();
        plan.restart(Arm::default(), at, start, manner);
        let cost = plan.extend(&mechanics(), wanted, limit, 0);
        (plan, cost)
    }

    /// T-HDD-2: transfer of n sectors inside a track is n revolutions / sectors per track.
    #[test]
    fn an_access_is_rotation_and_transfer() {
        let (p, cost) = plan(0, 20, 30, 30, Manner::default());
        assert_eq!((cost.seek, cost.latency), (0, 1_200_000));
        assert_eq!(p.ready(30), 1_200_000 + 600_000);
        assert_eq!((p.reached(1_319_999), p.reached(1_320_000)), (21, 22));
    }

    #[test]
    fn skew_hides_a_head_switch_and_costs_only_itself() {
        // The 10 sectors of skew pass in 600 us, the switch takes 300.
        let (p, _) = plan(0, 0, 200, 200, Manner::default());
        assert_eq!(p.ready(200), 6_000_000 + 600_000 + 6_000_000);
        let (p, _) = plan(0, 0, 300, 300, Manner::default());
        assert_eq!(p.ready(300), 3 * 6_000_000 + 600_000 + 1_200_000);
        assert_eq!(p.arm(p.end()).cylinder, 1);
    }

    #[test]
    fn zero_latency_takes_a_whole_track_in_one_revolution_from_anywhere() {
        let manner = Manner { zero_latency: true, ..Manner::default() };
        let (p, _) = plan(3_000_000, 0, 100, 100, manner);
        assert_eq!(p.ready(100), 9_000_000);
        assert_eq!(p.reached(6_060_000), 1, "in order, nothing is there before the first sector passed");
        let (slow, _) = plan(3_000_000, 0, 100, 100, Manner::default());
        assert_eq!(slow.ready(100), 12_000_000);
        // After the wanted part read-ahead goes on without a gap.
        let (p, _) = plan(3_000_000, 40, 60, 100, manner);
        assert_eq!((p.ready(60), p.ready(100)), (9_000_000, 9_000_000 + 600_000 + 2_400_000));
    }

    #[test]
    fn free_blocks_are_those_that_pass_before_the_wanted_ones() {
        let free = Manner { free_blocks: true, ..Manner::default() };
        let (p, cost) = plan(600_000, 40, 50, 100, free);
        assert_eq!((p.first(), p.ready(50), cost.latency), (10, 3_000_000, 1_800_000));
        let (p, cost) = plan(4_800_000, 40, 50, 100, free);
        assert_eq!((p.first(), p.ready(50), cost.latency), (0, 9_000_000, 3_600_000));
        let both = Manner { zero_latency: true, ..free };
        let (p, _) = plan(4_800_000, 40, 50, 100, both);
        assert_eq!((p.first(), p.ready(50), p.ready(100)), (0, 9_000_000, 10_800_000));
    }

    #[test]
    fn the_slower_of_bus_and_media_binds() {
        let (p, _) = plan(0, 0, 10, 10, Manner::default());
        assert_eq!(p.sent(0, 10, 100_000), 60_000 + 1_000_000);
        assert_eq!(p.sent(0, 10, 1_000), 600_000 + 1_000);
        assert_eq!(p.sent(5, 10, 1_000), 600_000 + 1_000);
    }

    #[test]
    fn a_plan_goes_on_where_it_stopped() {
        let m = mechanics();
        let (mut p, _) = plan(0, 0, 10, 50, Manner::default());
        p.extend(&m, 80, 80, 0);
        assert_eq!((p.ready(80), p.limit()), (4_800_000, 80));
    }
}
