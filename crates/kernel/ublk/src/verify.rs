//! A load that checks every block it reads. Blocks carry their number, a sequence number and a checksum; operations are
//! random, several in flight, and bypass the page cache.
//!
//! It overwrites the target. A block is not written again before its last write was acknowledged, so the expected
//! contents are always known.

use super::memory::Buffers;
use goodness_core::{Rng, Seed};
use goodness_sys::monotonic_ns;
use io_uring::{IoUring, cqueue, opcode, types};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a block.
pub const BLOCK: usize = 4096;
/// Start of every block written here.
const MAGIC: u64 = u64::from_be_bytes(*b"verified");
/// The number of a flush among operations.
const FLUSH: u64 = u64::MAX;

/// Options of the load.
#[derive(Clone, Debug)]
pub struct Load {
    /// On which disk.
    pub disk: PathBuf,
    /// Number of blocks, from the start of the disk.
    pub blocks: u64,
    /// Number of operations.
    pub operations: u64,
    /// Operations in flight.
    pub outstanding: u32,
    /// Read instead of writing.
    pub reads: bool,
    /// Every n-th write is durable when acknowledged; 0 for none.
    pub durable_every: u64,
    /// Flush after every n acknowledgements; 0 for none.
    pub flush_every: u64,
    /// Random seed.
    pub seed: u64,
}

/// Acknowledged writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// Sequence number of the last write, by block; 0 if never written.
    pub last: Vec<u64>,
    /// Operations.
    pub operations: u64,
    /// Flushes.
    pub flushes: u64,
    /// Nanoseconds from the first to the last.
    pub took_ns: u64,
}

/// A running load.
struct Run<'a> {
    load: &'a Load,
    // Dropped before the memory of its operations.
    ring: IoUring,
    file: File,
    memory: Buffers,
    rng: Rng,
    /// By slot: the block in flight and its sequence number.
    slots: Vec<Option<(u64, u64)>>,
    free: Vec<usize>,
    busy: Vec<bool>,
    begun: u64,
    flushing: bool,
    unflushed: u64,
    done: Acknowledged,
}

/// Runs `load`. `progress` counts acknowledgements.
///
/// # Errors
/// The first failed operation.
pub fn run(load: &Load, progress: &AtomicU64) -> io::Result<Acknowledged> {
    let mut run = Run::new(load)?;
    let began = monotonic_ns();
    while run.done.operations < load.operations || run.flushing {
        run.fill()?;
        match run.ring.submit_and_wait(1) {
            Err(why) if why.kind() != io::ErrorKind::Interrupted => return Err(why),
            _ => {}
        }
        let answers: Vec<cqueue::Entry> = run.ring.completion().collect();
        for answer in answers {
            run.acknowledged(&answer)?;
        }
        progress.store(run.done.operations, Ordering::Relaxed);
    }
    run.done.took_ns = monotonic_ns() - began;
    Ok(run.done)
}

impl Run<'_> {
    fn new(load: &Load) -> io::Result<Run<'_>> {
        let count = load.outstanding as usize;
        Ok(Run {
            load,
            ring: IoUring::new((load.outstanding + 2).next_power_of_two())?,
            file: open(&load.disk, !load.reads)?,
            memory: Buffers::new(count, BLOCK)?,
            rng: Seed(load.seed).stream("verify", 0).rng(),
            slots: vec![None; count],
            free: (0..count).rev().collect(),
            busy: vec![false; load.blocks as usize],
            begun: 0,
            flushing: false,
            unflushed: 0,
            done: Acknowledged { last: vec![0; load.blocks as usize], operations: 0, flushes: 0, took_ns: 0 },
        })
    }

    /// Starts operations up to the queue depth.
    fn fill(&mut self) -> io::Result<()> {
        if self.load.flush_every > 0 && self.unflushed >= self.load.flush_every && !self.flushing {
            (self.flushing, self.unflushed) = (true, 0);
            let flush = opcode::Fsync::new(types::Fd(self.file.as_raw_fd())).build().user_data(FLUSH);
            // SAFETY: no memory.
            unsafe { self.ring.submission().push(&flush) }.map_err(io::Error::other)?;
        }
        while self.begun < self.load.operations {
            let Some(slot) = self.free.pop() else { return Ok(()) };
            let block = self.idle_block();
            self.begun += 1;
            self.busy[block as usize] = true;
            self.slots[slot] = Some((block, self.begun));
            let (file, at) = (types::Fd(self.file.as_raw_fd()), block * BLOCK as u64);
            let memory = self.memory.address(slot, 0, BLOCK);
            let entry = if self.load.reads {
                opcode::Read::new(file, memory, BLOCK as u32).offset(at).build()
            } else {
                // SAFETY: a block of ours, which no operation uses.
                fill_block(unsafe { std::slice::from_raw_parts_mut(memory, BLOCK) }, block, self.begun);
                let is_durable = self.begun.is_multiple_of(self.load.durable_every);
                let flags = if is_durable { libc::RWF_DSYNC } else { 0 };
                opcode::Write::new(file, memory, BLOCK as u32).offset(at).rw_flags(flags).build()
            };
            // SAFETY: the block of memory is the slot's until the operation is acknowledged.
            unsafe { self.ring.submission().push(&entry.user_data(slot as u64)) }.map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// A random block without I/O in flight.
    fn idle_block(&mut self) -> u64 {
        loop {
            let block = self.rng.below(self.load.blocks);
            if !self.busy[block as usize] {
                return block;
            }
        }
    }

    fn acknowledged(&mut self, answer: &cqueue::Entry) -> io::Result<()> {
        let wanted = if answer.user_data() == FLUSH { 0 } else { BLOCK as i32 };
        if answer.result() != wanted {
            let why = io::Error::from_raw_os_error(-answer.result().min(0));
            return Err(io::Error::other(format!("operation {} gave {}: {why}", answer.user_data(), answer.result())));
        }
        if answer.user_data() == FLUSH {
            self.flushing = false;
            self.done.flushes += 1;
            return Ok(());
        }
        let slot = answer.user_data() as usize;
        let Some((block, sequence)) = self.slots[slot].take() else {
            return Err(io::Error::other(format!("slot {slot} was acknowledged twice")));
        };
        self.busy[block as usize] = false;
        self.free.push(slot);
        self.done.operations += 1;
        self.unflushed += 1;
        if !self.load.reads {
            self.done.last[block as usize] = sequence;
        }
        Ok(())
    }
}

fn open(disk: &Path, writes: bool) -> io::Result<File> {
    OpenOptions::new().read(true).write(writes).custom_flags(libc::O_DIRECT).open(disk)
}

/// Reads back every written block of `disk`. Returns their number.
///
/// # Errors
/// A sentence about the first block that does not hold its last acknowledged write.
pub fn check(disk: &Path, written: &Acknowledged) -> Result<u64, String> {
    let file = open(disk, false).map_err(|why| format!("{}: {why}", disk.display()))?;
    let mut memory = vec![0u8; 2 * BLOCK];
    let start = memory.as_ptr().align_offset(BLOCK);
    let memory = &mut memory[start..start + BLOCK];
    let mut checked = 0;
    for (block, sequence) in (0u64..).zip(&written.last).filter(|(_, sequence)| **sequence > 0) {
        let read = file.read_exact_at(memory, block * BLOCK as u64);
        read.map_err(|why| format!("block {block} cannot be read: {why}"))?;
        let mut wanted = [0; BLOCK];
        fill_block(&mut wanted, block, *sequence);
        if memory != wanted {
            let [magic, number, found] = [0, 8, 16].map(|at| word(memory, at));
            return Err(format!(
                "block {block} should hold write {sequence} and holds write {found} of block {number} (mark {magic:x})"
            ));
        }
        checked += 1;
    }
    Ok(checked)
}

fn word(memory: &[u8], at: usize) -> u64 {
    memory[at..at + 8].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Fills `block` with the contents of write `sequence`: unique numbers and their checksum.
fn fill_block(memory: &mut [u8], block: u64, sequence: u64) {
    let mut rng = Seed(block).stream("block", sequence).rng();
    let words = memory.len() / 8;
    let mut sum = 0u64;
    for (index, bytes) in memory.chunks_exact_mut(8).enumerate() {
        let word = match index {
            0 => MAGIC,
            1 => block,
            2 => sequence,
            _ if index + 1 == words => sum,
            _ => rng.bits(),
        };
        sum = sum.rotate_left(5) ^ word;
        bytes.copy_from_slice(&word.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_is_found_and_what_is_there_is_not() {
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        file.as_file().set_len(64 * BLOCK as u64).unwrap();
        let (disk, reads, seed) = (file.path().to_path_buf(), false, 3);
        let load =
            Load { disk, blocks: 64, operations: 200, outstanding: 8, reads, durable_every: 7, flush_every: 50, seed };
        let written = run(&load, &AtomicU64::new(0)).unwrap();
        // A slow flush outlasts several rounds of 50 writes; no second one begins beside it.
        assert!(written.operations == 200 && (1..=4).contains(&written.flushes), "{written:?}");
        let blocks = written.last.iter().filter(|sequence| **sequence > 0).count() as u64;
        assert_eq!(check(file.path(), &written), Ok(blocks));
        let (victim, last) = (0u64..).zip(&written.last).find(|(_, sequence)| **sequence > 0).unwrap();
        let mut older = [0; BLOCK];
        fill_block(&mut older, victim, last - 1);
        file.as_file().write_all_at(&older, victim * BLOCK as u64).unwrap();
        let lost = check(file.path(), &written).unwrap_err();
        assert!(
            lost.contains(&format!("block {victim} should hold write {last} and holds write {}", last - 1)),
            "{lost}"
        );
    }
}
