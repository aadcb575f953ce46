//! The clock of the benchmark.

use std::time::Duration;

/// CPU time this thread has used. On a busy machine it tells more than the time of day.
pub(crate) fn cpu_time() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
