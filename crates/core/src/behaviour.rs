//! Behaviours: a behaviour answers, step by step, what its task wants next. Hosts perform the steps.

use crate::rng::Rng;
use crate::storage::IoStep;
use crate::task::{Class, CpuSet, Nice, TaskId};
use crate::time::{Span, Time};

/// A place to wait, numbered by the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(pub u32);

/// Kind of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// A counting semaphore: a wake that finds nobody waiting is kept for the next who waits.
    Semaphore,
    /// A condition: a wake that finds nobody waiting is lost.
    Condition,
    /// A barrier: waiting ends for all when this many wait.
    Barrier(u32),
}

/// A mutual-exclusion lock, numbered by the workload; first come, first served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockId(pub u32);

/// A task that the workload may fork, by its index in the workload's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BehaviourId(pub u32);

/// A task's next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Use this much CPU time.
    Compute(Span),
    /// Sleep interruptibly for this long, on a timer.
    Sleep(Span),
    /// Sleep on a timer until this instant; does nothing if it has passed.
    SleepUntil(Time),
    /// Wait on a channel, interruptibly.
    Wait(Channel),
    /// Wait on a channel, uninterruptibly (a device).
    WaitUninterruptible(Channel),
    /// Wake one waiter of a channel.
    Wake(Channel),
    /// Wake one waiter and say that the waker sleeps soon.
    WakeSync(Channel),
    /// Wake all waiters of a channel.
    WakeAll(Channel),
    /// A wake by an interrupt: as [`Step::Wake`], but no task is named as waker.
    Interrupt(Channel),
    /// Take a lock, waiting in turn.
    Lock(LockId),
    /// Give a lock to the next who waits for it. The task must hold it.
    Unlock(LockId),
    /// Release the lock and wait on the channel in one step; take the lock again when woken.
    WaitUnlocked(Channel, LockId),
    /// Call `sched_yield`.
    Yield,
    /// Create a task of the workload's list.
    Fork(BehaviourId),
    /// Change one's own nice.
    SetNice(Nice),
    /// Change one's own class and real-time priority.
    SetClass(Class, u8),
    /// Change one's own affinity.
    SetAffinity(CpuSet),
    /// Report a finished request that arrived at the given time; takes no time.
    Served(Time),
    /// Read, write, or wait for what was asked for.
    Io(IoStep),
    /// End.
    Exit,
}

/// The view of a behaviour that is asked for its next step.
pub struct StepContext<'a> {
    /// Time at which the previous step was complete.
    pub now: Time,
    /// Whose step it is.
    pub task: TaskId,
    /// The task's own stream of chance.
    pub rng: &'a mut Rng,
}

/// Answers what its task does next. Called when the previous step is complete. A bounded number of steps in
/// a row may take no time; a host stops a task that exceeds the bound with an error naming it.
pub trait Behaviour: Send {
    /// The next step.
    fn next(&mut self, cx: &mut StepContext) -> Step;
}

impl<F: FnMut(&mut StepContext) -> Step + Send> Behaviour for F {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        self(cx)
    }
}
