//! Errors of `goodness elevate`, as sentences with a remedy.

use std::io;
use std::path::PathBuf;

/// Error of `goodness elevate`. All changes are undone by then, unless the sentence says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum ElevateError {
    /// Block devices are for root.
    #[error(
        "a block device with an elevator is for root, and this process runs as user {uid}. Run the same command with \
            `sudo`."
    )]
    NotRoot {
        /// The effective user id.
        uid: u32,
    },
    /// There is no `/dev/ublk-control`.
    #[error(
        "this kernel offers no ublk devices: /dev/ublk-control cannot be opened ({source}). Load the driver with \
         `modprobe ublk_drv`; it needs Linux 6.4 or later with CONFIG_BLK_DEV_UBLK."
    )]
    NoDriver {
        /// Error of opening it.
        source: io::Error,
    },
    /// There is no io_uring.
    #[error("io_uring is not available ({source}). It may be switched off: see `sysctl kernel.io_uring_disabled`.")]
    NoRing {
        /// The kernel's error.
        source: io::Error,
    },
    /// An unknown elevator or unknown settings.
    #[error("{0}. See `goodness list elevators`.")]
    Elevator(String),
    /// The given path cannot be a backing.
    #[error("{}: {why}", path.display())]
    Backing {
        /// The path.
        path: PathBuf,
        /// Reason and remedy.
        why: String,
    },
    /// An invalid setting.
    #[error("{0}")]
    Setting(String),
    /// The device does not exist, or is in the wrong state.
    #[error("{0}")]
    Device(String),
    /// The kernel refused a step.
    #[error("{what} failed: {source}. {remedy}")]
    Kernel {
        /// The step.
        what: String,
        /// The kernel's error.
        source: io::Error,
        /// Remedy.
        remedy: &'static str,
    },
    /// The server of the queue ended before it should.
    #[error(
        "{why} Nothing was dropped: /dev/ublkb{device} waits for another server. Go on with `goodness elevate noop \
         --recover {device}`, or give it up with `goodness elevate stop {device}`."
    )]
    Server {
        /// Its device.
        device: u32,
        /// Its last message.
        why: String,
    },
    /// A rule of the block layer was broken.
    #[error("{0}")]
    Violated(String),
}

impl ElevateError {
    /// There is no elevated device of this number.
    pub(crate) fn no_device(number: u32) -> ElevateError {
        ElevateError::Device(format!(
            "there is no elevated device {number}. See `goodness elevate list` for those there are."
        ))
    }

    /// A step that the kernel refused.
    pub(crate) fn kernel(what: impl Into<String>, source: io::Error) -> ElevateError {
        let remedy = match source.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => "Run the same command with `sudo`.",
            Some(libc::EOPNOTSUPP) => "This kernel's ublk is too old: it must be Linux 6.4 or later.",
            Some(libc::ENOMEM | libc::ENOSPC) => "Make room, or take fewer --tags.",
            _ => "See `dmesg` for the kernel's reason.",
        };
        ElevateError::Kernel { what: what.into(), source, remedy }
    }

    /// Exit code of the command line: 2 if the call or the machine has to change first, 4 if the elevator broke a rule,
    /// else 1.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            ElevateError::Kernel { .. } => 1,
            ElevateError::Server { .. } | ElevateError::Violated(_) => 4,
            _ => 2,
        }
    }
}
