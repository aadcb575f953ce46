//! Kills a daemon that hangs or was stopped (SIGSTOP), so that the kernel's own scheduler takes over.
//!
//! The kernel's watchdog cannot tell a hung daemon from a policy that lets a task wait: in both cases a runnable task
//! does not run. (Staircase lets nice 19 wait for 4 s beside one hog, by design.) So the kernel's limit is set as long
//! as possible, and a small process checks that the daemon's main loop still runs.

use goodness_sys as sys;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Interval of checks.
const LOOK_NS: libc::c_long = 250_000_000;
/// Checks without a beat after which the daemon is ended: 2 s, so that the kernel schedules again within 3 s.
const SILENT_MAX: u32 = 8;

/// The daemon's side. The process ends when this is dropped, or with the daemon.
#[derive(Debug)]
pub struct Watchdog {
    beats: NonNull<AtomicU64>,
    child: libc::pid_t,
}

impl Watchdog {
    /// Starts the process. Call it before loading the shim, whose descriptors it must not hold.
    ///
    /// # Errors
    /// The error of mmap(2) or fork(2).
    pub fn start() -> io::Result<Watchdog> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping of zeroes at a place of the kernel's choice.
        let memory = unsafe { libc::mmap(std::ptr::null_mut(), size_of::<AtomicU64>(), access, kind, -1, 0) };
        if memory == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let beats = NonNull::new(memory.cast::<AtomicU64>()).expect("a mapping is not at 0");
        // SAFETY: no pointers.
        let daemon = unsafe { libc::getpid() };
        // SAFETY: the child calls only async-signal-safe functions (see `watch`) and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: we are the forked child; the mapping is shared and stays.
            0 => unsafe { watch(beats.as_ref(), daemon) },
            child => Ok(Watchdog { beats, child }),
        }
    }

    /// Records one round of the daemon's loop.
    pub fn beat(&self) {
        // SAFETY: the mapping lives as long as `self`.
        unsafe { self.beats.as_ref() }.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        // SAFETY: the child is not reaped yet, so the number is its own; the mapping is ours and not used any more.
        unsafe {
            libc::kill(self.child, libc::SIGKILL);
            sys::reap(self.child);
            libc::munmap(self.beats.as_ptr().cast(), size_of::<AtomicU64>());
        }
    }
}

/// Main function of the child.
///
/// # Safety
/// Only in a freshly forked child: nothing here allocates, locks or unwinds.
unsafe fn watch(beats: &AtomicU64, daemon: libc::pid_t) -> ! {
    // SAFETY: async-signal-safe calls with valid arguments.
    unsafe {
        // Its own group, because Ctrl-Z and Ctrl-C go to a whole group.
        libc::setpgid(0, 0);
        libc::setpriority(libc::PRIO_PROCESS, 0, -20);
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::syscall(libc::SYS_close_range, 0u32, u32::MAX, 0u32);
        let look = libc::timespec { tv_sec: 0, tv_nsec: LOOK_NS };
        let (mut last, mut silent) = (beats.load(Ordering::Relaxed), 0);
        while silent < SILENT_MAX && libc::getppid() == daemon {
            libc::nanosleep(&raw const look, std::ptr::null_mut());
            let now = beats.load(Ordering::Relaxed);
            silent = if now == last { silent + 1 } else { 0 };
            last = now;
        }
        if silent == SILENT_MAX {
            libc::kill(daemon, libc::SIGKILL);
        }
        libc::_exit(0)
    }
}
