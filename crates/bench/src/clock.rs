//! The clock of the benchmark.

use std::time::{Duration, Instant};

/// CPU time of this thread. On a busy machine more accurate than wall-clock time.
pub(crate) fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Timings of many rounds.
pub(crate) struct Fastest {
    /// CPU time per round in ns of the fastest, least disturbed batch.
    pub each_ns: f64,
    /// Number of rounds in all batches.
    pub turns: u64,
}

/// Runs `batch` with increasing numbers of rounds until `budget` is spent.
///
/// # Errors
/// The first error of `batch`.
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
