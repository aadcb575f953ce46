//! Clocks of the kernel, waits on them, and the time of day.

/// Nanoseconds on `clock`; `None` where it is missing.
#[must_use]
pub fn clock_ns(clock: libc::clockid_t) -> Option<u64> {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec to write to.
    let answer = unsafe { libc::clock_gettime(clock, &raw mut now) };
    (answer == 0).then(|| now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
}

/// Nanoseconds on `CLOCK_MONOTONIC`, the clock the trace uses.
pub fn monotonic_ns() -> u64 {
    // It always exists.
    clock_ns(libc::CLOCK_MONOTONIC).unwrap_or_default()
}

/// Time of the latest tick on `CLOCK_MONOTONIC_COARSE`, ns; 0 if that clock is missing.
pub fn coarse_ns() -> u64 {
    clock_ns(libc::CLOCK_MONOTONIC_COARSE).unwrap_or_default()
}

/// CPU time of the calling thread, in ns.
pub fn thread_cpu_ns() -> u64 {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID).unwrap_or_default()
}

/// Time between two ticks of the kernel: `CLOCK_MONOTONIC_COARSE` advances with them. In ns; `None` where that clock
/// is missing.
pub fn tick_ns() -> Option<u64> {
    let mut step = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `step` is a valid timespec to write to.
    let answer = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC_COARSE, &raw mut step) };
    let ns = step.tv_sec as u64 * 1_000_000_000 + step.tv_nsec as u64;
    (answer == 0 && ns > 0).then_some(ns)
}

/// Ticks a second in which `/proc/stat` counts.
pub fn user_hz() -> u64 {
    // SAFETY: sysconf reads a constant.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).unwrap_or(100).max(1)
}

/// Sleeps until `at` on `CLOCK_MONOTONIC`, ns, or until a signal.
pub fn sleep_until(at: u64) {
    let at = libc::timespec { tv_sec: (at / 1_000_000_000) as libc::time_t, tv_nsec: (at % 1_000_000_000) as _ };
    // SAFETY: `at` is a live timespec; of an absolute sleep nothing remains to be written.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const at, std::ptr::null_mut()) };
}

/// Sets the timer slack of the calling thread to its minimum, so that waits end on time and not up to 50 us later.
pub fn end_waits_on_time() {
    // SAFETY: no pointers; 1 ns is the least slack.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
}

/// `unix` (seconds since 1970) as local time: `14:02`, preceded by the date unless it is today.
#[must_use]
pub fn local_time(unix: i64) -> String {
    let here = |unix: i64| {
        let unix = unix as libc::time_t;
        // SAFETY: tm is plain memory for which all zeroes is valid; both outlive the call.
        unsafe {
            let mut time: libc::tm = std::mem::zeroed();
            libc::localtime_r(&raw const unix, &raw mut time);
            time
        }
    };
    let since_1970 = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let (then, now) = (here(unix), here(since_1970.as_secs() as i64));
    let clock = format!("{:02}:{:02}", then.tm_hour, then.tm_min);
    if (then.tm_year, then.tm_yday) == (now.tm_year, now.tm_yday) {
        return clock;
    }
    format!("{}-{:02}-{:02} {clock}", 1900 + then.tm_year, then.tm_mon + 1, then.tm_mday)
}
