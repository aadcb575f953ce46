//! Wake-up latency: from the first wake-up of a wait to the next switch-in. A wait that the end of the run cuts off has
//! no latency and is counted separately.

use super::measured::Values;
use super::task_account::TaskAccount;
use crate::histogram::{Histogram, PerTaskHistograms, Place};
use crate::tracker::TaskTrack;
use goodness_core::{Span, TaskId};

/// Latencies of the judged tasks together, and of each task.
#[derive(Clone, Debug)]
pub(super) struct WakeupLatency {
    pub distribution: Histogram,
    per_task: PerTaskHistograms,
    unfinished: u64,
}

impl WakeupLatency {
    pub fn new(tasks: usize) -> WakeupLatency {
        WakeupLatency {
            distribution: Histogram::default(),
            per_task: PerTaskHistograms::with_capacity(tasks),
            unfinished: 0,
        }
    }

    #[inline(always)]
    pub fn record(&mut self, task: TaskId, latency: Span, track: &mut TaskTrack<TaskAccount>) {
        let place = Place::of(latency.ns());
        if track.is_judged() {
            self.distribution.record_at(place, latency.ns());
        }
        self.per_task.record(task, place);
        // Stored one larger, so that 0 stands for none.
        track.own.longest_latency = track.own.longest_latency.max(latency.ns() + 1);
    }

    /// The block of counts of `task` that this latency falls into.
    #[inline]
    pub fn block(&self, task: TaskId, latency: Span) -> u32 {
        self.per_task.block(task, Place::of(latency.ns()))
    }

    /// Prefetches such a block into the CPU's caches.
    #[inline]
    pub fn load(&self, block: u32) -> u64 {
        u64::from(self.per_task.load(block))
    }

    /// Counts a wait after a wake-up that is open at the end.
    pub fn cut_off(&mut self) {
        self.unfinished += 1;
    }

    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// A percentile of one task; `longest` is its exact maximum.
    pub fn of_task(&self, task: TaskId, per_10k: u32, longest: Option<Span>) -> Option<Span> {
        self.per_task.quantile(task, per_10k, longest?.ns()).map(Span)
    }

    pub fn report(&self, values: &mut Values) {
        values.set_distribution("wakeup_latency", &self.distribution);
    }
}
