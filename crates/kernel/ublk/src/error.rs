//! Why an elevator could not be put before a device, as sentences with a remedy.

use std::io;
use std::path::PathBuf;

/// Why something about `goodness elevate` failed. What had been made is gone again, unless the sentence says otherwise.
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
    /// No `/dev/ublk-control`.
    #[error(
        "this kernel offers no ublk devices: /dev/ublk-control cannot be opened ({source}). Load the driver with \
         `modprobe ublk_drv`; it needs Linux 6.4 or later with CONFIG_BLK_DEV_UBLK."
    )]
    NoDriver {
        /// What opening said.
        source: io::Error,
    },
    /// No io_uring.
    #[error("io_uring is not available ({source}). It may be switched off: see `sysctl kernel.io_uring_disabled`.")]
    NoRing {
        /// What the kernel said.
        source: io::Error,
    },
    /// An elevator that there is not, or settings that it has not.
    #[error("{0}. See `goodness list elevators`.")]
    Elevator(String),
    /// What was named cannot lie behind a device.
    #[error("{}: {why}", path.display())]
    Backing {
        /// What was named.
        path: PathBuf,
        /// Why not, and the remedy.
        why: String,
    },
    /// A setting that makes no sense.
    #[error("{0}")]
    Setting(String),
    /// The device asked for is not there, or not in the state for that.
    #[error("{0}")]
    Device(String),
    /// The kernel refused a step.
    #[error("{what} failed: {source}. {remedy}")]
    Kernel {
        /// The step.
        what: String,
        /// What the kernel said.
        source: io::Error,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The server of the queue ended before it should.
    #[error(
        "{why} Nothing was dropped: /dev/ublkb{device} waits for another server. Go on with `goodness elevate noop \
            --recover \
         {device}`, or give it up with `goodness elevate stop {device}`."
    )]
    Server {
        /// Its device.
        device: u32,
        /// What it said last.
        why: String,
    },
    /// A rule of the block layer was broken.
    #[error("{0}")]
    Violated(String),
}

impl ElevateError {
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

    /// The exit code of the command line: 2 where the call or the machine has to change first, 4 where a rule was
    /// broken, 1 otherwise.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            ElevateError::Kernel { .. } => 1,
            ElevateError::Server { .. } | ElevateError::Violated(_) => 4,
            _ => 2,
        }
    }
}
