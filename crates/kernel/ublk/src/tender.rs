//! A helper process for everything that may block on the server: starting and stopping the disk, and opening it.
//!
//! The kernel frees the requests of a killed server when its last thread is gone. A server thread that waits for its
//! own disk cannot be killed, so the process would never end and the device could not be recovered. The helper shares
//! nothing with the server, so it may wait. It ends when the server does.

use super::backing::disk_in_use;
use super::control::Control;
use super::error::ElevateError;
use super::probe::{Probe, probe};
use goodness_sys::forked::Forked;
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// A task for the helper.
#[derive(Debug, Serialize, Deserialize)]
pub enum Order {
    /// The disk of a device appears; `server` serves it.
    Start { device: u32, server: u32 },
    /// Requests that waited go to the new `server`.
    EndRecovery { device: u32, server: u32 },
    /// Turn off the kernel's own elevator and, if `reads` is not 0, measure the overhead.
    Prepare { device: u32, backing: PathBuf, is_direct: bool, sectors: u64, reads: u32 },
    /// Report an exclusive user of the disk.
    InUse { device: u32 },
    /// Write the page cache of the disk.
    Sync { device: u32 },
    /// Remove the disk.
    Stop { device: u32 },
    /// Delete the device.
    Delete { device: u32 },
}

/// Result of an order.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Reply {
    /// An error number, if it failed.
    failed: Option<i32>,
    probe: Option<Probe>,
    in_use: Option<String>,
}

/// The server's handle to the helper.
pub struct Tender {
    /// First, so that the process hears its end before it is waited for.
    line: BufReader<UnixStream>,
    _process: Forked,
}

impl Tender {
    /// Starts it. To be called before the backing is opened, so that it does not hold the backing's lock.
    ///
    /// # Errors
    /// This process has threads already, or the kernel refuses.
    pub fn start() -> Result<Tender, ElevateError> {
        let failed = |why| ElevateError::kernel("starting a process beside the server", why);
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let process = Forked::run(|| tend(theirs)).map_err(failed)?;
        Ok(Tender { line: BufReader::new(ours), _process: process })
    }

    fn ask(&mut self, order: &Order) -> io::Result<Reply> {
        let mut text = serde_json::to_vec(order).map_err(io::Error::other)?;
        text.push(b'\n');
        self.line.get_mut().write_all(&text)?;
        let mut answer = String::new();
        if self.line.read_line(&mut answer)? == 0 {
            return Err(io::Error::other("the process beside the server ended"));
        }
        let reply: Reply = serde_json::from_str(&answer).map_err(io::Error::other)?;
        reply.failed.map_or(Ok(reply), |error| Err(io::Error::from_raw_os_error(error)))
    }

    /// Has `order` done.
    pub fn order(&mut self, order: &Order) -> io::Result<()> {
        self.ask(order).map(drop)
    }

    /// Runs [`Order::Prepare`]. Returns the overhead if measured.
    pub fn prepare(&mut self, order: &Order) -> io::Result<Option<Probe>> {
        self.ask(order).map(|reply| reply.probe)
    }

    /// Exclusive user of the disk, as a sentence.
    pub fn in_use(&mut self, device: u32) -> Option<String> {
        self.ask(&Order::InUse { device }).ok()?.in_use
    }
}

/// Main loop of the helper: one order per line, until the server is gone.
fn tend(line: UnixStream) {
    leave_the_group();
    let Ok(mut answers) = line.try_clone() else { return };
    for order in BufReader::new(line).lines() {
        let Some(order) = order.ok().and_then(|text| serde_json::from_str(&text).ok()) else { return };
        let reply = obey(&order)
            .unwrap_or_else(|why| Reply { failed: Some(why.raw_os_error().unwrap_or(libc::EIO)), ..Reply::default() });
        let Ok(mut text) = serde_json::to_vec(&reply) else { return };
        text.push(b'\n');
        if answers.write_all(&text).is_err() {
            return;
        }
    }
}

/// Ignores the signals that end the server, which controls this process, and detaches from its output.
fn leave_the_group() {
    // SAFETY: no pointers.
    unsafe { libc::setpgid(0, 0) };
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
        // SAFETY: no handler.
        unsafe { libc::signal(signal, libc::SIG_IGN) };
    }
    if let Ok(null) = OpenOptions::new().read(true).write(true).open("/dev/null") {
        for end in 0..3 {
            // SAFETY: descriptors of this process.
            unsafe { libc::dup2(null.as_raw_fd(), end) };
        }
    }
}

fn obey(order: &Order) -> io::Result<Reply> {
    let mut reply = Reply::default();
    let control = || Control::open().map_err(io::Error::other);
    match order {
        Order::Start { device, server } => control()?.start(*device, *server)?,
        Order::EndRecovery { device, server } => control()?.end_recovery(*device, *server)?,
        Order::Prepare { device, backing, is_direct, sectors, reads } => {
            fs::write(format!("/sys/block/ublkb{device}/queue/scheduler"), "none")?;
            if *reads > 0 {
                let (behind, disk) = (open(backing, *is_direct)?, open(&disk(*device), true)?);
                reply.probe = Some(probe(&behind, *sectors, &disk, *reads)?);
            }
        }
        Order::InUse { device } => reply.in_use = disk_in_use(*device),
        // No disk: no page cache to write.
        Order::Sync { device } => {
            OpenOptions::new().write(true).open(disk(*device)).map_or(Ok(()), |disk| disk.sync_all())?;
        }
        Order::Stop { device } => control()?.stop(*device)?,
        Order::Delete { device } => control()?.delete(*device)?,
    }
    Ok(reply)
}

fn disk(device: u32) -> PathBuf {
    PathBuf::from(format!("/dev/ublkb{device}"))
}

fn open(path: &Path, is_direct: bool) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(if is_direct { libc::O_DIRECT } else { 0 }).open(path)
}
