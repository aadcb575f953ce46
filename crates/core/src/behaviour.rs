//! Behaviours: a behaviour gives the next step of its task on request; hosts perform the steps.

use crate::cpu_set::CpuSet;
use crate::group::GroupId;
use crate::lock::LockId;
use crate::nice::Nice;
use crate::rng::Rng;
use crate::storage::IoStep;
use crate::task::{Class, TaskId};
use crate::time::{Span, Time};

/// A channel to wait on, numbered by the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel(pub u32);

/// Kind of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// A counting semaphore: a wake without a waiter is kept for the next waiter.
    Semaphore,
    /// A condition: a wake without a waiter is lost.
    Condition,
    /// A barrier: waiting ends for all when this many wait.
    Barrier(u32),
}

/// A task that the workload may fork, by its index in the workload's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BehaviourId(pub u32);

/// A task's next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Use this much CPU time.
    Compute(Span),
    /// Use this much CPU time in the kernel, without a voluntary point: a page fault, a long system call. Whether the
    /// task can lose its CPU meanwhile is up to the policy's [`Preemption`](crate::Preemption).
    Kernel(Span),
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
    /// Wake one waiter, as a sync wake-up: the waker sleeps soon.
    WakeSync(Channel),
    /// Wake all waiters of a channel.
    WakeAll(Channel),
    /// Wake by an interrupt: like [`Step::Wake`], but without a waker.
    Interrupt(Channel),
    /// Take a lock; waits as its [`LockKind`](crate::LockKind) does.
    Lock(LockId),
    /// Take a lock whose kind [is shareable](crate::LockKind::is_shareable) together with others.
    LockShared(LockId),
    /// Release a lock, which the task must hold, alone or with others.
    Unlock(LockId),
    /// Release the lock and wait on the channel in one step; take the lock again when woken.
    WaitUnlocked(Channel, LockId),
    /// Begin a critical section in user mode: where the policy's kernel has slice extensions
    /// ([`CpuPolicy::slice_extension`](crate::CpuPolicy::slice_extension)), the first request to reschedule that an
    /// interrupt makes waits for its end, for that time at most.
    BeginCritical,
    /// End the critical section; a request that waited takes effect.
    EndCritical,
    /// Call `sched_yield`.
    Yield,
    /// Create a task of the workload's list.
    Fork(BehaviourId),
    /// Replace the task's own program (`execve`): an occasion to run elsewhere. Takes no time by itself.
    Exec,
    /// Change the task's own nice.
    SetNice(Nice),
    /// Change the task's own class and real-time priority.
    SetClass(Class, u8),
    /// Move the task itself to another group.
    SetGroup(GroupId),
    /// Change the task's own affinity.
    SetAffinity(CpuSet),
    /// Report a completed request that arrived at the given time; takes no time.
    Served(Time),
    /// Read, write, or wait for submitted I/O.
    Io(IoStep),
    /// End.
    Exit,
}

/// Context of a behaviour's next step.
pub struct StepContext<'a> {
    /// Time at which the previous step was complete.
    pub now: Time,
    /// The task.
    pub task: TaskId,
    /// The task's random stream.
    pub rng: &'a mut Rng,
}

/// Gives the next step of its task, once the previous one is complete. Only a limited number of consecutive steps may
/// take no time; a host fails a task that exceeds the limit.
pub trait Behaviour: Send {
    /// The next step.
    fn next(&mut self, cx: &mut StepContext) -> Step;
}

impl<F: FnMut(&mut StepContext) -> Step + Send> Behaviour for F {
    fn next(&mut self, cx: &mut StepContext) -> Step {
        self(cx)
    }
}
