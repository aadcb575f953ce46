//! What the tracker knows of one task, and what it tells of a stint that ends or begins.

use goodness_core::{CpuId, State, Time};

/// Marks of a task, one bit each.
pub(crate) mod mark {
    pub const JUDGED: u8 = 1;
    pub const WOKEN: u8 = 2;
    pub const ENDED: u8 = 4;
    pub const RAN: u8 = 8;
    pub const ARRIVED: u8 = 16;
    pub const DESCRIBED: u8 = 32;
}

/// What is known of one task. `T` is what the tracker's owner keeps beside it, on the same cache line.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
pub struct TaskTrack<T> {
    /// When it entered its present state; for a queued task, when it became runnable or lost its CPU.
    pub since: Time,
    /// What the owner keeps.
    pub own: T,
    pub(crate) cpu: u16,
    pub(crate) ran_on: u16,
    /// Number of its affinity; 0 for every CPU.
    pub(crate) set: u16,
    /// Where it stands.
    pub state: State,
    pub(crate) marks: u8,
}

impl<T> TaskTrack<T> {
    #[inline]
    pub(crate) fn has(&self, mark: u8) -> bool {
        self.marks & mark != 0
    }

    /// The CPU it runs on or is queued on.
    #[must_use]
    pub fn cpu(&self) -> CpuId {
        CpuId(u32::from(self.cpu))
    }

    /// Whether it belongs to what is being judged.
    #[inline]
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.has(mark::JUDGED)
    }

    /// Whether it is queued because it was woken, and not because it lost its CPU.
    #[must_use]
    pub fn is_woken(&self) -> bool {
        self.has(mark::WOKEN)
    }

    /// Whether its exit was seen; it may still be about to leave its CPU.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.has(mark::ENDED)
    }

    /// Whether it may run anywhere and has not ended: then its state alone says what it may do next.
    #[inline]
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.set == 0 && !self.has(mark::ENDED)
    }
}

/// A stint that ended.
pub struct Ended<'a, T> {
    /// When it began.
    pub began: Time,
    /// The task, in its new state.
    pub task: &'a mut TaskTrack<T>,
}

/// A stint that begins.
pub struct Began<'a, T> {
    /// Since when the task waited; `None` if it was not known to wait.
    pub waited_since: Option<Time>,
    /// Whether that wait began with a wake-up.
    pub woken: bool,
    /// Whose runqueue counted it: where it waited, or ran as far as was known; `None` if it was not runnable.
    pub counted_on: Option<CpuId>,
    /// Whether its previous stint was on another CPU.
    pub moved: bool,
    /// The task, running.
    pub task: &'a mut TaskTrack<T>,
}

/// A switch from one task to another in which nothing was out of the ordinary.
pub struct Switched<'a, T> {
    /// The stint that ended.
    pub ended: Ended<'a, T>,
    /// The stint that begins.
    pub began: Began<'a, T>,
    /// Since when the task that begins waited.
    pub waited_since: Time,
}
