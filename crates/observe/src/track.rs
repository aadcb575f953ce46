//! The tracker's state of one task, and its reports on slices that start or end.

use goodness_core::{CpuId, State, Time};

/// Marks of a task, one bit each.
pub(crate) mod mark {
    pub const JUDGED: u8 = 1;
    pub const WOKEN: u8 = 2;
    pub const ENDED: u8 = 4;
    pub const RAN: u8 = 8;
    pub const ARRIVED: u8 = 16;
    pub const DESCRIBED: u8 = 32;
    /// It may not run on every CPU.
    pub const RESTRICTED: u8 = 64;
}

/// State of one task. `T` is data of the tracker's owner, kept on the same cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub struct TaskTrack<T> {
    /// Time it entered its state. For a queued task: when it became runnable or lost its CPU.
    pub since: Time,
    /// The owner's data.
    pub own: T,
    pub(crate) cpu: u16,
    pub(crate) ran_on: u16,
    /// Number of its affinity; 0 for every CPU.
    pub(crate) set: u16,
    /// State.
    pub state: State,
    pub(crate) marks: u8,
}

impl<T> TaskTrack<T> {
    /// Sets the number of its affinity.
    pub(crate) fn restrict(&mut self, set: u16) {
        self.set = set;
        self.marks = self.marks & !mark::RESTRICTED | if set == 0 { 0 } else { mark::RESTRICTED };
    }

    #[inline]
    pub(crate) fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// The CPU it runs on or is queued on.
    #[must_use]
    pub fn cpu(&self) -> CpuId {
        CpuId(u32::from(self.cpu))
    }

    /// True if it is part of the judged workload.
    #[inline]
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.has(mark::JUDGED)
    }

    /// True if it is queued because it was woken, and not because it lost its CPU.
    #[must_use]
    pub fn is_woken(&self) -> bool {
        self.has(mark::WOKEN)
    }

    /// True if its exit was seen. It may still have to leave its CPU.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has(mark::ENDED)
    }

    /// True if it has not ended and may run on any CPU, so that its state alone determines the valid next events.
    #[inline]
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.marks & (mark::ENDED | mark::RESTRICTED) == 0
    }
}

/// A slice that ended.
pub struct Ended<'a, T> {
    /// Start of the slice.
    pub began: Time,
    /// The task, in its new state.
    pub task: &'a mut TaskTrack<T>,
}

/// A slice that starts.
pub struct Began<'a, T> {
    /// Start of the wait; `None` if it was not known to wait.
    pub waited_since: Option<Time>,
    /// True if that wait started with a wake-up.
    pub woken: bool,
    /// CPU whose run queue counted it: where it waited, or was believed to run; `None` if it was not runnable.
    pub counted_on: Option<CpuId>,
    /// True if its previous slice was on another CPU.
    pub moved: bool,
    /// True if it is the task's first slice.
    pub is_first: bool,
    /// The task, running.
    pub task: &'a mut TaskTrack<T>,
}

/// An ordinary switch from one task to another, without a fault.
pub struct Switched<'a, T> {
    /// The slice that ended.
    pub ended: Ended<'a, T>,
    /// The slice that starts.
    pub began: Began<'a, T>,
    /// Start of the next task's wait.
    pub waited_since: Time,
}
