//! Paths for the kernel, mounts and sorted folders.

use std::ffi::{CString, OsStr};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Converts a path for a system call.
///
/// # Errors
/// `text` contains a NUL byte.
pub fn c_path(text: &OsStr) -> io::Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "a path holds a NUL byte"))
}

/// True if this user may write to `at`.
#[must_use]
pub fn is_writable(at: &Path) -> bool {
    // SAFETY: a NUL-terminated string that outlives the call.
    c_path(at.as_os_str()).is_ok_and(|path| unsafe { libc::access(path.as_ptr(), libc::W_OK) } == 0)
}

/// Gives the file, opened with `O_TMPFILE`, the name `at`.
///
/// # Errors
/// The error of linkat(2): the name is taken, or /proc is not mounted.
pub fn name_file(file: &File, at: &Path) -> io::Result<()> {
    let opened = c_path(format!("/proc/self/fd/{}", file.as_raw_fd()).as_ref())?;
    let target = c_path(at.as_os_str())?;
    let here = libc::AT_FDCWD;
    // SAFETY: NUL-terminated strings that outlive the call.
    match unsafe { libc::linkat(here, opened.as_ptr(), here, target.as_ptr(), libc::AT_SYMLINK_FOLLOW) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Looks for another user of a file, who may be on its way out.
const TRIES: u32 = 10;
/// Time between two of them.
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// True if `file`, open for writing, is open for writing once more: in a process, or as the disk of a loop device. Some
/// kernels count readers, too. False where the file system cannot tell.
pub fn is_open_elsewhere(file: &File) -> bool {
    let lease = |kind: libc::c_int| {
        // SAFETY: plain call on an open descriptor.
        match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    };
    // A lease for writing is given to the only user of a file. It is given back at once.
    let is_taken = || {
        let taken = lease(libc::F_WRLCK).and_then(|()| lease(libc::F_UNLCK));
        taken.is_err_and(|why| why.raw_os_error() == Some(libc::EAGAIN))
    };
    // A process that another thread has just started has all files of this one until it runs its own program.
    (0..TRIES).all(|_| {
        let is_open = is_taken();
        if is_open {
            std::thread::sleep(BETWEEN_TRIES);
        }
        is_open
    })
}

/// Mounts a tracefs on the existing folder `at`.
///
/// # Errors
/// The error of mount(2).
pub fn mount_tracefs(at: &Path) -> io::Result<()> {
    let target = c_path(at.as_os_str())?;
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    let kind = c"tracefs".as_ptr();
    // SAFETY: all pointers are NUL-terminated strings that outlive the call.
    match unsafe { libc::mount(kind, target.as_ptr(), kind, flags, std::ptr::null()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Entries of a folder, sorted; empty if it cannot be read.
#[must_use]
pub fn listed(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()).collect());
    let mut paths: Vec<PathBuf> = entries.unwrap_or_default();
    paths.sort();
    paths
}
