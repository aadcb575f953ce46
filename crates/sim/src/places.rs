//! Channels, where tasks wait for each other. Locks are in `host/locks.rs`.

use goodness_core::{Awaited, Channel, ChannelKind, TaskId};
use goodness_queues::{Links, List};

/// One channel.
#[derive(Clone, Copy, Debug)]
struct Place {
    kind: ChannelKind,
    /// Wakes stored for later waiters (semaphore).
    kept: u32,
    waiters: List,
}

/// All channels of a run. A task waits on one channel at a time, so all waiting lists share their links.
#[derive(Debug)]
pub struct Places {
    channels: Vec<Place>,
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
    pub fn new(kinds: &[ChannelKind], tasks: usize) -> Self {
        let mut links = Links::default();
        links.reserve(tasks);
        let channels = kinds.iter().map(|kind| Place { kind: *kind, kept: 0, waiters: List::default() }).collect();
        Places { channels, links }
    }

    /// True if the channel exists.
    pub fn has_channel(&self, channel: Channel) -> bool {
        (channel.0 as usize) < self.channels.len()
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

    /// Waiting tasks and what they wait for, by number of the channel and queue order.
    pub fn waiting(&self) -> impl Iterator<Item = (TaskId, Awaited)> {
        self.channels.iter().enumerate().flat_map(|(number, channel)| {
            let place = Awaited::Channel(Channel(number as u32));
            channel.waiters.iter(&self.links).map(move |task| (TaskId(task), place))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semaphore_keeps_a_wake_and_a_condition_loses_it() {
        let mut places = Places::new(&[ChannelKind::Semaphore, ChannelKind::Condition], 2);
        assert_eq!(places.wake(Channel(0)), None);
        assert_eq!(places.wait(Channel(0), TaskId(0)), Waiting::Passed);
        assert_eq!(places.wake(Channel(1)), None);
        assert_eq!(places.wait(Channel(1), TaskId(0)), Waiting::Waits);
        assert_eq!(places.wake(Channel(1)), Some(TaskId(0)));
    }

    #[test]
    fn a_barrier_opens_for_the_last_one() {
        let mut places = Places::new(&[ChannelKind::Barrier(2)], 3);
        assert_eq!(places.wait(Channel(0), TaskId(0)), Waiting::Waits);
        assert_eq!(places.wait(Channel(0), TaskId(1)), Waiting::Opened);
        assert_eq!(places.waiting().collect::<Vec<_>>(), [(TaskId(0), Awaited::Channel(Channel(0)))]);
    }
}
