//! The commands that wait for the arm, and which of them is next.

use super::geometry::Arm;
use super::mechanics::Mechanics;

goodness_core::choices! {
    /// The order in which a drive serves the commands in it.
    pub enum Policy { Fcfs = "fcfs", Look = "look", Clook = "c-look", Sptf = "sptf" }
}

/// A command, or a write that completed early, waiting for the arm.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The command's slot, or the dirty extent's number.
    pub slot: u32,
    /// First address the media must give or take.
    pub address: u64,
    /// Its track.
    pub arm: Arm,
    /// Its angle, in picoseconds since the index mark.
    pub angle: u64,
    /// Nanosecond at which it came.
    pub arrived: u64,
    /// Nanosecond from which the arm may move for it.
    pub movable: u64,
    /// Order of arrival.
    pub turn: u64,
    /// Whether it writes.
    pub write: bool,
}

/// Where the arm is, and how it came there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sweep {
    /// Position.
    pub arm: Arm,
    /// Address of the last command served.
    pub address: u64,
    /// Whether a look sweep goes towards lower addresses.
    pub down: bool,
}

/// The position in `waiting` of the command to serve at nanosecond `now`. One older than `age_limit` nanoseconds is served
/// before all younger ones.
pub fn pick(
    waiting: &[Waiting],
    policy: Policy,
    age_limit: u64,
    now: u64,
    sweep: &mut Sweep,
    mechanics: &Mechanics,
) -> Option<usize> {
    let oldest = waiting.iter().enumerate().min_by_key(|(_, w)| w.turn)?;
    if waiting.len() == 1 || now.saturating_sub(oldest.1.arrived) > age_limit {
        return Some(oldest.0);
    }
    let position = |key: &dyn Fn(&Waiting) -> (u64, u64)| {
        waiting.iter().enumerate().min_by_key(|(_, w)| (key(w), w.turn)).map(|(at, _)| at)
    };
    match policy {
        Policy::Fcfs => Some(oldest.0),
        Policy::Clook => {
            let from = sweep.address;
            position(&|w| (u64::from(w.address < from), w.address))
        }
        Policy::Look => {
            let from = sweep.address;
            let ahead = |w: &Waiting| if sweep.down { w.address <= from } else { w.address >= from };
            if !waiting.iter().any(ahead) {
                sweep.down = !sweep.down;
            }
            let down = sweep.down;
            position(&|w| (u64::from(if down { w.address > from } else { w.address < from }), w.address.abs_diff(from)))
        }
        Policy::Sptf => {
            let (phase, arm) = (mechanics.phase(now), sweep.arm);
            let cost = |w: &Waiting| {
                let delay = w.movable.saturating_sub(now);
                mechanics.positioning(phase, delay, arm, w.arm, w.angle, w.write)
            };
            waiting.iter().enumerate().min_by_key(|(_, w)| (cost(w), w.turn)).map(|(at, _)| at)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::geometry::{Geometry, Order, Zone};
    use super::super::seek::{Curve, SeekTimes};
    use super::*;

    fn mechanics() -> Mechanics {
        let zone =
            Zone { first: 0, last: 999, sectors: 100, track_skew: 0, cylinder_skew: 0, unused_front: 0, spares: 0 };
        Mechanics {
            geometry: Geometry::new(1, Order::CylinderFirst, &[zone], u64::MAX),
            seeks: SeekTimes::new(&Curve::Table(vec![(1, 1000), (1000, 9000)]), 1000),
            revolution: 6_000_000_000,
            head_switch: 0,
            write_settle: 0,
        }
    }

    fn waiting(m: &Mechanics, addresses: &[u64]) -> Vec<Waiting> {
        let entry = |(turn, address): (usize, &u64)| {
            let place = m.geometry.locate(*address);
            Waiting {
                slot: turn as u32,
                address: *address,
                arm: place.arm,
                angle: m.angle(&place),
                arrived: turn as u64,
                movable: 0,
                turn: turn as u64,
                write: false,
            }
        };
        addresses.iter().enumerate().map(entry).collect()
    }

    fn order(policy: Policy, addresses: &[u64], from: u64) -> Vec<u64> {
        let m = mechanics();
        let mut left = waiting(&m, addresses);
        let mut sweep = Sweep { arm: m.geometry.locate(from).arm, address: from, down: false };
        let mut order = Vec::new();
        while let Some(at) = pick(&left, policy, u64::MAX, 0, &mut sweep, &m) {
            let next = left.swap_remove(at);
            (sweep.arm, sweep.address) = (next.arm, next.address);
            order.push(next.address);
        }
        order
    }

    #[test]
    fn each_policy_has_its_order() {
        let addresses = [60_000, 20_000, 55_000, 40_000];
        assert_eq!(order(Policy::Fcfs, &addresses, 50_000), addresses);
        assert_eq!(order(Policy::Clook, &addresses, 50_000), [55_000, 60_000, 20_000, 40_000]);
        assert_eq!(order(Policy::Look, &addresses, 50_000), [55_000, 60_000, 40_000, 20_000]);
    }

    #[test]
    fn shortest_positioning_prefers_a_farther_cylinder_that_needs_no_turn() {
        // Cylinder 10, sector 5 has passed when the arm is there; cylinder 100, sector 40 has not.
        assert_eq!(order(Policy::Sptf, &[1_005, 10_040], 0)[0], 10_040);
    }

    #[test]
    fn the_oldest_is_served_once_it_is_older_than_the_limit() {
        let m = mechanics();
        let left = waiting(&m, &[90_000, 100]);
        let mut sweep = Sweep::default();
        assert_eq!(pick(&left, Policy::Sptf, 1000, 1000, &mut sweep, &m), Some(1));
        assert_eq!(pick(&left, Policy::Sptf, 1000, 1001, &mut sweep, &m), Some(0));
    }
}
