//! Blame: the latencies of a run, and what each of the longest was spent on.
//!
//! [`Longest`] finds the longest latencies in one pass over the events. [`Blame`] explains them in a second pass over
//! the same events, which a recording repeats and a simulation of the same seed does. Segments are contiguous from the
//! begin of a latency to its end, so they sum to its length.
//!
//! A latency is a wait for a CPU; a request, from its arrival to its answer, along the critical path; or an I/O. The
//! memory of both passes depends on the number of tasks and on the longest latency, and not on the number of events.

mod disks;
mod longest;
mod open;
mod pieces;
mod trail;
mod walk;

pub use disks::ServedFirst;
pub use longest::{Lateness, Longest};

use crate::subject::Subject;
use crate::tracker::Tracker;
use disks::{Disks, IoTimes};
use goodness_core::{
    CpuId, CpuSet, Event, IoEvent, IoReason, IoStage, LockId, Observer, Off, Overhead, Placement, Reason, Span, State,
    TaskId, Time,
};
use open::OpenIos;
use std::collections::BTreeMap;
use trail::{Trail, What};
use walk::Walk;

/// What a latency is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// From the waking to running.
    Wakeups,
    /// From runnable to running, after a wake-up or after losing the CPU, of tasks that have slept.
    Waits,
    /// Likewise, of all tasks.
    All,
    /// From the arrival of a request to its answer.
    Requests,
    /// From an I/O's arrival at the block layer to its end.
    Io,
}

impl Of {
    /// All, with their names.
    pub const NAMES: [(Of, &str); 5] =
        [(Of::Requests, "requests"), (Of::Io, "io"), (Of::Waits, "waits"), (Of::Wakeups, "wakeups"), (Of::All, "all")];

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Of> {
        Of::NAMES.iter().find(|(_, known)| *known == name).map(|(of, _)| *of)
    }

    /// True for waits for a CPU.
    const fn is_wait(self) -> bool {
        matches!(self, Of::Wakeups | Of::Waits | Of::All)
    }
}

/// A latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Late {
    /// The task that waited, or whose request it is.
    pub task: TaskId,
    /// Its begin.
    pub from: Time,
    /// Its end.
    pub to: Time,
    /// True if it had not ended when the run did.
    pub is_open: bool,
}

impl Late {
    /// Its length.
    #[must_use]
    pub fn span(&self) -> Span {
        self.to.since(self.from)
    }
}

/// What a part of a latency was spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// Its task ran.
    Computing,
    /// Another task ran on the CPU that it waited for.
    Behind(TaskId),
    /// Likewise, while another CPU idled.
    BesideIdle {
        /// The task that ran.
        behind: TaskId,
        /// True if the waiting task may use a CPU that idled; else only the running one may.
        allowed: bool,
    },
    /// The CPU that it waited for idled.
    IdleCpu,
    /// The CPU did work of the host: the switch, a tick, a wake-up.
    Host(Overhead),
    /// It slept, and no task woke it: a timer, or something from outside.
    Asleep,
    /// It slept uninterruptibly, and no task woke it: a device.
    Device,
    /// It slept, because too much memory was dirty, until the device had taken some of it.
    DirtyMemory,
    /// It slept until an I/O was done, which a limit of its group held.
    IoLimit,
    /// It slept until an I/O was done, which waited until its disk had served these.
    DiskQueue(ServedFirst),
    /// The events do not tell.
    NotTold,
}

/// A lock for which a task sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The lock.
    pub lock: LockId,
    /// The task that sleeps.
    pub waiter: TaskId,
    /// The task that wakes it by releasing the lock; where a timer wakes it, the owner when it fell asleep.
    pub holder: TaskId,
}

/// A rule that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// By the policy.
    Policy(Reason),
    /// By the elevator of a disk.
    Elevator(IoReason),
}

impl Told {
    /// Name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Told::Policy(reason) => reason.name(),
            Told::Elevator(reason) => reason.name(),
        }
    }
}

/// A part of a latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The task that the latency depended on.
    pub task: TaskId,
    /// CPU on which it ran or for which it waited; its last one while it slept.
    pub cpu: CpuId,
    /// Begin.
    pub from: Time,
    /// Length.
    pub span: Span,
    /// What it was spent on.
    pub cause: Cause,
    /// The rule by which the policy or an elevator let it wait, if it told.
    pub rule: Option<Told>,
    /// The rule by which the policy placed the task on this CPU, where the wait that begins here is told.
    pub placed: Option<Placement>,
    /// The lock for which a task on the path sleeps meanwhile; of several the one nearest to the cause.
    pub lock: Option<Held>,
}

/// How a wait began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The task was woken, by this task or by none.
    Woken(Option<TaskId>),
    /// It was preempted, or yielded.
    LostCpu,
    /// The events do not tell.
    NotTold,
}

/// A latency with its parts, in order of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The latency.
    pub late: Late,
    /// How it began, if it is a wait.
    pub origin: Origin,
    /// Its parts, which sum to its length.
    pub segments: Vec<Segment>,
}

/// Explains given latencies of a run.
pub struct Blame<F> {
    of: Of,
    tracker: Tracker<()>,
    trail: Trail,
    disks: Disks,
    open: OpenIos,
    /// Tasks that are about to sleep for a lock, with its owner.
    contended: BTreeMap<TaskId, (LockId, TaskId)>,
    /// Latencies to explain, with the number of each: I/Os that are submitted together can end together.
    wanted: BTreeMap<Late, usize>,
    take: F,
}

impl<F: FnMut(Explained)> Blame<F> {
    /// Explains `wanted`, which [`Longest`] found in the same events, to `take`.
    ///
    /// # Panics
    /// As [`Tracker::new`].
    #[must_use]
    pub fn new(cpus: usize, subjects: &[Subject], (of, wanted): (Of, &[Late]), take: F) -> Self {
        let longest = wanted.iter().map(Late::span).max().unwrap_or_default();
        let mut times = BTreeMap::new();
        wanted.iter().for_each(|late| *times.entry(*late).or_default() += 1);
        Blame {
            of,
            tracker: Tracker::new(cpus, subjects),
            trail: Trail::new(cpus, longest),
            disks: Disks::new(longest),
            open: OpenIos::new(&times),
            contended: BTreeMap::new(),
            wanted: times,
            take,
        }
    }

    /// Ends the run: explains what had not ended.
    pub fn finish(mut self) {
        if self.of == Of::Io {
            for (late, times) in std::mem::take(&mut self.open).finish(&self.disks) {
                self.end_io(late, Some(times));
            }
        }
        for (late, _) in std::mem::take(&mut self.wanted).into_iter().filter(|(late, _)| late.is_open) {
            self.explain(late);
        }
    }

    fn explain(&mut self, late: Late) {
        let walk = Walk { trail: &self.trail, tracker: &self.tracker };
        (self.take)(walk.explain(late, self.of));
    }

    fn look_for(&mut self, late: Late) {
        if self.take_wanted(late) {
            self.explain(late);
        }
    }

    /// True if `late` is wanted once more.
    fn take_wanted(&mut self, late: Late) -> bool {
        let Some(times) = self.wanted.get_mut(&late) else { return false };
        *times -= 1;
        if *times == 0 {
            self.wanted.remove(&late);
        }
        true
    }

    /// Follows an I/O: an end of the sleep of its task, or a latency of its own.
    fn follow(&mut self, at: Time, event: &IoEvent) {
        let done = self.disks.follow(at, event);
        let task = TaskId(event.submitter.0);
        if self.of == Of::Io {
            self.open.follow(at, event, &self.wanted);
            if event.stage == IoStage::Done {
                let late = Late { task, from: Time(at.0.saturating_sub(event.span.0)), to: at, is_open: false };
                self.end_io(late, done);
            }
        } else if let Some(times) = done.filter(|_| self.state(task) == State::Blocked) {
            self.trail.note(at, task, self.cpu_of(task), What::Io(times));
        }
    }

    /// Explains an I/O, if it is wanted.
    fn end_io(&mut self, late: Late, times: Option<IoTimes>) {
        if self.take_wanted(late) {
            let explained = walk::io(late, self.cpu_of(late.task), times);
            (self.take)(explained);
        }
    }

    fn cpu_of(&self, task: TaskId) -> CpuId {
        self.tracker.task(task).map_or(CpuId(0), |track| track.cpu())
    }

    fn switch(&mut self, at: Time, cpu: CpuId, (prev, off, next): (Option<TaskId>, Off, Option<TaskId>)) {
        if self.tracker.running_on(cpu) != prev {
            if let Some(lost) = self.tracker.running_on(cpu) {
                self.tracker.forget(cpu);
                self.trail.note(at, lost, cpu, What::Leaves(Off::Sleeping));
            }
            if let Some(prev) = prev.filter(|it| self.state(*it) == State::New) {
                self.tracker.appear(at, cpu, prev, off);
                self.trail.note(at, prev, cpu, What::Leaves(off));
            }
        } else if let Some(prev) = prev
            && self.tracker.stop(at, cpu, prev, off).is_some()
        {
            let contended = self.contended.remove(&prev).filter(|_| off == Off::Sleeping);
            let what = contended.map_or(What::Leaves(off), |(lock, owner)| What::SleepsFor(lock, owner));
            self.trail.note(at, prev, cpu, what);
        }
        let Some(next) = next else { return self.trail.idles(at, cpu) };
        let began = self.tracker.start(at, cpu, next).waited_since;
        self.trail.note(at, next, cpu, What::Runs);
        if let Some(from) = began.filter(|_| self.of.is_wait()) {
            self.look_for(Late { task: next, from, to: at, is_open: false });
        }
    }

    fn state(&self, task: TaskId) -> State {
        self.tracker.task(task).map_or(State::New, |track| track.state)
    }
}

impl<F: FnMut(Explained)> Observer for Blame<F> {
    fn observe(&mut self, at: Time, event: &Event) {
        match *event {
            Event::Wakeup { task, waker, cpu, .. } => {
                if self.tracker.wake(at, task, cpu).is_some() {
                    let waker = waker.map(|waker| (waker, self.trail.last_of(waker)));
                    self.trail.note(at, task, cpu, What::Wakes(waker));
                }
            }
            Event::Switch { cpu, prev, off, next } => self.switch(at, cpu, (prev, off, next)),
            Event::Migrate { task, to, .. } => {
                if self.tracker.migrate(task, to).is_some() {
                    self.trail.note(at, task, to, What::Moves);
                }
            }
            // Spinning is told when it is over; it counts as running.
            Event::Overhead { kind: Overhead::Spin, .. } => {}
            Event::Overhead { cpu, kind, span } => self.trail.spends(at, cpu, kind, span),
            Event::Fork { parent, child } => self.tracker.fork(parent, child),
            Event::Exit { task } => drop(self.tracker.exit(at, task)),
            Event::Served { task, latency } if self.of == Of::Requests => {
                let from = Time(at.0.saturating_sub(latency.0));
                self.look_for(Late { task, from, to: at, is_open: false });
            }
            Event::Io(ref event) => self.follow(at, event),
            Event::Contended { task, lock, holder } => drop(self.contended.insert(task, (lock, holder))),
            Event::Served { .. } => {}
        }
    }

    fn confine(&mut self, _: Time, task: TaskId, cpus: &CpuSet) {
        self.tracker.confine(task, cpus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hog runs alone through many ticks; then a sleeper waits for a part of a millisecond, and its CPU is charged
    /// for the pick at the switch.
    fn ticking() -> Vec<(Time, Event)> {
        let (cpu, hog, sleeper) = (CpuId(0), TaskId(0), TaskId(1));
        let us = |at: u64| Time(at * 1_000);
        let host = |at, kind, span| (us(at), Event::Overhead { cpu, kind, span: Span(span) });
        let switch = |at, prev, next| (us(at), Event::Switch { cpu, prev, off: Off::Preempted, next });
        let wake =
            |at, task| (us(at), Event::Wakeup { task, waker: None, cpu, from: goodness_core::WakeSource::Interrupt });
        let mut events = vec![wake(0, hog), switch(0, None, Some(hog))];
        events.extend((1..10).map(|tick| host(tick * 1_000, Overhead::Tick, 2_000)));
        events.extend([
            wake(9_500, sleeper),
            host(10_000, Overhead::Tick, 2_000),
            host(10_000, Overhead::Search, 3_000),
        ]);
        events.push(switch(10_000, Some(hog), Some(sleeper)));
        events
    }

    #[test]
    fn ticks_do_not_hide_who_runs() {
        let subjects = vec![Subject::default(); 2];
        let late = Late { task: TaskId(1), from: Time(9_500_000), to: Time(10_000_000), is_open: false };
        let mut explained = Vec::new();
        let mut blame = Blame::new(1, &subjects, (Of::Wakeups, &[late]), |it| explained.push(it));
        ticking().iter().for_each(|(at, event)| blame.observe(*at, event));
        blame.finish();
        let causes: Vec<(Cause, Span)> = explained[0].segments.iter().map(|it| (it.cause, it.span)).collect();
        assert_eq!(causes, [(Cause::Behind(TaskId(0)), Span(500_000))]);
        assert_eq!(explained[0].origin, Origin::Woken(None));
    }

    #[test]
    fn a_wait_begins_with_who_woke_the_task_or_with_its_preemption() {
        let (cpu, first, second) = (CpuId(0), TaskId(0), TaskId(1));
        let switch = |prev, off, next| Event::Switch { cpu, prev: Some(prev), off, next: Some(next) };
        let wakeup = |task, waker| Event::Wakeup { task, waker, cpu, from: goodness_core::WakeSource::Task };
        let events = [
            (0, wakeup(first, None)),
            (0, Event::Switch { cpu, prev: None, off: Off::Preempted, next: Some(first) }),
            (1_000, wakeup(second, Some(first))),
            (2_000, switch(first, Off::Preempted, second)),
            (4_000, switch(second, Off::Sleeping, first)),
        ];
        let lates = [(second, 1_000, 2_000), (first, 2_000, 4_000)].map(|(task, from, to)| Late {
            task,
            from: Time(from),
            to: Time(to),
            is_open: false,
        });
        let (subjects, mut origins) = (vec![Subject::default(); 2], Vec::new());
        let mut blame = Blame::new(1, &subjects, (Of::All, &lates), |it| origins.push(it.origin));
        events.iter().for_each(|(at, event)| blame.observe(Time(*at), event));
        blame.finish();
        assert_eq!(origins, [Origin::Woken(Some(first)), Origin::LostCpu]);
    }
}
