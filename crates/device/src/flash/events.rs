//! The drive's event queue, ordered by time, then by insertion.

use goodness_core::Time;
use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// A change of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The controller can start the next command.
    Fetch,
    /// The controller has decoded this command.
    Decoded(u32),
    /// The data of this write are in the controller.
    Received(u32),
    /// The data of a row are in the register of this LUN.
    Loaded { op: u32, lun: u32 },
    /// This LUN's operation ends, unless interrupted since (`generation` differs).
    Lun { lun: u32, generation: u32 },
    /// All data of this read are in the controller.
    Sensed(u32),
    /// The command is complete.
    Complete(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    at: Time,
    number: u64,
    event: Event,
}

impl Ord for Entry {
    fn cmp(&self, other: &Entry) -> Ordering {
        // The heap gives the greatest first.
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Pending events.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Entry>,
    pushed: u64,
}

impl Events {
    pub fn push(&mut self, at: Time, event: Event) {
        self.pushed += 1;
        self.heap.push(Entry { at, number: self.pushed, event });
    }

    pub fn next(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |entry| entry.at)
    }

    pub fn pop_until(&mut self, now: Time) -> Option<(Time, Event)> {
        let entry = self.heap.peek().filter(|entry| entry.at <= now).copied()?;
        self.heap.pop();
        Some((entry.at, entry.event))
    }
}
