//! Tasks of a live policy: a command started under it, and processes moved to it.

use super::error::LiveError;
use goodness_sys::{self as sys, Running};
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::path::Path;
use std::process::Command;

/// Starts `command` on `cpus` with this nice value under the policy, with all its descendants. It lets go of the
/// descriptor `hold`: if the daemon dies before the command has had its first turn, nobody gives it one, and with that
/// descriptor it would keep the policy loaded for ever.
///
/// # Errors
/// The command cannot be started.
pub fn start(command: &[OsString], cpus: &[u32], nice: i32, hold: RawFd) -> Result<Running, LiveError> {
    let mut made = Command::new(&command[0]);
    made.args(&command[1..]);
    sys::close_first(&mut made, hold);
    sys::confine(&mut made, cpus);
    sys::submit(&mut made, nice);
    let name = command[0].to_string_lossy().into_owned();
    made.spawn().map(Running::of).map_err(|source| LiveError::Work { what: format!("cannot start `{name}`"), source })
}

/// Threads moved to the policy. Dropping it restores their class.
#[derive(Debug, Default)]
pub struct Adopted(Vec<(i32, i32)>);

impl Adopted {
    /// Moves all threads of the processes `pids` to the policy, except real-time threads.
    ///
    /// # Errors
    /// A process that does not exist, or whose threads cannot be changed.
    pub fn adopt(pids: &[u32]) -> Result<Adopted, LiveError> {
        let mut adopted = Adopted::default();
        for pid in pids {
            let failed = |source| LiveError::Work { what: format!("cannot take over process {pid}"), source };
            let threads = std::fs::read_dir(Path::new("/proc").join(pid.to_string()).join("task")).map_err(failed)?;
            for thread in threads.flatten() {
                let Some(tid) = thread.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else { continue };
                let Some(class) = sys::class_of(tid).filter(|class| sys::is_fair(*class)) else { continue };
                // A thread that has ended meanwhile needs no change.
                match sys::set_class(tid, sys::SCHED_EXT) {
                    Ok(()) => adopted.0.push((tid, class)),
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
        }
        Ok(adopted)
    }
}

impl Drop for Adopted {
    fn drop(&mut self) {
        for (tid, class) in &self.0 {
            if sys::class_of(*tid) == Some(sys::SCHED_EXT) {
                let _ = sys::set_class(*tid, *class);
            }
        }
    }
}
