//! Many simulations at a time, where the platform has threads.

use crate::progress::{Progress, Watch};
use crate::refusal::Refusal;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Runs `work` on each job as [`each_job`] does, and tells `watch` of each that is done.
///
/// # Errors
/// `watch` cancels.
pub(crate) fn each_watched<J: Sync, T: Send>(
    jobs: &[J],
    watch: &Watch,
    work: impl Fn(&J) -> T + Sync + Send,
) -> Result<Vec<T>, Refusal> {
    let (done, is_cancelled) = (AtomicU64::new(0), AtomicBool::new(false));
    let of = jobs.len() as u64;
    let results = each_job(jobs, |job| {
        if is_cancelled.load(Ordering::Relaxed) {
            return None;
        }
        let result = work(job);
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if watch(Progress::Simulated { done, of }).is_break() {
            is_cancelled.store(true, Ordering::Relaxed);
        }
        Some(result)
    });
    match is_cancelled.into_inner() {
        true => Err(Refusal::cancelled()),
        false => Ok(results.into_iter().flatten().collect()),
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
