//! Safe wrappers of the system calls of a played task: waiting, scheduling class, CPU time.

use goodness_sys::{clock_ns, process};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::AtomicU32;

/// `ns` as a `timespec`.
fn timespec(ns: u64) -> libc::timespec {
    libc::timespec { tv_sec: (ns / 1_000_000_000) as libc::time_t, tv_nsec: (ns % 1_000_000_000) as libc::c_long }
}

/// Sleeps while `word` holds `value`, at most until `until` (ns of `CLOCK_MONOTONIC`). May return early.
pub fn futex_wait(word: &AtomicU32, value: u32, until: u64) {
    let until = timespec(until);
    let wait = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: `word` and `until` outlive the call; the second address is not used by this operation.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            wait,
            value,
            &raw const until,
            std::ptr::null::<u32>(),
            libc::FUTEX_BITSET_MATCH_ANY,
        )
    };
}

/// Wakes the thread that sleeps on `word`.
pub fn futex_wake(word: &AtomicU32) {
    let wake = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the kernel only uses the address of `word` to find who waits there.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), wake, 1) };
}

/// Waits until one of `descriptors` is readable, until `until` (ns on `CLOCK_MONOTONIC`), or until a signal arrives.
pub fn wait_until(descriptors: &[RawFd], now: u64, until: u64) {
    let mut asked: Vec<libc::pollfd> =
        descriptors.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    let timeout = timespec(until.saturating_sub(now));
    // SAFETY: `asked` is a live array of the length given, `timeout` outlives the call.
    unsafe {
        libc::ppoll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, &raw const timeout, std::ptr::null());
    }
}

/// CPU time of thread `tid` of this process, in ns; `None` if it has ended.
pub fn cpu_ns_of(tid: i32) -> Option<u64> {
    // The kernel's encoding of a thread's own clock (`CPUCLOCK_PERTHREAD_MASK` with `CPUCLOCK_SCHED`).
    clock_ns((!tid << 3) | 6)
}

/// Calls `sched_yield`.
pub fn yield_cpu() {
    // SAFETY: takes no arguments.
    unsafe { libc::sched_yield() };
}

/// Scheduling attributes of a thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// `SCHED_OTHER`, `SCHED_BATCH`, ….
    pub policy: i32,
    /// Nice; meaningful outside the real-time classes.
    pub nice: i32,
    /// Priority in the real-time classes.
    pub priority: u32,
    /// Requested slice in ns; 0 for the kernel's default.
    pub slice: u64,
}

/// The scheduling class of the calling thread.
///
/// # Errors
/// The error of `sched_getattr`.
pub fn attributes() -> io::Result<Attributes> {
    let it = process::attributes_of(0)?;
    Ok(Attributes { policy: it.policy as i32, nice: it.nice, priority: it.priority, slice: it.runtime })
}

/// Sets the class of the calling thread. With `reset_on_fork`, its child threads start as `SCHED_OTHER`.
///
/// # Errors
/// The error of `sched_setattr`: no permission, or no such class in this kernel.
pub fn set_attributes(to: Attributes, reset_on_fork: bool) -> io::Result<()> {
    let mut it = process::Attributes::sized();
    it.flags = if reset_on_fork { process::RESET_ON_FORK } else { 0 };
    (it.policy, it.nice, it.priority, it.runtime) = (to.policy as u32, to.nice, to.priority, to.slice);
    process::give(&it)
}

/// Sets the timer slack of the calling thread in ns. The kernel's default is 50 µs.
pub fn set_timer_slack(ns: u64) {
    // 0 would mean the default.
    // SAFETY: no pointers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns.max(1)) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_sys::{monotonic_ns, thread_cpu_ns};

    #[test]
    fn the_clock_of_another_thread_can_be_read_until_it_ends() {
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ending) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let before = thread_cpu_ns();
            while thread_cpu_ns() < before + 2_000_000 {}
            tell.send(goodness_sys::thread_id()).expect("somebody listens");
            ending.recv().expect_err("nothing is ever sent");
        });
        let tid = told.recv().expect("it tells");
        assert!(cpu_ns_of(tid).is_some_and(|ns| (2_000_000..1_000_000_000).contains(&ns)));
        drop(end);
        thread.join().expect("it ends");
    }

    #[test]
    fn a_futex_wait_ends_at_its_time_or_when_the_word_has_changed() {
        let word = AtomicU32::new(0);
        let begun = monotonic_ns();
        futex_wait(&word, 0, begun + 3_000_000);
        assert!(monotonic_ns() >= begun + 3_000_000);
        futex_wait(&word, 1, u64::MAX / 2);
    }

    #[test]
    fn a_thread_may_lower_itself_and_sees_what_it_is() {
        let seen = std::thread::spawn(|| {
            set_attributes(Attributes { policy: libc::SCHED_BATCH, nice: 7, ..Attributes::default() }, false)?;
            goodness_sys::set_nice(9)?;
            attributes()
        });
        let seen = seen.join().expect("it ends").expect("lowering oneself is allowed");
        assert_eq!((seen.policy, seen.nice), (libc::SCHED_BATCH, 9));
    }
}
