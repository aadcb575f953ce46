//! Many simulations at a time, where the platform has threads.

/// What `work` makes of each of `jobs`, in their order; on the threads of the calling pool of rayon.
#[cfg(feature = "parallel")]
pub(crate) fn each_job<J: Sync, T: Send>(jobs: &[J], work: impl Fn(&J) -> T + Sync + Send) -> Vec<T> {
    use rayon::prelude::*;
    jobs.par_iter().map(work).collect()
}

/// What `work` makes of each of `jobs`, in their order; one after the other.
#[cfg(not(feature = "parallel"))]
pub(crate) fn each_job<J: Sync, T: Send>(jobs: &[J], work: impl Fn(&J) -> T + Sync) -> Vec<T> {
    jobs.iter().map(work).collect()
}
