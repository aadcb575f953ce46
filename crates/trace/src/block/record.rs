//! One event of block I/O, independent of its format.

use goodness_core::{DiskId, Operation, SECTOR_BYTES, Span, Time};

/// Stage of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockStage {
    /// It reached the block layer: the arrival. Formats with a single time per I/O use this stage.
    Queue,
    /// A request was allocated for it.
    GetRequest,
    /// It sleeps, waiting for a request.
    Sleep,
    /// It joined a waiting request behind its last sector.
    BackMerge,
    /// It joined a waiting request before its first sector.
    FrontMerge,
    /// The request reached the elevator.
    Insert,
    /// The device has the request.
    Issue,
    /// The device returned the request without doing it.
    Requeue,
    /// The device has completed the request.
    Complete {
        /// The kernel's error number without its sign; 0 when it went well.
        error: u16,
    },
    /// A plug holds requests back.
    Plug,
    /// The plug was pulled.
    Unplug {
        /// Requests set free.
        requests: u64,
        /// True if a timer pulled it.
        timer: bool,
    },
    /// It was cut in two.
    Split {
        /// First sector of the second part.
        at: u64,
    },
    /// It was copied to memory that the device reaches.
    Bounce,
    /// A stacked device passed it on to this disk.
    Remap {
        /// The disk it was meant for.
        from: DiskId,
        /// Its first sector there.
        sector: u64,
    },
    /// It was aborted.
    Abort,
}

/// The set of flags of an I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BlockFlags(u8);

impl BlockFlags {
    /// None.
    pub const NONE: BlockFlags = BlockFlags(0);
    /// Synchronous, as marked by the format; see also [`BlockRecord::is_sync`].
    pub const SYNC: BlockFlags = BlockFlags(1);
    /// A file system's own structures.
    pub const META: BlockFlags = BlockFlags(1 << 1);
    /// Durable when it completes (FUA).
    pub const DURABLE: BlockFlags = BlockFlags(1 << 2);
    /// Read ahead of demand.
    pub const READ_AHEAD: BlockFlags = BlockFlags(1 << 3);
    /// The device's cache is flushed before it.
    pub const FLUSH_BEFORE: BlockFlags = BlockFlags(1 << 4);

    /// This set and `other`.
    #[must_use]
    pub const fn with(self, other: BlockFlags) -> BlockFlags {
        BlockFlags(self.0 | other.0)
    }

    /// This set, and `other` if `is_set`.
    #[must_use]
    pub const fn with_if(self, is_set: bool, other: BlockFlags) -> BlockFlags {
        if is_set { self.with(other) } else { self }
    }

    /// True if all of `other` is in this set.
    #[must_use]
    pub const fn has(self, other: BlockFlags) -> bool {
        self.0 & other.0 == other.0
    }
}

/// One event of block I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRecord {
    /// Time; from the start of the trace if the format has no clock of its own.
    pub at: Time,
    /// Disk; [`BlockRecord::NO_DISK`] for a task's plug.
    pub disk: DiskId,
    /// Stage.
    pub stage: BlockStage,
    /// Operation.
    pub op: Operation,
    /// First sector; 0 for flushes and plugs.
    pub sector: u64,
    /// Sectors, rounded outwards if the format counts bytes; 0 for flushes and plugs.
    pub sectors: u32,
    /// Marks.
    pub flags: BlockFlags,
    /// Process id of the submitter, or of the task interrupted by the completion; 0 if unknown.
    pub pid: u32,
    /// CPU that logged it; 0 if unknown.
    pub cpu: u16,
    /// Response time, if known. For [`BlockStage::Complete`]: since the issue, or since the queueing on disks without
    /// issues (stacked devices). For other stages: until the completion.
    pub response: Option<Span>,
}

impl BlockRecord {
    /// The disk of events that name none.
    pub const NO_DISK: DiskId = DiskId(u16::MAX);

    /// An arrival without marks.
    #[must_use]
    pub const fn queue(at: Time, disk: DiskId, op: Operation, sector: u64, sectors: u32) -> BlockRecord {
        BlockRecord {
            at,
            disk,
            stage: BlockStage::Queue,
            op,
            sector,
            sectors,
            flags: BlockFlags::NONE,
            pid: 0,
            cpu: 0,
            response: None,
        }
    }

    /// The sector after the last.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.sector + self.sectors as u64
    }

    /// True if it is synchronous. Reads always are.
    #[must_use]
    pub const fn is_sync(&self) -> bool {
        matches!(self.op, Operation::Read) || self.flags.has(BlockFlags::SYNC)
    }
}

/// The sectors that some bytes touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub sector: u64,
    pub sectors: u32,
    /// True if the bytes fill these sectors.
    pub is_exact: bool,
}

impl Extent {
    /// The extent of `bytes` bytes from byte `offset`; `None` if empty or too large for a record.
    pub fn of_bytes(offset: u64, bytes: u64) -> Option<Extent> {
        let end = offset.checked_add(bytes)?;
        let (first, last) = (offset / SECTOR_BYTES, end.div_ceil(SECTOR_BYTES));
        let is_exact = offset.is_multiple_of(SECTOR_BYTES) && end.is_multiple_of(SECTOR_BYTES);
        Extent::checked(first, last - first, is_exact)
    }

    /// The extent of `sectors` sectors; `None` as above.
    pub fn of_sectors(sector: u64, sectors: u64) -> Option<Extent> {
        Extent::checked(sector, sectors, true)
    }

    fn checked(sector: u64, sectors: u64, is_exact: bool) -> Option<Extent> {
        sector.checked_add(sectors)?;
        let sectors = u32::try_from(sectors).ok().filter(|n| *n > 0)?;
        Some(Extent { sector, sectors, is_exact })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_rounded_outwards_to_the_sectors_they_touch() {
        let extent = |offset, bytes| Extent::of_bytes(offset, bytes).map(|e| (e.sector, e.sectors, e.is_exact));
        assert_eq!(extent(4096, 512), Some((8, 1, true)));
        assert_eq!(extent(4095, 2), Some((7, 2, false)));
        assert_eq!(extent(0, 1), Some((0, 1, false)));
        assert_eq!(extent(0, 0), None);
        assert_eq!(extent(u64::MAX, 1), None);
        assert_eq!(extent(0, 1 << 42), None);
    }

    #[test]
    fn a_read_is_synchronous_without_a_mark() {
        let read = BlockRecord::queue(Time(0), DiskId(0), Operation::Read, 8, 8);
        assert!(read.is_sync());
        let write = BlockRecord { op: Operation::Write, ..read };
        assert!(!write.is_sync());
        assert!(BlockRecord { flags: BlockFlags::SYNC, ..write }.is_sync());
    }
}
