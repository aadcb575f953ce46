//! A command that was started, and how it ended.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// Time limit for a command to end after SIGTERM.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Exit status or signal of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Exit {
    /// Exited with this status.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
}

impl Exit {
    /// Exit status to pass on: the command's own, or 128 + n after signal n.
    #[must_use]
    pub const fn status(self) -> u8 {
        match self {
            Exit::Code(code) => code as u8,
            Exit::Signal(signal) => 128u8.wrapping_add(signal as u8),
        }
    }
}

/// A running command. Dropping it sends SIGTERM, then kills it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    ended: Option<OwnedFd>,
}

impl Running {
    /// Wraps a command that is already started.
    pub fn of(child: Child) -> Self {
        let ended = crate::process_descriptor(child.id());
        Self { child, ended }
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Becomes readable when the command has ended; `None` on kernels without pidfd, which must be polled.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.ended.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// True if it has ended. It is not reaped, so that its `/proc` entry stays.
    pub fn has_ended(&self) -> bool {
        crate::has_ended(self.pid())
    }

    /// Stops it if necessary and returns how it ended. `None` if it had to be stopped.
    pub fn finish(mut self) -> Option<Exit> {
        let by_itself = self.has_ended();
        let status = self.end();
        status.filter(|_| by_itself).and_then(exit_of)
    }

    fn end(&mut self) -> Option<ExitStatus> {
        if !self.has_ended() {
            crate::send_signal(self.pid(), libc::SIGTERM);
            let asked = Instant::now();
            while !self.has_ended() && asked.elapsed() < TIMEOUT {
                std::thread::sleep(Duration::from_millis(5));
            }
            let _ = self.child.kill();
        }
        self.child.wait().ok()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After `finish` the status is already known and this does nothing.
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.end();
        }
    }
}

fn exit_of(status: ExitStatus) -> Option<Exit> {
    status.code().map(Exit::Code).or_else(|| status.signal().map(Exit::Signal))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn running(words: &[&str]) -> Running {
        Running::of(Command::new(words[0]).args(&words[1..]).spawn().expect("starts"))
    }

    #[test]
    fn a_commands_own_status_is_reported() {
        let command = running(&["sh", "-c", "exit 7"]);
        while !command.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(command.finish(), Some(Exit::Code(7)));
    }

    #[test]
    fn a_command_that_still_runs_is_stopped_and_has_no_status_of_its_own() {
        let command = running(&["sleep", "60"]);
        let pid = command.pid();
        assert_eq!(command.finish(), None);
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
    }
}
