//! A disk of our own for the kernel's elevators: a loop device over a private file, what the kernel does with its
//! requests, and a load for it. Needs root.
//!
//! No device that exists is touched: the loop device is a new one and goes again, with its file and its trace, however
//! this process ends (see [`goodness_restore`]).

mod aio;
mod jobs;
mod loop_disk;
mod trace;

pub use jobs::{Done, Job, What, run};
pub use loop_disk::LoopDisk;

use std::io;
use std::path::Path;

/// Why a disk or a load could not be had.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {action} failed ({source}). {remedy}")]
pub struct DiskError {
    /// The file or device concerned.
    pub what: String,
    /// What was tried.
    pub action: &'static str,
    /// What the kernel said.
    pub source: io::Error,
    /// What to do about it.
    pub remedy: &'static str,
}

impl DiskError {
    fn new(what: &Path, action: &'static str, source: io::Error) -> DiskError {
        let remedy = match source.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => "Run the same command with `sudo`.",
            Some(libc::ENOENT | libc::ENODEV) => "This kernel may lack loop devices (CONFIG_BLK_DEV_LOOP) or tracefs.",
            Some(libc::ENOSPC | libc::ENOMEM) => "Make room, or take a smaller disk.",
            _ => "See `dmesg` for the kernel's reason.",
        };
        DiskError { what: what.display().to_string(), action, source, remedy }
    }
}
