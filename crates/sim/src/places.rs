//! Places where tasks wait for each other: channels and locks.

use goodness_core::{Awaited, Channel, ChannelKind, LockId, TaskId};
use goodness_queues::{Links, List};

/// One channel.
#[derive(Clone, Copy, Debug)]
struct Place {
    kind: ChannelKind,
    /// Wakes stored for later waiters (semaphore).
    kept: u32,
    waiters: List,
}

/// One lock.
#[derive(Clone, Copy, Debug, Default)]
struct Lock {
    owner: Option<TaskId>,
    waiters: List,
}

/// All channels and locks of a run. A task waits at one place at a time, so all waiting lists share their links.
#[derive(Debug)]
pub struct Places {
    channels: Vec<Place>,
    locks: Vec<Lock>,
    links: Links,
}

/// Result of asking to wait.
#[derive(Debug, PartialEq, Eq)]
pub enum Waiting {
    /// A stored wake-up was consumed: the task does not wait.
    Passed,
    /// The task waits now.
    Waits,
    /// The task was the last to reach a barrier: wake all others.
    Opened,
}

impl Places {
    pub fn new(kinds: &[ChannelKind], locks: u32, tasks: usize) -> Self {
        let mut links = Links::default();
        links.reserve(tasks);
        let channels = kinds.iter().map(|kind| Place { kind: *kind, kept: 0, waiters: List::default() }).collect();
        Places { channels, locks: vec![Lock::default(); locks as usize], links }
    }

    /// True if the channel exists.
    pub fn has_channel(&self, channel: Channel) -> bool {
        (channel.0 as usize) < self.channels.len()
    }

    /// True if the lock exists.
    pub fn has_lock(&self, lock: LockId) -> bool {
        (lock.0 as usize) < self.locks.len()
    }

    /// `task` requests to wait on `channel`.
    pub fn wait(&mut self, channel: Channel, task: TaskId) -> Waiting {
        let place = &mut self.channels[channel.0 as usize];
        if place.kept > 0 {
            place.kept -= 1;
            return Waiting::Passed;
        }
        if let ChannelKind::Barrier(count) = place.kind
            && place.waiters.len() + 1 >= count as usize
        {
            return Waiting::Opened;
        }
        place.waiters.push_back(&mut self.links, task.0);
        Waiting::Waits
    }

    /// The task woken by one wake of `channel`. A semaphore keeps a wake that finds no waiter.
    pub fn wake(&mut self, channel: Channel) -> Option<TaskId> {
        let place = &mut self.channels[channel.0 as usize];
        let first = place.waiters.pop_front(&mut self.links);
        if first.is_none() && place.kind == ChannelKind::Semaphore {
            place.kept = place.kept.saturating_add(1);
        }
        first.map(TaskId)
    }

    /// Removes and returns the next waiter of `channel`, in a wake of all; without waiters no wake is stored.
    pub fn wake_next(&mut self, channel: Channel) -> Option<TaskId> {
        self.channels[channel.0 as usize].waiters.pop_front(&mut self.links).map(TaskId)
    }

    /// Takes the lock if it is free, else queues `task` for it.
    pub fn lock(&mut self, lock: LockId, task: TaskId) -> bool {
        let it = &mut self.locks[lock.0 as usize];
        if it.owner.is_none() {
            it.owner = Some(task);
            return true;
        }
        it.waiters.push_back(&mut self.links, task.0);
        false
    }

    /// Waiting tasks and what they wait for: channels, then locks, by number and queue order.
    pub fn waiting(&self) -> Vec<(TaskId, Awaited)> {
        let channels = self.channels.iter().enumerate().map(|(n, c)| (Awaited::Channel(Channel(n as u32)), &c.waiters));
        let locks = self.locks.iter().enumerate().map(|(n, l)| (Awaited::Lock(LockId(n as u32)), &l.waiters));
        let queues = channels.chain(locks);
        queues.flat_map(|(place, queue)| queue.iter(&self.links).map(move |task| (TaskId(task), place))).collect()
    }

    /// Passes the lock to the next waiter. `Err` when `task` does not hold it.
    pub fn unlock(&mut self, lock: LockId, task: TaskId) -> Result<Option<TaskId>, ()> {
        let it = &mut self.locks[lock.0 as usize];
        if it.owner != Some(task) {
            return Err(());
        }
        it.owner = it.waiters.pop_front(&mut self.links).map(TaskId);
        Ok(it.owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semaphore_keeps_a_wake_and_a_condition_loses_it() {
        let mut places = Places::new(&[ChannelKind::Semaphore, ChannelKind::Condition], 0, 2);
        assert_eq!(places.wake(Channel(0)), None);
        assert_eq!(places.wait(Channel(0), TaskId(0)), Waiting::Passed);
        assert_eq!(places.wake(Channel(1)), None);
        assert_eq!(places.wait(Channel(1), TaskId(0)), Waiting::Waits);
        assert_eq!(places.wake(Channel(1)), Some(TaskId(0)));
    }

    #[test]
    fn a_barrier_opens_for_the_last_one_and_a_lock_goes_to_the_next_in_turn() {
        let mut places = Places::new(&[ChannelKind::Barrier(2)], 1, 3);
        assert_eq!(places.wait(Channel(0), TaskId(0)), Waiting::Waits);
        assert_eq!(places.wait(Channel(0), TaskId(1)), Waiting::Opened);
        assert!(places.lock(LockId(0), TaskId(1)));
        assert!(!places.lock(LockId(0), TaskId(2)));
        let waiting = [(TaskId(0), Awaited::Channel(Channel(0))), (TaskId(2), Awaited::Lock(LockId(0)))];
        assert_eq!(places.waiting(), waiting);
        assert_eq!(places.unlock(LockId(0), TaskId(2)), Err(()));
        assert_eq!(places.unlock(LockId(0), TaskId(1)), Ok(Some(TaskId(2))));
    }
}
