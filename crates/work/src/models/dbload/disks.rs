//! Disks, volumes and files of the load. Sizes are decimal, as published for the disks and MaxDB's volumes.

use super::tables::ExportFile;
use super::{Exports, Layout, Settings, VOLUMES, Writes};
use goodness_core::storage::{self, Piece};
use goodness_core::{DiskId, DiskSpec, FileSpec, StorageSpec, VolumeId, VolumeSpec};

/// Sectors of a gigabyte.
const GB: u64 = 1_000_000_000 / 512;
/// Sectors of a page of the database, 8 KiB.
pub const PAGE: u64 = 16;
/// The logical volume, in the workload's list of volumes.
pub const LOGICAL: VolumeId = VolumeId(0);
/// The root file system.
const ROOT: VolumeId = VolumeId(1);
/// Sectors per chunk of the striped logical volume: 64 KiB, LVM's default.
const CHUNK: u32 = 128;
/// Start of the export files on the root file system, after the system's files.
const BEHIND_SYSTEM: u64 = 2 * GB;
/// Sectors of the log.
const LOG: u64 = 2 * GB;
/// Memory without the data cache, for page cache and programs, MiB.
const MEMORY: u64 = 4096;
/// Part of it used by the programs, MiB: a guess.
const PROGRAMMES: u64 = 596;

/// Sectors of a data volume. Stripes over partitions of 24, 36 and 36 GB hold only 72 GB.
fn volume_sectors(layout: Layout) -> u64 {
    match layout {
        Layout::Linear => 15 * GB,
        Layout::Striped => 11 * GB,
    }
}

/// Pages of a data volume.
pub fn volume_pages(layout: Layout) -> u64 {
    volume_sectors(layout) / PAGE
}

/// Sector of page `page` of data volume `volume` on the logical volume.
pub fn sector_of(layout: Layout, volume: usize, page: u64) -> u64 {
    volume as u64 * volume_sectors(layout) + page * PAGE
}

/// Sector of log page `page`; the log wraps around.
pub fn log_sector_of(layout: Layout, page: u64) -> u64 {
    VOLUMES as u64 * volume_sectors(layout) + page % (LOG / PAGE) * PAGE
}

/// File number of data volume `volume`, behind the export files.
pub fn file_of(volume: usize) -> u32 {
    (super::tables::FILES + volume) as u32
}

/// Three disks: the first has the root file system, swap and 24 GB of the logical volume, the others 36 GB of it each.
pub fn storage(settings: &Settings, exports: &[ExportFile]) -> StorageSpec {
    let piece = |disk, from: u64, gb: u64| Piece { disk: DiskId(disk), sector: from, sectors: gb * GB };
    let layout = match settings.layout {
        Layout::Linear => storage::Layout::Linear,
        Layout::Striped => storage::Layout::Striped { chunk: CHUNK },
    };
    let logical = vec![piece(0, 12 * GB, 24), piece(1, 0, 36), piece(2, 0, 36)];
    StorageSpec {
        disks: ["sda", "sdb", "sdc"].map(|name| disk(settings, name)).to_vec(),
        volumes: vec![
            VolumeSpec { name: "usr-sap".into(), layout, pieces: logical },
            VolumeSpec { name: "root".into(), layout: storage::Layout::Linear, pieces: vec![piece(0, 0, 8)] },
        ],
        files: files(settings, exports),
        cache_pages: ((MEMORY - PROGRAMMES).saturating_sub(settings.cache) * 256).max(1) as u32,
        serves_ios: false,
    }
}

fn disk(settings: &Settings, name: &str) -> DiskSpec {
    let kind = if settings.rpm < 12_500 { "scsi-10k-36gb" } else { "scsi-15k-36gb" };
    let cache = if settings.write_cache { "on" } else { "off" };
    let device = format!("{kind}:write_cache={cache},depth={}", settings.depth);
    DiskSpec::of(name, &device)
}

/// The export files by number, one after the other, then the data volumes.
fn files(settings: &Settings, exports: &[ExportFile]) -> Vec<FileSpec> {
    let (volume, mut sector) = match settings.exports {
        Exports::Root => (ROOT, BEHIND_SYSTEM),
        Exports::Volume => (LOGICAL, log_sector_of(settings.layout, 0) + LOG),
    };
    let mut by_number: Vec<&ExportFile> = exports.iter().collect();
    by_number.sort_by_key(|file| file.number);
    let mut files = Vec::new();
    for file in by_number {
        let name = format!("export-{}", file.number);
        files.push(FileSpec { name, volume, sector, pages: file.length, fragments: None });
        sector += u64::from(file.length) * 8;
    }
    for volume in 0..VOLUMES {
        files.push(FileSpec {
            name: format!("data-{volume}"),
            volume: LOGICAL,
            sector: sector_of(settings.layout, volume, 0),
            pages: if settings.writes == Writes::Buffered { volume_pages(settings.layout) as u32 * 2 } else { 0 },
            fragments: None,
        });
    }
    files
}
