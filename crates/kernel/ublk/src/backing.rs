//! The backing of an elevated device: a file or block device that nothing else uses.
//!
//! It is opened for direct I/O if possible, and locked. The kernel holds the lock until the last transfer is complete,
//! even if the server was killed. So a new server that gets the lock knows that no old write can still overwrite a
//! newer one.

use super::error::ElevateError;
use super::record::{self, Identity};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Possible block sizes, ascending.
const BLOCK_SIZES: [usize; 4] = [512, 1024, 2048, 4096];
/// Time limit for the transfers of a killed server. A choice: above the time-outs of usual disks.
const OLD_TRANSFERS: Duration = Duration::from_secs(60);

/// The opened backing.
#[derive(Debug)]
pub struct Backing {
    /// The file; transfers go by its descriptor.
    pub file: File,
    /// Path with all symbolic links resolved.
    pub path: PathBuf,
    /// Identity of the file or device.
    pub identity: Identity,
    /// Sectors of 512 bytes, a whole number of blocks.
    pub sectors: u64,
    /// Smallest transfer, in bytes.
    pub block_bytes: u32,
    /// True if transfers pass by the page cache.
    pub is_direct: bool,
    /// True for a rotating disk; `None` if unknown.
    pub rotational: Option<bool>,
    /// True if it supports discards and zeroing without data.
    pub punches: bool,
}

/// Opens `path` as a backing.
///
/// # Errors
/// It is neither file nor block device, is in use, is too small, or the kernel refuses.
pub fn open(path: &Path) -> Result<Backing, ElevateError> {
    let not = |why: String| ElevateError::Backing { path: path.to_path_buf(), why };
    let found = fs::canonicalize(path).map_err(|why| not(format!("{why}. Name a file or a block device.")))?;
    let about = fs::metadata(&found).map_err(|why| not(format!("{why}.")))?;
    let is_device = about.file_type().is_block_device();
    if !is_device && !about.is_file() {
        return Err(not("neither a file nor a block device. Name one of them.".into()));
    }
    let used = if is_device { device_in_use(about.rdev()) } else { file_in_use(&found) };
    if let Some(by) = used {
        return Err(not(by));
    }
    let (file, is_direct) = open_direct(&found, is_device).map_err(|why| match why.raw_os_error() {
        Some(libc::EBUSY) => not("another program uses this device exclusively (see `lsblk`). Free it first.".into()),
        _ => not(format!("cannot be opened for reading and writing: {why}.")),
    })?;
    lock(&file).map_err(|why| match why.raw_os_error() {
        Some(libc::EWOULDBLOCK) => {
            not("another elevator is before it, see `goodness elevate list`; stop that first.".into())
        }
        _ => not(format!("cannot be locked: {why}.")),
    })?;
    let bytes = size(&file).map_err(|why| not(format!("its size cannot be told: {why}.")))?;
    let block_bytes = if is_direct { smallest_transfer(&file) } else { BLOCK_SIZES[0] };
    if bytes < block_bytes as u64 {
        return Err(not(format!(
            "it has {bytes} bytes and a block has {block_bytes}. Make it larger: truncate -s 1G {}.",
            path.display()
        )));
    }
    let number = if is_device { about.rdev() } else { about.dev() };
    Ok(Backing {
        identity: if is_device { (0, about.rdev()) } else { (about.dev(), about.ino()) },
        sectors: bytes / block_bytes as u64 * (block_bytes as u64 / 512),
        block_bytes: block_bytes as u32,
        is_direct,
        rotational: queue_fact(number, "rotational").map(|text| text == "1"),
        punches: punches(&file, is_device, bytes, number),
        path: found,
        file,
    })
}

/// Opens for direct I/O, or through the page cache if the file system has no direct I/O. A device is opened
/// exclusively: the kernel refuses if it or a part of it is mounted, used for swap, or part of a volume.
fn open_direct(path: &Path, is_device: bool) -> io::Result<(File, bool)> {
    let exclusive = if is_device { libc::O_EXCL } else { 0 };
    let open = |flags| OpenOptions::new().read(true).write(true).custom_flags(flags | exclusive).open(path);
    match open(libc::O_DIRECT) {
        Err(why) if why.raw_os_error() == Some(libc::EINVAL) => Ok((open(0)?, false)),
        opened => Ok((opened?, true)),
    }
}

/// Locks the open file against other elevators; waits for the last transfers of one that was killed.
fn lock(file: &File) -> io::Result<()> {
    let until = Instant::now() + if killed_server_has_it(file) { OLD_TRANSFERS } else { Duration::ZERO };
    loop {
        // SAFETY: no pointers.
        if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(());
        }
        let why = io::Error::last_os_error();
        if why.raw_os_error() != Some(libc::EWOULDBLOCK) || Instant::now() >= until {
            return Err(why);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// True if a record shows that a dead server used this file. Its lock will be released soon.
fn killed_server_has_it(file: &File) -> bool {
    let Ok(about) = file.metadata() else { return false };
    let is_device = about.file_type().is_block_device();
    let identity = if is_device { (0, about.rdev()) } else { (about.dev(), about.ino()) };
    record::all().iter().any(|record| record.identity == identity && !record.server_lives())
}

/// Exclusive user of the disk, as a sentence. The server must be running, because opening may read from the disk.
pub fn disk_in_use(number: u32) -> Option<String> {
    let disk = format!("/dev/ublkb{number}");
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_EXCL).open(&disk);
    if opened.err()?.raw_os_error() != Some(libc::EBUSY) {
        return None;
    }
    built_upon(number)
        .or_else(|| Some(format!("{disk} is in use by a swap area or a program (see `lsblk`). Free it first.")))
}

/// Mounts of the disk and devices built on it, as a sentence, found without opening the disk.
pub fn built_upon(number: u32) -> Option<String> {
    let device = fs::metadata(format!("/dev/ublkb{number}")).ok()?;
    device_in_use(device.rdev()).map(|why| format!("/dev/ublkb{number}: {why}"))
}

/// Bytes of a file or a device.
fn size(file: &File) -> io::Result<u64> {
    let about = file.metadata()?;
    if about.is_file() {
        return Ok(about.len());
    }
    const BLKGETSIZE64: libc::c_ulong = 0x8008_1272;
    let mut bytes = 0u64;
    // SAFETY: the kernel writes eight bytes to `bytes`.
    match unsafe { libc::ioctl(file.as_raw_fd(), BLKGETSIZE64, &raw mut bytes) } {
        0 => Ok(bytes),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The smallest aligned transfer that direct I/O accepts, found by reading.
fn smallest_transfer(file: &File) -> usize {
    let page = BLOCK_SIZES[BLOCK_SIZES.len() - 1];
    let mut memory = vec![0u8; 2 * page];
    let start = memory.as_ptr().align_offset(page);
    let accepts = |bytes: &usize| file.read_at(&mut memory[start..start + bytes], *bytes as u64).is_ok();
    BLOCK_SIZES.into_iter().find(accepts).unwrap_or(page)
}

/// True if discards are supported. A file is tested by punching a hole past its end, which changes nothing.
fn punches(file: &File, is_device: bool, bytes: u64, number: u64) -> bool {
    if is_device {
        return queue_fact(number, "write_zeroes_max_bytes").is_some_and(|most| most != "0");
    }
    let (mode, end) = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE, bytes.next_multiple_of(4096));
    // SAFETY: no pointers.
    unsafe { libc::fallocate(file.as_raw_fd(), mode, end as libc::off_t, 4096) == 0 }
}

/// Queue attribute of device `number`, or of the disk it is a partition of.
fn queue_fact(number: u64, name: &str) -> Option<String> {
    let device = sys_folder(number);
    let read = |folder: PathBuf| fs::read_to_string(folder.join("queue").join(name)).ok();
    read(device.clone()).or_else(|| read(device.join(".."))).map(|text| text.trim().to_string())
}

fn sys_folder(number: u64) -> PathBuf {
    PathBuf::from(format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number)))
}

/// User of block device `number` or of a part of it, as a sentence.
fn device_in_use(number: u64) -> Option<String> {
    let folder = sys_folder(number);
    let listed = |of: &Path| fs::read_dir(of).into_iter().flatten().flatten().map(|entry| entry.path());
    let number_of =
        |part: PathBuf| fs::read_to_string(part.join("dev")).ok().filter(|_| part.join("partition").exists());
    let mut numbers = vec![format!("{}:{}", libc::major(number), libc::minor(number))];
    numbers.extend(listed(&folder).filter_map(number_of).map(|text| text.trim().to_string()));
    if let Some(at) = mounted_at(&numbers) {
        return Some(format!("it is mounted at {at}. Unmount it first: umount {at}."));
    }
    let holder = listed(&folder.join("holders")).next()?;
    let name = holder.file_name()?.to_string_lossy().into_owned();
    Some(format!("/dev/{name} is built on it. Take that apart first, or name /dev/{name}."))
}

/// Mount point of one of the devices `numbers` (`MAJOR:MINOR`).
fn mounted_at(numbers: &[String]) -> Option<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(2);
        let number = words.next()?;
        let at = words.nth(1)?;
        numbers.iter().any(|known| known == number).then(|| at.to_string())
    })
}

/// Use of the file at `path` as swap space or by a loop device, as a sentence.
fn file_in_use(path: &Path) -> Option<String> {
    let named = path.to_str()?;
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    if swaps.lines().any(|line| line.split_whitespace().next() == Some(named)) {
        return Some(format!("the machine swaps to it. Give it up first: swapoff {named}."));
    }
    let disks = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let attached = disks
        .map(|entry| entry.path())
        .find(|disk| fs::read_to_string(disk.join("loop/backing_file")).is_ok_and(|file| file.trim_end() == named))?;
    let name = attached.file_name()?.to_string_lossy().into_owned();
    Some(format!("/dev/{name} is attached to it. Detach it first (losetup -d /dev/{name}), or name /dev/{name}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> String {
        open(path).expect_err("it must be refused").to_string()
    }

    #[test]
    fn what_is_no_file_or_smaller_than_a_block_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        assert!(refusal(folder.path()).contains("neither a file nor a block device"));
        assert!(refusal(Path::new("/dev/null")).contains("neither a file nor a block device"));
        assert!(refusal(&folder.path().join("none")).contains("Name a file or a block device"));
        let small = folder.path().join("small");
        fs::write(&small, [0; 100]).unwrap();
        assert!(
            refusal(&small).contains("it has 100 bytes and a block has 512. Make it larger"),
            "{}",
            refusal(&small)
        );
    }

    #[test]
    fn a_file_is_taken_by_one_elevator_at_a_time_and_its_odd_end_is_left_alone() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(40_960 + 100).unwrap();
        let first = open(file.path()).unwrap();
        assert_eq!((first.sectors, first.identity.1), (80, file.as_file().metadata().unwrap().ino()));
        assert!(refusal(file.path()).contains("another elevator is before it"));
        drop(first);
        assert!(open(file.path()).is_ok());
        assert_eq!(file.as_file().metadata().unwrap().len(), 41_060);
    }

    #[test]
    fn a_mounted_device_is_named_with_its_place() {
        let root = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let first = root.lines().next().unwrap().split(' ').collect::<Vec<_>>();
        assert_eq!(mounted_at(&[first[2].to_string()]).as_deref(), Some(first[4]));
        assert_eq!(mounted_at(&["4095:77".into()]), None);
    }
}
