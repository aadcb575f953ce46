//! Counts repairs and omissions by kind. Reports show them; no repair is silent.

use serde::{Serialize, Serializer};

/// A kind of repair, or of something that could not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Repair {
    /// A line that is not text or no event line.
    UnreadableLine,
    /// A scheduling event with unreadable fields.
    UnreadableEvent,
    /// A line longer than any event.
    OverlongLine,
    /// A `# goodness:` line that is not valid JSON of its kind.
    UnreadableHeader,
    /// The last line ends in the middle.
    TruncatedEnd,
    /// A negative time, or one beyond 64-bit nanoseconds.
    ImpossibleTime,
    /// A line earlier than the one before it, put where it belongs.
    OutOfOrder,
    /// A line so much earlier than those before it that it could not be put where it belongs.
    ClockBackwards,
    /// Events lost by the kernel.
    LostEvents,
    /// A switch that must have happened but is not in the trace.
    MissingSwitch,
    /// A switch from a task to itself.
    SelfSwitch,
    /// A switch to a task that still runs on another CPU according to the trace.
    TwoPlaces,
    /// A second waking of a task that was already awake or woken.
    RepeatedWaking,
    /// A waking written just before its task had left the CPU, moved behind that.
    EarlyWaking,
    /// A task that went from a sleep onto a CPU without a waking in between.
    MissingWaking,
    /// A task that appears in the middle of the trace without a fork.
    FirstSeenRunning,
    /// A thread id reused without an exit of its former owner.
    MissingExit,
    /// A CPU number beyond what is supported.
    ImpossibleCpu,
    /// A stretch of a binary file that holds no records.
    DamagedBytes,
    /// Block I/O whose bytes are not whole sectors.
    PartialSector,
    /// Block I/O without a length, or beyond 64-bit sectors.
    ImpossibleExtent,
    /// A command that neither reads, writes, discards nor flushes.
    OtherCommand,
    /// Block I/O of a disk beyond those that are kept apart.
    TooManyDisks,
    /// A completion without an issue in the trace.
    UnmatchedCompletion,
}

impl Repair {
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Repair; 24] = [
        Repair::UnreadableLine,
        Repair::UnreadableEvent,
        Repair::OverlongLine,
        Repair::UnreadableHeader,
        Repair::TruncatedEnd,
        Repair::ImpossibleTime,
        Repair::OutOfOrder,
        Repair::ClockBackwards,
        Repair::LostEvents,
        Repair::MissingSwitch,
        Repair::SelfSwitch,
        Repair::TwoPlaces,
        Repair::RepeatedWaking,
        Repair::EarlyWaking,
        Repair::MissingWaking,
        Repair::FirstSeenRunning,
        Repair::MissingExit,
        Repair::ImpossibleCpu,
        Repair::DamagedBytes,
        Repair::PartialSector,
        Repair::ImpossibleExtent,
        Repair::OtherCommand,
        Repair::TooManyDisks,
        Repair::UnmatchedCompletion,
    ];

    /// Name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.words().0
    }

    /// The problem and the repair, in a few words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        self.words().1
    }

    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Repair::UnreadableLine => ("unreadable_line", "lines that are no events, left out"),
            Repair::UnreadableEvent => ("unreadable_event", "scheduling events with unreadable fields, left out"),
            Repair::OverlongLine => ("overlong_line", "lines longer than any event, left out"),
            Repair::UnreadableHeader => ("unreadable_header", "header lines with unreadable JSON, left out"),
            Repair::TruncatedEnd => ("truncated_end", "incomplete last line, left out"),
            Repair::ImpossibleTime => ("impossible_time", "lines with a negative or overflowing time, left out"),
            Repair::OutOfOrder => ("out_of_order", "lines out of order, sorted by time"),
            Repair::ClockBackwards => {
                ("clock_backwards", "lines far in the past, moved to the time of the line before")
            }
            Repair::LostEvents => ("lost_events", "events lost by the kernel"),
            Repair::MissingSwitch => ("missing_switch", "missing switches, inserted where later lines imply them"),
            Repair::SelfSwitch => ("self_switch", "switches from a task to itself, left out"),
            Repair::TwoPlaces => ("two_places", "tasks switched in while still on another CPU, switched out there"),
            Repair::RepeatedWaking => ("repeated_waking", "wakings of tasks that were awake, ignored"),
            Repair::EarlyWaking => ("early_waking", "wakings just before the sleep they end, moved behind its start"),
            Repair::MissingWaking => ("missing_waking", "sleeps that end without a waking, ended at the switch"),
            Repair::FirstSeenRunning => ("first_seen_running", "tasks that appear without a fork"),
            Repair::MissingExit => ("missing_exit", "thread ids reused without an exit of their owner"),
            Repair::ImpossibleCpu => ("impossible_cpu", "lines of CPUs beyond those that are supported, left out"),
            Repair::DamagedBytes => ("damaged_bytes", "damaged parts without records, skipped"),
            Repair::PartialSector => ("partial_sector", "block I/O of partial sectors, rounded outwards"),
            Repair::ImpossibleExtent => {
                ("impossible_extent", "block I/O without a length or beyond any disk, left out")
            }
            Repair::OtherCommand => ("other_command", "commands that neither read, write, discard nor flush, left out"),
            Repair::TooManyDisks => ("too_many_disks", "block I/O of disks beyond the first 4096, left out"),
            Repair::UnmatchedCompletion => {
                ("unmatched_completion", "completions whose issue the trace lacks, kept without a response time")
            }
        }
    }
}

/// Number of repairs of one kind, and the first place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Number of cases.
    pub count: u64,
    /// Line of the first case, from 1; 0 if it has no line.
    pub first_line: u64,
}

/// All counts of one trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repairs([Count; Repair::ALL.len()]);

impl Repairs {
    /// Counts `times` cases of `kind`, the first of them at `line`.
    pub fn add(&mut self, kind: Repair, times: u64, line: u64) {
        if times == 0 {
            return;
        }
        let count = &mut self.0[kind as usize];
        if count.count == 0 {
            count.first_line = line;
        }
        count.count = count.count.saturating_add(times);
    }

    /// Adds the counts of `other`.
    pub(crate) fn join(&mut self, other: &Repairs) {
        for (kind, count) in other.iter() {
            let first = self.of(kind).first_line;
            self.add(kind, count.count, count.first_line);
            if first > 0 && count.first_line > 0 {
                self.0[kind as usize].first_line = first.min(count.first_line);
            }
        }
    }

    /// The count of one kind.
    #[must_use]
    pub fn of(&self, kind: Repair) -> Count {
        self.0[kind as usize]
    }

    /// Kinds that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Repair, Count)> {
        Repair::ALL.into_iter().zip(self.0).filter(|(_, count)| count.count > 0)
    }

    /// True if nothing had to be repaired.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.iter().next().is_none()
    }
}

/// One kind of repair, as in JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Repaired {
    /// Name of the kind.
    kind: &'static str,
    /// Number of cases.
    count: u64,
    /// Line of the first case, from 1; `null` if it has no line.
    first_line: Option<u64>,
    /// The kind in words.
    meaning: &'static str,
}

impl Serialize for Repairs {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter().map(|(kind, count)| Repaired {
            kind: kind.name(),
            count: count.count,
            first_line: (count.first_line > 0).then_some(count.first_line),
            meaning: kind.meaning(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_counts_on_its_own_and_keeps_its_first_line() {
        for (at, kind) in Repair::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, at, "{kind:?}");
        }
        let mut repairs = Repairs::default();
        assert!(repairs.is_empty());
        repairs.add(Repair::SelfSwitch, 1, 40);
        repairs.add(Repair::SelfSwitch, 2, 50);
        assert_eq!(repairs.of(Repair::SelfSwitch), Count { count: 3, first_line: 40 });
        let json = serde_json::to_string(&repairs).expect("counts are plain");
        assert!(json.starts_with(r#"[{"kind":"self_switch","count":3,"first_line":40,"#), "{json}");
    }
}
