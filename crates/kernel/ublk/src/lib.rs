//! An elevator of the registry before a disk that exists: a ublk block device whose queue it is, over a file or a block
//! device.
//!
//! ```text
//!  programs ─▶ /dev/ublkbN ─▶ kernel ═ring═▶ queue ─▶ host (layer + elevator) ─▶ transfers ═ring═▶ backing
//! ```
//!
//! `abi` is what kernel and server say to each other, `control` makes and removes devices, `queue` is the server's
//! loop, `host` the elevator with the block layer around it, `transfers` and `memory` the bytes, `backing` what lies
//! behind, `server` a server's life, `tender` a process that may wait for it, `record` what is left when it is killed,
//! `probe` and `report` what it costs and did, `commands` what can be asked from outside, `verify` a load that knows
//! what it must read back. [`disks`] makes disks for real elevators.

mod abi;
mod backing;
mod commands;
mod control;
pub mod disks;
mod error;
pub mod host;
mod memory;
mod probe;
mod queue;
mod record;
mod report;
mod server;
mod tender;
mod transfers;
pub mod verify;

pub use commands::{Listed, Standing, list, status, stop};
pub use error::ElevateError;
pub use probe::Probe;
pub use report::{Latency, Report};
pub use server::{Options, Told, recover, serve};
