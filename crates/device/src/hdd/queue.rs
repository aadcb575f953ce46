//! The queue of commands waiting for the arm, and its scheduling.

use super::geometry::Arm;
use super::mechanics::Mechanics;

goodness_core::choices! {
    /// The order in which a drive serves the commands in it.
    pub enum Policy { Fcfs = "fcfs", Look = "look", Clook = "c-look", Sptf = "sptf" }
}

/// A command or an early-completed write that waits for the arm.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The command's slot, or the dirty extent's number.
    pub slot: u32,
    /// First address of the access.
    pub address: u64,
    /// Its track.
    pub arm: Arm,
    /// Its angle, in picoseconds since the index mark.
    pub angle: u64,
    /// Arrival time, ns.
    pub arrived: u64,
    /// Nanosecond from which the arm may move for it.
    pub movable: u64,
    /// Order of arrival.
    pub turn: u64,
    /// True for a write.
    pub write: bool,
}

/// Position and direction of the arm.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sweep {
    /// Position.
    pub arm: Arm,
    /// Address of the last command served.
    pub address: u64,
    /// True if a look sweep moves towards lower addresses.
    pub down: bool,
}

/// Index in `waiting` of the next command at time `now` (ns). Once a command is older than `age_limit` ns, every second
/// command served is the oldest. If every one were, a queue longer than the limit would stay in FIFO order for good.
pub fn pick(
    waiting: &[Waiting],
    policy: Policy,
    age_limit: u64,
    now: u64,
    sweep: &mut Sweep,
    for_age: &mut bool,
    mechanics: &Mechanics,
) -> Option<usize> {
    let oldest = position(waiting, |w| w.turn)?;
    let aged = now.saturating_sub(waiting[oldest].arrived) > age_limit;
    *for_age = aged && !*for_age;
    if waiting.len() == 1 || *for_age {
        return Some(oldest);
    }
    let from = sweep.address;
    match policy {
        Policy::Fcfs => Some(oldest),
        Policy::Clook => position(waiting, |w| (w.address < from, w.address, w.turn)),
        Policy::Look => {
            let ahead = |w: &Waiting, down| if down { w.address <= from } else { w.address >= from };
            if !waiting.iter().any(|w| ahead(w, sweep.down)) {
                sweep.down = !sweep.down;
            }
            let down = sweep.down;
            position(waiting, |w| (!ahead(w, down), w.address.abs_diff(from), w.turn))
        }
        Policy::Sptf => shortest(waiting, now, sweep.arm, mechanics),
    }
}

fn position<K: Ord>(waiting: &[Waiting], key: impl Fn(&Waiting) -> K) -> Option<usize> {
    waiting.iter().enumerate().min_by_key(|(_, w)| key(w)).map(|(at, _)| at)
}

/// The command with the shortest positioning time; of two alike the older.
fn shortest(waiting: &[Waiting], now: u64, arm: Arm, mechanics: &Mechanics) -> Option<usize> {
    let phase = mechanics.phase(now);
    let (mut best, mut best_key) = (None, (u64::MAX, u64::MAX));
    for (at, w) in waiting.iter().enumerate() {
        let move_time = w.movable.saturating_sub(now) + mechanics.seek(arm, w.arm, w.write);
        // Most are too far whatever the angle.
        if move_time > best_key.0 {
            continue;
        }
        let key = (move_time + mechanics.rotation(phase, move_time, w.angle), w.turn);
        if key < best_key {
            (best, best_key) = (Some(at), key);
        }
    }
    best
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
        let mut sweep = Sweep { arm: m.geometry.locate(from).arm, address: from, ..Sweep::default() };
        let mut order = Vec::new();
        while let Some(at) = pick(&left, policy, u64::MAX, 0, &mut sweep, &mut false, &m) {
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
    fn the_oldest_is_served_every_second_time_once_it_is_older_than_the_limit() {
        let m = mechanics();
        let left = waiting(&m, &[90_000, 100]);
        let (mut sweep, mut for_age) = (Sweep::default(), false);
        assert_eq!(pick(&left, Policy::Sptf, 1000, 1000, &mut sweep, &mut for_age, &m), Some(1));
        assert_eq!(pick(&left, Policy::Sptf, 1000, 1001, &mut sweep, &mut for_age, &m), Some(0));
        assert_eq!(pick(&left, Policy::Sptf, 1000, 1001, &mut sweep, &mut for_age, &m), Some(1), "every second time");
    }
}
