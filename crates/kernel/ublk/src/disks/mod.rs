//! Private disks to test the kernel's elevators: a loop device over a private file, a trace of its requests, and a
//! load. Needs root.
//!
//! No existing device is touched. The loop device, its file and its trace are removed however this process ends (see
//! [`goodness_restore`]).

mod jobs;
mod loop_disk;
mod trace;

pub use jobs::{Done, Job, What, run};
pub use loop_disk::LoopDisk;

use std::io;
use std::path::Path;

/// Error of a disk or a load.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {action} failed ({source}). {remedy}")]
pub struct DiskError {
    /// The file or device concerned.
    pub what: String,
    /// The attempted action.
    pub action: &'static str,
    /// The kernel's error.
    pub source: io::Error,
    /// Remedy.
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
