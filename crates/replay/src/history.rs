//! A recording as recovery reads it: events and participants.

use crate::participants::{Participant, participants};
use crate::pinned::affinities;
use crate::priority::initial;
use goodness_core::{Groups, Span, TaskId, Time};
use goodness_trace::{Record, Recording, SchedEvent, Wake};
use std::collections::BTreeMap;

/// A recording, as recovery reads it. Tasks go by their numbers in the recording.
#[derive(Clone, Debug)]
pub struct History<'a> {
    /// Events in order of time, from the trace reader.
    pub records: &'a [Record],
    /// Tasks by number, without the idle task.
    pub participants: Vec<Participant>,
    /// The groups of tasks.
    pub groups: Groups,
    /// Number of CPUs.
    pub cpus: usize,
    /// End of the recording; at least the time of the last event.
    pub end: Time,
    /// TCP connections by program, if the recording counts them.
    pub connections: BTreeMap<u32, u32>,
    /// Tick rate, if known.
    pub hz: Option<u32>,
    begin: Time,
    has_wakings: bool,
}

impl<'a> History<'a> {
    /// The history of `recording`.
    #[must_use]
    pub fn of(recording: &'a Recording) -> History<'a> {
        let first = initial(&recording.records, recording.tasks.len());
        let (participants, groups) = participants(recording, &first);
        let mut history = History { groups, ..History::new(&recording.records, participants) };
        history.begin = recording.start();
        history.cpus = history.cpus.max(recording.metadata.cpus as usize);
        history.hz = recording.metadata.hz();
        history.connections = connections(recording, &history.participants);
        if recording.metadata.attributes.is_empty() {
            let shown = affinities(&recording.records, history.participants.len(), history.cpus);
            for (participant, affinity) in history.participants.iter_mut().zip(shown) {
                participant.task.affinity = affinity;
            }
        }
        history
    }

    /// The history of `records` with these `participants`, on the CPUs that wrote records, without a tick rate.
    #[must_use]
    pub fn new(records: &'a [Record], participants: Vec<Participant>) -> History<'a> {
        History {
            records,
            participants,
            groups: Groups::default(),
            cpus: records.iter().map(|r| r.cpu.index() + 1).max().unwrap_or(1),
            end: records.last().map_or(Time::ZERO, |r| r.at),
            connections: BTreeMap::new(),
            hz: None,
            begin: records.first().map_or(Time::ZERO, |r| r.at),
            has_wakings: records.iter().any(|r| matches!(r.event, SchedEvent::Waking(_))),
        }
    }

    /// Start of the recording: its first event, or the start of the window that was read.
    #[must_use]
    pub fn begin(&self) -> Time {
        self.begin
    }

    /// Length of the recording.
    #[must_use]
    pub fn length(&self) -> Span {
        self.end.since(self.begin())
    }

    /// The participant with this number.
    #[must_use]
    pub fn participant(&self, task: TaskId) -> &Participant {
        &self.participants[task.index()]
    }

    /// The waking that `record` shows where its cause runs: `sched_waking`, or `sched_wakeup` in old and filtered
    /// traces without it.
    #[must_use]
    pub fn waking(&self, record: &Record) -> Option<Wake> {
        match record.event {
            SchedEvent::Waking(wake) => Some(wake),
            SchedEvent::Wakeup(wake) if !self.has_wakings => Some(wake),
            _ => None,
        }
    }
}

/// TCP connections of each program.
fn connections(recording: &Recording, participants: &[Participant]) -> BTreeMap<u32, u32> {
    let mut by_program = BTreeMap::new();
    for of in recording.metadata.recording.iter().flat_map(|header| &header.connections) {
        if let Some(task) = recording.tasks.owner(of.pid) {
            let all: &mut u32 = by_program.entry(participants[task.index()].program).or_default();
            *all = all.saturating_add(of.established);
        }
    }
    by_program
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_trace::{Excerpt, Input, load_excerpt};

    #[test]
    fn the_history_of_a_window_begins_with_it_although_nobody_runs_then() {
        let at = |us: u64| format!("  <idle>-0 [000] d..2. 0.{us:06}: sched_switch: ");
        let (idle, it) = (["swapper/0", "0"], ["t1", "1"]);
        let switch = |us, [prev, pid]: [&str; 2], state, [next, next_pid]: [&str; 2]| {
            let prev = format!("prev_comm={prev} prev_pid={pid} prev_prio=120 prev_state={state}");
            format!("{}{prev} ==> next_comm={next} next_pid={next_pid} next_prio=120\n", at(us))
        };
        let lines = [switch(100, idle, "R", it), switch(200, it, "S", idle), switch(500, idle, "R", it)];
        let text = format!("# tracer: nop\n{}{}", lines.concat(), switch(900, it, "S", idle));
        let input = Input::bytes("t.txt", text.as_bytes()).expect("memory");
        let part = load_excerpt(input, Excerpt { from: Span::from_us(200), to: Span::MAX }).expect("a window");
        let history = History::of(&part);
        assert_eq!((history.begin(), history.length()), (Time(300_000), Span::from_us(600)));
    }
}
