//! Live policies: a registered policy, unchanged, decides for real threads through sched_ext.
//!
//! [`Host`] turns what the kernel tells into the policy's verbs and its answers into commands; it is pure, so that a
//! run's log, replayed, must give the same decisions. What loads the kernel's half and carries events and commands
//! to and fro needs the cargo feature `sched_ext`; without it, part of the rest has nobody who calls it.

mod command;
#[cfg_attr(not(feature = "sched_ext"), allow(dead_code))]
mod control;
#[cfg(feature = "sched_ext")]
mod daemon;
mod error;
mod event;
mod host;
#[cfg_attr(not(feature = "sched_ext"), allow(dead_code))]
mod kernel;
mod log;
mod options;
mod outcome;
mod replay;
#[cfg(feature = "sched_ext")]
mod session;
#[cfg(feature = "sched_ext")]
mod shim;
#[cfg_attr(not(feature = "sched_ext"), allow(dead_code))]
mod tally;
#[cfg(feature = "sched_ext")]
mod watchdog;
#[cfg(feature = "sched_ext")]
mod work;

pub use command::{Command, Order};
pub use control::{Request, SOCKET, ask};
#[cfg(feature = "sched_ext")]
pub use daemon::{live, live_with};
pub use error::LiveError;
pub use event::{EVENT_BYTES, Input, KernelEvent, Kind, flag};
pub use goodness_referee::Refusal;
pub use host::{Host, Setting};
pub use kernel::loaded;
pub use log::{Header, Log, LogWriter, Record};
pub use options::Options;
pub use outcome::{End, Outcome, Status};
pub use replay::{Replayed, replay, replay_log};
pub use tally::{Latency, TaskTally, share, shown};

/// Runs a policy live: this build cannot.
///
/// # Errors
/// Always [`LiveError::NotBuilt`].
#[cfg(not(feature = "sched_ext"))]
pub fn live(_: &Options, _: &mut dyn FnMut(&Status)) -> Result<Outcome, LiveError> {
    Err(LiveError::NotBuilt)
}
