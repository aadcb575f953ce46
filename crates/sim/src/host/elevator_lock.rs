//! The lock of an elevator, which CPUs reserve ahead of time.
//!
//! A CPU that is busy takes the lock when it comes to it. Until then the lock is free for everybody else.

use goodness_core::{Span, Time};

/// The times for which a lock is taken: apart, in order, none of which has ended when the lock was last asked for.
#[derive(Clone, Debug, Default)]
pub struct ElevatorLock {
    taken: Vec<(Time, Time)>,
}

impl ElevatorLock {
    /// A CPU takes it at `at` or later for `held`, and for `handover` before if it has to spin. Returns the time that
    /// it spins and takes over, before `held` begins. What has ended at `now` is forgotten.
    pub fn take(&mut self, now: Time, at: Time, held: Span, handover: Span) -> Span {
        if held == Span::ZERO {
            return Span::ZERO;
        }
        let ended = self.taken.partition_point(|&(_, end)| end <= now);
        self.taken.drain(..ended);
        let (mut start, mut needs) = (at, held);
        let mut index = self.taken.partition_point(|&(_, end)| end <= at);
        while let Some(&(begin, end)) = self.taken.get(index).filter(|(begin, _)| *begin < start + needs) {
            debug_assert!(begin < end);
            (start, needs) = (end, handover + held);
            index += 1;
        }
        self.reserve(index, start, start + needs);
        (start + needs).since(at) - held
    }

    /// Inserts a reservation at `index`, joined with that before and that behind if it touches them.
    fn reserve(&mut self, index: usize, begin: Time, end: Time) {
        let before = index.checked_sub(1).filter(|&it| self.taken[it].1 == begin);
        let is_behind = self.taken.get(index).is_some_and(|it| it.0 == end);
        match before {
            Some(before) if is_behind => {
                self.taken[before].1 = self.taken[index].1;
                self.taken.remove(index);
            }
            Some(before) => self.taken[before].1 = end,
            None if is_behind => self.taken[index].0 = begin,
            None => self.taken.insert(index, (begin, end)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks at 0 for one after the other: time asked for and length.
    fn waits(handover: u64, asked: &[(u64, u64)]) -> (Vec<u64>, usize) {
        let mut lock = ElevatorLock::default();
        let take = |&(at, held): &(u64, u64)| lock.take(Time(0), Time(at), Span(held), Span(handover)).0;
        (asked.iter().map(take).collect(), lock.taken.len())
    }

    #[test]
    fn a_hold_in_the_future_delays_nobody_before_it() {
        assert_eq!(waits(0, &[(50, 10), (0, 10), (0, 40), (45, 5)]), (vec![0, 0, 10, 15], 1));
        // Between 10 and 50 there is no room for 41.
        assert_eq!(waits(0, &[(50, 10), (0, 10), (0, 41)]), (vec![0, 0, 60], 2));
    }

    #[test]
    fn whoever_spins_takes_over_behind_the_holder() {
        assert_eq!(waits(3, &[(0, 10), (4, 10), (4, 10)]), (vec![0, 9, 22], 1));
        // Room for the hold alone is not enough.
        assert_eq!(waits(3, &[(0, 10), (20, 10), (5, 10)]), (vec![0, 0, 28], 2));
    }

    #[test]
    fn what_has_ended_is_forgotten() {
        let mut lock = ElevatorLock::default();
        for at in 0..1000 {
            let now = Time(at * 20);
            assert_eq!(lock.take(now, now, Span(10), Span(1)), Span::ZERO);
            assert_eq!(lock.taken.len(), 1);
        }
    }
}
