//! State of one task while its programme is recovered.

use super::conversations::Answer;
use super::pools::Visit;
use super::program::{Instruction, Op};
use super::timers::Timer;
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
    /// The task's periodic timer.
    Expiry(Timer),
    /// A message of a recorded call, whose instruction says so itself.
    Transfer,
    /// A message of a recorded call to an event loop; this turn begins then, if one does.
    Turn(Option<Answer>),
    /// The schedule of a replay decides when it ends.
    Outcome,
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
    /// Time of its creation, if recorded; else the beginning of the recording.
    pub born: Time,
    /// Time of its end.
    pub ended: Option<Time>,
    /// Number of its instructions when it began to end. A task that it wakes after them waits for its end.
    pub ends_from: usize,
    /// Marks of requests whose answers woke the task; they precede its next instruction.
    pub late_marks: Vec<Instruction>,
    /// Changes of its attributes, made while it was not running.
    pub changes_due: Vec<Instruction>,
    /// Length of its wait so far at the point where later laps begin, if it was alive then.
    pub lap_begins: Option<Span>,
    /// Edges that the task signalled in its present call. Nobody preempts it between them.
    pub signals_due: Vec<u32>,
    /// True in a recorded call.
    pub is_in_call: bool,
    /// In a pool: role of the visit for which it was woken, until it runs.
    pub visit: Option<Visit>,
    /// In a pool: true if it was woken for a connection that another task has taken.
    pub is_fruitless: bool,
    /// In a pool: true if it has taken a service.
    pub is_pooled: bool,
    /// In a pool: the service it took last.
    pub service: Option<u32>,
    /// In a pool: CPU time until it accepts a connection of this pool.
    pub accepts_after: Option<(Span, u32)>,
    /// In a pool: its reply, until its connection is ended.
    pub reply: Option<Answer>,
    /// Channel to post when the task is done, for the sender that woke it.
    pub answers_on: Option<u32>,
    /// The turn that a message of a recorded call began last.
    pub turn: Option<Answer>,
    /// Time that it waited for its periodic timer.
    pub timed: Span,
    /// Last expiry of its periodic timer.
    pub expired: Option<Time>,
}

impl TaskRecovery {
    /// A task without any event yet, in a recording that began at `begin`.
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
            changes_due: Vec::new(),
            lap_begins: None,
            signals_due: Vec::new(),
            is_in_call: false,
            visit: None,
            is_fruitless: false,
            is_pooled: false,
            service: None,
            accepts_after: None,
            reply: None,
            answers_on: None,
            turn: None,
            timed: Span::ZERO,
            expired: None,
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

    /// The wait for `timer` from `since` to `until`. It counts from the last expiry, and the first from its own begin.
    pub fn expiry(&mut self, timer: Timer, since: Time, until: Time) -> Instruction {
        self.timed += until.since(since);
        match (timer, self.expired.replace(until)) {
            (_, None) => Instruction::Expiry(until.since(since)),
            (Timer::MakesUp, Some(last)) => Instruction::Expiry(until.since(last)),
            (Timer::LeavesOut(period), Some(_)) => Instruction::NextExpiry(period),
        }
    }

    /// Adds the burst so far to the programme.
    pub fn close_burst(&mut self) {
        if self.burst > 0 {
            let burst = Span(std::mem::take(&mut self.burst));
            self.push(Instruction::Run(burst));
        }
        for edge in std::mem::take(&mut self.signals_due) {
            self.push(Instruction::Post(edge));
        }
    }

    /// True if the task waits uninterruptibly.
    #[must_use]
    pub fn waits_uninterruptibly(&self) -> bool {
        matches!(self.activity, Activity::Blocked(_, Off::Uninterruptible))
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
