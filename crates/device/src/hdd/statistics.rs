//! Counters and sums of a drive.

/// Sums since the drive was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Number of reads.
    pub reads: u64,
    /// Reads found wholly in the buffer.
    pub whole_hits: u64,
    /// Reads whose start was in the buffer.
    pub partial_hits: u64,
    /// Number of writes.
    pub writes: u64,
    /// Media accesses: reads, writes and destaged writes.
    pub accesses: u64,
    /// Seek time in ns, with head switch and settling, up to the first sector's track.
    pub seek_ns: u64,
    /// Nanoseconds of rotation until the first sector.
    pub latency_ns: u64,
    /// Nanoseconds from the first sector to the last.
    pub transfer_ns: u64,
}
