//! The recorded command, and the signals that end a recording early.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::Options;
use super::error::RecordError;
use super::header::Exit;
use crate::sys;

/// How long a command may take to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// A running command. Dropped while it runs, it is asked to end, then made to.
#[derive(Debug)]
pub struct Running {
    child: Child,
    ended: Option<OwnedFd>,
}

impl Running {
    /// Starts the command of `options`.
    ///
    /// # Errors
    /// [`RecordError::Command`] when it cannot be started.
    pub fn start(options: &Options) -> Result<Self, RecordError> {
        let mut command = Command::new(&options.command[0]);
        command.args(&options.command[1..]);
        if let Some(cpus) = &options.confine_to {
            sys::confine(&mut command, cpus);
        }
        let name = options.command[0].to_string_lossy().into_owned();
        command.spawn().map(Self::of).map_err(|source| RecordError::Command { name, source })
    }

    /// A command that was started already.
    pub fn of(child: Child) -> Self {
        let ended = sys::process_descriptor(child.id());
        Self { child, ended }
    }

    /// Process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Readable once the command has ended; `None` on old kernels, which must be asked from time to time.
    pub fn descriptor(&self) -> Option<RawFd> {
        self.ended.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// Whether it has ended. It is not reaped, so that `/proc` still knows it.
    pub fn has_ended(&self) -> bool {
        sys::has_ended(self.pid())
    }

    /// Ends it if need be, and tells how it ended. `None` when it was still running and had to be stopped.
    pub fn finish(mut self) -> Option<Exit> {
        let by_itself = self.has_ended();
        let status = self.end();
        status.filter(|_| by_itself).and_then(exit_of)
    }

    fn end(&mut self) -> Option<ExitStatus> {
        if !self.has_ended() {
            sys::send_signal(self.pid(), SIGTERM);
            let asked = Instant::now();
            while !self.has_ended() && asked.elapsed() < PATIENCE {
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

/// The signals that end a recording early.
const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];

/// How many recordings listen right now.
static LISTENING: Mutex<usize> = Mutex::new(0);
/// True while none does: then the signals have their default meaning. Our handler cannot be taken away again once it
/// is installed, so this decides what it does.
static IDLE: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Listens for the signals that end a recording; gives them back their default meaning on drop.
#[derive(Debug)]
pub struct Signals {
    heard: Vec<(i32, UnixStream, signal_hook::SigId)>,
}

impl Signals {
    /// From now on SIGINT, SIGTERM and SIGHUP are heard instead of killing the process.
    ///
    /// # Errors
    /// [`RecordError::System`] when the system refuses.
    pub fn listen() -> Result<Self, RecordError> {
        let failed = |source: io::Error| RecordError::System { what: "listening for signals", source };
        let mut count = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
        if IDLE.get().is_none() {
            let idle = Arc::new(AtomicBool::new(true));
            for signal in ENDING {
                signal_hook::flag::register_conditional_default(signal, Arc::clone(&idle)).map_err(failed)?;
            }
            IDLE.get_or_init(|| idle);
        }
        let mut listening = Self { heard: Vec::new() };
        for signal in ENDING {
            let (ours, theirs) = UnixStream::pair().map_err(failed)?;
            ours.set_nonblocking(true).map_err(failed)?;
            let id = signal_hook::low_level::pipe::register(signal, theirs).map_err(failed)?;
            listening.heard.push((signal, ours, id));
        }
        *count += 1;
        set_idle(false);
        Ok(listening)
    }

    /// What to poll; readable when a signal came.
    pub fn descriptors(&self) -> impl Iterator<Item = RawFd> {
        self.heard.iter().map(|(_, stream, _)| stream.as_raw_fd())
    }

    /// The signal that came since the last question, if any.
    pub fn take(&mut self) -> Option<i32> {
        let mut came = None;
        for (signal, stream, _) in &mut self.heard {
            if stream.read(&mut [0; 64]).is_ok_and(|length| length > 0) {
                came = came.or(Some(*signal));
            }
        }
        came
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (_, _, id) in &self.heard {
            signal_hook::low_level::unregister(*id);
        }
        let mut count = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
        *count = count.saturating_sub(1);
        set_idle(*count == 0);
    }
}

fn set_idle(idle: bool) {
    if let Some(flag) = IDLE.get() {
        flag.store(idle, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(words: &[&str]) -> Running {
        let command = words.iter().map(Into::into).collect();
        Running::start(&Options { command, ..Options::default() }).expect("starts")
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

    #[test]
    fn a_misspelt_command_is_named() {
        let command = vec!["no-such-program".into()];
        let error = Running::start(&Options { command, ..Options::default() }).expect_err("not there");
        assert!(error.to_string().starts_with("cannot start `no-such-program`"), "{error}");
    }
}
