//! Many simulations at a time, where the platform has threads.

use crate::progress::{Progress, Watch};
use crate::refusal::Refusal;
use goodness_core::Time;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Called by a simulation with the time it has reached, and the time at which it ends at the latest.
pub(crate) type Told<'a> = &'a dyn Fn(Time, Option<Time>) -> ControlFlow<()>;

/// Runs `work` on each job as [`each_job`] does, and tells `watch` of each that begins, goes on, and is done.
///
/// # Errors
/// `watch` cancels.
pub(crate) fn each_watched<J: Sync, T: Send>(
    jobs: &[J],
    watch: &Watch,
    work: impl Fn(&J, Told) -> T + Sync + Send,
) -> Result<Vec<T>, Refusal> {
    let (done, is_cancelled) = (AtomicU64::new(0), AtomicBool::new(false));
    let of = jobs.len() as u64;
    let results = each_job(jobs, |job| {
        let told = |at: Time, end: Option<Time>| {
            let done = done.load(Ordering::Relaxed);
            if watch(Progress::Simulating { done, of, at, end }).is_break() {
                is_cancelled.store(true, Ordering::Relaxed);
            }
            if is_cancelled.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        if is_cancelled.load(Ordering::Relaxed) || told(Time::ZERO, None).is_break() {
            return None;
        }
        let result = work(job, &told);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        let goes_on = !is_cancelled.load(Ordering::Relaxed);
        if goes_on && watch(Progress::Simulated { done, of }).is_break() {
            is_cancelled.store(true, Ordering::Relaxed);
        }
        Some(result)
    });
    match is_cancelled.into_inner() {
        true => Err(Refusal::cancelled()),
        false => Ok(results.into_iter().flatten().collect()),
    }
}

/// Tells nobody.
pub(crate) fn untold(_: Time, _: Option<Time>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Simulations that somebody else starts, which tell a watch.
pub(crate) struct Counted<'a> {
    watch: &'a Watch<'a>,
    done: AtomicU64,
    of: u64,
}

impl<'a> Counted<'a> {
    /// At most `of` of them.
    pub fn new(watch: &'a Watch<'a>, of: u64) -> Counted<'a> {
        Counted { watch, done: AtomicU64::new(0), of }
    }

    /// Runs one.
    ///
    /// # Errors
    /// Those of `work`; the watch cancels.
    pub fn run<T>(&self, work: impl FnOnce(Told) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let told = |at: Time, end: Option<Time>| {
            (self.watch)(Progress::Simulating { done: self.done.load(Ordering::Relaxed), of: self.of, at, end })
        };
        if told(Time::ZERO, None).is_break() {
            return Err(Refusal::cancelled());
        }
        let result = work(&told)?;
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        match (self.watch)(Progress::Simulated { done, of: self.of }) {
            ControlFlow::Break(()) => Err(Refusal::cancelled()),
            ControlFlow::Continue(()) => Ok(result),
        }
    }
}

/// Runs `work` on each job, on the calling rayon pool. Results are in the order of `jobs`.
#[cfg(feature = "parallel")]
pub(crate) fn each_job<J: Sync, T: Send>(jobs: &[J], work: impl Fn(&J) -> T + Sync + Send) -> Vec<T> {
    use rayon::prelude::*;
    jobs.par_iter().map(work).collect()
}

/// Runs `work` on each job, one after the other. Results are in the order of `jobs`.
#[cfg(not(feature = "parallel"))]
pub(crate) fn each_job<J: Sync, T: Send>(jobs: &[J], work: impl Fn(&J) -> T + Sync) -> Vec<T> {
    jobs.iter().map(work).collect()
}

/// Number of `jobs` that run at a time.
#[cfg(feature = "parallel")]
pub(crate) fn at_once(jobs: usize) -> usize {
    rayon::current_num_threads().min(jobs)
}

/// Number of `jobs` that run at a time.
#[cfg(not(feature = "parallel"))]
pub(crate) fn at_once(jobs: usize) -> usize {
    jobs.min(1)
}
