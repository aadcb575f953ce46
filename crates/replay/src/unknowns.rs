//! Counts of facts missing in a recording.

use super::causes::Kinds;

/// Facts that a recording lacks, or that had to be repaired.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unknowns {
    /// Wakings by kind.
    pub wakings: Kinds,
    /// Tasks that ran after a wait without a recorded wake-up; counted as woken from outside.
    pub wakes_without_waking: u64,
    /// Missing switches, inserted at the last time the next task became runnable.
    pub missing_switches: u64,
    /// Wake-ups of tasks that were already runnable; they carry no cause.
    pub redundant_wakings: u64,
    /// Wakings of tasks that were still running and about to wait; their wait ends at once.
    pub early_wakings: u64,
    /// Places where events were lost.
    pub losses: u64,
    /// First waits that began before the recording; they end at the recorded time whatever woke them.
    pub waits_begun_before: u64,
    /// Waits that the recording's end cut short; they never end.
    pub waits_cut_by_end: u64,
    /// Waits for invisible replies, inferred from the largest number of messages in flight, or from an event loop
    /// addressing a peer again that had replied.
    pub inferred_answers: u64,
    /// Waits in uninterruptible sleep (usually I/O) that ended from outside; replayed as sleeps.
    pub device_waits: u64,
    /// Waits that a periodic timer ended.
    pub expiries: u64,
    /// Switches of runnable tasks that nothing but a yield explains.
    pub yields: u64,
    /// Messages whose calls were recorded and that woke nobody.
    pub unseen_messages: u64,
}

impl Unknowns {
    /// Each kind as a phrase that follows a number.
    #[must_use]
    pub fn counted(&self) -> [(&'static str, u64); 17] {
        [
            ("wake-ups by tasks, replayed as edges", self.wakings.task_edges),
            ("wake-ups in soft interrupts that a task caused, replayed as edges", self.wakings.soft_edges),
            ("wake-ups in soft interrupts from outside, replayed as delays", self.wakings.soft_external),
            ("wake-ups by periodic timers, replayed at their expiries", self.expiries),
            (
                "wake-ups in hard interrupts, replayed as delays",
                self.wakings.hard_external.saturating_sub(self.expiries),
            ),
            ("wake-ups by unknown tasks, replayed as delays", self.wakings.nobody),
            ("waits that ended without a recorded waking", self.wakes_without_waking),
            ("missing switches, inserted", self.missing_switches),
            ("wakings of tasks that were already awake", self.redundant_wakings),
            ("wakings of tasks about to sleep", self.early_wakings),
            ("places where events were lost", self.losses),
            ("waits that began before the recording", self.waits_begun_before),
            ("waits cut off by the end of the recording", self.waits_cut_by_end),
            ("waits for devices, replayed as delays", self.device_waits),
            ("inferred answers: a sender continues when the tasks it woke are done", self.inferred_answers),
            ("messages that found their receiver awake, replayed from the recorded calls", self.unseen_messages),
            ("switches that only a yield explains, replayed as yields", self.yields),
        ]
    }
}
