//! Errors of `goodness live`, as sentences with a remedy.

use std::io;
use std::path::PathBuf;

/// Error of a live run. The kernel's own scheduler runs again by then.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The executable was built without the required feature.
    #[error(
        "this build cannot run policies live. Build it with the feature: apt-get install clang libbpf-dev libelf-dev \
         zlib1g-dev && cargo build --release --features sched_ext"
    )]
    NotBuilt,
    /// Schedulers are for root.
    #[error("running a policy live needs root, and this process runs as user {uid}. Run the same command with `sudo`.")]
    NotRoot {
        /// The effective user id.
        uid: u32,
    },
    /// The kernel has no sched_ext.
    #[error(
        "this kernel (Linux {release}) has no sched_ext. Use one built with CONFIG_SCHED_CLASS_EXT and \
         CONFIG_DEBUG_INFO_BTF: 6.12 or later of most distributions, on Debian linux-image-cloud-amd64 of \
         trixie-backports; or try it in an emulated machine: scripts/guest -- goodness live …"
    )]
    NoKernel {
        /// Its release.
        release: String,
    },
    /// Another scheduler is loaded.
    #[error("the scheduler \"{name}\" is loaded already. End it first{how}.")]
    Busy {
        /// Its name.
        name: String,
        /// The way to stop it, if known.
        how: &'static str,
    },
    /// A CPU that cannot be the policy's.
    #[error("CPU {cpu} {why}. Choose others with --cpus.")]
    Cpu {
        /// The requested CPU.
        cpu: u32,
        /// Problem with it.
        why: String,
    },
    /// The policy needs a feature this kernel lacks.
    #[error("{policy} cannot run live here: {why}")]
    Needs {
        /// Its name.
        policy: &'static str,
        /// The missing feature, and a remedy.
        why: String,
    },
    /// The policy's name or settings are wrong.
    #[error("{0}")]
    Policy(String),
    /// The kernel refused the shim.
    #[error("{doing} failed: {why}")]
    Refused {
        /// The attempted action.
        doing: &'static str,
        /// The error of kernel and libbpf.
        why: String,
    },
    /// Events were lost.
    #[error(
        "{events} events of the kernel were lost, so the policy was ended: it would have decided on what is not so. \
         The machine has its own scheduler back. Give the daemon a CPU of its own (--cpus without it)"
    )]
    Lost {
        /// Number of events.
        events: u64,
    },
    /// The policy made an invalid decision.
    #[error("the policy was ended and the machine has its own scheduler back: {0}")]
    Answer(super::Refusal),
    /// The kernel ended it.
    #[error("the kernel ended the policy and schedules by itself again: {reason}{message}{remedy}")]
    Ejected {
        /// The kernel's reason.
        reason: String,
        /// The kernel's message.
        message: String,
        /// Remedy.
        remedy: &'static str,
    },
    /// The command or a process could not be started or taken over.
    #[error("{what}: {source}")]
    Work {
        /// The attempted action.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// The log cannot be written or read.
    #[error("{path}: {why}")]
    Log {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// No daemon is running.
    #[error("no policy runs live. Start one: goodness live rr -- COMMAND")]
    NothingLive,
    /// No daemon is running, and another program's scheduler is loaded.
    #[error("the scheduler \"{name}\" is loaded, but it is none of ours")]
    NotOurs {
        /// Its name.
        name: String,
    },
    /// Error of a live run in another process.
    #[error("{sentence}")]
    Reported {
        /// The error's sentence.
        sentence: String,
        /// Its exit code.
        exit_code: u8,
    },
    /// The process of a live run ended without a result, or sent a message that is none.
    #[error("the process that ran the policy {why}")]
    Process {
        /// The failure, and a remedy.
        why: String,
    },
    /// Another system call failed.
    #[error("{what} failed: {source}")]
    System {
        /// The attempted action.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl LiveError {
    /// Exit code: 2 if the call or the machine has to change first, 1 for a failure during the run.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotBuilt
            | Self::NotRoot { .. }
            | Self::NoKernel { .. }
            | Self::Busy { .. }
            | Self::Cpu { .. }
            | Self::Needs { .. }
            | Self::Policy(_)
            | Self::NothingLive
            | Self::Work { .. } => 2,
            Self::Reported { exit_code, .. } => *exit_code,
            _ => 1,
        }
    }
}
