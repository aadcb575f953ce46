//! I/O of a write to one row of a RAID 5: the reads before it, and the writes.
//!
//! Source: md chooses between read-modify-write (read old data and old parity) and reconstruct-write (read the rest of
//! the row), whichever reads from fewer disks; reconstruct-write on a tie. A full row needs no read. Departures: there
//! is no stripe cache, so single writes are not collected into full rows. A write to parts of several chunks updates
//! the parity from the lowest to the highest sector touched; md works page by page.

use crate::volume::{Part, Volume};

/// A write to a part of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowWrite {
    /// Row number.
    pub row: u64,
    /// First sector, counted in the data of the row.
    pub from: u64,
    /// The sector after the last.
    pub to: u64,
}

impl RowWrite {
    /// Chunk by chunk: its number and the part of it that is written.
    fn chunks(self, chunk: u64) -> impl Iterator<Item = (u64, u64, u64)> {
        (self.from / chunk..=(self.to - 1) / chunk).map(move |number| {
            let start = number * chunk;
            (number, self.from.max(start) - start, self.to.min(start + chunk) - start)
        })
    }

    /// The part of the parity chunk that changes.
    fn parity_range(self, chunk: u64) -> (u64, u64) {
        self.chunks(chunk).fold((chunk, 0), |(low, high), (_, from, to)| (low.min(from), high.max(to)))
    }

    /// Calls `each` with the reads that come first; none for a full row.
    pub fn reads(self, volume: &Volume, mut each: impl FnMut(Part)) {
        let chunk = volume.chunk();
        let (low, high) = self.parity_range(chunk);
        let written = |number| self.chunks(chunk).find(|w| w.0 == number).map_or((low, low), |w| (w.1, w.2));
        let is_covered = |number| written(number) == (low, high);
        let modify = self.chunks(chunk).count() as u64 + 1;
        let reconstruct = (0..volume.data_chunks()).filter(|number| !is_covered(*number)).count() as u64;
        let mut part = |disk: usize, from: u64, to: u64| {
            if to > from {
                each((disk, volume.sector_of(disk, self.row, from), (to - from) as u32));
            }
        };
        if modify < reconstruct {
            for (number, from, to) in self.chunks(chunk) {
                part(volume.data_disk(self.row, number), from, to);
            }
            part(volume.parity_disk(self.row), low, high);
        } else {
            for number in 0..volume.data_chunks() {
                let (disk, (from, to)) = (volume.data_disk(self.row, number), written(number));
                part(disk, low, from);
                part(disk, to, high);
            }
        }
    }

    /// Calls `each` with the writes: data and parity.
    pub fn writes(self, volume: &Volume, mut each: impl FnMut(Part)) {
        let chunk = volume.chunk();
        let mut part = |disk: usize, from: u64, to: u64| {
            each((disk, volume.sector_of(disk, self.row, from), (to - from) as u32));
        };
        for (number, from, to) in self.chunks(chunk) {
            part(volume.data_disk(self.row, number), from, to);
        }
        let (low, high) = self.parity_range(chunk);
        part(volume.parity_disk(self.row), low, high);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::DiskId;
    use goodness_core::storage::{Layout, Piece, VolumeSpec};

    fn raid(disks: u16) -> Volume {
        let pieces = (0..disks).map(|disk| Piece { disk: DiskId(disk), sector: 0, sectors: 1000 }).collect();
        let spec = VolumeSpec { name: "raid".into(), layout: Layout::Parity { chunk: 16 }, pieces };
        Volume::new(&spec, &vec![1000; usize::from(disks)]).unwrap()
    }

    fn plan(disks: u16, from: u64, to: u64) -> (Vec<Part>, Vec<Part>) {
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        let (volume, write) = (raid(disks), RowWrite { row: 0, from, to });
        write.reads(&volume, |part| reads.push(part));
        write.writes(&volume, |part| writes.push(part));
        (reads, writes)
    }

    #[test]
    fn a_whole_row_is_written_without_a_read() {
        let (reads, writes) = plan(4, 0, 48);
        assert!(reads.is_empty());
        assert_eq!(writes, [(0, 0, 16), (1, 0, 16), (2, 0, 16), (3, 0, 16)]);
    }

    #[test]
    fn a_small_write_on_many_disks_reads_old_data_and_old_parity() {
        let (reads, writes) = plan(5, 20, 24);
        assert_eq!(reads, [(1, 4, 4), (4, 4, 4)]);
        assert_eq!(writes, reads);
    }

    #[test]
    fn a_write_of_most_of_a_row_reads_the_rest() {
        let (reads, writes) = plan(5, 0, 48);
        assert_eq!(reads, [(3, 0, 16)]);
        assert_eq!(writes, [(0, 0, 16), (1, 0, 16), (2, 0, 16), (4, 0, 16)]);
        // With three disks both ways read from as few: the rest is read.
        assert_eq!(plan(3, 0, 8).0, [(1, 0, 8)]);
    }

    #[test]
    fn a_chunk_written_in_part_is_read_where_parity_needs_it() {
        // Chunk 0 from sector 8 and the whole of chunk 1: parity over all of the chunk.
        let (reads, _) = plan(3, 8, 32);
        assert_eq!(reads, [(0, 0, 8)]);
    }
}
