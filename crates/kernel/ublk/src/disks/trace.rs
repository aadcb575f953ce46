//! The kernel's block events of one device, in a trace instance of our own.

use std::fs;
use std::path::{Path, PathBuf};

use super::DiskError;
use goodness_restore::{Action, Restore, Undo};

/// Traced events.
const EVENTS: [&str; 4] = ["block_rq_insert", "block_rq_issue", "block_rq_complete", "block_rq_merge"];
/// Room for each CPU: about 90 bytes an event.
const BUFFER_KB: &str = "32768";

/// A trace that runs until it is read.
pub struct Tracing<'a> {
    instance: &'a Path,
    _undo: Undo,
}

impl Tracing<'_> {
    /// Starts a trace in the new `instance`, of the device with kernel number `device`.
    pub fn start<'a>(
        tracefs: &Path,
        instance: &'a Path,
        device: u32,
        restore: &Restore,
    ) -> Result<Tracing<'a>, DiskError> {
        let block = tracefs.join("events/block");
        if !block.is_dir() {
            let missing = std::io::Error::from_raw_os_error(libc::ENOENT);
            return Err(DiskError::new(&block, "finding the block events", missing));
        }
        let undo = restore.before(&Action::TraceInstance(instance.to_path_buf()));
        let undo = undo.map_err(|why| DiskError::new(instance, "noting how it is removed", why))?;
        fs::create_dir(instance).map_err(|why| DiskError::new(instance, "making a trace instance", why))?;
        let tracing = Tracing { instance, _undo: undo };
        tracing.set("tracing_on", "0")?;
        tracing.set("buffer_size_kb", BUFFER_KB)?;
        tracing.set("trace_clock", "mono")?;
        for event in EVENTS {
            tracing.set(&format!("events/block/{event}/filter"), &format!("dev == {device}"))?;
            tracing.set(&format!("events/block/{event}/enable"), "1")?;
        }
        tracing.set("tracing_on", "1")?;
        Ok(tracing)
    }

    fn set(&self, file: &str, value: &str) -> Result<(), DiskError> {
        let path: PathBuf = self.instance.join(file);
        fs::write(&path, value).map_err(|why| DiskError::new(&path, "setting up the trace", why))
    }

    /// Ends the trace and returns its text.
    pub fn text(self) -> Result<String, DiskError> {
        self.set("tracing_on", "0")?;
        let path = self.instance.join("trace");
        fs::read_to_string(&path).map_err(|why| DiskError::new(&path, "reading the trace", why))
    }
}
