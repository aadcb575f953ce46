//! Measures closed loops on a disk or a file, past the page cache.
//!
//! Only reads, unless writes are allowed: these write back what was read from the same place. Nothing on the machine is
//! changed.

use crate::kernel::{Attributes, set_attributes};
use goodness_core::storage::SECTORS_MAX;
use goodness_core::{DeviceFacts, Rng, SECTOR_BYTES, Seed};
use goodness_device::fitted::closed_loop::{Load, Outcome};
use goodness_device::fitted::fit::Cell;
use goodness_sys::aio::{Piece, Ring};
use goodness_sys::{self as sys, monotonic_ns};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// All loads are measured so often, one after the other.
pub const ROUNDS: u64 = 7;
/// The rounds at either end that are left out: other work, on this machine or beside it, slows some down.
const LEFT_OUT: usize = 2;
/// Length of each measurement in ns, behind a start that is left out.
const VISIT: u64 = 60_000_000;
const START: u64 = 10_000_000;
/// The smallest disk: less is in a cache somewhere.
const LEAST: u64 = 64 << 20;
/// Places that are written, and the most bytes of them.
const PLACES: usize = 256;
const WRITTEN: usize = 16 << 20;
/// Flushes measured.
const FLUSHES: usize = 32;

/// A disk or file that is measured.
#[derive(Debug)]
pub struct Disk {
    file: File,
    bytes: u64,
    /// What the kernel says about it.
    pub facts: DeviceFacts,
    /// The same as words: name in sysfs, elevator.
    pub described: String,
    with_writes: bool,
}

impl Disk {
    /// Opens `path`. With writes, a disk that is in use is refused.
    ///
    /// # Errors
    /// A sentence with the remedy.
    pub fn open(path: &Path, with_writes: bool) -> Result<Disk, String> {
        let shown = path.display();
        let kind = std::fs::metadata(path).ok().map(|about| about.file_type());
        if kind.is_some_and(|it| !it.is_block_device() && !it.is_file()) {
            return Err(format!("{shown} is neither a disk nor a file; name a disk, or a file of 64 MiB or more"));
        }
        let is_disk = kind.is_some_and(|it| it.is_block_device());
        let exclusive = if is_disk && with_writes { libc::O_EXCL } else { 0 };
        let mut file = OpenOptions::new()
            .read(true)
            .write(with_writes)
            .custom_flags(libc::O_DIRECT | exclusive)
            .open(path)
            .map_err(|why| format!("{shown} cannot be opened for direct I/O: {why}; {}", remedy(&why)))?;
        let about = file.metadata().map_err(|why| format!("{shown}: {why}"))?;
        let bytes = file.seek(SeekFrom::End(0)).map_err(|why| format!("{shown} has no size: {why}; name a disk"))?;
        if bytes < LEAST {
            return Err(format!("{shown} has {bytes} bytes; take a file or disk of 64 MiB or more"));
        }
        if !is_disk && about.blocks() * SECTOR_BYTES < bytes / 10 * 9 {
            return Err(format!("{shown} has holes, which no disk reads; fill it with data"));
        }
        if !is_disk && with_writes && sys::is_open_elsewhere(&file) {
            return Err(format!("{shown} is open in another program; end that, or measure reads only"));
        }
        let queue = Queue::of(&about, is_disk);
        let facts = queue.facts((bytes / SECTOR_BYTES).min(SECTORS_MAX));
        Ok(Disk { file, bytes, facts, described: queue.described(), with_writes })
    }

    /// Measures all `loads` in turn, several times. `progress` is called [`ROUNDS`] times for each.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn measure(&self, loads: &[Load], progress: impl FnMut() + Send) -> io::Result<Vec<Cell>> {
        // A thread of its own, before all ordinary tasks if that is allowed: they are not what is measured.
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                let urgent = Attributes { policy: libc::SCHED_FIFO, priority: 1, ..Attributes::default() };
                let _ = set_attributes(urgent, true);
                self.rounds(loads, progress)
            });
            thread.join().unwrap_or_else(|_| Err(io::Error::other("the measurement ended by a panic")))
        })
    }

    fn rounds(&self, loads: &[Load], mut progress: impl FnMut()) -> io::Result<Vec<Cell>> {
        let mut all: Vec<Vec<Outcome>> = vec![Vec::new(); loads.len()];
        for round in 0..ROUNDS {
            for (at, load) in loads.iter().enumerate() {
                let latencies = self.visit(load, Seed(round).stream("disk", at as u64))?;
                all[at].extend(Outcome::of(latencies, load.depth));
                progress();
            }
        }
        let cells: Option<Vec<Cell>> = loads.iter().zip(all).map(|(load, rounds)| cell(load, rounds)).collect();
        cells.ok_or_else(|| io::Error::other("it completed nothing within 70 ms"))
    }

    /// Latencies of `load` for a while, in ns.
    fn visit(&self, load: &Load, seed: Seed) -> io::Result<Vec<u64>> {
        let mut source = Source::new(load, self.bytes, seed);
        let mut ring = Ring::new(self.file.as_raw_fd(), load.depth as usize, source.memory())?;
        if load.writes > 0 {
            assert!(self.with_writes, "writes were not allowed");
            source.read_back(&self.file, ring.memory())?;
        }
        let begin = monotonic_ns();
        let (from, until) = (begin + START, begin + START + VISIT);
        let mut sent = vec![0; load.depth as usize];
        let mut free: Vec<usize> = (0..sent.len()).collect();
        let mut latencies = Vec::new();
        loop {
            if monotonic_ns() < until {
                // Taken and sent one by one, as fio does: a device that is told of several at a time does more.
                for slot in free.drain(..) {
                    let piece = source.piece(slot);
                    sent[slot] = monotonic_ns();
                    ring.submit(&[piece])?;
                }
            } else if free.len() == sent.len() {
                return Ok(latencies);
            }
            ring.wait(1, |slot| {
                if sent[slot] >= from {
                    latencies.push(monotonic_ns() - sent[slot]);
                }
                free.push(slot);
            })?;
        }
    }

    /// Median time in ns of a flush behind one write; 0 without writes.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn flush(&self) -> io::Result<u64> {
        if !self.with_writes {
            return Ok(0);
        }
        let load = Load::random(4096, 1, 100);
        let mut source = Source::new(&load, self.bytes, Seed(1).stream("flush", 0));
        let mut ring = Ring::new(self.file.as_raw_fd(), 1, source.memory())?;
        source.read_back(&self.file, ring.memory())?;
        let mut times = Vec::with_capacity(FLUSHES);
        for _ in 0..FLUSHES {
            ring.submit(&[source.piece(0)])?;
            ring.wait(1, |_| ())?;
            let begin = monotonic_ns();
            self.file.sync_data()?;
            times.push(monotonic_ns() - begin);
        }
        times.sort_unstable();
        Ok(times[FLUSHES / 2])
    }
}

/// The rounds of `load` as one; those at either end of their speeds are left out. `None` without a round.
fn cell(load: &Load, mut rounds: Vec<Outcome>) -> Option<Cell> {
    rounds.sort_by_key(|round| round.per_1000_s);
    let span = (rounds.first()?.iops(), rounds.last()?.iops());
    let left_out = LEFT_OUT.min((rounds.len() - 1) / 2);
    let kept = &rounds[left_out..rounds.len() - left_out];
    let latencies = kept.iter().flat_map(|round| round.latencies.iter().copied()).collect();
    Some(Cell { load: load.clone(), measured: Outcome::of(latencies, load.depth)?, rounds: span })
}

fn remedy(why: &io::Error) -> &'static str {
    match why.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => "run the same command with `sudo`, or name a file of yours",
        Some(libc::EBUSY) => "it is in use: measure reads only, or a file on it",
        Some(libc::EINVAL) => "its file system has no direct I/O: name a disk, or a file elsewhere",
        _ => "name a disk, or a file of 64 MiB or more",
    }
}

/// Where the pieces of a load lie, and their memory: buffers of reads, then what the written places hold.
struct Source<'a> {
    load: &'a Load,
    bytes: u64,
    largest: usize,
    places: Vec<(u64, usize)>,
    cursor: u64,
    rng: Rng,
}

impl Source<'_> {
    fn new(load: &Load, bytes: u64, seed: Seed) -> Source<'_> {
        let (mut rng, mut cursor) = (seed.rng(), 0);
        let largest = load.sizes.iter().copied().max().unwrap_or(0) as usize;
        let count = if load.writes > 0 { PLACES.min(WRITTEN / largest) } else { 0 };
        let mut place = || load.next(&mut rng, bytes, &mut cursor);
        let places = (0..count).map(|_| place()).map(|(offset, bytes, _)| (offset, bytes as usize)).collect();
        let cursor = rng.below(bytes / 2 / largest as u64) * largest as u64;
        Source { load, bytes, largest, places, cursor, rng }
    }

    fn memory(&self) -> usize {
        (self.load.depth as usize + self.places.len()) * self.largest
    }

    fn at(&self, place: usize) -> usize {
        (self.load.depth as usize + place) * self.largest
    }

    /// Fills the memory of the places that are written with what the file has there.
    fn read_back(&self, file: &File, memory: &mut [u8]) -> io::Result<()> {
        for (place, (offset, bytes)) in self.places.iter().enumerate() {
            let at = self.at(place);
            file.read_exact_at(&mut memory[at..at + bytes], *offset)?;
        }
        Ok(())
    }

    fn piece(&mut self, slot: usize) -> Piece {
        let (offset, bytes, is_write) = self.load.next(&mut self.rng, self.bytes, &mut self.cursor);
        if !is_write {
            return Piece { slot, at: slot * self.largest, bytes: bytes as usize, reads: true, offset };
        }
        let place = self.rng.below(self.places.len() as u64) as usize;
        let (offset, bytes) = self.places[place];
        Piece { slot, at: self.at(place), bytes, reads: false, offset }
    }
}

/// The kernel's view of the disk: its folder in sysfs, if it has one.
struct Queue(Option<PathBuf>);

impl Queue {
    fn of(about: &Metadata, is_disk: bool) -> Queue {
        let number = if is_disk { about.rdev() } else { about.dev() };
        let path = format!("/sys/dev/block/{}:{}", libc::major(number), libc::minor(number));
        let own = std::fs::canonicalize(path).ok();
        // A partition has the queue of its disk.
        Queue(own.and_then(|own| own.ancestors().take(2).find(|at| at.join("queue").is_dir()).map(Path::to_path_buf)))
    }

    fn text(&self, file: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.0.as_ref()?.join(file)).ok()?;
        Some(text.trim().to_string())
    }

    fn facts(&self, sectors: u64) -> DeviceFacts {
        let number = |file| self.text(file)?.parse::<u32>().ok();
        DeviceFacts {
            sectors,
            depth: self.tags().unwrap_or(64).max(1),
            queues: 1,
            rotational: number("queue/rotational") == Some(1),
            sectors_max: number("queue/max_sectors_kb").map_or(2560, |size| size.saturating_mul(2)).max(8),
            volatile_cache: self.text("queue/write_cache").is_some_and(|cache| cache == "write back"),
            age_limit: None,
        }
    }

    /// Tags of all hardware queues.
    fn tags(&self) -> Option<u32> {
        let queues = std::fs::read_dir(self.0.as_ref()?.join("mq")).ok()?.flatten();
        let tags = queues.filter_map(|queue| std::fs::read_to_string(queue.path().join("nr_tags")).ok());
        tags.map(|text| text.trim().parse::<u32>().ok()).sum()
    }

    fn described(&self) -> String {
        let name = self.0.as_ref().and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        let elevator = self.text("queue/scheduler").unwrap_or_default();
        let chosen = elevator.split(['[', ']']).nth(1).unwrap_or("none");
        format!("{} under {chosen}", name.as_deref().unwrap_or("no disk of its own"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    /// A file in the tree's own folder: temporary folders may be memory. `None`, said, without direct I/O there.
    fn file(bytes: usize) -> Option<tempfile::NamedTempFile> {
        let mut file = tempfile::NamedTempFile::new_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let pattern: Vec<u8> = (0..bytes).map(|at| (at / 512 % 251) as u8).collect();
        file.write_all(&pattern).unwrap();
        file.as_file().sync_all().unwrap();
        match OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(file.path()) {
            Ok(_) => Some(file),
            Err(why) => {
                eprintln!("SKIPPED: no direct I/O on the tree's file system: {why}");
                None
            }
        }
    }

    #[test]
    fn writes_leave_the_file_as_it_was() {
        let Some(file) = file(LEAST as usize) else { return };
        let why = Disk::open(file.path(), true).expect_err("whoever has it open may write to it");
        assert!(why.contains("is open in another program"), "{why}");
        let file = file.into_temp_path();
        let before = std::fs::read(&file).unwrap();
        let disk = Disk::open(&file, true).unwrap();
        let mixture = Load { sizes: vec![4096, 16_384], depth: 4, is_sequential: false, writes: 60 };
        let latencies = disk.visit(&mixture, Seed(1)).unwrap();
        assert!(!latencies.is_empty() && disk.flush().unwrap() > 0);
        assert!(std::fs::read(&file).unwrap() == before, "the contents have changed");
    }

    #[test]
    fn what_cannot_be_measured_is_a_sentence() {
        let why = Disk::open(Path::new("/none"), false).unwrap_err();
        assert!(why.contains("/none cannot be opened for direct I/O"), "{why}");
        let why = Disk::open(Path::new("/"), false).unwrap_err();
        assert!(why.starts_with("/ is neither a disk nor a file; name a disk"), "{why}");
        let Some(small) = file(8192) else { return };
        assert!(Disk::open(small.path(), false).unwrap_err().contains("take a file or disk of 64 MiB or more"));
        small.as_file().set_len(LEAST).unwrap();
        assert!(Disk::open(small.path(), false).unwrap_err().contains("has holes"));
    }
}
