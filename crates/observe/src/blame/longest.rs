//! Finds the longest latencies.

use super::{Late, Of};
use crate::subject::Subject;
use crate::tracker::{TaskTrack, Tracker};
use goodness_core::{CpuSet, DiskId, Event, IoEvent, IoStage, Observer, Off, Span, State, TaskId, Time};
use std::cmp::Reverse;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BinaryHeap};

/// Latencies kept, at most: the worst 1 % of 52 million. A choice: 25 MB.
const KEPT: usize = 1 << 19;
/// Latencies that are the tail of a run with fewer than a thousand. A choice.
const FEWEST: u64 = 10;

impl Of {
    /// True if a wait counts that began with a waking or not, of a task that has slept or not.
    fn counts(self, woken: bool, has_slept: bool) -> bool {
        match self {
            Of::Wakeups => woken,
            Of::Waits => has_slept,
            Of::All => true,
            Of::Requests | Of::Io => false,
        }
    }
}

/// The longest latencies of a run.
#[derive(Clone, Debug)]
pub struct Lateness {
    /// Number of all.
    pub count: u64,
    /// Sum of all.
    pub total: Span,
    /// The 99th percentile by nearest rank; `None` if there are none, or if it is not among the longest kept.
    pub p99: Option<Span>,
    /// The longest of all, longest first: the worst 1 %, and ten at least.
    pub tail: Vec<Late>,
}

/// Finds the longest latencies of judged tasks.
pub struct Longest {
    of: Of,
    /// Only latencies under way at this time count.
    at: Option<Time>,
    from: Time,
    now: Time,
    /// With each task whether it has slept.
    tracker: Tracker<bool>,
    /// Number of I/Os that are not done, by disk, task, first sector and begin.
    open: BTreeMap<(DiskId, TaskId, u64, Time), u32>,
    count: u64,
    total: Span,
    kept: BinaryHeap<Reverse<(Span, Reverse<Late>)>>,
}

impl Longest {
    /// Latencies of a machine of `cpus` CPUs that begin at `from` or later.
    ///
    /// # Panics
    /// As [`Tracker::new`].
    #[must_use]
    pub fn new(cpus: usize, from: Time, subjects: &[Subject], of: Of) -> Longest {
        let tracker = Tracker::new(cpus, subjects);
        let (open, kept) = (BTreeMap::new(), BinaryHeap::new());
        Longest { of, at: None, from, now: Time::ZERO, tracker, open, count: 0, total: Span::ZERO, kept }
    }

    /// Counts only latencies that were under way at `at`.
    #[must_use]
    pub fn under_way_at(mut self, at: Option<Time>) -> Longest {
        self.at = at;
        self
    }

    /// Ends the run at `end`. Waits and I/Os that have not ended count as far as they got.
    #[must_use]
    pub fn finish(mut self, end: Time) -> Lateness {
        let end = end.max(self.now);
        if self.of.is_wait() {
            let waits = |(task, track): (TaskId, &TaskTrack<bool>)| {
                let late = Late { task, from: track.since, to: end, is_open: true };
                let counts = track.is_judged() && self.of.counts(track.is_woken(), track.own);
                (track.state == State::Queued && counts).then_some(late)
            };
            let open: Vec<Late> = self.tracker.tasks().filter_map(waits).collect();
            open.into_iter().for_each(|late| self.count(late));
        }
        for ((_, task, _, from), count) in std::mem::take(&mut self.open) {
            (0..count).for_each(|_| self.count(Late { task, from, to: end, is_open: true }));
        }
        let mut tail: Vec<Late> = self.kept.into_iter().map(|Reverse((_, Reverse(late)))| late).collect();
        tail.sort_unstable_by_key(|late| (Reverse(late.span()), *late));
        let above = self.count - (self.count * 99).div_ceil(100);
        let p99 = tail.get(above as usize).map(Late::span);
        tail.truncate(self.count.div_ceil(100).max(FEWEST) as usize);
        Lateness { count: self.count, total: self.total, p99, tail }
    }

    fn count(&mut self, late: Late) {
        // As in `wakeup_latency`: a task that is there from the start was not woken.
        let is_start = self.of == Of::Wakeups && late.from == self.from;
        if is_start || late.from < self.from || self.at.is_some_and(|at| at < late.from || late.to <= at) {
            return;
        }
        self.count += 1;
        self.total += late.span();
        self.kept.push(Reverse((late.span(), Reverse(late))));
        if self.kept.len() > KEPT {
            self.kept.pop();
        }
    }

    /// Follows an I/O of a judged task. A recording may tell of its end alone.
    fn follow(&mut self, at: Time, io: &IoEvent) {
        let task = TaskId(io.submitter.0);
        if !self.is_judged(task) {
            return;
        }
        let from = Time(at.0.saturating_sub(io.span.0));
        let place = (io.disk, task, io.sector, from);
        match io.stage {
            IoStage::Queued => *self.open.entry(place).or_default() += 1,
            IoStage::Done => {
                if let Entry::Occupied(mut open) = self.open.entry(place) {
                    *open.get_mut() -= 1;
                    if *open.get() == 0 {
                        open.remove();
                    }
                }
                self.count(Late { task, from, to: at, is_open: false });
            }
            _ => {}
        }
    }

    fn is_judged(&self, task: TaskId) -> bool {
        self.tracker.task(task).is_none_or(|track| track.is_judged())
    }

    fn switch(&mut self, at: Time, cpu: goodness_core::CpuId, prev: Option<TaskId>, off: Off, next: Option<TaskId>) {
        if self.tracker.running_on(cpu) != prev {
            self.tracker.forget(cpu);
            if let Some(prev) = prev {
                self.tracker.appear(at, cpu, prev, off);
            }
        } else if let Some(prev) = prev
            && let Some(ended) = self.tracker.stop(at, cpu, prev, off)
        {
            ended.task.own |= !off.is_runnable();
        }
        let Some(next) = next else { return };
        let began = self.tracker.start(at, cpu, next);
        let counts = self.of.counts(began.woken, began.task.own);
        if let Some(from) = began.waited_since.filter(|_| counts && began.task.is_judged()) {
            self.count(Late { task: next, from, to: at, is_open: false });
        }
    }
}

impl Observer for Longest {
    fn observe(&mut self, at: Time, event: &Event) {
        self.now = at;
        match *event {
            Event::Wakeup { task, cpu, .. } => drop(self.tracker.wake(at, task, cpu)),
            Event::Switch { cpu, prev, off, next } => self.switch(at, cpu, prev, off, next),
            Event::Migrate { task, to, .. } => drop(self.tracker.migrate(task, to)),
            Event::Fork { parent, child } => self.tracker.fork(parent, child),
            Event::Exit { task } => drop(self.tracker.exit(at, task)),
            Event::Served { task, latency } if self.of == Of::Requests && self.is_judged(task) => {
                self.count(Late { task, from: Time(at.0.saturating_sub(latency.0)), to: at, is_open: false });
            }
            Event::Io(ref io) if self.of == Of::Io => self.follow(at, io),
            Event::Served { .. } | Event::Overhead { .. } | Event::Io(_) | Event::Contended { .. } => {}
        }
    }

    fn confine(&mut self, _: Time, task: TaskId, cpus: &CpuSet) {
        self.tracker.confine(task, cpus);
    }
}
