//! Many simulations at a time, where the platform has threads.

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
