//! Measurements of a run. [`METRICS`] lists the metrics; each quantity is a file.
//!
//! Conventions, shared by simulated and recorded runs:
//!
//! - Measurements start at the end of the warm-up: times are clipped to it, and only events strictly after it count. So
//!   a latency counts only if its waking came after it, and tasks woken together to start the run do not count as late.
//! - Latencies, slices, turnaround, shares and throughput cover the *judged* tasks. Switches, migrations, run queues,
//!   utilisation and overhead cover all tasks of the machine.
//! - Waits and tasks not finished at the end are left out of their distributions and counted as unfinished. Their CPU
//!   and waiting time counts. A slice that the end cuts off counts as a slice.
//! - Percentiles are nearest-rank, from histograms (see [`crate::histogram`]).
//! - A value that could not be measured is `None`, never 0.

mod about;
mod completion;
mod disk_load;
mod fairness;
mod idle;
mod io;
mod measured;
mod overhead;
mod request_latency;
mod response_time;
mod run_queue;
mod slice_length;
mod starved;
mod switches;
mod task_account;
mod task_results;
mod title;
mod usage;
mod waiting_time;
mod wakeup_latency;

pub use about::{About, Better, METRICS};
pub use measured::{Distributions, Measured, TaskIo, TaskMeasured, Value, Values};
pub use title::title;

use crate::subject::Subject;
use crate::tracker::{Began, Ended, TaskTrack, Tracker};
use completion::Completion;
use fairness::{Fairness, weight};
use goodness_core::{Class, CpuId, IoEvent, Nice, Off, Overhead, Span, State, TaskId, Time};
use idle::IdleWhileQueued;
use io::IoMeasures;
use overhead::SchedulerTime;
use request_latency::RequestLatency;
use response_time::ResponseTime;
use run_queue::RunQueues;
use slice_length::SliceLength;
pub(crate) use task_account::TaskAccount;
use wakeup_latency::WakeupLatency;

/// The part of the run that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// End of the warm-up.
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

    /// Its fifths, in order.
    #[must_use]
    pub fn fifths(self) -> [Window; 5] {
        let length = u128::from(self.to.since(self.from).ns());
        let start = |index: usize| Time(self.from.0 + (length * index as u128 / 5) as u64);
        std::array::from_fn(|index| Window { from: start(index), to: start(index + 1) })
    }
}

/// All measures of a run.
#[derive(Clone, Debug)]
pub(crate) struct Measures {
    from: Time,
    /// True if the warm-up is over.
    measuring: bool,
    wakeup: WakeupLatency,
    requests: RequestLatency,
    slices: SliceLength,
    queues: RunQueues,
    idle: IdleWhileQueued,
    overhead: SchedulerTime,
    fairness: Fairness,
    completion: Completion,
    response: ResponseTime,
    /// Created at the first I/O event.
    io: Option<Box<IoMeasures>>,
}

impl Measures {
    pub fn new(cpus: usize, from: Time, subjects: &[Subject]) -> Measures {
        Measures {
            from,
            measuring: false,
            wakeup: WakeupLatency::new(subjects.len()),
            requests: RequestLatency::default(),
            slices: SliceLength::default(),
            queues: RunQueues::new(cpus, from),
            idle: IdleWhileQueued::default(),
            overhead: SchedulerTime::new(cpus, from),
            fairness: Fairness::new(cpus, from, subjects),
            completion: Completion::default(),
            response: ResponseTime::default(),
            io: None,
        }
    }

    /// Advances the clock from `before` to `at`. `idles` says whether a CPU idles while a task waits.
    #[inline(always)]
    pub fn pass(&mut self, before: Time, at: Time, idles: Option<bool>) {
        if idles != Some(false) && at > self.from {
            self.idle.pass(at.since(before.max(self.from)), idles);
        }
        self.measuring = at > self.from;
    }

    /// True if the warm-up is over.
    #[inline]
    pub fn is_measuring(&self) -> bool {
        self.measuring
    }

    #[inline(always)]
    pub fn woken(&mut self, at: Time, cpu: CpuId, task: TaskId, track: &mut TaskTrack<TaskAccount>) {
        track.own.wakeups += u32::from(self.measuring);
        self.runnable(at, cpu, task, track);
    }

    /// The block of counts that a wait of `task` of this length falls into.
    #[inline]
    pub fn block_of_wait(&self, task: TaskId, wait: Span) -> u32 {
        self.wakeup.block(task, wait)
    }

    /// Prefetches such a block into the CPU's caches.
    #[inline]
    pub fn load_block(&self, block: u32) -> u64 {
        self.wakeup.load(block)
    }

    /// Counts a task as runnable on `cpu` from now on.
    #[inline(always)]
    pub fn runnable(&mut self, at: Time, cpu: CpuId, task: TaskId, track: &mut TaskTrack<TaskAccount>) {
        self.queues.join(at, cpu);
        self.fairness.runnable(at, task, &mut track.own);
    }

    /// A task of `cpu` no longer counts as runnable.
    #[inline(always)]
    pub fn blocked(&mut self, at: Time, cpu: CpuId, task: TaskId, track: &mut TaskTrack<TaskAccount>) {
        self.queues.leave(at, cpu);
        self.fairness.blocked(at, task, &mut track.own);
    }

    #[inline(always)]
    pub fn stopped(&mut self, at: Time, cpu: CpuId, task: TaskId, off: Off, ended: Ended<'_, TaskAccount>) {
        let track = ended.task;
        if self.measuring {
            let ran = at.since(ended.began.max(self.from));
            track.own.cpu_time += ran;
            track.own.switched(off);
            if track.is_judged() {
                self.slices.record(ran);
            }
        }
        self.fairness.stopped(at, task);
        if !off.is_runnable() {
            self.blocked(at, cpu, task, track);
        }
    }

    #[inline(always)]
    pub fn started(&mut self, at: Time, cpu: CpuId, task: TaskId, began: Began<'_, TaskAccount>) {
        match began.counted_on {
            Some(from) => self.queues.shift(at, from, cpu),
            None => self.runnable(at, cpu, task, began.task),
        }
        self.fairness.started(at, task);
        if began.is_first {
            self.response.started(at, self.from, &began);
        }
        if !self.measuring {
            return;
        }
        let track = began.task;
        track.own.migrations += u32::from(began.moved);
        if let Some(since) = began.waited_since {
            track.own.wait += at.since(since.max(self.from));
            if began.woken && since > self.from {
                self.wakeup.record(task, at.since(since), track);
            }
        }
    }

    /// `task` was believed to run on `cpu`, but its switch-out was not recorded.
    pub fn lost(&mut self, at: Time, cpu: CpuId, task: TaskId, track: &mut TaskTrack<TaskAccount>) {
        self.fairness.stopped(at, task);
        self.blocked(at, cpu, task, track);
    }

    #[inline]
    pub fn moved(&mut self, at: Time, from: CpuId, to: CpuId) {
        self.queues.shift(at, from, to);
    }

    /// Some task may use other CPUs from now on.
    pub fn confine(&mut self) {
        self.fairness.confine();
    }

    /// The task has this class and nice from now on; `tasks` are known.
    pub fn reweigh(
        &mut self,
        at: Time,
        (task, class, nice): (TaskId, Class, Nice),
        track: &mut TaskTrack<TaskAccount>,
        tasks: usize,
    ) {
        let is_runnable = matches!(track.state, State::Queued | State::Running);
        self.fairness.reweigh(at, (task, weight(class, nice), is_runnable), &mut track.own, tasks);
    }

    pub fn forked(&mut self, parent: Option<TaskId>, child: TaskId) {
        self.fairness.fork(parent, child);
    }

    #[inline]
    pub fn spent(&mut self, at: Time, cpu: CpuId, kind: Overhead, span: Span) {
        if self.measuring {
            self.overhead.spent(at, cpu, kind, span);
        }
    }

    /// `cpu` runs a task from now on, if it is `occupied`, or idles.
    #[inline]
    pub fn switched(&mut self, at: Time, cpu: CpuId, occupied: bool) {
        self.overhead.switched(at, cpu, occupied);
    }

    /// `task` ended. It had arrived at `arrived`; `judged` says whether it counts.
    pub fn exited(&mut self, at: Time, arrived: Option<Time>, judged: bool) {
        self.completion.exited(at, self.from, arrived, judged);
    }

    #[inline]
    pub fn served(&mut self, latency: Span, judged: bool) {
        if self.measuring && judged {
            self.requests.record(latency);
        }
    }

    /// Block I/O went one station on.
    pub fn io(&mut self, at: Time, event: &IoEvent) {
        self.io.get_or_insert_default().observe(at, self.from, event);
    }

    /// Ends the run at `end`.
    pub fn finish(mut self, end: Time, mut tracker: Tracker<TaskAccount>) -> Measured {
        let window = Window { from: self.from, to: end };
        self.close(end, &mut tracker);
        let tracker = &tracker;
        let mut values = Values::default();
        self.wakeup.report(&mut values);
        self.requests.report(window, &mut values);
        self.slices.report(&mut values);
        switches::report(tracker, &mut values);
        self.queues.report(end, &mut values);
        self.idle.report(window, &mut values);
        usage::report(window, tracker, self.overhead.on_idle(), &mut values);
        let ios = self.io.as_ref().map_or(0, |io| io.latency().count());
        self.overhead.report(usage::busy(tracker), ios, &mut values);
        self.fairness.report(tracker, &mut values);
        self.completion.report(window, tracker, &mut values);
        waiting_time::report(window, tracker, &mut values);
        self.response.report(&mut values);
        let mut io = self.io.take().unwrap_or_default();
        io.report(window, &mut values);
        Measured {
            window,
            tasks: task_results::report(window, tracker, &self.wakeup),
            unfinished_waits: self.wakeup.unfinished(),
            overhead: self.overhead.by_kind(),
            distributions: Distributions {
                wakeup_latency: self.wakeup.distribution,
                request_latency: self.requests.distribution,
                slice_length: self.slices.distribution,
                io_latency: io.latency().clone(),
                runqueue_length: self.queues.distribution,
            },
            io: io.into_tasks(tracker.tasks().count()),
            values: values.into_list(),
        }
    }

    /// Accounts slices and waits that are open at the end.
    fn close(&mut self, end: Time, tracker: &mut Tracker<TaskAccount>) {
        for cpu in (0..tracker.cpu_count()).map(|cpu| CpuId(cpu as u32)) {
            let Some(task) = tracker.running_on(cpu) else { continue };
            let track = tracker.task_mut(task);
            let ran = end.since(track.since.max(self.from));
            track.own.cpu_time += ran;
            if track.is_judged() && ran.ns() > 0 {
                self.slices.record(ran);
            }
        }
        self.overhead.close(end);
        task_results::close_waits(end, self.from, tracker, &mut self.wakeup);
        self.fairness.close(end, tracker);
    }
}

#[cfg(test)]
mod tests;
