//! What recovery reads of a recording: its events as they are, and who took part.

use crate::participants::{Participant, participants};
use crate::priority::first_seen;
use goodness_core::{Span, TaskId, Time};
use goodness_trace::{Record, Recording, SchedEvent, Wake};

/// A recording, as recovery reads it. Tasks go by their numbers in the recording.
#[derive(Clone, Debug)]
pub struct History<'a> {
    /// Events in order of time, as the trace reader gave them.
    pub records: &'a [Record],
    /// Who took part, by task number; the idle task is not among them.
    pub participants: Vec<Participant>,
    /// How many CPUs the machine had.
    pub cpus: usize,
    /// When recording ended; at least the time of the last event.
    pub end: Time,
    /// The tick rate, where the recording says.
    pub hz: Option<u32>,
    has_wakings: bool,
}

impl<'a> History<'a> {
    /// The history that `recording` tells.
    #[must_use]
    pub fn of(recording: &'a Recording) -> History<'a> {
        let first = first_seen(&recording.records, recording.tasks.len());
        let mut history = History::new(&recording.records, participants(recording, &first));
        history.cpus = history.cpus.max(recording.metadata.cpus as usize);
        history.hz = recording.metadata.hz();
        history
    }

    /// The history of `records`, in which `participants` took part: on as many CPUs as wrote records, without a known
    /// tick rate.
    #[must_use]
    pub fn new(records: &'a [Record], participants: Vec<Participant>) -> History<'a> {
        History {
            records,
            participants,
            cpus: records.iter().map(|r| r.cpu.index() + 1).max().unwrap_or(1),
            end: records.last().map_or(Time::ZERO, |r| r.at),
            hz: None,
            has_wakings: records.iter().any(|r| matches!(r.event, SchedEvent::Waking(_))),
        }
    }

    /// When recording began: the first event.
    #[must_use]
    pub fn begin(&self) -> Time {
        self.records.first().map_or(Time::ZERO, |r| r.at)
    }

    /// How long it lasted.
    #[must_use]
    pub fn length(&self) -> Span {
        self.end.since(self.begin())
    }

    /// The participant with this number.
    #[must_use]
    pub fn participant(&self, task: TaskId) -> &Participant {
        &self.participants[task.index()]
    }

    /// The wake-up that `record` shows where its cause is at work: `sched_waking`; in old and filtered traces without
    /// any, `sched_wakeup` has to do.
    #[must_use]
    pub fn waking(&self, record: &Record) -> Option<Wake> {
        match record.event {
            SchedEvent::Waking(wake) => Some(wake),
            SchedEvent::Wakeup(wake) if !self.has_wakings => Some(wake),
            _ => None,
        }
    }
}
