//! The clock of the benchmark.

use std::time::{Duration, Instant};

/// CPU time this thread has used. On a busy machine it tells more than the time of day.
pub(crate) fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// What many turns took.
pub(crate) struct Fastest {
    /// A turn of the fastest batch, in ns of CPU time: the least disturbed one.
    pub each_ns: f64,
    /// Turns of all batches.
    pub turns: u64,
}

/// Runs `batch` with a number of turns, more and more, until `budget` is spent.
///
/// # Errors
/// The first that `batch` gives.
pub(crate) fn fastest<E>(budget: Duration, mut batch: impl FnMut(u64) -> Result<(), E>) -> Result<Fastest, E> {
    let began = Instant::now();
    let (mut best, mut turns, mut size) = (f64::INFINITY, 0, 64u64);
    while began.elapsed() < budget || turns == 0 {
        let start = cpu_time();
        batch(size)?;
        let took = cpu_time() - start;
        turns += size;
        best = best.min(took.as_nanos() as f64 / size as f64);
        if took < budget / 40 {
            size *= 2;
        }
    }
    Ok(Fastest { each_ns: best, turns })
}
