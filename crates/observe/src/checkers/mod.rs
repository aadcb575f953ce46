//! Invariants of every run. [`CHECKERS`] lists them; each is a file. Each costs a few comparisons per event, and all
//! share one [`Tracker`].

mod affinity;
mod bounded_service;
mod bounded_wait;
mod conservation;
mod exit_final;
mod no_lost_task;
mod once_per_request;
mod one_cpu_per_task;
mod work_conserving;

pub use bounded_wait::Wait;

use crate::tracker::Tracker;
use bounded_service::BoundedService;
use bounded_wait::BoundedWait;
use conservation::Conservation;
use exit_final::ExitFinal;
use goodness_core::{CpuId, IoEvent, Off, Span, State, TaskId, Time};
use no_lost_task::Forgotten;
use once_per_request::OncePerRequest;
use std::fmt;
use work_conserving::WorkConserving;

/// Description of a checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invariant {
    /// Name.
    pub name: &'static str,
    /// Summary in one sentence.
    pub summary: &'static str,
}

/// All invariants. The last two are reported as measurements, and violated only if a bound was requested.
pub const CHECKERS: &[Invariant] = &[
    conservation::INVARIANT,
    one_cpu_per_task::INVARIANT,
    no_lost_task::INVARIANT,
    affinity::INVARIANT,
    exit_final::INVARIANT,
    once_per_request::INVARIANT,
    bounded_service::INVARIANT,
    bounded_wait::INVARIANT,
    work_conserving::INVARIANT,
];

/// A broken invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the invariant.
    pub checker: &'static str,
    /// Time.
    pub at: Time,
    /// Description with the tasks concerned.
    pub sentence: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} violated at {}: {}", self.checker, self.at, self.sentence)
    }
}

/// Reason a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Time was up; tasks may be waiting.
    Horizon,
    /// Nothing was scheduled any more: a task that still waits for a CPU was forgotten.
    Quiet,
}

/// The verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The first violations in order of time, at most [`Checkers::KEPT`](crate::Checkers::KEPT).
    pub violations: Vec<Violation>,
    /// Number of all violations.
    pub count: u64,
    /// Longest time a task was runnable without running, whether it ended or not; `None` if no task ever waited.
    pub longest_wait: Option<Wait>,
    /// The watchdog's limit, if there was one.
    pub watchdog: Option<Span>,
    /// Of the waits beyond that limit, the first to reach it.
    pub overdue: Option<Wait>,
    /// The longest continuous time a CPU was idle while a task that may run there waited; `None` where affinities leave
    /// it unknown.
    pub longest_idling: Option<Span>,
}

/// Collects violations: the first ones in full, the others as a count.
#[derive(Clone, Debug, Default)]
struct Found {
    first: Vec<Violation>,
    count: u64,
}

impl Found {
    /// Records a violation, if there is one.
    #[inline]
    fn enter(&mut self, invariant: &Invariant, at: Time, sentence: Option<String>) {
        if let Some(sentence) = sentence {
            self.keep(invariant.name, at, sentence);
        }
    }

    #[cold]
    fn keep(&mut self, checker: &'static str, at: Time, sentence: String) {
        self.count += 1;
        if self.first.len() < Rules::KEPT {
            self.first.push(Violation { checker, at, sentence });
        }
    }
}

/// Previous task, its state, and the next task of a switch.
type Switched = (Option<TaskId>, Off, Option<TaskId>);

/// All invariants of a run. A quick test covers the common valid cases; the invariants themselves check the rest.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    found: Found,
    conservation: Conservation,
    exits: ExitFinal,
    /// Created at the first I/O event.
    requests: Option<Box<OncePerRequest>>,
    pub service: BoundedService,
    pub waits: BoundedWait,
    pub idling: WorkConserving,
    pub forgotten: Forgotten,
}

impl Rules {
    /// Violations kept in full.
    pub const KEPT: usize = 16;

    pub fn new(cpus: usize) -> Rules {
        Rules {
            found: Found::default(),
            conservation: Conservation::new(cpus),
            exits: ExitFinal::default(),
            requests: None,
            service: BoundedService::default(),
            waits: BoundedWait::default(),
            idling: WorkConserving::default(),
            forgotten: Forgotten::new(cpus),
        }
    }

    pub fn first(&self) -> Option<&Violation> {
        self.found.first.first()
    }

    /// True if a CPU was last known to idle while a task waits.
    #[inline]
    pub fn sees_idling(&self) -> bool {
        self.idling.changes(Some(false))
    }

    /// Advances from `now`. `idles` says whether a CPU idles while a task waits.
    #[inline(always)]
    pub fn pass(&mut self, now: Time, idles: Option<bool>) {
        if self.idling.changes(idles) {
            self.look_at_idling(now, idles);
        }
    }

    #[cold]
    fn look_at_idling(&mut self, now: Time, idles: Option<bool>) {
        let idled = self.idling.changed(now, idles);
        self.found.enter(&work_conserving::INVARIANT, now, idled);
    }

    #[cold]
    pub fn clock_went_back(&mut self, from: Time, to: Time) {
        self.found.enter(&conservation::INVARIANT, to, Some(conservation::clock_went_back(from, to)));
    }

    /// True if `cpu` exists; an event that names another one is a violation and not followed any further.
    #[inline(always)]
    pub fn exists<T: Default>(&mut self, at: Time, cpu: CpuId, tracker: &Tracker<T>) -> bool {
        let exists = cpu.index() < tracker.cpu_count();
        if !exists {
            self.look_at_cpu(at, cpu, tracker);
        }
        exists
    }

    #[cold]
    fn look_at_cpu<T: Default>(&mut self, at: Time, cpu: CpuId, tracker: &Tracker<T>) {
        self.found.enter(&affinity::INVARIANT, at, affinity::unknown_cpu(cpu, tracker));
    }

    #[inline(always)]
    pub fn wakeup<T: Default>(&mut self, at: Time, task: TaskId, cpu: CpuId, tracker: &mut Tracker<T>) {
        let track = tracker.task_mut(task);
        if !(matches!(track.state, State::New | State::Blocked) && track.is_free()) {
            self.look_at_wakeup(at, task, cpu, tracker);
        }
    }

    #[cold]
    fn look_at_wakeup<T: Default>(&mut self, at: Time, task: TaskId, cpu: CpuId, tracker: &mut Tracker<T>) {
        let track = tracker.task_mut(task);
        self.found.enter(&no_lost_task::INVARIANT, at, no_lost_task::wakeup(task, track));
        self.found.enter(&exit_final::INVARIANT, at, exit_final::acts(task, track, "was woken"));
        self.found.enter(&affinity::INVARIANT, at, affinity::placed(task, cpu, tracker));
    }

    /// Checks a switch of `cpu`, where `running` is known to run, before the tracker follows it.
    #[inline(always)]
    pub fn switch(&mut self, at: Time, cpu: CpuId, (prev, off, next): Switched, running: Option<TaskId>) {
        if running != prev || prev.is_some() != next.is_some() || self.exits.concerns(off) {
            self.look_at_switch(at, cpu, (prev, off, next), running);
        }
    }

    #[cold]
    fn look_at_switch(&mut self, at: Time, cpu: CpuId, (prev, off, next): Switched, running: Option<TaskId>) {
        self.found.enter(&no_lost_task::INVARIANT, at, no_lost_task::switch_out(cpu, prev, running));
        self.conservation.switched(at, cpu, (prev.is_some(), Some(off)), next.is_some());
        if let Some(prev) = prev {
            let left = self.exits.left(at, prev, off);
            self.found.enter(&exit_final::INVARIANT, at, left);
        }
    }

    /// Records the length of a slice that ended.
    #[inline(always)]
    pub fn ran(&mut self, span: Span) {
        self.conservation.ran(span);
    }

    #[inline(always)]
    pub fn switch_in<T: Default>(&mut self, at: Time, cpu: CpuId, task: TaskId, tracker: &mut Tracker<T>) {
        let track = tracker.task_mut(task);
        if !(track.state == State::Queued && track.is_free()) {
            self.look_at_switch_in(at, cpu, task, tracker);
        }
    }

    #[cold]
    fn look_at_switch_in<T: Default>(&mut self, at: Time, cpu: CpuId, task: TaskId, tracker: &mut Tracker<T>) {
        let track = tracker.task_mut(task);
        self.found.enter(&one_cpu_per_task::INVARIANT, at, one_cpu_per_task::switch_in(task, cpu, track));
        self.found.enter(&no_lost_task::INVARIANT, at, no_lost_task::switch_in(task, cpu, track));
        self.found.enter(&exit_final::INVARIANT, at, exit_final::acts(task, track, "was given a CPU"));
        self.found.enter(&affinity::INVARIANT, at, affinity::placed(task, cpu, tracker));
    }

    /// `task` got a CPU after it had waited since `since`.
    #[inline(always)]
    pub fn waited(&mut self, at: Time, task: TaskId, since: Time) {
        if self.waits.is_remarkable(since, at) {
            self.look_at_wait(at, task, since);
        }
    }

    #[cold]
    fn look_at_wait(&mut self, at: Time, task: TaskId, since: Time) {
        let waited = self.waits.waited(task, since, at);
        self.found.enter(&bounded_wait::INVARIANT, at, waited);
    }

    pub fn migrate<T: Default>(&mut self, at: Time, task: TaskId, to: CpuId, tracker: &mut Tracker<T>) {
        self.acts(at, task, tracker, "was moved");
        self.forgotten.moved(at, to);
        self.found.enter(&affinity::INVARIANT, at, affinity::placed(task, to, tracker));
    }

    pub fn spent(&mut self, at: Time, cpu: CpuId, span: Span) {
        self.conservation.spent(at, cpu, span);
    }

    pub fn exit<T: Default>(&mut self, at: Time, task: TaskId, tracker: &mut Tracker<T>) {
        self.acts(at, task, tracker, "ended again");
        self.exits.exited(at, task, tracker.task_mut(task));
    }

    /// Checks that `task`, which acts, is alive.
    pub fn acts<T: Default>(&mut self, at: Time, task: TaskId, tracker: &mut Tracker<T>, deed: &str) {
        let sentence = exit_final::acts(task, tracker.task_mut(task), deed);
        self.found.enter(&exit_final::INVARIANT, at, sentence);
    }

    /// Block I/O went one station on.
    #[cold]
    pub fn io(&mut self, at: Time, event: &IoEvent) {
        let wrong = self.requests.get_or_insert_default().observe(event);
        self.found.enter(&once_per_request::INVARIANT, at, wrong);
        let late = self.service.observe(at, event);
        self.found.enter(&bounded_service::INVARIANT, at, late);
    }

    /// Ends the run at `end`.
    pub fn finish<T: Default>(&mut self, end: Time, ending: Ending, tracker: &Tracker<T>) -> Checked {
        self.found.enter(&exit_final::INVARIANT, end, self.exits.at_end());
        let lost = match ending {
            Ending::Quiet => no_lost_task::at_end(tracker),
            Ending::Horizon => self.forgotten.at_end(end, tracker, |cpu| self.conservation.idle_since(cpu)),
        };
        self.found.enter(&no_lost_task::INVARIANT, end, lost);
        let unfinished = self.requests.as_ref().and_then(|requests| requests.at_end(ending == Ending::Quiet));
        self.found.enter(&once_per_request::INVARIANT, end, unfinished);
        self.found.enter(&bounded_service::INVARIANT, end, self.service.at_end(end));
        self.found.enter(&conservation::INVARIANT, end, self.conservation.at_end(end, tracker));
        self.found.enter(&bounded_wait::INVARIANT, end, self.waits.at_end(end, tracker));
        let idled = self.idling.changed(end, tracker.idles_while_queued().map(|_| false));
        self.found.enter(&work_conserving::INVARIANT, end, idled);
        Checked {
            violations: std::mem::take(&mut self.found.first),
            count: self.found.count,
            longest_wait: self.waits.longest,
            watchdog: (self.waits.limit < Span::MAX).then_some(self.waits.limit),
            overdue: self.waits.overdue,
            longest_idling: self.idling.longest(),
        }
    }
}

#[cfg(test)]
mod stream;
#[cfg(test)]
mod tests;
