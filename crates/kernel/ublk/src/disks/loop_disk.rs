//! A loop device over a sparse file of our own.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::DiskError;
use super::trace::Tracing;
use goodness_record::tracefs::Tracefs;
use goodness_restore::{Action, MARK, Restore, Undo};

const LOOP_CTL_ADD: libc::c_ulong = 0x4C80;
const LOOP_CONFIGURE: libc::c_ulong = 0x4C0A;
/// The device detaches at its last close.
const LO_FLAGS_AUTOCLEAR: u32 = 4;
/// Past the page cache of the file.
const LO_FLAGS_DIRECT_IO: u32 = 16;
/// Lowest number used; a machine has lower ones from the start.
const FIRST_NUMBER: u32 = 64;
/// The name of the file behind a device.
const IMAGE: &str = "goodness-disk.img";
/// The major number of loop devices.
const MAJOR: u32 = 7;

/// `struct loop_info64` and `struct loop_config` of `linux/loop.h`.
#[repr(C)]
struct LoopConfig {
    file: u32,
    block_size: u32,
    device: u64,
    inode: u64,
    rdevice: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encrypt: [u32; 2],
    flags: u32,
    names: [u8; 64 + 64 + 32],
    init: [u64; 2],
    reserved: [u64; 8],
}

/// A private block device, removed on drop.
#[derive(Debug)]
pub struct LoopDisk {
    number: u32,
    instance: PathBuf,
    // Dropped in this order: closed, undone, unmounted.
    _open: File,
    _undo: Made,
    tracefs: Tracefs,
    restore: Restore,
}

impl LoopDisk {
    /// A disk of `bytes` bytes over a sparse file in a new folder below `below`, with direct I/O.
    ///
    /// # Errors
    /// The kernel's error; everything is undone by then.
    pub fn make(below: &Path, bytes: u64) -> Result<LoopDisk, DiskError> {
        LoopDisk::make_from(below, Backing::File(bytes))
    }

    /// A disk over all of `lower`, which must outlive it: two elevators, one above the other.
    ///
    /// # Errors
    /// As for [`LoopDisk::make`].
    pub fn above(lower: &LoopDisk, below: &Path) -> Result<LoopDisk, DiskError> {
        LoopDisk::make_from(below, Backing::Loop(lower.number))
    }

    fn make_from(below: &Path, backing: Backing) -> Result<LoopDisk, DiskError> {
        let restore = Restore::of_this_process().map_err(unnoted)?;
        // A change that cannot be undone stays in the journal; `doctor` shows it.
        goodness_restore::find().into_iter().for_each(|stale| drop(stale.undo()));
        let mut first = FIRST_NUMBER + std::process::id() % FIRST_NUMBER;
        loop {
            let number = free_number(first)?;
            match LoopDisk::numbered(below, backing, number, &restore) {
                // Another process took the number first.
                Err(why) if why.source.raw_os_error() == Some(libc::EEXIST) => first = number + 1,
                made => return made,
            }
        }
    }

    fn numbered(below: &Path, backing: Backing, number: u32, restore: &Restore) -> Result<LoopDisk, DiskError> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let pid = std::process::id();
        let name = format!("{MARK}{pid}-disk-{}", MADE.fetch_add(1, Ordering::Relaxed));
        let tracefs = Tracefs::find(&name, restore)
            .map_err(|error| DiskError::new(Path::new("tracefs"), "finding or mounting it", io::Error::other(error)))?;
        let instance = tracefs.root.join("instances").join(&name);
        let (folder, restore) = (below.join(&name), restore.clone());
        let undo = Made::note(&folder, number, &restore).map_err(unnoted)?;
        let _open = attach(&folder, number, backing)?;
        Ok(LoopDisk { number, tracefs, instance, _open, _undo: undo, restore })
    }

    /// The device, as in `/dev/loop64`.
    #[must_use]
    pub fn device(&self) -> PathBuf {
        PathBuf::from(format!("/dev/loop{}", self.number))
    }

    fn queue(&self, file: &str) -> PathBuf {
        PathBuf::from(format!("/sys/block/loop{}/queue/{file}", self.number))
    }

    /// The elevators that this kernel has, `none` among them.
    #[must_use]
    pub fn elevators(&self) -> Vec<String> {
        let listed = fs::read_to_string(self.queue("scheduler")).unwrap_or_default();
        listed.split_whitespace().map(|name| name.trim_matches(['[', ']']).to_string()).collect()
    }

    /// Sets the elevator `name` on the device, in its initial state.
    ///
    /// # Errors
    /// The kernel's error, for example for an elevator it lacks.
    pub fn set_elevator(&self, name: &str) -> Result<(), DiskError> {
        // An elevator that is already loaded would keep its learnt state.
        self.set_elevator_only("none")?;
        self.set_elevator_only(name)
    }

    fn set_elevator_only(&self, name: &str) -> Result<(), DiskError> {
        let file = self.queue("scheduler");
        fs::write(&file, name).map_err(|why| DiskError::new(&file, "choosing the elevator", why))
    }

    /// Like [`LoopDisk::set_elevator`], with at most `tags` requests in the device at a time. Further requests wait in
    /// the elevator, which can then choose among them. A loop device takes 128 by default.
    ///
    /// # Errors
    /// As there.
    pub fn set_elevator_before(&self, name: &str, tags: u32) -> Result<(), DiskError> {
        let requests = self.queue("nr_requests");
        self.set_elevator("none")?;
        // Set without an elevator, the number is that of the device's own tags; an elevator set later keeps it.
        fs::write(&requests, tags.to_string()).map_err(|why| DiskError::new(&requests, "limiting the tags", why))?;
        if name == "none" { Ok(()) } else { self.set_elevator_only(name) }
    }

    /// A numeric queue attribute such as `nr_requests`.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<u64> {
        fs::read_to_string(self.queue(name)).ok()?.trim().parse().ok()
    }

    /// Limits I/Os per second in each direction (`blkio.throttle`) until the device is removed.
    ///
    /// # Errors
    /// The kernel's error; it needs the blkio controller of cgroup v1.
    pub fn limit(&self, reads: u64, writes: u64) -> Result<(), DiskError> {
        for (file, rate) in [("read_iops_device", reads), ("write_iops_device", writes)] {
            let file = PathBuf::from(format!("/sys/fs/cgroup/blkio/blkio.throttle.{file}"));
            let limit = fs::write(&file, format!("{MAJOR}:{} {rate}", self.number));
            limit.map_err(|why| DiskError::new(&file, "limiting the device", why))?;
        }
        Ok(())
    }

    /// Traces the device's requests while `during` runs. Returns the trace text and the result of `during`.
    ///
    /// # Errors
    /// The error of tracefs.
    pub fn traced<T>(&self, during: impl FnOnce() -> T) -> Result<(String, T), DiskError> {
        let tracing = Tracing::start(&self.tracefs.root, &self.instance, (MAJOR << 20) | self.number, &self.restore)?;
        let result = during();
        Ok((tracing.text()?, result))
    }
}

/// Parts of a disk, undone in this order.
#[derive(Debug)]
struct Made {
    _device: Undo,
    _folder: Undo,
}

impl Made {
    fn note(folder: &Path, number: u32, restore: &Restore) -> io::Result<Made> {
        let folder = std::path::absolute(folder)?;
        let _folder = restore.before(&Action::RemoveTree(folder.clone()))?;
        let _device = restore.before(&Action::LoopDevice { number, image: folder.join(IMAGE) })?;
        Ok(Made { _device, _folder })
    }
}

fn unnoted(why: io::Error) -> DiskError {
    DiskError::new(&goodness_restore::folder(), "noting how the disk is removed", why)
}

/// The first number from `first` on that no loop device has.
fn free_number(first: u32) -> Result<u32, DiskError> {
    let is_free = |number: &u32| !Path::new(&format!("/sys/block/loop{number}")).exists();
    let full = || io::Error::other("a thousand loop devices exist");
    let found = (first..FIRST_NUMBER + 1000).find(is_free);
    found.ok_or_else(|| DiskError::new(Path::new("/sys/block"), "finding a free number", full()))
}

/// Backing of a device.
#[derive(Clone, Copy)]
enum Backing {
    /// A sparse file of this many bytes.
    File(u64),
    /// The loop device of this number.
    Loop(u32),
}

/// Creates it at `image`: a file, or a device node.
fn back(image: &Path, backing: Backing) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_CLOEXEC);
    match backing {
        Backing::File(bytes) => {
            let file = options.create_new(true).open(image)?;
            file.set_len(bytes)?;
            Ok(file)
        }
        Backing::Loop(number) => {
            let path = goodness_sys::c_path(image.as_os_str())?;
            // SAFETY: a NUL-terminated string that outlives the call.
            match unsafe { libc::mknod(path.as_ptr(), libc::S_IFBLK | 0o600, libc::makedev(MAJOR, number)) } {
                0 => options.open(image),
                _ => Err(io::Error::last_os_error()),
            }
        }
    }
}

/// Creates file and device, and attaches them.
fn attach(folder: &Path, number: u32, backing: Backing) -> Result<File, DiskError> {
    let image = folder.join(IMAGE);
    fs::create_dir(folder).map_err(|why| DiskError::new(folder, "making a folder", why))?;
    let file =
        back(&image, backing).map_err(|why| DiskError::new(&image, "making what lies behind the device", why))?;
    let control = Path::new("/dev/loop-control");
    let opened = OpenOptions::new().read(true).write(true).open(control);
    let opened = opened.map_err(|why| DiskError::new(control, "opening", why))?;
    // SAFETY: the argument is a number.
    if unsafe { libc::ioctl(opened.as_raw_fd(), LOOP_CTL_ADD, libc::c_long::from(number)) } < 0 {
        return Err(DiskError::new(control, "adding a loop device", io::Error::last_os_error()));
    }
    let path = PathBuf::from(format!("/dev/loop{}", number));
    let device = OpenOptions::new().read(true).write(true).open(&path);
    let device = device.map_err(|why| DiskError::new(&path, "opening", why))?;
    let config = LoopConfig {
        file: file.as_raw_fd() as u32,
        block_size: 512,
        device: 0,
        inode: 0,
        rdevice: 0,
        offset: 0,
        size_limit: 0,
        number,
        encrypt: [0; 2],
        flags: LO_FLAGS_AUTOCLEAR | LO_FLAGS_DIRECT_IO,
        names: [0; 160],
        init: [0; 2],
        reserved: [0; 8],
    };
    // SAFETY: `config` is laid out as the kernel expects and outlives the call.
    if unsafe { libc::ioctl(device.as_raw_fd(), LOOP_CONFIGURE, &raw const config) } < 0 {
        return Err(DiskError::new(&path, "attaching the file", io::Error::last_os_error()));
    }
    Ok(device)
}
