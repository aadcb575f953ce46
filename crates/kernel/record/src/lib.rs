//! Records the scheduler events of this machine from tracefs into a portable file.
//!
//! [`record`] uses its own trace instance, so other tracing is undisturbed. It runs the command or waits, then undoes
//! all its changes, however it ends: errors and panics drop what was set up; a signal ends the recording early and
//! saves it; after SIGKILL a guard process cleans up; if the guard is killed, too, the next start cleans up from a
//! journal. `docs/recording-format.md` describes the file.

mod attributes;
mod calls;
mod changes;
mod command;
mod connections;
mod drain;
mod error;
mod event;
mod format;
mod groups;
mod header;
mod histories;
mod machine;
mod output;
mod pack;
mod pages;
mod participants;
mod save;
mod session;
mod summary;
mod tasks;
mod text;
pub mod tracefs;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub use error::RecordError;
pub use goodness_sys::Exit;
pub use header::{CpuTime, Loss};

use goodness_sys::{self as sys, Signals};
use output::Output;
use session::Session;

/// Recording time if neither a command nor a duration is given.
pub const DEFAULT_DURATION: Duration = Duration::from_secs(10);
/// The longest recording; a forgotten recorder must not fill a disk.
pub const LONGEST: Duration = Duration::from_secs(3600);
/// Options of a recording.
#[derive(Debug, Clone)]
pub struct Options {
    /// Output file; replaced only by a complete recording.
    pub output: PathBuf,
    /// Longest recording time. With neither this nor a command: [`DEFAULT_DURATION`].
    pub duration: Option<Duration>,
    /// The command and its arguments; empty to record the running system.
    pub command: Vec<OsString>,
    /// CPUs to confine the command to, before it starts.
    pub confine_to: Option<Vec<u32>>,
    /// Running processes that belong to the workload, with their descendants.
    pub pids: Vec<u32>,
    /// The same, by name.
    pub comms: Vec<String>,
    /// Rename tasks that belong to none of these, and drop the command's arguments.
    pub anonymize: bool,
    /// Record the block layer too.
    pub block: bool,
    /// Record the system calls that carry messages too.
    pub messages: bool,
    /// Ring buffer per CPU in bytes, instead of the size chosen by available memory.
    pub buffer_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            output: PathBuf::from("recording.ftrace.gz"),
            duration: None,
            command: Vec::new(),
            confine_to: None,
            pids: Vec::new(),
            comms: Vec::new(),
            anonymize: false,
            block: false,
            messages: false,
            buffer_bytes: None,
        }
    }
}

/// Progress of the recorder, for display.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    /// Leftovers of a killed recorder were removed.
    CleanedUp {
        /// The change that was undone, as a sentence.
        what: String,
    },
    /// The trace is running.
    Started {
        /// The recorded command's process.
        command: Option<u32>,
        /// Ring buffer per CPU in bytes.
        buffer_bytes: u64,
    },
    /// Still running.
    Recording {
        /// Since the start.
        elapsed: Duration,
        /// Time after which it ends by itself.
        longest: Duration,
        /// Bytes read from the kernel so far.
        bytes: u64,
    },
    /// The trace has ended and tracing is restored; the file is being written.
    Writing {
        /// Events written.
        done: u64,
        /// Events in all.
        total: u64,
    },
}

/// Reason a recording ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The command ended.
    Command,
    /// The time was over.
    Duration,
    /// This signal arrived.
    Signal(i32),
}

impl Stop {
    fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::Duration => "duration",
            Self::Signal(_) => "signal",
        }
    }
}

/// A finished recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Events in it.
    pub events: u64,
    /// Lost events per CPU.
    pub lost: Vec<Loss>,
    /// Length of the recorded window.
    pub duration: Duration,
    /// Reason it ended.
    pub stopped_by: Stop,
    /// Exit status of the command, if it ended by itself.
    pub exit: Option<Exit>,
    /// Tasks that belong to the command or a selected server.
    pub members: usize,
    /// Time stolen by the hypervisor and other CPU times, per CPU.
    pub cpu_time: Vec<CpuTime>,
    /// Facts that could not be read, as sentences.
    pub unreadable: Vec<String>,
}

impl Recorded {
    /// Events lost on all CPUs.
    pub fn lost_events(&self) -> u64 {
        self.lost.iter().map(Loss::total).sum()
    }

    /// Exit status for the command line: 128 + n if signal n ended the recording (which is saved), else 0. The
    /// command's own status does not count, because a failing command can be recorded well; it is in
    /// [`exit`](Self::exit).
    pub fn exit_code(&self) -> i32 {
        match self.stopped_by {
            Stop::Signal(signal) => 128 + signal,
            Stop::Command | Stop::Duration => 0,
        }
    }
}

/// Records, and reports to `progress`.
///
/// # Errors
/// [`RecordError`]. Everything is restored by then and no output written.
pub fn record(options: &Options, progress: &mut dyn FnMut(Progress)) -> Result<Recorded, RecordError> {
    let longest = bounded(options)?;
    let uid = sys::effective_user();
    if uid != 0 {
        return Err(RecordError::NotRoot { uid });
    }
    let cpus = machine::online();
    check_cpus(options, &cpus)?;
    let output = Output::prepare(&options.output)?;
    let mut signals =
        Signals::listen().map_err(|source| RecordError::System { what: "listening for signals", source })?;
    let mut session = Session::set_up(options, &output, progress)?;
    let captured = session.record(options, &cpus, &output, longest, &mut signals, progress)?;
    // The trace is over; guard and journal stay until the unfinished file has become the recording.
    session.end_tracing();
    save::save(options, captured, output, &mut signals, progress)
}

/// The requested or default duration, checked against the limits.
fn bounded(options: &Options) -> Result<Duration, RecordError> {
    let fallback = if options.command.is_empty() { DEFAULT_DURATION } else { LONGEST };
    let asked = options.duration.unwrap_or(fallback);
    let sensible = Duration::from_millis(1)..=LONGEST;
    if sensible.contains(&asked) { Ok(asked) } else { Err(RecordError::Duration { asked, longest: LONGEST }) }
}

fn check_cpus(options: &Options, online: &[u32]) -> Result<(), RecordError> {
    let asked = options.confine_to.iter().flatten();
    match asked.copied().find(|cpu| !online.contains(cpu)) {
        None => Ok(()),
        Some(cpu) => {
            let online = online.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
            Err(RecordError::NoCpu { cpu, online })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_always_bounded() {
        let bound = |duration, command: &[&str]| {
            let command = command.iter().map(Into::into).collect();
            bounded(&Options { duration, command, ..Options::default() })
        };
        assert_eq!(bound(None, &[]).expect("default"), DEFAULT_DURATION);
        assert_eq!(bound(None, &["ab"]).expect("until it ends"), LONGEST);
        let error = bound(Some(Duration::from_secs(7200)), &[]).expect_err("too long");
        assert_eq!(error.to_string(), "a recording of 7200s is outside 1ms ..= 3600s. Ask for less with -d.");
        assert!(bound(Some(Duration::ZERO), &[]).is_err());
    }

    #[test]
    fn a_cpu_that_is_not_there_is_refused_with_those_that_are() {
        let options = Options { confine_to: Some(vec![9]), ..Options::default() };
        let error = check_cpus(&options, &[0, 1]).expect_err("no such CPU");
        assert_eq!(error.to_string(), "CPU 9 is not online here. Online: 0, 1.");
    }
}
