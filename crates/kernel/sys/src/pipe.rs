//! Pipes, a byte at a time.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

/// A pipe closed on exec: (read, write).
///
/// # Errors
/// The error of pipe2(2).
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends: [RawFd; 2] = [-1, -1];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both were just made and belong to nobody else.
    Ok(unsafe { (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])) })
}

/// The next byte of `end`; `None` at its end or on an error.
pub fn read_byte(end: &OwnedFd) -> Option<u8> {
    let mut byte = 0u8;
    // SAFETY: room for one byte.
    let read = unsafe { libc::read(end.as_raw_fd(), (&raw mut byte).cast(), 1) };
    (read == 1).then_some(byte)
}

/// Writes one byte to `end`. A closed reader is not an error.
pub fn write_byte(end: &OwnedFd, byte: u8) {
    // SAFETY: one byte from a live variable.
    unsafe { libc::write(end.as_raw_fd(), (&raw const byte).cast(), 1) };
}
