//! Measures the cost of cold caches after a migration.

use super::Sample;
use goodness_sys as sys;
use std::hint::black_box;
use std::io;

/// Bytes of a working set: the size of most first-level caches.
pub const WORKING_SET: usize = 32 * 1024;
/// Bytes of a line of the cache, and words in it.
const LINE: usize = 64;
const WORDS: usize = LINE / size_of::<u64>();
/// Passes of one figure.
const PASSES: usize = 301;

/// Cache lines linked into a ring in random order, which defeats prefetching. Each holds the index of the next.
struct WorkingSet {
    words: Vec<u64>,
}

impl WorkingSet {
    fn new() -> WorkingSet {
        let lines = (WORKING_SET / LINE) as u64;
        let mut words = vec![0; WORKING_SET / size_of::<u64>()];
        // x -> 5 x + 3 visits every number below a power of two (Hull and Dobell).
        (0..lines).for_each(|line| words[line as usize * WORDS] = (5 * line + 3) % lines);
        WorkingSet { words }
    }

    /// Reads and writes every line once. Returns the time in ns.
    fn pass(&mut self) -> u64 {
        let begun = sys::monotonic_ns();
        let mut line = 0usize;
        for _ in 0..self.words.len() / WORDS {
            let next = self.words[line * WORDS] as usize;
            self.words[line * WORDS + 1] += 1;
            line = next;
        }
        black_box(line);
        sys::monotonic_ns() - begun
    }

    /// Time of a pass over a warm cache: the shortest of three in a row, ns.
    fn warm(&mut self) -> u64 {
        (0..3).map(|_| self.pass()).min().unwrap_or_default()
    }
}

/// Extra time of a pass over a working set after another of the same size was used on the same CPU.
///
/// # Errors
/// Never, so far; the type matches the other measurements.
pub fn refill() -> io::Result<Option<Sample>> {
    let (mut own, mut others) = (WorkingSet::new(), WorkingSet::new());
    let mut one = || {
        let warm = own.warm();
        others.pass();
        own.pass().saturating_sub(warm)
    };
    Ok(Sample::of((0..PASSES).map(|_| one()).collect()))
}

/// Extra time of a pass over written lines after a move to the other CPU and back.
///
/// # Errors
/// The thread cannot be pinned.
pub fn migration(home: u32, other: u32) -> io::Result<Option<Sample>> {
    let mut own = WorkingSet::new();
    let mut times = Vec::with_capacity(PASSES);
    for turn in 0..PASSES {
        let warm = own.warm();
        sys::pin(&[if turn % 2 == 0 { other } else { home }])?;
        times.push(own.pass().saturating_sub(warm));
    }
    sys::pin(&[home])?;
    Ok(Sample::of(times))
}
