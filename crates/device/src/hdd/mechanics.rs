//! Arm and rotation. The angle is carried in continuous time, in picoseconds since the index mark passed.

use super::geometry::{Arm, Geometry, Place};
use super::seek::SeekTimes;

/// Tolerance for catching a sector in picoseconds, because times are rounded up to nanoseconds.
const TOLERANCE: u64 = 3_000;

/// Arm, heads and platters of a disk.
#[derive(Clone, Debug)]
pub struct Mechanics {
    /// Layout of the sectors.
    pub geometry: Geometry,
    /// The seek curve.
    pub seeks: SeekTimes,
    /// Picoseconds of a revolution.
    pub revolution: u64,
    /// Nanoseconds to select another head.
    pub head_switch: u64,
    /// Nanoseconds more before a write, whenever arm or head changed.
    pub write_settle: u64,
}

/// Position on a track when the heads arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Landing {
    /// Number on the track of the first sector that passes whole.
    pub index: u32,
    /// Time until it starts, in picoseconds; may be slightly negative by rounding.
    pub wait: i64,
}

impl Mechanics {
    /// Time in ns to move between two positions: the longer of seek and head switch, plus settling before a write.
    #[inline]
    #[must_use]
    pub fn seek(&self, from: Arm, to: Arm, write: bool) -> u64 {
        let switch = if from.head == to.head { 0 } else { self.head_switch };
        let time = self.seeks.ns(from.cylinder.abs_diff(to.cylinder)).max(switch);
        if write && time > 0 { time + self.write_settle } else { time }
    }

    /// Picoseconds since the index mark passed, at nanosecond `at`.
    #[inline]
    #[must_use]
    pub fn phase(&self, at: u64) -> u64 {
        (at % self.revolution) * 1000 % self.revolution
    }

    /// Time in picoseconds for `sectors` sectors to pass on a track of `slots`.
    #[inline]
    #[must_use]
    pub fn passing(&self, sectors: u32, slots: u32) -> u64 {
        u64::from(sectors) * self.revolution / u64::from(slots)
    }

    /// Position of the heads on the track of `place` at time `at`, ns.
    #[must_use]
    pub fn landing(&self, at: u64, place: &Place) -> Landing {
        let phase = self.phase(at);
        let slots = u64::from(place.slots);
        let slot = (phase.saturating_sub(TOLERANCE) * slots).div_ceil(self.revolution) as u32;
        let wait = self.passing(slot, place.slots) as i64 - phase as i64;
        Landing { index: (slot + place.slots - place.skew) % place.slots, wait }
    }

    /// Angle of the start of the sector at `place`, in picoseconds since the index mark.
    #[must_use]
    pub fn angle(&self, place: &Place) -> u64 {
        self.passing((place.index + place.skew) % place.slots, place.slots)
    }

    /// Rotational delay in ns until `angle` passes, after a move of `move_time` ns that starts at rotational phase
    /// `phase`.
    #[inline]
    #[must_use]
    pub fn rotation(&self, phase: u64, move_time: u64, angle: u64) -> u64 {
        let arrival = (phase + move_time * 1000) % self.revolution;
        let wait = if arrival <= angle + TOLERANCE {
            angle.saturating_sub(arrival)
        } else {
            angle + self.revolution - arrival
        };
        wait / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::{Order, Zone};
    use super::super::seek::Curve;
    use super::*;

    fn mechanics() -> Mechanics {
        let zone =
            Zone { first: 0, last: 99, sectors: 100, track_skew: 10, cylinder_skew: 20, unused_front: 0, spares: 0 };
        Mechanics {
            geometry: Geometry::new(2, Order::CylinderFirst, &[zone], u64::MAX),
            seeks: SeekTimes::new(&Curve::Table(vec![(1, 1000), (100, 10_000)]), 100),
            revolution: 6_000_000_000,
            head_switch: 200_000,
            write_settle: 500_000,
        }
    }

    #[test]
    fn the_longer_of_seek_and_head_switch_counts_and_a_write_settles() {
        let m = mechanics();
        let at = |cylinder, head| Arm { cylinder, head };
        assert_eq!(m.seek(at(5, 0), at(5, 0), true), 0);
        assert_eq!(m.seek(at(5, 0), at(5, 1), false), 200_000);
        assert_eq!(m.seek(at(5, 0), at(6, 1), false), 1_000_000);
        assert_eq!(m.seek(at(5, 0), at(5, 1), true), 700_000);
    }

    #[test]
    fn phase_is_carried_over_any_time() {
        let m = mechanics();
        assert_eq!(m.phase(6_000_001), 1_000);
        let far = u64::MAX / 2;
        assert_eq!(m.phase(far), ((u128::from(far) * 1000) % 6_000_000_000) as u64);
    }

    #[test]
    fn a_head_lands_on_the_next_whole_sector_of_the_skewed_track() {
        let m = mechanics();
        // 60 us a sector. Track 1 begins 10 sectors behind the index mark.
        let (plain, skewed) = (m.geometry.locate(0), m.geometry.locate(100));
        assert_eq!(m.landing(0, &plain), Landing { index: 0, wait: 0 });
        assert_eq!(m.landing(90_000, &plain), Landing { index: 2, wait: 30_000_000 });
        assert_eq!(m.landing(0, &skewed).index, 90);
        assert_eq!(m.landing(60_001, &plain).index, 1, "a nanosecond of rounding does not cost a revolution");
        assert_eq!(m.landing(5_950_000, &plain), Landing { index: 0, wait: 50_000_000 });
    }

    #[test]
    fn an_angle_that_has_passed_comes_round_again() {
        let m = mechanics();
        // Cylinder 1 begins 10 + 20 sectors behind the mark; sector 50 of its first track lies at 80 sectors.
        let angle = m.angle(&m.geometry.locate(250));
        assert_eq!(angle, 80 * 60_000_000);
        assert_eq!(m.rotation(0, 1_000_000, angle), 3_800_000);
        assert_eq!(m.rotation(0, 5_000_000, angle), 5_800_000);
    }
}
