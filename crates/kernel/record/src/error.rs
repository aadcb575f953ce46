//! Errors of a recording, as sentences with a remedy.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Error of [`record`](super::record). By then all changes to the machine are undone and no new output file exists.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// Tracing is for root.
    #[error("recording needs root, and this process runs as user {uid}. Run the same command with `sudo`.")]
    NotRoot {
        /// The effective user id.
        uid: u32,
    },
    /// No tracefs is mounted, and mounting one failed.
    #[error(
        "this kernel offers no tracefs: it is not mounted, and mounting it failed ({source}). \
         Use a kernel built with CONFIG_FTRACE, or run outside the container that hides it."
    )]
    NoTracefs {
        /// Error of the mount.
        source: io::Error,
    },
    /// The events without which there is nothing to record.
    #[error(
        "this kernel has no trace event `{event}` (looked for {path}). \
         Use a kernel built with CONFIG_FTRACE and CONFIG_EVENT_TRACING."
    )]
    NoEvent {
        /// Name of the event.
        event: String,
        /// Expected path.
        path: PathBuf,
    },
    /// A file of tracefs rejected a change that recording needs.
    #[error("{path}: could not {action} ({source}). {remedy}")]
    Tracefs {
        /// The file.
        path: PathBuf,
        /// The attempted action, as a verb phrase.
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
        /// Remedy.
        remedy: &'static str,
    },
    /// The kernel describes an event or page in a way this version does not understand.
    #[error("{path}: {problem}. This kernel's trace format is new to goodness; please report it with that file.")]
    Format {
        /// The format file.
        path: PathBuf,
        /// The missing or unexpected part.
        problem: String,
    },
    /// The output cannot be written; found out before recording starts wherever possible.
    #[error("cannot write the recording to {path}: {reason}. Choose another place with -o.")]
    Output {
        /// The requested file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// The command could not be started.
    #[error("cannot start `{name}`: {source}. Nothing was recorded; check the spelling and the PATH.")]
    Command {
        /// Its first word.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// A server to select is not running.
    #[error("no running process matches {what}. See `ps -e` for what runs, and start the server first.")]
    NoServer {
        /// `--pid N` or `--comm NAME`.
        what: String,
    },
    /// A CPU to confine the command to does not exist or is offline.
    #[error("CPU {cpu} is not online here. Online: {online}.")]
    NoCpu {
        /// The requested CPU.
        cpu: u32,
        /// The CPUs that are online.
        online: String,
    },
    /// A duration out of range.
    #[error("a recording of {asked:?} is outside 1ms ..= {longest:?}. Ask for less with -d.")]
    Duration {
        /// The requested duration.
        asked: Duration,
        /// The bound.
        longest: Duration,
    },
    /// The trace buffer or its temporary file could not be read.
    #[error(
        "reading the trace of CPU {cpu} failed: {source}. Nothing was saved; check the free space beside the output."
    )]
    Drain {
        /// CPU of the buffer.
        cpu: u32,
        /// The system's error.
        source: io::Error,
    },
    /// Another system call failed.
    #[error("{what} failed: {source}.")]
    System {
        /// The attempted action.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A second signal arrived while the file was being written.
    #[error("interrupted again while writing {path}: nothing was saved. Record again, and let it finish writing.")]
    Interrupted {
        /// The file that was not written.
        path: PathBuf,
        /// The signal's number.
        signal: i32,
    },
}

impl RecordError {
    /// Exit status for this error: 2 if the call or the machine has to change first, 1 for a failure while recording,
    /// 128 + n after signal n.
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::NotRoot { .. }
            | Self::NoTracefs { .. }
            | Self::NoEvent { .. }
            | Self::Output { .. }
            | Self::Command { .. }
            | Self::NoServer { .. }
            | Self::NoCpu { .. }
            | Self::Duration { .. } => 2,
            Self::Tracefs { .. } | Self::Format { .. } | Self::Drain { .. } | Self::System { .. } => 1,
            Self::Interrupted { signal, .. } => 128 + signal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_a_sentence_with_a_remedy() {
        let error = RecordError::NotRoot { uid: 1000 };
        assert_eq!(
            error.to_string(),
            "recording needs root, and this process runs as user 1000. Run the same command with `sudo`."
        );
        assert_eq!(error.exit_code(), 2);
    }
}
