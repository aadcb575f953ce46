//! Runs one of our elevators for a real disk, as the queue of a ublk block device over a file or a block device.
//!
//! ```text
//! programs ─▶ /dev/ublkbN ─▶ kernel ═ring═▶ queue ─▶ host (layer + elevator) ─▶ transfers ═ring═▶ backing
//! ```
//!
//! `abi` defines the interface between kernel and server; `control` adds and removes devices; `queue` is the server's
//! loop; `host` is the elevator in its block layer; `transfers` and `memory` move the bytes to the `backing`. `server`
//! runs a server from start to end; `tender` is a helper process for calls that may block on the server; `record` is
//! the file that survives a killed server. `probe` and `report` measure; `commands` are list, status and stop; `verify`
//! is a load that checks all data it reads. [`disks`] makes disks for the kernel's elevators.

mod abi;
mod backing;
mod commands;
mod control;
pub mod disks;
mod document;
mod error;
pub mod host;
mod memory;
mod probe;
mod queue;
mod record;
mod report;
mod server;
mod tender;
mod text;
mod transfers;
pub mod verify;

pub use commands::{Listed, Standing, list, status, stop};
pub use document::Document;
pub use error::ElevateError;
pub use probe::Probe;
pub use report::{Latency, Report};
pub use server::{Options, Told, recover, serve};
pub use text::table;
