//! Options of a live run.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Options of a live run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// The registered name.
    pub policy: String,
    /// Settings that differ from the defaults, as typed.
    pub settings: Vec<(String, String)>,
    /// The policy's CPUs; by default all but the daemon's.
    pub cpus: Option<Vec<u32>>,
    /// Random seed of the policy.
    pub seed: u64,
    /// The command to run under the policy; the run ends with it.
    pub command: Vec<OsString>,
    /// Processes to move under the policy, with all their threads.
    pub pids: Vec<u32>,
    /// End after that long.
    pub duration: Option<Duration>,
    /// Poll for events at least this often, in addition to the kernel's wake-ups.
    pub poll: Option<Duration>,
    /// Path of the log, if wanted.
    pub log: Option<PathBuf>,
    /// The socket for `status` and `stop`.
    pub socket: PathBuf,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            policy: "rr".into(),
            settings: Vec::new(),
            cpus: None,
            seed: 1,
            command: Vec::new(),
            pids: Vec::new(),
            duration: None,
            poll: None,
            log: None,
            socket: super::control::SOCKET.into(),
        }
    }
}
