//! The event calendar: a timing wheel. The ends of bursts are kept in [`crate::bursts`].

use goodness_core::{CpuId, TaskId, Time};
use goodness_queues::Wheel;

/// Classes of entries at one instant, in order of service. Ends of bursts follow after all of them.
pub mod class {
    pub const WAKE: u8 = 0;
    pub const TICK: u8 = 1;
    pub const SLACK: u8 = 2;
    pub const RESCHEDULE: u8 = 3;
}

/// A scheduled event. A timer's stamp shows whether it is stale.
#[derive(Clone, Copy, Debug)]
pub enum Entry {
    /// The CPU's timer interrupt.
    Tick(CpuId),
    /// A task's sleep ends.
    Timer(TaskId, u32),
    /// A task's sleep may end here if its CPU is interrupted at this instant (timer slack).
    Slack(TaskId, u32),
    /// A task starts.
    Start(TaskId),
    /// A task that existed from the beginning is woken for the first time.
    FirstWake(TaskId),
    /// An outsider starts, or its sleep ends.
    Outsider(u32),
    /// A CPU learns that it should reschedule, unless it has done so since.
    Reschedule(CpuId, u32),
    /// A disk does something.
    Disks,
    /// The flusher of the page cache wakes up.
    Flusher,
    /// The policy's own timer.
    Policy,
}

/// Entries in order of time, class and insertion.
pub struct Calendar(Wheel<Entry>);

impl Calendar {
    /// Room for a timer of each of `tasks` tasks and the entries of `cpus` CPUs.
    pub fn new(tasks: usize, cpus: usize) -> Calendar {
        Calendar(Wheel::with_capacity(tasks + 2 * cpus + 1))
    }

    #[inline]
    pub fn push(&mut self, at: Time, class: u8, entry: Entry) {
        if at != Time::NEVER {
            self.0.push(at.0, class, entry);
        }
    }

    /// Removes and returns the next entry if it is due at `limit` or before.
    #[inline]
    pub fn pop_until(&mut self, limit: Time) -> Option<(Time, Entry)> {
        if self.0.not_before() > limit.0 {
            return None;
        }
        self.0.pop_until(limit.0).map(|(key, entry)| (Time(key.time), entry))
    }
}
