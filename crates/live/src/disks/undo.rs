//! What a disk has changed, and undoing it on every way out: on drop; by a guard process, should this one be killed; and
//! by the journal at the next start, should the guard be killed too.
//!
//! All that is undone follows from a number and three paths, so the journal is written and the guard is started before
//! anything is made.

use std::ffi::CString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::record::{journal, machine};
use crate::sys;

const LOOP_CONTROL: &std::ffi::CStr = c"/dev/loop-control";
/// Forgets a loop device that nobody has open and nothing is attached to.
pub const LOOP_CTL_REMOVE: libc::c_ulong = 0x4C81;

/// What was made, or is about to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Process id of the owner.
    pub pid: u32,
    /// Its start time in ticks since boot, which tells it from a later process with the same id.
    pub started: Option<u64>,
    /// Number of the loop device.
    pub number: u32,
    /// The private folder, which holds `disk.img` only.
    pub folder: PathBuf,
    /// The trace instance.
    pub instance: PathBuf,
    /// A tracefs that was mounted for it.
    pub mounted: Option<PathBuf>,
}

impl Entry {
    /// The file behind the device.
    pub fn image(&self) -> PathBuf {
        self.folder.join("disk.img")
    }

    fn is_ours(&self) -> bool {
        let marked = |path: &Path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(journal::MARK))
        };
        marked(&self.folder) && marked(&self.instance) && self.mounted.as_deref().is_none_or(marked)
    }

    fn owner_lives(&self) -> bool {
        journal::process_start(self.pid).is_some_and(|now| self.started.is_none_or(|then| then == now))
    }
}

/// The same as strings the kernel takes, because a child forked from a process with threads may not allocate.
struct Orders {
    number: u32,
    /// Says which file the device is attached to.
    backing: CString,
    device: CString,
    image: CString,
    folder: CString,
    tracing_on: CString,
    instance: CString,
    mounted: Option<CString>,
    journal: CString,
}

impl Orders {
    fn new(entry: &Entry, journal: &Path) -> io::Result<Orders> {
        let c = |path: &Path| sys::c_path(path.as_os_str());
        let number = entry.number;
        Ok(Orders {
            number,
            backing: c(Path::new(&format!("/sys/block/loop{number}/loop/backing_file")))?,
            device: c(Path::new(&format!("/dev/loop{number}")))?,
            image: c(&entry.image())?,
            folder: c(&entry.folder)?,
            tracing_on: c(&entry.instance.join("tracing_on"))?,
            instance: c(&entry.instance)?,
            mounted: entry.mounted.as_deref().map(c).transpose()?,
            journal: c(journal)?,
        })
    }
}

/// Undoes an [`Entry`] when dropped, or when this process ends without dropping it.
#[derive(Debug)]
pub struct Undo {
    entry: Entry,
    journal: PathBuf,
    leash: OwnedFd,
    guard: libc::pid_t,
}

impl Undo {
    /// Writes the journal and starts the guard.
    ///
    /// # Errors
    /// What writing, pipe2(2) or fork(2) report.
    pub fn start(entry: Entry, name: &str) -> io::Result<Undo> {
        fs::create_dir_all(folder())?;
        let journal = folder().join(format!("{name}.json"));
        fs::write(&journal, serde_json::to_vec(&entry).map_err(io::Error::other)?)?;
        let orders = Orders::new(&entry, &journal)?;
        let (listen, leash) = sys::pipe()?;
        // SAFETY: the child calls only async-signal-safe functions (see `guard`) and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: we are the forked child, as `guard` requires.
            0 => unsafe { guard(listen.as_raw_fd(), &orders) },
            guard => Ok(Undo { entry, journal, leash, guard }),
        }
    }
}

impl Drop for Undo {
    fn drop(&mut self) {
        if let Ok(orders) = Orders::new(&self.entry, &self.journal) {
            // SAFETY: all it needs is alive.
            unsafe { restore(&orders) };
        }
        sys::write_byte(&self.leash, b'.');
        sys::reap(self.guard);
    }
}

/// Where journals are kept.
pub fn folder() -> PathBuf {
    journal::folder().join("disks")
}

/// Undoes what processes have left that died together with their guards.
pub fn clean_stale() {
    for path in machine::listed(&folder()) {
        let Some(entry) = fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Entry>(&text).ok()) else {
            continue;
        };
        if entry.owner_lives() || !entry.is_ours() {
            continue;
        }
        if let Ok(orders) = Orders::new(&entry, &path) {
            // SAFETY: all it needs is alive.
            unsafe { restore(&orders) };
        }
    }
}

/// The guard's whole life: waits for the end of a pipe whose other end only the owner holds; a byte dismisses it.
///
/// # Safety
/// Only in a freshly forked child: it calls nothing that allocates, locks or unwinds.
unsafe fn guard(listen: i32, orders: &Orders) -> ! {
    // SAFETY: all calls are async-signal-safe, descriptors and strings are valid.
    unsafe {
        libc::setpgid(0, 0);
        for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT, libc::SIGPIPE] {
            libc::signal(signal, libc::SIG_IGN);
        }
        libc::dup2(listen, 0);
        if libc::syscall(libc::SYS_close_range, 1u32, u32::MAX, 0u32) != 0 {
            for descriptor in 1..4096 {
                libc::close(descriptor);
            }
        }
        let mut byte = 0u8;
        let got = loop {
            let got = libc::read(0, (&raw mut byte).cast(), 1);
            if got >= 0 || *libc::__errno_location() != libc::EINTR {
                break got;
            }
        };
        if got == 0 {
            restore(orders);
        }
        libc::_exit(0)
    }
}

/// Undoes everything that is there of it. The journal goes last.
///
/// # Safety
/// The strings must be alive.
unsafe fn restore(orders: &Orders) {
    // SAFETY: system calls with NUL-terminated strings.
    unsafe {
        let switch = libc::open(orders.tracing_on.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if switch >= 0 {
            libc::write(switch, c"0".as_ptr().cast(), 1);
            libc::close(switch);
        }
        // The owner's descriptors close one by one as it dies; instance and device are busy until the last has.
        patiently(|| libc::rmdir(orders.instance.as_ptr()) == 0 || errno() == libc::ENOENT);
        if let Some(mounted) = &orders.mounted {
            libc::umount2(mounted.as_ptr(), libc::MNT_DETACH);
            libc::rmdir(mounted.as_ptr());
        }
        // The device detaches from its file by itself when the last who has it open closes it (LO_FLAGS_AUTOCLEAR).
        patiently(|| is_gone(orders) || remove_device(orders));
        libc::unlink(orders.image.as_ptr());
        libc::rmdir(orders.folder.as_ptr());
        libc::unlink(orders.journal.as_ptr());
    }
}

fn errno() -> i32 {
    // SAFETY: the location belongs to this thread.
    unsafe { *libc::__errno_location() }
}

/// Tries for at most 5 s.
fn patiently(mut done: impl FnMut() -> bool) {
    for _ in 0..500 {
        if done() {
            return;
        }
        let pause = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
        // SAFETY: `pause` outlives the call.
        unsafe { libc::nanosleep(&raw const pause, std::ptr::null_mut()) };
    }
}

/// Whether there is no such device.
unsafe fn is_gone(orders: &Orders) -> bool {
    // SAFETY: a NUL-terminated string.
    unsafe { libc::access(orders.device.as_ptr(), libc::F_OK) != 0 }
}

/// Removes the device unless it is attached to somebody else's file, which then is none of our business.
unsafe fn remove_device(orders: &Orders) -> bool {
    // SAFETY: the buffer has the length given; strings are NUL-terminated.
    unsafe {
        let mut attached = [0u8; 4096];
        let file = libc::open(orders.backing.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file >= 0 {
            let length = libc::read(file, attached.as_mut_ptr().cast(), attached.len());
            libc::close(file);
            let image = orders.image.as_bytes();
            if length > 0 && !attached[..length as usize].starts_with(image) {
                return true;
            }
        }
        let control = libc::open(LOOP_CONTROL.as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        let removed = libc::ioctl(control, LOOP_CTL_REMOVE, libc::c_long::from(orders.number));
        let why = errno();
        libc::close(control);
        removed >= 0 || why == libc::ENODEV
    }
}
