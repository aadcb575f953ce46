//! The scheduling event, used from the parser to replay and metrics. 40 bytes per record.

use crate::prev_state::PrevState;
use goodness_core::{CpuId, TaskId, Time};

/// Context in which a line was written, from the flags column.
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

/// Origin of an event: recorded or inferred.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Recorded in the trace.
    #[default]
    Recorded,
    /// Missing in the trace, but implied by other events. Counted in the repairs.
    Repaired,
}

/// A wake-up in one of its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wake<T = TaskId, W = Option<TaskId>> {
    /// The woken task.
    pub task: T,
    /// The task running on the CPU that wrote the line; `None` for the idle task. It is the waker if `context` is
    /// [`Context::Task`], and possibly in a soft interrupt.
    pub current: W,
    /// CPU the task is queued on.
    pub target: CpuId,
    /// Kernel priority of the task: 0–99 real time (smaller is more urgent), 100–139 nice −20 … +19, −1 deadline.
    pub prio: i16,
    /// Context of the waker.
    pub context: Context,
}

/// Begin or end of a system call that carries a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// It writes to this descriptor.
    Send(u32),
    /// It reads from this descriptor.
    Receive(u32),
    /// Its last call returned: the number of bytes, or a negative error.
    Returned(i32),
}

/// A scheduling event, by kernel tracepoint.
///
/// `T` identifies a task: by thread id and name while lines are parsed, then by its number in the recording. `W` is the
/// task running on the CPU, unknown while a line is parsed on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedEvent<T = TaskId, W = Option<TaskId>> {
    /// `sched_switch`; `None` is the idle task.
    Switch {
        /// Previous task.
        prev: Option<T>,
        /// Next task.
        next: Option<T>,
        /// Kernel priority of `prev`.
        prev_prio: i16,
        /// Kernel priority of `next`.
        next_prio: i16,
        /// State in which `prev` left.
        prev_state: PrevState,
    },
    /// `sched_waking`: written where the waker runs, so it shows the cause.
    Waking(Wake<T, W>),
    /// `sched_wakeup`: the task is on a run queue; may be written on another CPU than its waking.
    Wakeup(Wake<T, W>),
    /// `sched_wakeup_new`: a new task is on a runqueue for the first time.
    WakeupNew(Wake<T, W>),
    /// `sched_process_fork`.
    Fork {
        /// Task that called fork or clone; `None` for the idle task.
        parent: Option<T>,
        /// The new task.
        child: T,
    },
    /// `sched_process_exec`: the task continues under another name (see [`crate::Tasks::renames`]).
    Exec {
        /// The task.
        task: T,
        /// Its new thread id: that of the process, if another thread called exec.
        pid: u32,
    },
    /// `sched_process_exit`: the task starts to exit. It may sleep and run briefly before its last switch.
    Exit {
        /// The task.
        task: T,
    },
    /// `sched_migrate_task`.
    Migrate {
        /// The task.
        task: T,
        /// The previous CPU.
        from: CpuId,
        /// The new CPU.
        to: CpuId,
    },
    /// `sys_enter_…` or `sys_exit_…` of a call that carries a message.
    Call {
        /// The task running on the CPU; `None` for the idle task.
        by: W,
        /// The call.
        call: Call,
    },
    /// Events of this CPU were lost here.
    Lost {
        /// Number of events lost; 0 if unknown.
        count: u32,
    },
}

impl SchedEvent {
    /// The tasks that it names.
    pub fn tasks(&self) -> impl Iterator<Item = TaskId> + use<> {
        let named = match *self {
            SchedEvent::Switch { prev, next, .. } => [prev, next],
            SchedEvent::Waking(wake) | SchedEvent::Wakeup(wake) | SchedEvent::WakeupNew(wake) => {
                [Some(wake.task), wake.current]
            }
            SchedEvent::Fork { parent, child } => [parent, Some(child)],
            SchedEvent::Exec { task, .. } | SchedEvent::Exit { task } | SchedEvent::Migrate { task, .. } => {
                [Some(task), None]
            }
            SchedEvent::Call { by, .. } => [by, None],
            SchedEvent::Lost { .. } => [None, None],
        };
        named.into_iter().flatten()
    }
}

/// One event of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Time on the trace's clock.
    pub at: Time,
    /// On which CPU the line was written.
    pub cpu: CpuId,
    /// The event.
    pub event: SchedEvent,
    /// Origin: recorded or inferred.
    pub origin: Origin,
}

/// A text written to `trace_marker` (or a `print` event).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Time.
    pub at: Time,
    /// On which CPU.
    pub cpu: CpuId,
    /// The waker; `None` for the idle task or if unknown.
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
