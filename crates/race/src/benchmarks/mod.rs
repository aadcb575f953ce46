//! The built-in benchmarks: subprocesses that need no server.

mod contexts;
pub mod hackbench;
pub mod schbench;
pub mod spin;
pub mod yields;

use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`, in ns.
fn now() -> u64 {
    read(ClockId::Monotonic)
}

/// CPU time of this thread, in ns.
fn cpu_time() -> u64 {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
