//! A small child process that undoes a recording's changes should the recorder die without doing so, SIGKILL and
//! `panic = "abort"` included.
//!
//! It waits for the end of a pipe whose other end only the recorder holds: the kernel closes that end however the
//! recorder dies. A byte through the pipe dismisses it.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::sys;

/// What it removes, as strings the kernel takes. All is made before the fork, because a child forked from a process
/// with threads may not allocate.
struct Orders {
    tracing_on: CString,
    instance: CString,
    mounted: Option<CString>,
    unfinished: CString,
    journal: CString,
}

/// The watchdog of a running recording. Dropping it dismisses the child, so drop it after everything is restored.
#[derive(Debug)]
pub struct Watchdog {
    leash: OwnedFd,
    child: libc::pid_t,
}

impl Watchdog {
    /// Starts watching this process on behalf of `entry`, whose journal is at `journal`.
    ///
    /// # Errors
    /// What pipe2(2) or fork(2) report.
    pub fn start(entry: &super::journal::Entry, journal: &Path) -> io::Result<Self> {
        let c = |path: &Path| sys::c_path(path.as_os_str());
        let orders = Orders {
            tracing_on: c(&entry.instance.join("tracing_on"))?,
            instance: c(&entry.instance)?,
            mounted: entry.mounted.as_deref().map(c).transpose()?,
            unfinished: c(&entry.unfinished)?,
            journal: CString::new(journal.as_os_str().as_bytes()).map_err(io::Error::other)?,
        };
        let (listen, leash) = sys::pipe()?;
        // SAFETY: the child calls only async-signal-safe functions (see `watch`) and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: we are the forked child, as `watch` requires.
            0 => unsafe { watch(listen.as_raw_fd(), &orders) },
            child => Ok(Self { leash, child }),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        sys::write_byte(&self.leash, b'.');
        let mut status = 0;
        // SAFETY: `child` is our own child and not reaped elsewhere.
        unsafe { libc::waitpid(self.child, &raw mut status, 0) };
    }
}

/// The child's whole life.
///
/// # Safety
/// Only in a freshly forked child. Calls nothing that allocates, locks or unwinds: the parent may have had threads in
/// the middle of either.
unsafe fn watch(listen: i32, orders: &Orders) -> ! {
    // SAFETY: all calls below are async-signal-safe, descriptors and strings are valid for their duration.
    unsafe {
        // A group of its own, and deaf to the signals that end a recorder: Ctrl-C goes to a whole group.
        libc::setpgid(0, 0);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
        keep_only(listen);
        let mut byte = 0u8;
        let got = loop {
            let got = libc::read(0, (&raw mut byte).cast(), 1);
            if got >= 0 || *libc::__errno_location() != libc::EINTR {
                break got;
            }
        };
        if got == 0 {
            restore(orders);
        }
        libc::_exit(0)
    }
}

/// Makes `listen` descriptor 0 and closes all others, above all our copy of the leash and the output the caller may
/// wait on.
unsafe fn keep_only(listen: i32) {
    // SAFETY: plain descriptor calls.
    unsafe {
        libc::dup2(listen, 0);
        if libc::syscall(libc::SYS_close_range, 1u32, u32::MAX, 0u32) != 0 {
            for descriptor in 1..4096 {
                libc::close(descriptor);
            }
        }
    }
}

unsafe fn restore(orders: &Orders) {
    // SAFETY: all strings are NUL-terminated and alive.
    unsafe {
        let switch = libc::open(orders.tracing_on.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if switch >= 0 {
            libc::write(switch, c"0".as_ptr().cast(), 1);
            libc::close(switch);
        }
        // The recorder's own descriptors close one by one as it dies; the instance is busy until the last has.
        for _ in 0..500 {
            if libc::rmdir(orders.instance.as_ptr()) == 0 || *libc::__errno_location() == libc::ENOENT {
                break;
            }
            let pause = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
            libc::nanosleep(&raw const pause, std::ptr::null_mut());
        }
        if let Some(mounted) = &orders.mounted {
            libc::umount2(mounted.as_ptr(), libc::MNT_DETACH);
            libc::rmdir(mounted.as_ptr());
        }
        libc::unlink(orders.unfinished.as_ptr());
        libc::unlink(orders.journal.as_ptr());
    }
}
