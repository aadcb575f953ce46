//! Locks of a workload: who waits how, and who gets the lock next.

use crate::spelling::suggest;

/// A lock, numbered by the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockId(pub u32);

/// Kind of a lock. `docs/locks.md` describes each of them, and specs/groups-locks.md section 5 gives the sources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LockKind {
    /// glibc's normal mutex: waiters sleep; a release wakes one, which competes with everyone who comes by.
    #[default]
    Normal,
    /// glibc's adaptive mutex: like [`LockKind::Normal`], after spinning for a while.
    Adaptive,
    /// Priority-inheriting mutex: a release passes it to the most urgent waiter, and the owner is as urgent as its
    /// waiters.
    Pi,
    /// A release passes it to the waiter that came first: the kernel's semaphore, a ticket lock whose waiters sleep.
    Fifo,
    /// The kernel's mutex: waiters spin while the owner runs, else sleep; who lost one race gets it next.
    Kernel,
    /// The kernel's read-write semaphore: shared by readers or owned by a writer. Who waited for more than a jiffy of
    /// 4 ms, and came too late again, gets it next.
    Rwsem,
    /// Spin lock of user space: waiters use CPU time until it is free.
    Spin,
    /// PostgreSQL's `s_lock`: waiters spin for a while, then sleep for longer and longer times. Nobody wakes them.
    SLock,
}

impl LockKind {
    /// All kinds.
    pub const ALL: [LockKind; 8] = [
        LockKind::Normal,
        LockKind::Adaptive,
        LockKind::Pi,
        LockKind::Fifo,
        LockKind::Kernel,
        LockKind::Rwsem,
        LockKind::Spin,
        LockKind::SLock,
    ];

    /// Name in files and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            LockKind::Normal => "mutex",
            LockKind::Adaptive => "adaptive",
            LockKind::Pi => "pi",
            LockKind::Fifo => "fifo",
            LockKind::Kernel => "kernel",
            LockKind::Rwsem => "rwsem",
            LockKind::Spin => "spin",
            LockKind::SLock => "s_lock",
        }
    }

    /// The kind of that name.
    ///
    /// # Errors
    /// A sentence that names the nearest kind.
    pub fn parse(name: &str) -> Result<LockKind, String> {
        let found = LockKind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| {
            let near = suggest(name, LockKind::ALL.iter().map(|kind| kind.name()));
            format!("\"{name}\" is no kind of lock; {near}")
        })
    }

    /// True if a release makes the next waiter the owner, so that nobody can come in between.
    #[must_use]
    pub const fn passes_on(self) -> bool {
        matches!(self, LockKind::Pi | LockKind::Fifo)
    }

    /// True if several tasks may own it together.
    #[must_use]
    pub const fn is_shareable(self) -> bool {
        matches!(self, LockKind::Rwsem)
    }

    /// True for locks of the kernel, whose first sleeper keeps its place until it owns the lock.
    #[must_use]
    pub const fn is_of_kernel(self) -> bool {
        matches!(self, LockKind::Kernel | LockKind::Rwsem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name_and_others_name_the_nearest() {
        for kind in LockKind::ALL {
            assert_eq!(LockKind::parse(kind.name()), Ok(kind));
        }
        assert!(LockKind::parse("mutx").unwrap_err().contains("mutex"));
    }
}
