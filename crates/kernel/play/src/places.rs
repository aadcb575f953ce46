//! Channels and locks of a played workload, with the simulator's rules: waiters are served in FIFO order. A lock of the
//! kind `fifo` is passed to the next waiter; of a `mutex`, the next waiter is woken and competes.

use goodness_core::{Channel, ChannelKind, LockId, LockKind, Workload};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
struct Place {
    kind: ChannelKind,
    /// Wakes stored for later waiters (semaphore).
    kept: u32,
    waiters: VecDeque<u32>,
}

#[derive(Debug)]
struct Lock {
    kind: LockKind,
    owner: Option<u32>,
    /// True if the owner knows of waiters, so that its release wakes one.
    contended: bool,
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

/// Locks `it`, also after a thread that held it panicked.
pub fn held<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Places {
    /// The places of `work`.
    pub fn of(work: &Workload) -> Places {
        let place = |kind: &ChannelKind| Mutex::new(Place { kind: *kind, kept: 0, waiters: VecDeque::new() });
        let lock =
            |kind: &LockKind| Mutex::new(Lock { kind: *kind, owner: None, contended: false, waiters: VecDeque::new() });
        Places { channels: work.channels.iter().map(place).collect(), locks: work.locks.iter().map(lock).collect() }
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

    /// Takes the lock and returns true if it is free, else queues `thread`. `slept` says whether it waited before; it
    /// then does not know whether others do.
    pub fn lock(&self, lock: LockId, thread: u32, slept: bool) -> Result<bool, String> {
        let mut it = self.lock_of(lock)?;
        if it.owner.is_none() {
            (it.owner, it.contended) = (Some(thread), slept);
            return Ok(true);
        }
        it.contended = true;
        it.waiters.push_back(thread);
        Ok(false)
    }

    /// True if a thread that was woken for the lock has it.
    pub fn passes_on(&self, lock: LockId) -> Result<bool, String> {
        Ok(self.lock_of(lock)?.kind.passes_on())
    }

    /// Releases the lock and returns the waiter to be woken.
    pub fn unlock(&self, lock: LockId, thread: u32) -> Result<Option<u32>, String> {
        let mut it = self.lock_of(lock)?;
        if it.owner != Some(thread) {
            return Err(format!("released lock {}, which it does not hold", lock.0));
        }
        it.owner = None;
        let wakes = std::mem::take(&mut it.contended) || it.kind.passes_on();
        let next = if wakes { it.waiters.pop_front() } else { None };
        if it.kind.passes_on() {
            it.owner = next;
        }
        Ok(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(channels: Vec<ChannelKind>) -> Places {
        Places::of(&Workload { channels, locks: vec![LockKind::Fifo, LockKind::Normal], ..Workload::default() })
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
        assert_eq!((places.lock(LockId(0), 7, false), places.lock(LockId(0), 3, false)), (Ok(true), Ok(false)));
        assert_eq!(places.unlock(LockId(0), 3).unwrap_err(), "released lock 0, which it does not hold");
        assert_eq!(places.unlock(LockId(0), 7), Ok(Some(3)));
        assert!(places.lock(LockId(2), 3, false).unwrap_err().contains("which the workload does not have"));
    }

    #[test]
    fn who_waits_for_a_mutex_is_woken_and_may_find_it_taken() {
        let (places, mutex) = (places(Vec::new()), LockId(1));
        assert_eq!((places.lock(mutex, 7, false), places.lock(mutex, 3, false)), (Ok(true), Ok(false)));
        assert_eq!(places.unlock(mutex, 7), Ok(Some(3)));
        assert_eq!((places.lock(mutex, 7, false), places.lock(mutex, 3, true)), (Ok(true), Ok(false)));
        assert_eq!((places.unlock(mutex, 7), places.lock(mutex, 3, true)), (Ok(Some(3)), Ok(true)));
    }
}
