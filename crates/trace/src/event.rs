//! What happened, as lines of a trace say it: the one enum from the parser to replay and metrics. 40 bytes a record.

use crate::prev_state::PrevState;
use goodness_core::{CpuId, TaskId, Time};

/// In whose context a line was written, from the flags column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Context {
    /// The trace has no flags column.
    #[default]
    Unknown,
    /// The task itself.
    Task,
    /// A soft interrupt, which may do the work of the task below it (loopback traffic) or not.
    SoftIrq,
    /// A hard interrupt or a non-maskable one.
    HardIrq,
}

/// Whether an event stands in the trace or was concluded from what follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// It stands in the trace.
    #[default]
    Recorded,
    /// The trace lacks it; what stands there cannot be without it. Counted in the repairs.
    Repaired,
}

/// A wake-up in one of its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake<T = TaskId, W = Option<TaskId>> {
    /// Who is woken.
    pub task: T,
    /// Who ran on the CPU that wrote the line; `None` for the idle task. The waker, if `context` is
    /// [`Context::Task`]; perhaps the waker in a soft interrupt.
    pub current: W,
    /// Where the task is to run.
    pub target: CpuId,
    /// Kernel priority of the task: 0–99 real time (smaller is more urgent), 100–139 nice −20 … +19, −1 deadline.
    pub prio: i16,
    /// In whose context.
    pub context: Context,
}

/// What happened, by the kernel's tracepoints.
///
/// `T` is how a task is named: by thread id and name while lines are read, by its number in the recording
/// from then on. `W` is who ran on the CPU: not known while a line is read by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedEvent<T = TaskId, W = Option<TaskId>> {
    /// `sched_switch`; `None` is the idle task.
    Switch {
        /// Who ran.
        prev: Option<T>,
        /// Who runs now.
        next: Option<T>,
        /// Kernel priority of `prev`.
        prev_prio: i16,
        /// Kernel priority of `next`.
        next_prio: i16,
        /// How `prev` left.
        prev_state: PrevState,
    },
    /// `sched_waking`: names the cause, since it is written where the waker runs.
    Waking(Wake<T, W>),
    /// `sched_wakeup`: the task is on a runqueue now; may be written on another CPU than its waking.
    Wakeup(Wake<T, W>),
    /// `sched_wakeup_new`: a new task is on a runqueue for the first time.
    WakeupNew(Wake<T, W>),
    /// `sched_process_fork`.
    Fork {
        /// Who called fork or clone; `None` for the idle task.
        parent: Option<T>,
        /// The new task.
        child: T,
    },
    /// `sched_process_exec`: the task goes on under another name (see [`crate::Tasks::renames`]).
    Exec {
        /// Who.
        task: T,
        /// Its thread id from now on: that of the process, if another thread called exec.
        pid: u32,
    },
    /// `sched_process_exit`: the task begins to end; it may sleep and run a little before its last switch.
    Exit {
        /// Who.
        task: T,
    },
    /// `sched_migrate_task`.
    Migrate {
        /// Who.
        task: T,
        /// From where.
        from: CpuId,
        /// To where.
        to: CpuId,
    },
    /// Events of this CPU were lost here.
    Lost {
        /// How many; 0 when the kernel did not say.
        count: u32,
    },
}

/// One event of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When, on the trace's own clock.
    pub at: Time,
    /// On which CPU the line was written.
    pub cpu: CpuId,
    /// What.
    pub event: SchedEvent,
    /// Whether it stands in the trace.
    pub origin: Origin,
}

/// A text written to `trace_marker` (or a `print` event).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// When.
    pub at: Time,
    /// On which CPU.
    pub cpu: CpuId,
    /// By whom; `None` for the idle task or when the trace does not say.
    pub task: Option<TaskId>,
    /// The text, with bytes that are no UTF-8 replaced.
    pub text: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_takes_at_most_40_bytes() {
        assert!(size_of::<Record>() <= 40, "{}", size_of::<Record>());
    }
}
