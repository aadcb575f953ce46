//! Why a policy does not run live, as sentences with a remedy.

use std::io;
use std::path::PathBuf;

/// Why a live run did not begin or did not end well. The machine has its own scheduler back by then.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The programme was built without what this needs.
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
    /// The kernel takes no schedulers.
    #[error(
        "this kernel (Linux {release}) has no sched_ext. Use one built with CONFIG_SCHED_CLASS_EXT and \
            CONFIG_DEBUG_INFO_BTF: \
         6.12 or later of most distributions, on Debian linux-image-cloud-amd64 of trixie-backports; or try it in an \
         emulated machine: scripts/guest -- goodness live …"
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
        /// How to end it, where that is known.
        how: &'static str,
    },
    /// A CPU that cannot be the policy's.
    #[error("CPU {cpu} {why}. Choose others with --cpus.")]
    Cpu {
        /// The CPU asked for.
        cpu: u32,
        /// What is wrong with it.
        why: String,
    },
    /// The policy needs what this kernel does not give.
    #[error("{policy} cannot run live here: {why}")]
    Needs {
        /// Its name.
        policy: &'static str,
        /// What is missing, and a remedy.
        why: String,
    },
    /// The policy's name or settings are wrong.
    #[error("{0}")]
    Policy(String),
    /// The kernel refused the shim.
    #[error("{doing} failed: {why}")]
    Refused {
        /// What was tried.
        doing: &'static str,
        /// What kernel and libbpf said.
        why: String,
    },
    /// Events were lost.
    #[error(
        "{events} events of the kernel were lost, so the policy was ended: it would have decided on what is not so. \
            The \
         machine has its own scheduler back. Give the daemon a CPU of its own (--cpus without it)"
    )]
    Lost {
        /// How many.
        events: u64,
    },
    /// The policy decided what cannot be.
    #[error("the policy was ended and the machine has its own scheduler back: {0}")]
    Answer(super::Refusal),
    /// The kernel ended it.
    #[error("the kernel ended the policy and schedules by itself again: {reason}{message}{remedy}")]
    Ejected {
        /// Why, in the kernel's words.
        reason: String,
        /// What it was about.
        message: String,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The command or a process could not be started or taken over.
    #[error("{what}: {source}")]
    Work {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The log cannot be written or read.
    #[error("{path}: {why}")]
    Log {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// Nobody answers.
    #[error("no policy runs live. Start one: goodness live rr -- COMMAND")]
    NothingLive,
    /// Another system call failed.
    #[error("{what} failed: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl LiveError {
    /// 2 where the call or the machine has to change first, 1 where something failed on the way.
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
            _ => 1,
        }
    }
}
