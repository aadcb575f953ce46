//! State of one task while its programme is recovered.

use super::conversations::Answer;
use super::program::{Instruction, Op};
use goodness_core::{CpuId, Off, Span, Start, Time};

/// State of a task, as far as the recording shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// Not seen yet.
    Unseen,
    /// On a CPU since that time.
    Running(Time),
    /// Waiting for a CPU.
    Runnable,
    /// Waiting for something other than a CPU since that time.
    Blocked(Time, Off),
    /// It left its CPU at about that time, for an unknown reason.
    Unaccounted(Time),
    /// Ended.
    Gone,
}

/// Cause of the end of a wait. An edge has already been signalled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// This edge.
    Edge(u32),
    /// A peer's message to an event loop, which may have continued with another.
    Message(Answer),
    /// Something outside.
    External,
}

/// State of one task.
#[derive(Debug)]
pub struct TaskRecovery {
    /// Current state.
    pub activity: Activity,
    /// Its programme so far.
    pub ops: Vec<Op>,
    /// CPU time since the last instruction.
    pub burst: u64,
    /// Cause of a wake-up before the wait began: it was woken while still on its CPU.
    pub early: Option<Ending>,
    /// Start, once known.
    pub start: Option<Start>,
    /// Its CPU at the beginning.
    pub cpu: CpuId,
    /// Time it last became runnable.
    pub runnable_at: Time,
    /// When it was created, if that is recorded; else the beginning of the recording.
    pub born: Time,
    /// When it ended.
    pub ended: Option<Time>,
    /// Number of its instructions when it began to end. A task that it wakes after them waits for its end.
    pub ends_from: usize,
    /// Marks of requests whose answers woke the task: they stand before what it does next.
    pub late_marks: Vec<Instruction>,
    /// How long it had waited where later laps begin, if it was alive then.
    pub lap_begins: Option<Span>,
    /// Channel to post when the task is done, for the sender that woke it.
    pub answers_on: Option<u32>,
}

impl TaskRecovery {
    /// A task of which nothing was seen yet, in a recording that began at `begin`.
    #[must_use]
    pub fn unseen(begin: Time) -> TaskRecovery {
        TaskRecovery {
            activity: Activity::Unseen,
            ops: Vec::new(),
            burst: 0,
            early: None,
            start: None,
            cpu: CpuId(0),
            runnable_at: Time::ZERO,
            born: begin,
            ended: None,
            ends_from: usize::MAX,
            late_marks: Vec::new(),
            lap_begins: None,
            answers_on: None,
        }
    }

    /// Adds the CPU time up to `at` to the burst, if the task is running.
    pub fn account(&mut self, at: Time) {
        if let Activity::Running(since) = self.activity {
            self.burst += at.since(since).0;
            self.activity = Activity::Running(at.max(since));
        }
    }

    /// Appends an instruction; the burst stays open.
    pub fn push(&mut self, instruction: Instruction) {
        self.ops.push(Op::new(instruction));
    }

    /// Adds the burst so far to the programme.
    pub fn close_burst(&mut self) {
        if self.burst > 0 {
            let burst = Span(std::mem::take(&mut self.burst));
            self.push(Instruction::Run(burst));
        }
    }

    /// CPU time of the programme so far.
    #[must_use]
    pub fn cpu_time(&self) -> u64 {
        let run = |op: &Op| if let Instruction::Run(span) = op.instruction() { span.0 } else { 0 };
        self.ops.iter().map(run).sum()
    }

    /// The task is runnable since `at`.
    pub fn now_runnable(&mut self, at: Time) {
        self.activity = Activity::Runnable;
        self.runnable_at = at;
    }
}
