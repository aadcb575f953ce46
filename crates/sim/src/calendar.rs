//! What is to come: a timing wheel of entries.

use goodness_core::{CpuId, TaskId, Time};
use goodness_queues::Wheel;
use goodness_queues::wheel::Key;

/// Something that will happen. Stamps tell entries that were overtaken by events from valid ones.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// The burst or the slice of what runs on the CPU ends.
    Burst(CpuId, u32),
    /// The CPU's timer interrupt.
    Tick(CpuId),
    /// A task's sleep ends.
    Timer(TaskId, u32),
    /// A task's sleep may end, if something interrupts its CPU at this instant.
    Slack(TaskId, u32),
    /// A task begins to exist.
    Start(TaskId),
    /// A task that existed from the beginning is woken for the first time.
    FirstWake(TaskId),
    /// A CPU learns that it should reschedule.
    Reschedule(CpuId),
    /// The policy's own timer.
    Policy,
}

/// Entries in order of time, class and insertion.
#[derive(Default)]
pub struct Calendar(Wheel<Entry>);

impl Calendar {
    #[inline]
    pub fn push(&mut self, at: Time, class: u8, entry: Entry) {
        if at != Time::NEVER {
            self.0.push(at.0, class, entry);
        }
    }

    #[inline]
    pub fn peek(&mut self) -> Option<Key> {
        self.0.peek()
    }

    #[inline]
    pub fn pop(&mut self) -> Option<(Key, Entry)> {
        self.0.pop()
    }
}
