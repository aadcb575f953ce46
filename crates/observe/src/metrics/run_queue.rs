//! Run-queue length: runnable tasks of a CPU including the running one, like Linux's `nr_running`, weighted by time.
//! Under a policy with a global queue, a waiting task counts on the CPU of its wake-up or last slice, so only the mean
//! is meaningful.

use super::measured::Values;
use crate::histogram::Histogram;
use goodness_core::{CpuId, Time};

#[derive(Clone, Copy, Debug)]
struct Queue {
    since: Time,
    length: u32,
}

/// Lengths below this are counted in an array (one addition each) until the end.
const KEPT_APART: usize = 1 << 10;

#[derive(Clone, Debug)]
pub(super) struct RunQueues {
    /// Complete after [`RunQueues::report`]; before, lengths from [`KEPT_APART`] on.
    pub distribution: Histogram,
    /// Nanoseconds at each smaller length.
    times: Box<[u64; KEPT_APART]>,
    cpus: Vec<Queue>,
}

impl RunQueues {
    pub fn new(cpus: usize, from: Time) -> RunQueues {
        let cpus = vec![Queue { since: from, length: 0 }; cpus];
        RunQueues { distribution: Histogram::default(), times: Box::new([0; KEPT_APART]), cpus }
    }

    /// Accounts for the length of `cpu` until `at`. During the warm-up, `since` is in the future.
    #[inline(always)]
    fn settle(&mut self, at: Time, cpu: CpuId) -> &mut u32 {
        let queue = &mut self.cpus[cpu.index()];
        if at > queue.since {
            let span = at.ns() - queue.since.ns();
            queue.since = at;
            match self.times.get_mut(queue.length as usize) {
                Some(time) => *time += span,
                None => self.distribution.record_weighted(u64::from(queue.length), span),
            }
        }
        &mut queue.length
    }

    /// A task became runnable on `cpu`.
    #[inline(always)]
    pub fn join(&mut self, at: Time, cpu: CpuId) {
        *self.settle(at, cpu) += 1;
    }

    /// A task of `cpu` is runnable no more.
    #[inline(always)]
    pub fn leave(&mut self, at: Time, cpu: CpuId) {
        *self.settle(at, cpu) -= 1;
    }

    /// A runnable task moved.
    #[inline(always)]
    pub fn shift(&mut self, at: Time, from: CpuId, to: CpuId) {
        if from != to {
            self.leave(at, from);
            self.join(at, to);
        }
    }

    pub fn report(&mut self, end: Time, values: &mut Values) {
        for cpu in 0..self.cpus.len() {
            self.settle(end, CpuId(cpu as u32));
        }
        for (length, time) in (0..).zip(self.times.iter_mut()) {
            self.distribution.record_weighted(length, std::mem::take(time));
        }
        let samples = self.distribution.count();
        let lengths = &self.distribution;
        values.set("runqueue_length_mean", lengths.mean(), samples);
        values.set("runqueue_length_p99", lengths.quantile(9_900).map(|v| v as f64), samples);
        values.set("runqueue_length_max", lengths.max().map(|v| v as f64), samples);
    }
}
