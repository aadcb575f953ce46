//! Child processes that run a function of this program, made with fork(2). Benchmarks switch between them.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Exit status of a child that panicked.
const PANICKED: i32 = 101;

/// A child; killed and reaped when dropped.
#[derive(Debug)]
pub struct Forked {
    pid: libc::pid_t,
}

impl Forked {
    /// Runs `body` in a child process, which ends with `body` or with this process.
    ///
    /// # Errors
    /// The error of fork(2), or that this process has other threads, whose locks the child could never get.
    pub fn run(body: impl FnOnce()) -> io::Result<Forked> {
        if threads() != 1 {
            return Err(io::Error::other("only a process of one thread can be forked safely"));
        }
        // SAFETY: no other thread exists, so the child finds no lock held and may allocate like its parent.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                // SAFETY: no pointers.
                unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
                let code = catch_unwind(AssertUnwindSafe(body)).map_or(PANICKED, |()| 0);
                // SAFETY: ends the child at once; what the parent registered for its own end does not run.
                unsafe { libc::_exit(code) }
            }
            pid => Ok(Forked { pid }),
        }
    }

    /// Waits for the child to end; true if `body` returned.
    ///
    /// # Errors
    /// The error of waitpid(2).
    pub fn wait(self) -> io::Result<bool> {
        let status = reap(self.pid);
        std::mem::forget(self);
        status.map(|status| libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0)
    }
}

impl Drop for Forked {
    fn drop(&mut self) {
        // SAFETY: no pointers; the child is not reaped yet, so the number is still its own.
        unsafe { libc::kill(self.pid, libc::SIGKILL) };
        let _ = reap(self.pid);
    }
}

fn reap(pid: libc::pid_t) -> io::Result<i32> {
    let mut status = 0;
    loop {
        // SAFETY: room for the status.
        match unsafe { libc::waitpid(pid, &raw mut status, 0) } {
            -1 => match io::Error::last_os_error() {
                why if why.kind() == io::ErrorKind::Interrupted => {}
                why => return Err(why),
            },
            _ => return Ok(status),
        }
    }
}

/// Number of threads of this process; 0 if unknown.
fn threads() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    line.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_with_threads_is_not_forked() {
        let (stop, waits) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || waits.recv());
        assert!(Forked::run(|| ()).unwrap_err().to_string().contains("one thread"));
        drop(stop);
        let _ = other.join();
    }
}
