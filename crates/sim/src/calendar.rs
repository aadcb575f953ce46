//! The event calendar: a timing wheel. The ends of bursts are kept in [`crate::bursts`].

use goodness_core::{CpuId, TaskId, Time};
use goodness_queues::Wheel;

/// Classes of entries at one instant, in order of service. Ends of bursts follow after all of them.
pub mod class {
    pub const WAKE: u8 = 0;
    pub const TICK: u8 = 1;
    pub const SLACK: u8 = 2;
    pub const RESCHEDULE: u8 = 3;
    pub const BALANCE: u8 = 4;
}

/// A scheduled event. A task that sleeps waits for nothing but its timer, so a timer is never stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The CPU's timer interrupt.
    Tick(CpuId),
    /// A task's sleep ends.
    Timer(TaskId),
    /// A task's sleep may end here if its CPU is interrupted at this instant (timer slack).
    Slack(TaskId),
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
    /// The warm-up ends.
    Warm,
    /// A planned fault begins.
    Fault(u32),
    /// A CPU comes back online.
    Online(CpuId),
    /// CPUs that idle are balanced, after the tick of this one.
    Later(CpuId),
    /// A thread of the kernel runs because a task has ended on this CPU: the stage of that.
    Ended(CpuId, u32),
}

/// An entry as the wheel keeps it: kind, CPU and number in one word, which is stored and loaded as such.
#[derive(Clone, Copy)]
pub struct Packed(u64);

/// Place of the kind of an entry.
const KIND: u32 = 56;
/// Kind of a task's timer.
const TIMER: u64 = 1;

impl Packed {
    #[inline(always)]
    fn of(entry: Entry) -> Packed {
        let (kind, number) = match entry {
            Entry::Tick(cpu) => (0, cpu.0),
            Entry::Timer(task) => (TIMER, task.0),
            Entry::Slack(task) => (2, task.0),
            Entry::Start(task) => (3, task.0),
            Entry::FirstWake(task) => (4, task.0),
            Entry::Outsider(index) => (5, index),
            // CPUs are numbered below 2^24.
            Entry::Reschedule(cpu, stamp) => (6 | u64::from(cpu.0) << 8, stamp),
            Entry::Disks => (7, 0),
            Entry::Flusher => (8, 0),
            Entry::Policy => (9, 0),
            Entry::Warm => (10, 0),
            Entry::Fault(index) => (11, index),
            Entry::Online(cpu) => (12, cpu.0),
            Entry::Later(cpu) => (13, cpu.0),
            Entry::Ended(cpu, stage) => (14 | u64::from(cpu.0) << 8, stage),
        };
        Packed((kind & 0xff) << KIND | kind >> 8 << 32 | u64::from(number))
    }

    /// The task, if this is a timer.
    #[inline(always)]
    pub fn timer(self) -> Option<TaskId> {
        (self.0 >> KIND == TIMER).then_some(TaskId(self.0 as u32))
    }

    /// The entry.
    pub fn entry(self) -> Entry {
        let (number, cpu) = (self.0 as u32, CpuId((self.0 >> 32) as u32 & 0xff_ffff));
        match self.0 >> KIND {
            0 => Entry::Tick(CpuId(number)),
            TIMER => Entry::Timer(TaskId(number)),
            2 => Entry::Slack(TaskId(number)),
            3 => Entry::Start(TaskId(number)),
            4 => Entry::FirstWake(TaskId(number)),
            5 => Entry::Outsider(number),
            6 => Entry::Reschedule(cpu, number),
            7 => Entry::Disks,
            8 => Entry::Flusher,
            9 => Entry::Policy,
            10 => Entry::Warm,
            11 => Entry::Fault(number),
            12 => Entry::Online(CpuId(number)),
            13 => Entry::Later(CpuId(number)),
            _ => Entry::Ended(cpu, number),
        }
    }
}

/// Entries in order of time, class and insertion.
pub struct Calendar(Wheel<Packed>);

impl Calendar {
    /// Room for a timer of each of `tasks` tasks and the entries of `cpus` CPUs.
    pub fn new(tasks: usize, cpus: usize) -> Calendar {
        Calendar(Wheel::with_capacity(tasks + 3 * cpus + 1))
    }

    #[inline(always)]
    pub fn push(&mut self, at: Time, class: u8, entry: Entry) {
        if at != Time::NEVER {
            self.0.push(at.0, class, Packed::of(entry));
        }
    }

    /// Removes and returns the next entry if it is due at `limit` or before.
    #[inline]
    pub fn pop_until(&mut self, limit: Time) -> Option<(Time, Packed)> {
        if self.0.not_before() > limit.0 {
            return None;
        }
        self.0.pop_until(limit.0).map(|(key, entry)| (Time(key.time), entry))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_again_as_it_was_put_in() {
        let (task, cpu, most) = (TaskId(u32::MAX - 1), CpuId(65_535), u32::MAX);
        let numbered = [Entry::Timer(task), Entry::Slack(task), Entry::Start(task), Entry::FirstWake(task)];
        let others = [Entry::Tick(cpu), Entry::Outsider(most), Entry::Reschedule(cpu, most), Entry::Reschedule(cpu, 0)];
        let faults = [Entry::Fault(most), Entry::Online(cpu), Entry::Later(cpu), Entry::Ended(cpu, most)];
        let plain = [Entry::Disks, Entry::Flusher, Entry::Policy, Entry::Warm].into_iter().chain(faults);
        for entry in numbered.into_iter().chain(others).chain(plain) {
            let packed = Packed::of(entry);
            assert_eq!(packed.entry(), entry);
            assert_eq!(packed.timer(), if let Entry::Timer(task) = entry { Some(task) } else { None });
        }
    }
}
