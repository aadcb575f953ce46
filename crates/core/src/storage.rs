//! What a workload finds on its machine besides CPUs: disks, volumes made of them, files, and memory for their pages.
//!
//! Plain data: whoever runs the workload builds the devices and the block layer, under the elevator that is being judged.

use crate::device::DeviceSample;
use crate::request::{DiskId, IoPriority, Operation};
use std::sync::Arc;

/// A volume: a disk, or disks put together.
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
    /// What it was seen to do, where the device takes as long as that; `device` is then a name for people.
    pub sample: Option<Arc<DeviceSample>>,
    /// Its elevator, with settings, where the work fixes it; `None`: the one that is being judged.
    pub elevator: Option<String>,
}

/// Part of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Which disk.
    pub disk: DiskId,
    /// First sector.
    pub sector: u64,
    /// How many sectors.
    pub sectors: u64,
}

/// How pieces make a volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// One after the other: a partition, or LVM's default.
    Linear,
    /// Chunks of so many sectors in turns: striped LVM, RAID 0. All pieces count as long as the shortest.
    Striped {
        /// Sectors of a chunk.
        chunk: u32,
    },
    /// The same on all: RAID 1.
    Mirrored,
    /// Chunks in turns with a chunk of parity in each row: RAID 5, left-symmetric.
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
    /// How the pieces make it.
    pub layout: Layout,
    /// The pieces.
    pub pieces: Vec<Piece>,
}

impl VolumeSpec {
    /// How many sectors it has, if [`VolumeSpec::check`] allows it.
    #[must_use]
    pub fn sectors(&self) -> u64 {
        let all = || self.pieces.iter().map(|piece| piece.sectors);
        let shortest = all().min().unwrap_or(0);
        match self.layout {
            Layout::Linear => all().sum(),
            Layout::Mirrored => shortest,
            Layout::Striped { chunk } => shortest / u64::from(chunk) * u64::from(chunk) * self.pieces.len() as u64,
            Layout::Parity { chunk } => {
                shortest / u64::from(chunk) * u64::from(chunk) * (self.pieces.len() as u64).saturating_sub(1)
            }
        }
    }

    /// Whether the pieces can make it.
    ///
    /// # Errors
    /// A sentence that says what is missing.
    pub fn check(&self) -> Result<(), String> {
        let (least, what) = match self.layout {
            Layout::Linear => (1, "a volume"),
            Layout::Striped { .. } => (1, "a striped volume"),
            Layout::Mirrored => (2, "a mirrored volume"),
            Layout::Parity { .. } => (3, "a volume with parity"),
        };
        if self.pieces.len() < least {
            return Err(format!("{what} needs {least} pieces or more"));
        }
        if self.sectors() == 0 {
            return Err(format!("the pieces of \"{}\" are shorter than a chunk", self.name));
        }
        Ok(())
    }
}

/// One file, allocated when the run begins. Sizes are in pages of 4 KiB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSpec {
    /// Name for people.
    pub name: String,
    /// On which volume.
    pub volume: VolumeId,
    /// First sector of the room in which it lies.
    pub sector: u64,
    /// How long it is.
    pub pages: u32,
    /// The pages of a piece, and how many times the file's size the room is in which the pieces lie in chance order;
    /// `None`: in one piece.
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
}

/// A step of a task that concerns storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IoStep {
    /// Ask for sectors of a volume, past the page cache, and go on. Pieces asked for in a row, without a step between them
    /// that takes time, are plugged together.
    Submit {
        /// Which volume.
        volume: VolumeId,
        /// What.
        op: Operation,
        /// First sector of the volume.
        sector: u64,
        /// How many.
        sectors: u32,
        /// Whether a write counts as one that somebody waits for. Reads always do.
        sync: bool,
    },
    /// Wait uninterruptibly until at most so many of the pieces that this task asked for are under way.
    Await {
        /// How many may remain.
        at_most: u32,
    },
    /// Read pages of a file through the page cache; waits until they are in memory.
    Read {
        /// Which file.
        file: FileId,
        /// First page.
        page: u32,
        /// How many; what lies past the end of the file is left out.
        pages: u32,
    },
    /// Write over whole pages of a file in the page cache; waits while too much of memory is dirty.
    Write {
        /// Which file.
        file: FileId,
        /// First page.
        page: u32,
        /// How many; what lies past the end of the file is left out.
        pages: u32,
    },
    /// Wait until all that was written to the file is durable (fsync).
    Sync {
        /// Which file.
        file: FileId,
    },
    /// Change one's own I/O priority (ionice); `None`: as it follows from nice.
    SetPriority(Option<IoPriority>),
}
