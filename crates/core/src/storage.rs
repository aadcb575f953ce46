//! Storage of a workload: disks, volumes, files, and memory for their pages.
//!
//! Plain data: the runner builds the devices and the block layer, with the elevator under test.

use crate::device::DeviceSample;
use crate::request::{DiskId, IoPriority, Operation, SECTOR_BYTES};
use crate::time::Span;
use std::sync::Arc;

/// The most sectors of a device or volume: their bytes are a 64-bit number.
pub const SECTORS_MAX: u64 = u64::MAX / SECTOR_BYTES;

/// A volume: a disk, or several disks combined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VolumeId(pub u16);

/// A file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// One disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskSpec {
    /// Name for people.
    pub name: String,
    /// The device by its registered name, with settings: `atlas-10k:depth=4`.
    pub device: String,
    /// Measured service times, if the device is modelled by them; `device` is then only a label.
    pub sample: Option<Arc<DeviceSample>>,
    /// Its elevator with settings, if fixed by the work; `None` for the elevator under test.
    pub elevator: Option<String>,
    /// Time that the device takes for everything, in percent of what its model says.
    pub service: u32,
    /// Latency of reads for which write-back is throttled; `None`: it is not.
    pub wbt_lat: Option<Span>,
}

impl DiskSpec {
    /// The device as its model has it.
    pub const AS_MODELLED: u32 = 100;

    /// The longest latency for which write-back can be throttled.
    pub const WBT_LAT_MAX: Span = Span::from_s(10);

    /// The value of `wbt_lat` for `latency`: zero turns it off, as in the kernel.
    ///
    /// # Errors
    /// The latency is longer than [`DiskSpec::WBT_LAT_MAX`].
    pub fn throttled_for(latency: Span) -> Result<Option<Span>, &'static str> {
        if latency > DiskSpec::WBT_LAT_MAX {
            return Err("wbt_lat is at most 10s");
        }
        Ok(Some(latency).filter(|it| *it > Span::ZERO))
    }

    /// A disk of this device as its model has it, behind the elevator under test.
    #[must_use]
    pub fn of(name: &str, device: &str) -> DiskSpec {
        DiskSpec {
            name: name.into(),
            device: device.into(),
            sample: None,
            elevator: None,
            service: DiskSpec::AS_MODELLED,
            wbt_lat: None,
        }
    }
}

/// Part of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The disk.
    pub disk: DiskId,
    /// First sector.
    pub sector: u64,
    /// Number of sectors.
    pub sectors: u64,
}

/// Layout of a volume's pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Concatenated: a partition, or LVM's default.
    Linear,
    /// Striped in chunks of this many sectors: striped LVM, RAID 0. All pieces count with the length of the shortest.
    Striped {
        /// Sectors of a chunk.
        chunk: u32,
    },
    /// The same on all: RAID 1.
    Mirrored,
    /// Striped, with a parity chunk in each row: RAID 5, left-symmetric.
    Parity {
        /// Sectors of a chunk.
        chunk: u32,
    },
}

/// One volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeSpec {
    /// Name for people.
    pub name: String,
    /// Layout of the pieces.
    pub layout: Layout,
    /// The pieces.
    pub pieces: Vec<Piece>,
}

impl VolumeSpec {
    /// Number of sectors, if [`VolumeSpec::check`] accepts it; saturating.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        let all = || self.pieces.iter().map(|piece| piece.sectors);
        let shortest = all().min().unwrap_or(0);
        let whole = |chunk: u32| shortest / u64::from(chunk) * u64::from(chunk);
        match self.layout {
            Layout::Linear => all().fold(0, u64::saturating_add),
            Layout::Mirrored => shortest,
            Layout::Striped { chunk } => whole(chunk).saturating_mul(self.pieces.len() as u64),
            Layout::Parity { chunk } => whole(chunk).saturating_mul((self.pieces.len() as u64).saturating_sub(1)),
        }
    }

    /// Checks that the pieces form a valid volume.
    ///
    /// # Errors
    /// The missing part, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        let (least, what) = match self.layout {
            Layout::Linear => (1, "a volume"),
            Layout::Striped { .. } => (2, "a striped volume"),
            Layout::Mirrored => (2, "a mirrored volume"),
            Layout::Parity { .. } => (3, "a volume with parity"),
        };
        if self.pieces.len() < least {
            return Err(format!("{what} needs {least} or more pieces, and has {}", self.pieces.len()));
        }
        if let Layout::Striped { chunk: 0 } | Layout::Parity { chunk: 0 } = self.layout {
            return Err(format!("the chunks of \"{}\" have no sector; give them 1 or more", self.name));
        }
        if self.sectors() == 0 {
            return Err(format!("the pieces of \"{}\" are shorter than a chunk", self.name));
        }
        if self.sectors() > SECTORS_MAX {
            return Err(format!("\"{}\" has more than {SECTORS_MAX} sectors; take fewer or smaller pieces", self.name));
        }
        self.check_overlap()
    }

    /// Checks that no sector of a disk is in two pieces.
    fn check_overlap(&self) -> Result<(), String> {
        let mut pieces: Vec<Piece> = self.pieces.clone();
        pieces.sort_unstable_by_key(|piece| (piece.disk, piece.sector));
        for pair in pieces.windows(2) {
            if pair[0].disk == pair[1].disk && pair[0].sector.saturating_add(pair[0].sectors) > pair[1].sector {
                return Err(format!(
                    "two pieces of \"{}\" hold sector {} of the same disk; give each a part of its own",
                    self.name, pair[1].sector
                ));
            }
        }
        Ok(())
    }
}

/// One file, allocated at the start of the run. Sizes are in pages of 4 KiB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSpec {
    /// Name for people.
    pub name: String,
    /// On which volume.
    pub volume: VolumeId,
    /// First sector of its area.
    pub sector: u64,
    /// Length in pages.
    pub pages: u32,
    /// Pages per fragment, and the size of the area relative to the file, in which fragments lie in random order;
    /// `None` for a contiguous file.
    pub fragments: Option<(u32, u32)>,
}

/// Disks, volumes, files and memory of one workload.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StorageSpec {
    /// The disks; a [`DiskId`] is an index in this list.
    pub disks: Vec<DiskSpec>,
    /// The volumes; a [`VolumeId`] is an index in this list.
    pub volumes: Vec<VolumeSpec>,
    /// The files; a [`FileId`] is an index in this list.
    pub files: Vec<FileSpec>,
    /// Pages of memory for the page cache.
    pub cache_pages: u32,
    /// Each I/O that a task submits itself is a request: served when an [`IoStep::Await`] of the task takes it.
    pub serves_ios: bool,
}

/// A step of a task that concerns storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoStep {
    /// Submit I/O to sectors of a volume, bypassing the page cache, without waiting. Consecutive submissions, without a
    /// step between them that takes time, are plugged together.
    Submit {
        /// The volume.
        volume: VolumeId,
        /// Operation.
        op: Operation,
        /// First sector of the volume.
        sector: u64,
        /// Number of sectors.
        sectors: u32,
        /// True if a write is synchronous. Reads always are.
        sync: bool,
    },
    /// Wait uninterruptibly until at most this many of the task's own I/Os are in flight. If I/Os are requests, the
    /// task takes those that are done, in the order of their completion, until at most so many are left to it.
    Await {
        /// Number that may remain.
        at_most: u32,
    },
    /// Read pages of a file through the page cache; waits until they are in memory.
    Read {
        /// The file.
        file: FileId,
        /// First page.
        page: u32,
        /// Number of pages; those past the end of the file are ignored.
        pages: u32,
    },
    /// Write over whole pages of a file in the page cache; waits while too much of memory is dirty.
    Write {
        /// The file.
        file: FileId,
        /// First page.
        page: u32,
        /// Number of pages; those past the end of the file are ignored.
        pages: u32,
    },
    /// Wait until all that was written to the file is durable (fsync).
    Sync {
        /// The file.
        file: FileId,
    },
    /// Change the task's I/O priority (ionice); `None` derives it from nice.
    SetPriority(Option<IoPriority>),
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(layout: Layout, pieces: &[(u16, u64, u64)]) -> Result<(), String> {
        let piece = |&(disk, sector, sectors)| Piece { disk: DiskId(disk), sector, sectors };
        VolumeSpec { name: "v".into(), layout, pieces: pieces.iter().map(piece).collect() }.check()
    }

    #[test]
    fn a_volume_larger_than_its_bytes_can_be_counted_is_a_sentence() {
        let half = SECTORS_MAX / 2 + 1;
        let pieces = [(0, 0, half), (1, 0, half), (2, 0, half)];
        for layout in [Layout::Linear, Layout::Striped { chunk: 1 }, Layout::Parity { chunk: 1 }] {
            assert!(check(layout, &pieces).unwrap_err().contains("take fewer or smaller pieces"), "{layout:?}");
        }
        let all = [(0, 0, u64::MAX), (1, 0, u64::MAX), (2, 0, u64::MAX)];
        assert!(check(Layout::Linear, &all).is_err() && check(Layout::Striped { chunk: 1 }, &all).is_err());
        assert_eq!(check(Layout::Mirrored, &pieces), Ok(()));
    }

    #[test]
    fn write_back_is_throttled_for_ten_seconds_at_most_and_for_none_not_at_all() {
        let most = DiskSpec::WBT_LAT_MAX;
        assert_eq!(DiskSpec::throttled_for(most), Ok(Some(most)));
        assert_eq!(DiskSpec::throttled_for(Span::ZERO), Ok(None));
        assert!(DiskSpec::throttled_for(Span(most.0 + 1)).is_err());
    }

    #[test]
    fn no_sector_of_a_disk_is_in_two_pieces_of_a_volume() {
        assert_eq!(check(Layout::Linear, &[(0, 10, 10), (0, 0, 10), (1, 5, 10)]), Ok(()));
        let error = check(Layout::Mirrored, &[(0, 10, 10), (1, 0, 10), (0, 0, 11)]).unwrap_err();
        assert!(error.contains("sector 10 of the same disk"), "{error}");
    }

    #[test]
    fn a_volume_of_too_few_pieces_says_how_many_it_needs() {
        assert!(
            check(Layout::Striped { chunk: 8 }, &[(0, 0, 99)]).unwrap_err().contains("2 or more pieces, and has 1")
        );
        assert!(check(Layout::Striped { chunk: 0 }, &[(0, 0, 99), (1, 0, 99)]).unwrap_err().contains("no sector"));
    }
}
