//! The calling thread: its id, its last error, its context switches.

/// The calling thread's id.
pub fn thread_id() -> i32 {
    // SAFETY: takes no arguments, cannot fail.
    unsafe { libc::gettid() }
}

/// Error number of this thread's last system call. Unlike [`std::io::Error::last_os_error`] it is safe between fork and
/// exec.
#[must_use]
pub fn errno() -> i32 {
    // SAFETY: the location belongs to this thread.
    unsafe { *libc::__errno_location() }
}

/// The calling thread's context switches so far: (voluntary, involuntary).
pub fn switches() -> (u64, u64) {
    // SAFETY: rusage is plain memory for which all zeroes is valid; the kernel fills it.
    let mut used: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `used` outlives the call.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut used) };
    (used.ru_nvcsw as u64, used.ru_nivcsw as u64)
}
