//! Measures the overhead of the device: the same reads, alternately from the backing and through the device, one at a
//! time.

use goodness_core::{SECTOR_BYTES, Seed};
use goodness_sys::monotonic_ns;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of a read; fewer if the backing is smaller.
const READ_BYTES: usize = 4096;

/// Median latencies of single reads at random positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Probe {
    /// Reads of each kind.
    pub reads: u32,
    /// From the backing itself, in nanoseconds.
    pub direct_ns: u64,
    /// Through the device.
    pub through_ns: u64,
}

impl Probe {
    /// Time the device adds to a read.
    #[must_use]
    pub fn added_ns(&self) -> u64 {
        self.through_ns.saturating_sub(self.direct_ns)
    }
}

/// Makes `reads` reads from `backing`, which has this many sectors, and as many `through` the device. Writes nothing.
///
/// # Errors
/// The error of a read.
pub fn probe(backing: &File, sectors: u64, through: &File, reads: u32) -> io::Result<Probe> {
    let mut memory = vec![0u8; 2 * READ_BYTES];
    let start = memory.as_ptr().align_offset(READ_BYTES);
    let bytes = sectors * SECTOR_BYTES;
    let each = READ_BYTES.min(bytes as usize);
    let places = (bytes / READ_BYTES as u64).max(1);
    let mut rng = Seed(1).stream("probe", 0).rng();
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..reads {
        for (file, times) in [backing, through].into_iter().zip(&mut times) {
            let at = rng.below(places) * READ_BYTES as u64;
            times.push(timed(file, &mut memory[start..start + each], at)?);
        }
    }
    let [direct_ns, through_ns] = times.map(median);
    Ok(Probe { reads, direct_ns, through_ns })
}

fn timed(file: &File, memory: &mut [u8], at: u64) -> io::Result<u64> {
    let before = monotonic_ns();
    file.read_exact_at(memory, at)?;
    Ok(monotonic_ns() - before)
}

fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_is_its_backing_adds_little_and_never_less_than_nothing() {
        let file = tempfile::NamedTempFile::new_in(".").unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let probe = probe(file.as_file(), (1 << 20) / SECTOR_BYTES, file.as_file(), 9).unwrap();
        assert!(probe.direct_ns > 0 && probe.through_ns > 0 && probe.reads == 9);
        assert_eq!(Probe { reads: 1, direct_ns: 5, through_ns: 3 }.added_ns(), 0);
        assert_eq!((median(vec![3, 1, 2]), median(Vec::new())), (2, 0));
    }
}
