//! The event stream. Simulator, live host and trace readers emit it; metrics, checkers, trace writers and reports read
//! it. So simulated and real runs are measured by the same code.

use crate::cpu_set::CpuSet;
use crate::effort::Effort;
use crate::lock::LockId;
use crate::machine::CpuId;
use crate::nice::Nice;
use crate::request::{DiskId, Io, Operation, RequestId, Submitter};
use crate::task::{Class, TaskId};
use crate::time::{Span, Time};

/// In which context a wake-up was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WakeSource {
    /// A task, in its own context.
    Task,
    /// An interrupt or a timer.
    Interrupt,
}

/// Reason for which a task left its CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Off {
    /// Still runnable: preempted, or slice over.
    Preempted,
    /// Still runnable: it yielded.
    Yielded,
    /// Interruptible sleep.
    Sleeping,
    /// Uninterruptible sleep.
    Uninterruptible,
    /// Likewise, of a writer while too much memory is dirty.
    DirtyMemory,
    /// Ended.
    Exited,
}

impl Off {
    /// True if the task still wants a CPU.
    #[must_use]
    pub const fn is_runnable(self) -> bool {
        matches!(self, Off::Preempted | Off::Yielded)
    }

    /// The word for it in schedules.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Off::Preempted => "preempted",
            Off::Yielded => "yielded",
            Off::Sleeping => "slept",
            Off::Uninterruptible | Off::DirtyMemory => "waited (D)",
            Off::Exited => "ended",
        }
    }
}

/// CPU time that is not work of a task: the host's own, and spinning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Overhead {
    /// Searching the next task.
    Search,
    /// Recalculating counters.
    Recalculate,
    /// Ordered insertion and removal.
    Insert,
    /// Placement and balancing.
    Balance,
    /// Switching tasks.
    Switch,
    /// Waking tasks.
    Wakeup,
    /// Timer interrupts.
    Tick,
    /// Refilling caches after a switch or a migration.
    Refill,
    /// Waiting for the lock of a runqueue.
    Lock,
    /// Spinning for a lock of the work: CPU time of the task, but none of its work.
    Spin,
    /// Submitting and completing block I/O, elevators included.
    Io,
    /// Waiting for the lock of an elevator.
    IoLock,
}

impl Overhead {
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Overhead; 12] = [
        Overhead::Search,
        Overhead::Recalculate,
        Overhead::Insert,
        Overhead::Balance,
        Overhead::Switch,
        Overhead::Wakeup,
        Overhead::Tick,
        Overhead::Refill,
        Overhead::Lock,
        Overhead::Spin,
        Overhead::Io,
        Overhead::IoLock,
    ];

    /// Name used in reports and JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Overhead::Search => "search",
            Overhead::Recalculate => "recalculate",
            Overhead::Insert => "insert",
            Overhead::Balance => "balance",
            Overhead::Switch => "switch",
            Overhead::Wakeup => "wakeup",
            Overhead::Tick => "tick",
            Overhead::Refill => "refill",
            Overhead::Lock => "lock",
            Overhead::Spin => "spin",
            Overhead::Io => "io",
            Overhead::IoLock => "io_lock",
        }
    }
}

impl From<Effort> for Overhead {
    /// The overhead kind of a policy's effort.
    fn from(effort: Effort) -> Overhead {
        match effort {
            Effort::Search => Overhead::Search,
            Effort::Recalculate => Overhead::Recalculate,
            Effort::Insert => Overhead::Insert,
            Effort::Balance => Overhead::Balance,
        }
    }
}

/// A stage of block I/O. `Queued` and `Done` concern an I/O, the others a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum IoStage {
    /// An I/O reached the block layer. One of the three stages behind the next follows at the same instant, or later if
    /// a limit of its group holds it or it waits for a slot.
    Queued,
    /// A limit of its group, which held it, has let it go on; `span` is the time since it was queued.
    Released,
    /// It found no slot that it may have, and waits for one. Of an I/O that was split, a part.
    Waits,
    /// It joined a waiting request behind its last sector.
    BackMerged,
    /// It joined a waiting request before its first sector.
    FrontMerged,
    /// It became a request, which the elevator has. Without an elevator, the request waits for the device.
    Inserted,
    /// The request was merged into its neighbour and no longer exists.
    Absorbed,
    /// The device has the request; `span` is the time since it was inserted.
    Issued,
    /// The device has completed the request; `span` is the time since it was issued.
    Completed,
    /// The I/O is done; `span` is the time since it was queued.
    Done,
}

/// Something that happened to block I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoEvent {
    /// Disk.
    pub disk: DiskId,
    /// Stage that the request reached.
    pub stage: IoStage,
    /// The operation.
    pub op: Operation,
    /// True if it is synchronous.
    pub sync: bool,
    /// The request; meaningless for [`IoStage::Queued`] and [`IoStage::Waits`].
    pub request: RequestId,
    /// For [`IoStage::Absorbed`], the request it was merged into, which ended where it starts; else the request itself.
    pub survivor: RequestId,
    /// The submitter.
    pub submitter: Submitter,
    /// The task whose data it moves: the submitter, but for write-back.
    pub owner: Submitter,
    /// First sector: of the I/O for `Queued`, `Waits`, the merges and `Done`, else of the request.
    pub sector: u64,
    /// Number of sectors, likewise.
    pub sectors: u32,
    /// Duration defined by the stage; zero for others.
    pub span: Span,
}

impl IoEvent {
    /// The event of `io`, whose request is `request`.
    #[must_use]
    pub const fn of_io(disk: DiskId, stage: IoStage, request: RequestId, io: &Io, span: Span) -> IoEvent {
        IoEvent {
            disk,
            stage,
            op: io.op,
            sync: io.sync,
            request,
            survivor: request,
            submitter: io.submitter,
            owner: io.owner,
            sector: io.sector,
            sectors: io.sectors,
            span,
        }
    }
}

/// One event. The events of a run are in order of time. Its kind has a byte of its own, which observers read at a
/// glance; left to the compiler, it would share one with a field of the largest kind.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A task was created; it is not runnable yet.
    Fork {
        /// The parent, if known.
        parent: Option<TaskId>,
        /// The new task.
        child: TaskId,
    },
    /// A blocked or new task became runnable. Emitted once per wait, at the first waking.
    Wakeup {
        /// The task that became runnable.
        task: TaskId,
        /// The waker; `None` for interrupts, timers, and the start of a run.
        waker: Option<TaskId>,
        /// CPU whose run queue it joins.
        cpu: CpuId,
        /// The context of the waker.
        from: WakeSource,
    },
    /// A CPU went from one task (or idle) to another (or idle). Never emitted when `prev == next`.
    Switch {
        /// CPU.
        cpu: CpuId,
        /// The task that ran; `None` for idle.
        prev: Option<TaskId>,
        /// Reason `prev` left; meaningless if `prev` is `None`.
        off: Off,
        /// The task that runs now; `None` for idle.
        next: Option<TaskId>,
    },
    /// A task changed its CPU while runnable or at its wake-up.
    Migrate {
        /// Task.
        task: TaskId,
        /// Source CPU.
        from: CpuId,
        /// Target CPU.
        to: CpuId,
    },
    /// The host spent CPU time of `cpu` on its own account.
    Overhead {
        /// CPU.
        cpu: CpuId,
        /// Kind of overhead.
        kind: Overhead,
        /// Duration.
        span: Span,
    },
    /// A task ended. A `Switch` with [`Off::Exited`] follows at the same instant.
    Exit {
        /// Task.
        task: TaskId,
    },
    /// A modelled service completed a request, or a task completed a cycle of its program.
    Served {
        /// The task that was served.
        task: TaskId,
        /// Since it arrived.
        latency: Span,
    },
    /// Block I/O went one station on.
    Io(IoEvent),
    /// A task falls asleep for a lock. A `Switch` with [`Off::Sleeping`] follows at the same instant.
    Contended {
        /// The task.
        task: TaskId,
        /// The lock.
        lock: LockId,
        /// Its owner; of several that share it, the one that has done so for longest.
        holder: TaskId,
    },
}

/// Watches a run; never changes it.
pub trait Observer {
    /// Handles one event; `at` never goes backwards.
    fn observe(&mut self, at: Time, event: &Event);

    /// Handles several consecutive events.
    #[inline]
    fn observe_all(&mut self, events: &[(Time, Event)]) {
        for (at, event) in events {
            self.observe(*at, event);
        }
    }

    /// From `at` on, `task`, which may be waiting, may use these CPUs: its affinity changed, a cpuset leaves it others,
    /// or CPUs went offline or came back.
    #[inline]
    fn confine(&mut self, at: Time, task: TaskId, cpus: &CpuSet) {
        let _ = (at, task, cpus);
    }

    /// From `at` on, `task` has asked for this class and nice.
    #[inline]
    fn reclass(&mut self, at: Time, task: TaskId, class: Class, nice: Nice) {
        let _ = (at, task, class, nice);
    }
}

impl Observer for () {
    #[inline]
    fn observe(&mut self, _: Time, _: &Event) {}
    #[inline]
    fn observe_all(&mut self, _: &[(Time, Event)]) {}
}

impl<O: Observer + ?Sized> Observer for &mut O {
    #[inline]
    fn observe(&mut self, at: Time, event: &Event) {
        (**self).observe(at, event);
    }
    #[inline]
    fn observe_all(&mut self, events: &[(Time, Event)]) {
        (**self).observe_all(events);
    }
    #[inline]
    fn confine(&mut self, at: Time, task: TaskId, cpus: &CpuSet) {
        (**self).confine(at, task, cpus);
    }
    #[inline]
    fn reclass(&mut self, at: Time, task: TaskId, class: Class, nice: Nice) {
        (**self).reclass(at, task, class, nice);
    }
}

impl<O: Observer> Observer for Option<O> {
    #[inline]
    fn observe(&mut self, at: Time, event: &Event) {
        if let Some(observer) = self {
            observer.observe(at, event);
        }
    }
    #[inline]
    fn observe_all(&mut self, events: &[(Time, Event)]) {
        if let Some(observer) = self {
            observer.observe_all(events);
        }
    }
    #[inline]
    fn confine(&mut self, at: Time, task: TaskId, cpus: &CpuSet) {
        self.iter_mut().for_each(|observer| observer.confine(at, task, cpus));
    }
    #[inline]
    fn reclass(&mut self, at: Time, task: TaskId, class: Class, nice: Nice) {
        self.iter_mut().for_each(|observer| observer.reclass(at, task, class, nice));
    }
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    #[inline]
    fn observe(&mut self, at: Time, event: &Event) {
        self.0.observe(at, event);
        self.1.observe(at, event);
    }
    #[inline]
    fn observe_all(&mut self, events: &[(Time, Event)]) {
        self.0.observe_all(events);
        self.1.observe_all(events);
    }
    #[inline]
    fn confine(&mut self, at: Time, task: TaskId, cpus: &CpuSet) {
        self.0.confine(at, task, cpus);
        self.1.confine(at, task, cpus);
    }
    #[inline]
    fn reclass(&mut self, at: Time, task: TaskId, class: Class, nice: Nice) {
        self.0.reclass(at, task, class, nice);
        self.1.reclass(at, task, class, nice);
    }
}

impl<A: Observer, B: Observer, C: Observer> Observer for (A, B, C) {
    #[inline]
    fn observe(&mut self, at: Time, event: &Event) {
        self.0.observe(at, event);
        self.1.observe(at, event);
        self.2.observe(at, event);
    }
    #[inline]
    fn confine(&mut self, at: Time, task: TaskId, cpus: &CpuSet) {
        self.0.confine(at, task, cpus);
        self.1.confine(at, task, cpus);
        self.2.confine(at, task, cpus);
    }
    #[inline]
    fn reclass(&mut self, at: Time, task: TaskId, class: Class, nice: Nice) {
        self.0.reclass(at, task, class, nice);
        self.1.reclass(at, task, class, nice);
        self.2.reclass(at, task, class, nice);
    }
}

/// Keeps everything: for tests and for small runs.
impl Observer for Vec<(Time, Event)> {
    fn observe(&mut self, at: Time, event: &Event) {
        self.push((at, *event));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Notes each event's time, and how it came: alone, or with how many others.
    #[derive(Default)]
    struct Noted(Vec<(Time, usize)>);

    impl Observer for Noted {
        fn observe(&mut self, at: Time, _: &Event) {
            self.0.push((at, 1));
        }
        fn observe_all(&mut self, events: &[(Time, Event)]) {
            self.0.extend(events.iter().map(|(at, _)| (*at, events.len())));
        }
    }

    fn shows(mut observer: impl Observer) {
        let event = |at| (Time(at), Event::Fork { parent: None, child: TaskId(0) });
        observer.observe(Time(1), &event(1).1);
        observer.observe_all(&[event(2), event(3)]);
    }

    /// Wrappers pass on what they are given, batches as batches.
    #[test]
    fn a_borrowed_or_optional_observer_sees_single_events_and_batches() {
        let expected = [(Time(1), 1), (Time(2), 2), (Time(3), 2)];
        let mut borrowed = Noted::default();
        shows(&mut borrowed);
        assert_eq!(borrowed.0, expected);
        let mut optional = Some(Noted::default());
        shows(&mut optional);
        assert_eq!(optional.expect("it was given").0, expected);
        shows(None::<Noted>);
    }
}
