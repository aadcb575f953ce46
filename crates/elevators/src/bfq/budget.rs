//! Budgets: sectors served per turn of a queue, adapted by how its service ended.
//!
//! A queue that uses up its budget may get more: fewer switches, more throughput. A queue that leaves much of it gets
//! less, so that its turn comes sooner.

use super::settings::Times;

/// Weight of assigned budgets, in 256ths, from which the bounds are learnt.
const ENOUGH: u64 = 194;

/// Reason the service of a queue ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// The device idled for it without a request.
    TooIdle,
    /// It exceeded its time.
    Timeout,
    /// Its next request exceeds the rest of its budget.
    Exhausted,
    /// It has no requests, and idling for it would not help.
    NoMoreRequests,
    /// Another queue must not wait.
    Preempted,
}

/// State of a queue at the end of its service.
#[derive(Clone, Copy, Debug)]
pub struct Served {
    /// True if its requests are synchronous.
    pub sync: bool,
    /// True if its weight is raised.
    pub raised: bool,
    /// Its requests in the device.
    pub outstanding: u32,
    /// Sectors it was served.
    pub service: u64,
}

/// Largest and smallest budget on this device.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Value of the tunable.
    chosen: Option<u64>,
    /// Sectors the device serves within the timeout.
    learned: u64,
    /// Number of budgets assigned; below a dozen, the device's speed counts as unknown.
    assigned: u64,
}

impl Bounds {
    /// Bounds for the tunable `max_budget` = `chosen`; 0 to learn them.
    pub fn new(chosen: u64) -> Bounds {
        Bounds { chosen: (chosen > 0).then_some(chosen), learned: Times::FIRST_BUDGET, assigned: 0 }
    }

    /// The largest.
    pub fn max(&self) -> u64 {
        let known = if self.assigned >= ENOUGH { self.learned } else { Times::FIRST_BUDGET };
        self.chosen.unwrap_or(known)
    }

    /// The smallest.
    pub fn min(&self) -> u64 {
        (self.max() / 32).max(1)
    }

    /// The budget of a queue that never was served.
    pub fn first(&self) -> u64 {
        self.max() * 2 / 3
    }

    /// Counts a queue's service.
    pub fn assign(&mut self) {
        self.assigned = (self.assigned * 7 + 256) / 8;
    }

    /// Learns that the device serves this many sectors within the timeout.
    pub fn learn(&mut self, sectors: u64) {
        self.learned = sectors.max(1);
    }

    /// The budget after `budget`.
    pub fn next(&self, budget: u64, why: Expiry, served: Served) -> u64 {
        let (min, max) = (self.min(), self.max());
        let next = match why {
            _ if !served.sync => max,
            _ if served.raised => 2 * min,
            Expiry::TooIdle if served.outstanding > 0 => budget * 2,
            Expiry::TooIdle if budget > 5 * min => budget - 4 * min,
            Expiry::TooIdle => min,
            Expiry::Timeout => budget * 2,
            Expiry::Exhausted => budget * 4,
            Expiry::NoMoreRequests => served.service.max(min),
            Expiry::Preempted => budget,
        };
        next.min(max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYNC: Served = Served { sync: true, raised: false, outstanding: 0, service: 8 };

    #[test]
    fn a_budget_of_1024_exhausted_twice_becomes_the_largest_and_after_8_sectors_the_smallest() {
        // T-BFQ-3
        let bounds = Bounds::new(0);
        let once = bounds.next(1024, Expiry::Exhausted, SYNC);
        assert_eq!((once, bounds.next(once, Expiry::Exhausted, SYNC)), (4096, 16_384));
        assert_eq!(bounds.next(16_384, Expiry::Exhausted, SYNC), 16_384);
        assert_eq!(bounds.next(16_384, Expiry::NoMoreRequests, SYNC), 512);
        assert_eq!(bounds.next(16_384, Expiry::NoMoreRequests, Served { service: 700, ..SYNC }), 700);
    }

    #[test]
    fn waiting_in_vain_takes_four_times_the_smallest_unless_requests_are_outstanding() {
        let bounds = Bounds::new(0);
        let next = |budget, outstanding| bounds.next(budget, Expiry::TooIdle, Served { outstanding, ..SYNC });
        assert_eq!([next(8192, 0), next(2561, 0), next(2560, 0), next(600, 0)], [6144, 513, 512, 512]);
        assert_eq!([next(4096, 1), next(16_000, 1)], [8192, 16_384]);
    }

    #[test]
    fn a_timeout_doubles_and_a_preemption_changes_nothing() {
        let bounds = Bounds::new(0);
        assert_eq!(bounds.next(2048, Expiry::Timeout, SYNC), 4096);
        assert_eq!(bounds.next(2048, Expiry::Preempted, SYNC), 2048);
    }

    #[test]
    fn raised_queues_get_twice_the_smallest_and_asynchronous_ones_the_largest() {
        let bounds = Bounds::new(6400);
        assert_eq!(bounds.next(3000, Expiry::Timeout, Served { raised: true, ..SYNC }), 400);
        assert_eq!(bounds.next(3000, Expiry::NoMoreRequests, Served { sync: false, ..SYNC }), 6400);
    }

    #[test]
    fn the_largest_budget_follows_the_device_once_a_dozen_were_assigned_unless_it_was_chosen() {
        for (chosen, max) in [(0, 20_000), (3000, 3000)] {
            let mut bounds = Bounds::new(chosen);
            let before = bounds.max();
            (0..10).for_each(|_| bounds.assign());
            bounds.learn(20_000);
            assert_eq!(bounds.max(), before);
            (0..2).for_each(|_| bounds.assign());
            assert_eq!(bounds.max(), max);
        }
    }
}
