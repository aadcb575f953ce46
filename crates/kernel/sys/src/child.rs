//! Child processes: ended, signalled, reaped; one that echoes bytes.

use crate::pipe::{read_byte, write_byte};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// A descriptor that becomes readable when process `pid` ends. `None` on kernels before 5.3.
pub fn process_descriptor(pid: u32) -> Option<OwnedFd> {
    // SAFETY: no pointers; the returned descriptor is new and ours.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = RawFd::try_from(fd).ok().filter(|&fd| fd >= 0)?;
    // SAFETY: just returned by the kernel, owned by nobody else.
    Some(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sends `signal` to process `pid`. A missing process is not an error.
pub fn send_signal(pid: u32, signal: i32) {
    // SAFETY: no pointers.
    unsafe { libc::kill(pid as libc::pid_t, signal) };
}

/// True if child `pid` has ended. Does not reap it, so that its `/proc` entry stays readable.
pub fn has_ended(pid: u32) -> bool {
    // SAFETY: siginfo_t is plain memory for which all zeroes is valid; the kernel fills it.
    let mut seen: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `seen` outlives the call.
    let answer = unsafe { libc::waitid(libc::P_PID, pid, &raw mut seen, how) };
    // SAFETY: si_pid is set by waitid, or still zero when nothing has ended.
    answer == 0 && unsafe { seen.si_pid() } != 0
}

/// Makes `command` get SIGTERM when the thread that starts it ends.
pub fn end_with_parent(command: &mut Command) {
    let ask = || {
        // SAFETY: no pointers.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) };
        Ok(())
    };
    // SAFETY: between fork and exec only one system call is made; nothing allocates or locks.
    unsafe { command.pre_exec(ask) };
}

/// Makes `command` close its copy of `descriptor` before whatever else is asked of it from now on. Otherwise it would
/// have it until it executes.
pub fn close_first(command: &mut Command, descriptor: RawFd) {
    let close = move || {
        // SAFETY: the copy belongs to the child, which uses it no more.
        unsafe { libc::close(descriptor) };
        Ok(())
    };
    // SAFETY: between fork and exec only one system call is made; nothing allocates or locks.
    unsafe { command.pre_exec(close) };
}

/// Waits until child `pid` has ended and removes it.
pub fn reap(pid: i32) {
    // SAFETY: the status is not asked for.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

/// The byte that ends an echo.
pub const STOP: u8 = b'q';

/// Forks a child that copies every byte from `from` to `to` until it reads [`STOP`] or its parent ends. Reap it with
/// [`reap`].
///
/// # Errors
/// The error of fork(2).
pub fn echo_process(from: &OwnedFd, to: &OwnedFd) -> io::Result<i32> {
    // SAFETY: between fork and exit the child makes only system calls; nothing allocates, locks or unwinds.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: no pointers.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
            while let Some(byte) = read_byte(from).filter(|byte| *byte != STOP) {
                write_byte(to, byte);
            }
            // SAFETY: ends the child at once, without running anything that belongs to the parent.
            unsafe { libc::_exit(0) }
        }
        pid => Ok(pid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_child_ends_with_the_thread_that_started_it_if_so_asked() {
        let start = |ends: bool| {
            let mut sleep = Command::new("sleep");
            sleep.arg("60");
            if ends {
                end_with_parent(&mut sleep);
            }
            std::thread::spawn(move || sleep.spawn().expect("sleep runs")).join().expect("no panic")
        };
        let (mut bound, mut free) = (start(true), start(false));
        assert!(bound.wait().expect("ours").code().is_none(), "a signal ended it");
        assert!(free.try_wait().expect("ours").is_none(), "it goes on");
        free.kill().and_then(|()| free.wait()).expect("ours");
    }

    #[test]
    fn an_ended_child_is_noticed_and_can_still_be_reaped() {
        let mut child = Command::new("true").spawn().expect("true runs");
        while !has_ended(child.id()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(child.wait().expect("still there to reap").success());
    }
}
