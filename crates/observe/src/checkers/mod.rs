//! What must hold in every run. [`CHECKERS`] lists the invariants; each is a file. All of them cost a few
//! comparisons per event and read one shared [`Tracker`].

mod affinity;
mod bounded_wait;
mod conservation;
mod exit_final;
mod no_lost_task;
mod one_cpu_per_task;
mod work_conserving;

pub use bounded_wait::Wait;

use crate::subject::Subject;
use crate::tracker::Tracker;
use bounded_wait::BoundedWait;
use conservation::Conservation;
use exit_final::ExitFinal;
use goodness_core::{CpuId, Event, Observer, Off, Span, State, TaskId, Time};
use std::fmt;
use work_conserving::WorkConserving;

/// What a checker says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invariant {
    /// Name.
    pub name: &'static str,
    /// One sentence.
    pub summary: &'static str,
}

/// Every invariant. The last two are reported as measures, and violated only where a bound was asked for.
pub const CHECKERS: &[Invariant] = &[
    conservation::INVARIANT,
    one_cpu_per_task::INVARIANT,
    no_lost_task::INVARIANT,
    affinity::INVARIANT,
    exit_final::INVARIANT,
    bounded_wait::INVARIANT,
    work_conserving::INVARIANT,
];

/// An invariant that did not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the invariant.
    pub checker: &'static str,
    /// When.
    pub at: Time,
    /// Who and what.
    pub sentence: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} violated at {}: {}", self.checker, self.at, self.sentence)
    }
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Time was up; tasks may be waiting.
    Horizon,
    /// Nothing was left to happen: whoever still waits for a CPU was forgotten.
    Quiet,
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The first violations in the order of time, at most [`Checkers::KEPT`].
    pub violations: Vec<Violation>,
    /// How many there were in all.
    pub count: u64,
    /// The longest time a task was runnable but did not run, finished or not; `None` if nobody ever waited.
    pub longest_wait: Option<Wait>,
    /// The longest time on end during which a CPU idled while a task waited that may run there; `None` where
    /// affinities leave it unknown.
    pub longest_idling: Option<Span>,
}

/// Collects violations: the first ones in full, the rest as a number.
#[derive(Clone, Debug, Default)]
struct Found {
    first: Vec<Violation>,
    count: u64,
}

impl Found {
    /// Enters the violation if there is one.
    #[inline]
    fn enter(&mut self, invariant: &Invariant, at: Time, sentence: Option<String>) {
        if let Some(sentence) = sentence {
            self.keep(invariant.name, at, sentence);
        }
    }

    #[cold]
    fn keep(&mut self, checker: &'static str, at: Time, sentence: String) {
        self.count += 1;
        if self.first.len() < Checkers::KEPT {
            self.first.push(Violation { checker, at, sentence });
        }
    }
}

/// Holds a run against all invariants.
#[derive(Clone, Debug)]
pub struct Checkers {
    now: Time,
    /// Keeps each task's CPU time.
    tracker: Tracker<Span>,
    found: Found,
    conservation: Conservation,
    exits: ExitFinal,
    waits: BoundedWait,
    idling: WorkConserving,
}

impl Checkers {
    /// Violations kept in full.
    pub const KEPT: usize = 16;

    /// Checks a machine of `cpus` CPUs. `subjects` are the tasks known beforehand, by task number.
    ///
    /// # Panics
    /// As [`Tracker::new`].
    #[must_use]
    pub fn new(cpus: usize, subjects: &[Subject]) -> Checkers {
        Checkers {
            now: Time::ZERO,
            tracker: Tracker::new(cpus, subjects),
            found: Found::default(),
            conservation: Conservation::new(cpus),
            exits: ExitFinal::default(),
            waits: BoundedWait::default(),
            idling: WorkConserving::default(),
        }
    }

    /// A wait longer than `bound` is a violation.
    #[must_use]
    pub fn with_wait_bound(mut self, bound: Span) -> Checkers {
        self.waits.bound = bound;
        self
    }

    /// A CPU that idles longer than `tolerance` on end, while a task waits that may run there, is a violation.
    #[must_use]
    pub fn with_work_conserving(mut self, tolerance: Span) -> Checkers {
        self.idling.tolerance = tolerance;
        self
    }

    /// The first violation so far; ask in the loop of a run that should stop there.
    #[must_use]
    pub fn first(&self) -> Option<&Violation> {
        self.found.first.first()
    }

    /// CPU time of `task` up to its latest switch-out, for a host that compares it with its own account.
    #[must_use]
    pub fn cpu_time(&self, task: TaskId) -> Span {
        self.tracker.task(task).map_or(Span::ZERO, |t| t.own)
    }

    /// Ends the run at `end`, or at its last event if that is later.
    #[must_use]
    pub fn finish(mut self, end: Time, ending: Ending) -> Checked {
        self.pass(end.max(self.now));
        let end = self.now;
        self.found.enter(&exit_final::INVARIANT, end, self.exits.at_end());
        if ending == Ending::Quiet {
            self.found.enter(&no_lost_task::INVARIANT, end, no_lost_task::at_end(&self.tracker));
        }
        self.found.enter(&conservation::INVARIANT, end, self.conservation.at_end(end, &self.tracker));
        self.found.enter(&bounded_wait::INVARIANT, end, self.waits.at_end(end, &self.tracker));
        let idling = self.idling.at_end(end, &self.tracker);
        self.found.enter(&work_conserving::INVARIANT, end, idling);
        Checked {
            violations: self.found.first,
            count: self.found.count,
            longest_wait: self.waits.longest,
            longest_idling: self.idling.longest(),
        }
    }

    /// Lets the time up to `at` pass in the state reached; a clock that goes back stays where it was.
    #[inline]
    fn pass(&mut self, at: Time) {
        if at > self.now {
            let idled = self.idling.pass(self.now, &self.tracker);
            self.found.enter(&work_conserving::INVARIANT, at, idled);
            self.now = at;
        } else if at < self.now {
            self.found.enter(&conservation::INVARIANT, at, Some(conservation::clock_went_back(self.now, at)));
        }
    }

    /// Whether `cpu` exists; an event that names another one is a violation and not followed any further.
    #[inline]
    fn exists(&mut self, cpu: CpuId) -> bool {
        let exists = cpu.index() < self.tracker.cpu_count();
        if !exists {
            self.found.enter(&affinity::INVARIANT, self.now, affinity::unknown_cpu(cpu, &self.tracker));
        }
        exists
    }

    #[inline]
    fn wakeup(&mut self, task: TaskId, cpu: CpuId) {
        if !self.exists(cpu) {
            return;
        }
        let track = self.tracker.task_mut(task);
        if !(matches!(track.state, State::New | State::Blocked) && track.is_free()) {
            self.look_at_wakeup(task, cpu);
        }
        self.tracker.wake(self.now, task, cpu);
    }

    /// What [`Self::wakeup`] could not see to be sound at a glance.
    fn look_at_wakeup(&mut self, task: TaskId, cpu: CpuId) {
        let (at, track) = (self.now, self.tracker.task_mut(task));
        self.found.enter(&no_lost_task::INVARIANT, at, no_lost_task::wakeup(task, track));
        self.found.enter(&exit_final::INVARIANT, at, exit_final::acts(task, track, "was woken"));
        self.found.enter(&affinity::INVARIANT, at, affinity::placed(task, cpu, &self.tracker));
    }

    #[inline]
    fn switch(&mut self, cpu: CpuId, prev: Option<TaskId>, off: Off, next: Option<TaskId>) {
        if !self.exists(cpu) {
            return;
        }
        let at = self.now;
        let running = self.tracker.running_on(cpu);
        if running != prev {
            self.found.enter(&no_lost_task::INVARIANT, at, no_lost_task::switch_out(cpu, prev, running));
        }
        if prev.is_some() != next.is_some() || running != prev {
            self.conservation.switched(at, cpu, prev.is_some(), next.is_some());
        }
        if let Some(prev) = prev {
            if self.exits.concerns(off) {
                let left = self.exits.left(at, prev, off);
                self.found.enter(&exit_final::INVARIANT, at, left);
            }
            if let Some(ended) = self.tracker.stop(at, cpu, prev, off) {
                let ran = at.since(ended.began);
                ended.task.own += ran;
                self.conservation.ran(ran);
            }
        }
        if let Some(next) = next {
            self.switch_in(at, cpu, next);
        }
    }

    #[inline]
    fn switch_in(&mut self, at: Time, cpu: CpuId, task: TaskId) {
        let track = self.tracker.task_mut(task);
        if !(track.state == State::Queued && track.is_free()) {
            self.look_at_switch_in(at, cpu, task);
        }
        let began = self.tracker.start(at, cpu, task);
        if let Some(since) = began.waited_since
            && self.waits.is_remarkable(since, at)
        {
            let waited = self.waits.waited(task, since, at);
            self.found.enter(&bounded_wait::INVARIANT, at, waited);
        }
    }

    /// What [`Self::switch_in`] could not see to be sound at a glance.
    fn look_at_switch_in(&mut self, at: Time, cpu: CpuId, task: TaskId) {
        let track = self.tracker.task_mut(task);
        self.found.enter(&one_cpu_per_task::INVARIANT, at, one_cpu_per_task::switch_in(task, cpu, track));
        self.found.enter(&no_lost_task::INVARIANT, at, no_lost_task::switch_in(task, cpu, track));
        self.found.enter(&exit_final::INVARIANT, at, exit_final::acts(task, track, "was given a CPU"));
        self.found.enter(&affinity::INVARIANT, at, affinity::placed(task, cpu, &self.tracker));
    }

    fn migrate(&mut self, task: TaskId, to: CpuId) {
        if self.exists(to) {
            let track = self.tracker.task_mut(task);
            self.found.enter(&exit_final::INVARIANT, self.now, exit_final::acts(task, track, "was moved"));
            self.found.enter(&affinity::INVARIANT, self.now, affinity::placed(task, to, &self.tracker));
            self.tracker.migrate(task, to);
        }
    }

    fn exit(&mut self, task: TaskId) {
        let track = self.tracker.task_mut(task);
        self.found.enter(&exit_final::INVARIANT, self.now, exit_final::acts(task, track, "ended again"));
        self.exits.exited(self.now, task, track);
        self.tracker.exit(self.now, task);
    }
}

impl Observer for Checkers {
    #[inline]
    fn observe(&mut self, at: Time, event: &Event) {
        self.pass(at);
        match *event {
            Event::Wakeup { task, cpu, .. } => self.wakeup(task, cpu),
            Event::Switch { cpu, prev, off, next } => self.switch(cpu, prev, off, next),
            Event::Migrate { task, to, .. } => self.migrate(task, to),
            Event::Overhead { cpu, span, .. } => {
                if self.exists(cpu) {
                    self.conservation.spent(cpu, span);
                }
            }
            Event::Fork { parent, child } => {
                let track = self.tracker.task_mut(child);
                self.found.enter(&exit_final::INVARIANT, self.now, exit_final::acts(child, track, "was created"));
                self.tracker.fork(parent, child);
            }
            Event::Exit { task } => self.exit(task),
            Event::Served { task, .. } => {
                let track = self.tracker.task_mut(task);
                self.found.enter(&exit_final::INVARIANT, self.now, exit_final::acts(task, track, "served a request"));
            }
        }
    }
}

#[cfg(test)]
mod stream;
#[cfg(test)]
mod tests;
