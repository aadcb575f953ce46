//! Channels and locks of a played workload, with the simulator's rules: waiters are served in FIFO order, and a lock is
//! passed to the next waiter.

use goodness_core::{Channel, ChannelKind, LockId, Workload};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct Place {
    kind: ChannelKind,
    /// Wakes stored for later waiters (semaphore).
    kept: u32,
    waiters: VecDeque<u32>,
}

#[derive(Debug, Default)]
struct Lock {
    owner: Option<u32>,
    waiters: VecDeque<u32>,
}

/// Result of a request to wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Waiting {
    /// A stored wake-up was consumed: the task does not wait.
    Passed,
    /// The task is queued and is to park.
    Waits,
    /// The task was the last one a barrier waited for: these others are to be woken.
    Opened(VecDeque<u32>),
}

/// All channels and locks of a play. Tasks are named by their parkers' numbers.
#[derive(Debug)]
pub struct Places {
    channels: Vec<Mutex<Place>>,
    locks: Vec<Mutex<Lock>>,
}

fn held<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Places {
    /// The places of `work`.
    pub fn of(work: &Workload) -> Places {
        let place = |kind: &ChannelKind| Mutex::new(Place { kind: *kind, kept: 0, waiters: VecDeque::new() });
        Places {
            channels: work.channels.iter().map(place).collect(),
            locks: (0..work.locks).map(|_| Mutex::default()).collect(),
        }
    }

    fn channel(&self, channel: Channel) -> Result<MutexGuard<'_, Place>, String> {
        let it = self.channels.get(channel.0 as usize);
        it.map(held).ok_or_else(|| format!("used channel {}, which the workload does not have", channel.0))
    }

    fn lock_of(&self, lock: LockId) -> Result<MutexGuard<'_, Lock>, String> {
        let it = self.locks.get(lock.0 as usize);
        it.map(held).ok_or_else(|| format!("used lock {}, which the workload does not have", lock.0))
    }

    /// Queues `thread` on `channel`.
    pub fn wait(&self, channel: Channel, thread: u32) -> Result<Waiting, String> {
        let mut place = self.channel(channel)?;
        if place.kept > 0 {
            place.kept -= 1;
            return Ok(Waiting::Passed);
        }
        if let ChannelKind::Barrier(count) = place.kind
            && place.waiters.len() + 1 >= count as usize
        {
            return Ok(Waiting::Opened(std::mem::take(&mut place.waiters)));
        }
        place.waiters.push_back(thread);
        Ok(Waiting::Waits)
    }

    /// The thread woken by one wake of `channel`. A semaphore keeps a wake that finds no waiter.
    pub fn wake(&self, channel: Channel) -> Result<Option<u32>, String> {
        let mut place = self.channel(channel)?;
        let first = place.waiters.pop_front();
        if first.is_none() && place.kind == ChannelKind::Semaphore {
            place.kept = place.kept.saturating_add(1);
        }
        Ok(first)
    }

    /// All waiters on `channel`, for a wake of all. Nothing is kept if there are none.
    pub fn wake_all(&self, channel: Channel) -> Result<VecDeque<u32>, String> {
        Ok(std::mem::take(&mut self.channel(channel)?.waiters))
    }

    /// Takes the lock and returns true if it is free, else queues `thread`.
    pub fn lock(&self, lock: LockId, thread: u32) -> Result<bool, String> {
        let mut it = self.lock_of(lock)?;
        if it.owner.is_none() {
            it.owner = Some(thread);
            return Ok(true);
        }
        it.waiters.push_back(thread);
        Ok(false)
    }

    /// Passes the lock to the next waiter and returns it, to be woken.
    pub fn unlock(&self, lock: LockId, thread: u32) -> Result<Option<u32>, String> {
        let mut it = self.lock_of(lock)?;
        if it.owner != Some(thread) {
            return Err(format!("released lock {}, which it does not hold", lock.0));
        }
        it.owner = it.waiters.pop_front();
        Ok(it.owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(channels: Vec<ChannelKind>) -> Places {
        Places::of(&Workload { channels, locks: 1, ..Workload::default() })
    }

    #[test]
    fn a_semaphore_keeps_a_wake_and_a_condition_loses_it() {
        let places = places(vec![ChannelKind::Semaphore, ChannelKind::Condition]);
        assert_eq!(places.wake(Channel(0)), Ok(None));
        assert_eq!(places.wait(Channel(0), 4), Ok(Waiting::Passed));
        assert_eq!(places.wake(Channel(1)), Ok(None));
        assert_eq!(places.wait(Channel(1), 4), Ok(Waiting::Waits));
        assert_eq!(places.wake(Channel(1)), Ok(Some(4)));
    }

    #[test]
    fn a_barrier_opens_for_the_last_one_and_wakes_the_others_in_order() {
        let places = places(vec![ChannelKind::Barrier(3)]);
        assert_eq!(places.wait(Channel(0), 2), Ok(Waiting::Waits));
        assert_eq!(places.wait(Channel(0), 1), Ok(Waiting::Waits));
        assert_eq!(places.wait(Channel(0), 0), Ok(Waiting::Opened([2, 1].into())));
        assert_eq!(places.wait(Channel(0), 2), Ok(Waiting::Waits), "it is closed again");
    }

    #[test]
    fn a_lock_goes_to_the_next_in_turn_and_only_its_holder_releases_it() {
        let places = places(Vec::new());
        assert_eq!((places.lock(LockId(0), 7), places.lock(LockId(0), 3)), (Ok(true), Ok(false)));
        assert_eq!(places.unlock(LockId(0), 3).unwrap_err(), "released lock 0, which it does not hold");
        assert_eq!(places.unlock(LockId(0), 7), Ok(Some(3)));
        assert!(places.lock(LockId(1), 3).unwrap_err().contains("which the workload does not have"));
    }
}
