//! A record of each device below `/run`, from which later commands find the device of a killed server.

use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::PathBuf;

/// Mark in the kernel's record of a device: this program made the device.
pub const MARK: u64 = u64::from_be_bytes(*b"goodness");

/// Identity of a file or device: file system and inode, or the device's own number.
pub type Identity = (u64, u64);

/// One device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The number of the device.
    pub device: u32,
    /// Process id of its server.
    pub server: u32,
    /// Start time of the server in ticks since boot. Distinguishes it from a later process with the same id.
    pub started: Option<u64>,
    /// The elevator as typed.
    pub elevator: String,
    /// Path of the backing.
    pub backing: PathBuf,
    /// Identity of the backing.
    pub identity: Identity,
    /// Its sectors.
    pub sectors: u64,
    /// Tags of the queue.
    pub tags: u16,
    /// Requests in the backing at a time.
    pub depth: u32,
    /// The `rotational` option, if given.
    pub rotational: Option<bool>,
    /// CPUs of the server, if it is confined.
    pub cpus: Option<Vec<u32>>,
}

impl Record {
    /// True if the server that wrote this is still running.
    #[must_use]
    pub fn server_lives(&self) -> bool {
        goodness_restore::process_start(self.server).is_some_and(|now| self.started.is_none_or(|then| then == now))
    }

    /// Makes this process the server.
    pub fn take_over(&mut self) {
        self.server = std::process::id();
        self.started = goodness_restore::process_start(self.server);
    }

    /// Writes the record atomically: a reader finds the old one or the new one.
    ///
    /// # Errors
    /// The error of writing.
    pub fn write(&self) -> io::Result<()> {
        fs::create_dir_all(folder())?;
        let (path, fresh) = (file(self.device, "json"), file(self.device, "new"));
        fs::write(&fresh, serde_json::to_vec(self).map_err(io::Error::other)?)?;
        fs::rename(fresh, path)
    }
}

/// Waits until no other process makes a device. The turn ends when the file is dropped, or its process killed.
///
/// # Errors
/// The folder of records cannot be made or locked.
pub fn turn() -> io::Result<File> {
    fs::create_dir_all(folder())?;
    let folder = File::open(folder())?;
    folder.lock()?;
    Ok(folder)
}

/// A file about device `number`.
pub fn file(number: u32, kind: &str) -> PathBuf {
    folder().join(format!("{number}.{kind}"))
}

/// The folder of records, in memory: like the devices, its contents do not survive a restart.
fn folder() -> PathBuf {
    goodness_restore::runtime().join("elevate")
}

/// The record of device `number`.
#[must_use]
pub fn of(number: u32) -> Option<Record> {
    serde_json::from_slice(&fs::read(file(number, "json")).ok()?).ok()
}

/// All that is written, by number.
#[must_use]
pub fn all() -> Vec<Record> {
    let files = fs::read_dir(folder()).into_iter().flatten().flatten();
    let number = |name: String| name.strip_suffix(".json")?.parse().ok();
    let mut numbers: Vec<u32> = files.filter_map(|entry| number(entry.file_name().into_string().ok()?)).collect();
    numbers.sort_unstable();
    numbers.into_iter().filter_map(of).collect()
}

/// Forgets device `number`.
pub fn forget(number: u32) {
    // A missing file is as good as a removed one.
    for kind in ["json", "sock"] {
        let _ = fs::remove_file(file(number, kind));
    }
}
