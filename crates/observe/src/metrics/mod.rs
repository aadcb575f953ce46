//! What a run was like, in numbers. [`METRICS`] lists what is measured; each measure is a file.
//!
//! Conventions, shared by simulated and recorded runs:
//!
//! - Measurements begin at the warm-up instant: times are clipped to it, and only events strictly after it are
//!   counted. So a wait is a latency only if its waking came after it, and tasks which are all woken to start the
//!   run do not count as late.
//! - Latencies, stints, turnaround, shares and throughput are those of the *judged* tasks; switches, migrations,
//!   runqueues, utilisation and overhead are those of the machine, all tasks.
//! - What is not over at the end (a wait, a task) is left out of its distribution and counted as unfinished; the
//!   stint and the wait that are under way count towards CPU and waiting time, and the stint as a stint.
//! - Percentiles are nearest-rank, from histograms (see [`crate::histogram`]).
//! - What could not be measured is `None`, never 0.

mod about;
mod completion;
mod fairness;
mod idle;
mod measured;
mod overhead;
mod request_latency;
mod run_queue;
mod slice_length;
mod switches;
mod task_account;
mod usage;
mod wakeup_latency;

pub use about::{About, Better, METRICS};
pub use measured::{Distributions, Measured, TaskMeasured, Value, Values};

use crate::subject::Subject;
use crate::tracker::{TaskTrack, Tracker};
use completion::Completion;
use fairness::Fairness;
use goodness_core::{CpuId, Event, Observer, Off, State, TaskId, Time};
use idle::IdleWhileQueued;
use overhead::SchedulerTime;
use request_latency::RequestLatency;
use run_queue::RunQueues;
use slice_length::SliceLength;
use task_account::TaskAccount;
use wakeup_latency::WakeupLatency;

/// The part of the run that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The warm-up instant.
    pub from: Time,
    /// The end of the run.
    pub to: Time,
}

impl Window {
    /// Its length in nanoseconds, as a float for ratios.
    #[must_use]
    pub fn length(&self) -> f64 {
        self.to.since(self.from).ns() as f64
    }
}

/// Measures a run. All memory that grows with tasks or CPUs is taken at construction or at a task's first event.
#[derive(Clone, Debug)]
pub struct Metrics {
    from: Time,
    now: Time,
    /// Whether the warm-up is over.
    measuring: bool,
    tracker: Tracker<TaskAccount>,
    wakeup: WakeupLatency,
    requests: RequestLatency,
    slices: SliceLength,
    queues: RunQueues,
    idle: IdleWhileQueued,
    overhead: SchedulerTime,
    fairness: Fairness,
    completion: Completion,
}

impl Metrics {
    /// Measures a machine of `cpus` CPUs from the warm-up instant `from`. `subjects` are the tasks known
    /// beforehand, by task number.
    ///
    /// # Panics
    /// As [`Tracker::new`].
    #[must_use]
    pub fn new(cpus: usize, from: Time, subjects: &[Subject]) -> Metrics {
        Metrics {
            from,
            now: Time::ZERO,
            measuring: false,
            tracker: Tracker::new(cpus, subjects),
            wakeup: WakeupLatency::new(subjects.len()),
            requests: RequestLatency::default(),
            slices: SliceLength::default(),
            queues: RunQueues::new(cpus, from),
            idle: IdleWhileQueued::default(),
            overhead: SchedulerTime::default(),
            fairness: Fairness::new(cpus, subjects),
            completion: Completion::default(),
        }
    }

    /// Ends the run at `end`, or at its last event if that is later, and says what was measured.
    #[must_use]
    pub fn finish(mut self, end: Time) -> Measured {
        let end = end.max(self.now);
        self.advance(end);
        let window = Window { from: self.from, to: end };
        self.close(end);
        let mut values = Values::default();
        self.wakeup.report(&mut values);
        self.requests.report(window, &mut values);
        self.slices.report(&mut values);
        switches::report(&self.tracker, &mut values);
        self.queues.report(end, &mut values);
        self.idle.report(window, &mut values);
        usage::report(window, &self.tracker, &mut values);
        self.overhead.report(usage::busy(&self.tracker), &mut values);
        self.fairness.report(&self.tracker, &mut values);
        self.completion.report(window, &self.tracker, &mut values);
        Measured {
            window,
            tasks: task_account::report(window, &self.tracker, &self.wakeup),
            unfinished_waits: self.wakeup.unfinished(),
            overhead: self.overhead.by_kind(),
            distributions: Distributions {
                wakeup_latency: self.wakeup.distribution,
                request_latency: self.requests.distribution,
                slice_length: self.slices.distribution,
                runqueue_length: self.queues.distribution,
            },
            values: values.into_list(),
        }
    }

    /// Accounts stints and waits that are under way at the end.
    fn close(&mut self, end: Time) {
        for cpu in (0..self.tracker.cpu_count()).map(|cpu| CpuId(cpu as u32)) {
            let Some(task) = self.tracker.running_on(cpu) else { continue };
            let track = self.tracker.task_mut(task);
            let ran = end.since(track.since);
            track.own.cpu_time += ran;
            if track.is_judged() && ran.ns() > 0 {
                self.slices.record(ran);
            }
        }
        task_account::close_waits(end, &mut self.tracker, &mut self.wakeup);
        self.fairness.close(end, &self.tracker);
    }

    /// Lets the time up to `at` pass in the state reached.
    #[inline]
    fn advance(&mut self, at: Time) {
        if at <= self.now {
            return;
        }
        if !self.measuring && at > self.from {
            self.begin();
        }
        if self.measuring {
            self.idle.pass(self.now, at, &self.tracker);
        }
        self.now = at;
    }

    /// The warm-up is over.
    #[cold]
    fn begin(&mut self) {
        self.measuring = true;
        self.now = self.from;
        self.tracker.begin_at(self.from);
        self.fairness.begin_at(self.from, &self.tracker);
    }

    #[inline]
    fn wake(&mut self, at: Time, task: TaskId, cpu: CpuId) {
        let Some(track) = self.tracker.wake(at, task, cpu) else { return };
        track.own.wakeups += u32::from(self.measuring);
        self.queues.join(at, cpu);
        self.fairness.runnable(at, task);
    }

    #[inline]
    fn switch(&mut self, at: Time, cpu: CpuId, prev: Option<TaskId>, off: Off, next: Option<TaskId>) {
        if let Some(prev) = prev {
            self.stop(at, cpu, prev, off);
        }
        if let Some(lost) = self.tracker.running_on(cpu) {
            self.lose(at, cpu, lost);
        }
        if let Some(next) = next {
            self.start(at, cpu, next);
        }
    }

    #[inline]
    fn stop(&mut self, at: Time, cpu: CpuId, task: TaskId, off: Off) {
        let Some(ended) = self.tracker.stop(at, cpu, task, off) else {
            return self.stop_unknown(at, cpu, task, off);
        };
        let track = ended.task;
        if self.measuring {
            let ran = at.since(ended.began);
            track.own.cpu_time += ran;
            track.own.switched(off);
            if track.is_judged() {
                self.slices.record(ran);
            }
        }
        self.fairness.stopped(at, task);
        if !off.is_runnable() {
            self.queues.leave(at, cpu);
            self.fairness.blocked(at, task);
        }
    }

    /// A switch away from a task that was not known to run there: no stint, but perhaps a wait begins.
    #[cold]
    fn stop_unknown(&mut self, at: Time, cpu: CpuId, task: TaskId, off: Off) {
        if self.tracker.appear(at, cpu, task, off) {
            self.queues.join(at, cpu);
            self.fairness.runnable(at, task);
        }
    }

    #[inline]
    fn start(&mut self, at: Time, cpu: CpuId, task: TaskId) {
        let began = self.tracker.start(at, cpu, task);
        match began.counted_on {
            Some(from) => self.queues.shift(at, from, cpu),
            None => {
                self.queues.join(at, cpu);
                self.fairness.runnable(at, task);
            }
        }
        self.fairness.started(at, task);
        if !self.measuring {
            return;
        }
        let track = began.task;
        track.own.placed(began.ran_on, cpu);
        if let Some(since) = began.waited_since {
            track.own.wait += at.since(since);
            if began.woken {
                self.wakeup.record(task, at.since(since), track);
            }
        }
    }

    /// `lost` is still believed to run on `cpu`, although its switch was never seen.
    #[cold]
    fn lose(&mut self, at: Time, cpu: CpuId, lost: TaskId) {
        self.queues.leave(at, cpu);
        self.fairness.stopped(at, lost);
        self.fairness.blocked(at, lost);
        self.tracker.forget(cpu);
    }

    fn exit(&mut self, at: Time, task: TaskId) {
        let waited_on = self.tracker.task(task).filter(|t| t.state == State::Queued).map(TaskTrack::cpu);
        let Some(track) = self.tracker.exit(at, task) else { return };
        self.completion.exited(at, self.from, track);
        if let Some(cpu) = waited_on {
            self.queues.leave(at, cpu);
            self.fairness.blocked(at, task);
        }
    }
}

impl Observer for Metrics {
    #[inline]
    fn observe(&mut self, at: Time, event: &Event) {
        self.advance(at);
        match *event {
            Event::Wakeup { task, cpu, .. } => self.wake(at, task, cpu),
            Event::Switch { cpu, prev, off, next } => self.switch(at, cpu, prev, off, next),
            Event::Migrate { task, to, .. } => {
                if let Some(from) = self.tracker.migrate(task, to) {
                    self.queues.shift(at, from, to);
                }
            }
            Event::Fork { parent, child } => {
                self.tracker.fork(parent, child);
                self.fairness.fork(parent, child);
            }
            Event::Overhead { cpu, kind, span } => {
                if self.measuring {
                    self.overhead.spent(kind, span, self.tracker.running_on(cpu).is_some());
                }
            }
            Event::Exit { task } => self.exit(at, task),
            Event::Served { task, latency } => {
                if self.measuring && self.tracker.task_mut(task).is_judged() {
                    self.requests.record(latency);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
