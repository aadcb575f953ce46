//! Runs a registered policy, unchanged, for real threads through sched_ext.
//!
//! [`Host`] converts kernel events to calls of the policy and its answers to commands. It is pure, so replaying a run's
//! log must give the same decisions. Loading the BPF shim and transporting events and commands needs the cargo feature
//! `sched_ext`; without it, some of the rest is unused.

mod command;
#[cfg_attr(not(feature = "sched_ext"), allow(dead_code))]
mod control;
#[cfg(feature = "sched_ext")]
mod daemon;
mod document;
mod error;
mod event;
mod host;
#[cfg_attr(not(feature = "sched_ext"), allow(dead_code))]
mod kernel;
mod log;
mod options;
mod outcome;
mod process;
mod replay;
#[cfg(feature = "sched_ext")]
mod session;
#[cfg(feature = "sched_ext")]
mod shim;
#[cfg_attr(not(feature = "sched_ext"), allow(dead_code))]
mod tally;
mod text;
#[cfg(feature = "sched_ext")]
mod watchdog;
#[cfg(feature = "sched_ext")]
mod work;

pub use command::{Command, Order};
pub use control::{Request, SOCKET, ask, status};
#[cfg(feature = "sched_ext")]
pub use daemon::{live, live_with};
pub use document::Document;
pub use error::LiveError;
pub use event::{EVENT_BYTES, Input, KernelEvent, Kind, flag};
pub use goodness_referee::Refusal;
pub use host::{Host, Setting};
pub use kernel::loaded;
pub use log::{Header, Log, LogWriter, Record};
pub use options::Options;
pub use outcome::{End, Outcome, Status};
pub use process::{Launcher, LiveProcess, serve};
pub use replay::{Replayed, replay, replay_log};
pub use tally::{Latency, TaskTally, share, shown};
pub use text::{listed, status_table};

/// Always fails: this build has no sched_ext.
///
/// # Errors
/// Always [`LiveError::NotBuilt`].
#[cfg(not(feature = "sched_ext"))]
pub fn live(_: &Options, _: &mut dyn FnMut(&Status)) -> Result<Outcome, LiveError> {
    Err(LiveError::NotBuilt)
}
