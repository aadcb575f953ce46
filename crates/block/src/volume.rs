//! Maps the sectors of a volume to its disks.
//!
//! Source: Linux md and device-mapper, as their manuals describe the layouts. Left-symmetric parity is md's default:
//! the parity of row r of n disks is on disk n - 1 - r mod n, and the first chunk of the row on the disk after it. Part
//! numbers are positions in the volume's disk list.

use goodness_core::storage::{Layout, Piece, VolumeSpec};

/// Part of an I/O: position of the disk in the volume's list, first sector on it, number of sectors.
pub(crate) type Part = (usize, u64, u32);

/// A volume with a checked description.
#[derive(Clone, Debug)]
pub(crate) struct Volume {
    pub layout: Layout,
    pub pieces: Vec<Piece>,
    /// Sectors that users see.
    pub sectors: u64,
    /// Data sectors per row, for volumes with rows.
    row: u64,
    chunk: u64,
}

impl Volume {
    /// The volume that `spec` describes, on disks of these capacities.
    pub fn new(spec: &VolumeSpec, capacities: &[u64]) -> Result<Volume, String> {
        check(spec, capacities).map_err(|problem| format!("volume {}: {problem}", spec.name))?;
        let count = spec.pieces.len() as u64;
        let (chunk, data) = match spec.layout {
            Layout::Linear | Layout::Mirrored => (0, 1),
            Layout::Striped { chunk } => (u64::from(chunk), count),
            Layout::Parity { chunk } => (u64::from(chunk), count - 1),
        };
        let sectors = spec.sectors();
        Ok(Volume { layout: spec.layout, pieces: spec.pieces.clone(), sectors, row: chunk * data, chunk })
    }

    /// Sectors of a chunk.
    pub fn chunk(&self) -> u64 {
        self.chunk
    }

    /// Data sectors of a row.
    pub fn row(&self) -> u64 {
        self.row
    }

    /// Data chunks of a row.
    pub fn data_chunks(&self) -> u64 {
        self.row / self.chunk
    }

    /// The disk with the parity of `row`.
    pub fn parity_disk(&self, row: u64) -> usize {
        let count = self.pieces.len() as u64;
        (count - 1 - row % count) as usize
    }

    /// The disk with data chunk `chunk` of `row`.
    pub fn data_disk(&self, row: u64, chunk: u64) -> usize {
        match self.layout {
            Layout::Parity { .. } => (self.parity_disk(row) + 1 + chunk as usize) % self.pieces.len(),
            _ => chunk as usize,
        }
    }

    /// Sector on `disk` of `offset` within its chunk in `row`.
    pub fn sector_of(&self, disk: usize, row: u64, offset: u64) -> u64 {
        self.pieces[disk].sector + row * self.chunk + offset
    }

    /// Calls `each` with the parts of `sectors` sectors from `sector`, in order. Not for mirrors, whose disks are
    /// chosen.
    #[inline]
    pub fn parts(&self, sector: u64, sectors: u32, mut each: impl FnMut(Part)) {
        let (mut at, end) = (sector, sector + u64::from(sectors));
        while at < end {
            let (disk, place, room) = match self.layout {
                Layout::Linear | Layout::Mirrored => self.linear(at),
                Layout::Striped { .. } | Layout::Parity { .. } => self.in_chunk(at),
            };
            let count = room.min(end - at);
            each((disk, place, count as u32));
            at += count;
        }
    }

    /// Disk of sector `at`, the sector on it, and the number of contiguous sectors.
    #[inline]
    fn linear(&self, at: u64) -> (usize, u64, u64) {
        let mut before = 0;
        for (disk, piece) in self.pieces.iter().enumerate() {
            if at < before + piece.sectors {
                return (disk, piece.sector + at - before, before + piece.sectors - at);
            }
            before += piece.sectors;
        }
        unreachable!("a volume's users stay within its {} sectors", self.sectors)
    }

    fn in_chunk(&self, at: u64) -> (usize, u64, u64) {
        let (row, within) = (at / self.row, at % self.row);
        let (chunk, offset) = (within / self.chunk, within % self.chunk);
        let disk = self.data_disk(row, chunk);
        (disk, self.sector_of(disk, row, offset), self.chunk - offset)
    }
}

/// Checks a description against the capacities of its disks.
fn check(spec: &VolumeSpec, capacities: &[u64]) -> Result<(), String> {
    for (place, piece) in spec.pieces.iter().enumerate() {
        let Some(capacity) = capacities.get(usize::from(piece.disk.0)) else {
            return Err(format!("piece {place} is on disk {}, but there are {} disks", piece.disk.0, capacities.len()));
        };
        let end = piece.sector.checked_add(piece.sectors);
        if piece.sectors == 0 || end.is_none_or(|end| end > *capacity) {
            return Err(format!(
                "piece {place}, {} sectors from {}, does not lie on disk {} of {capacity} sectors",
                piece.sectors, piece.sector, piece.disk.0
            ));
        }
    }
    spec.check()
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::DiskId;

    fn volume(layout: Layout, pieces: &[(u16, u64, u64)]) -> Result<Volume, String> {
        let piece = |&(disk, sector, sectors)| Piece { disk: DiskId(disk), sector, sectors };
        let spec = VolumeSpec { name: "v".into(), layout, pieces: pieces.iter().map(piece).collect() };
        Volume::new(&spec, &[1000, 1000, 1000, 1000])
    }

    fn parts(volume: &Volume, sector: u64, sectors: u32) -> Vec<Part> {
        let mut parts = Vec::new();
        volume.parts(sector, sectors, |part| parts.push(part));
        parts
    }

    #[test]
    fn a_linear_volume_goes_from_piece_to_piece() {
        let linear = volume(Layout::Linear, &[(0, 100, 50), (1, 0, 1000)]).unwrap();
        assert_eq!(linear.sectors, 1050);
        assert_eq!(parts(&linear, 40, 20), [(0, 140, 10), (1, 0, 10)]);
        assert_eq!(parts(&linear, 1049, 1), [(1, 999, 1)]);
    }

    #[test]
    fn stripes_take_turns_by_chunk() {
        let striped = volume(Layout::Striped { chunk: 16 }, &[(0, 0, 100), (1, 8, 500)]).unwrap();
        assert_eq!(striped.sectors, 2 * 96);
        assert_eq!(parts(&striped, 8, 40), [(0, 8, 8), (1, 8, 16), (0, 16, 16)]);
    }

    #[test]
    fn parity_moves_to_the_left_and_data_begin_behind_it() {
        // The table of md's left-symmetric layout with four disks.
        let raid = volume(Layout::Parity { chunk: 8 }, &[(0, 0, 80), (1, 0, 80), (2, 0, 80), (3, 0, 80)]).unwrap();
        assert_eq!(raid.sectors, 240);
        assert_eq!((0..5).map(|row| raid.parity_disk(row)).collect::<Vec<_>>(), [3, 2, 1, 0, 3]);
        let disks = |row: u64| parts(&raid, 24 * row, 24).iter().map(|part| part.0).collect::<Vec<_>>();
        assert_eq!([disks(0), disks(1), disks(2), disks(3)], [[0, 1, 2], [3, 0, 1], [2, 3, 0], [1, 2, 3]]);
        assert_eq!(parts(&raid, 24 * 4 + 9, 3), [(1, 33, 3)]);
    }

    #[test]
    fn every_sector_of_a_volume_has_one_place_of_its_own() {
        let pieces = [(0, 5, 90), (1, 0, 100), (2, 7, 93)];
        for layout in [Layout::Linear, Layout::Striped { chunk: 7 }, Layout::Parity { chunk: 9 }] {
            let volume = volume(layout, &pieces).unwrap();
            let mut seen = std::collections::BTreeSet::new();
            for sector in 0..volume.sectors {
                let [(disk, place, 1)] = parts(&volume, sector, 1)[..] else { panic!("one part") };
                let piece = volume.pieces[disk];
                assert!((piece.sector..piece.sector + piece.sectors).contains(&place));
                assert!(seen.insert((disk, place)), "{layout:?} {sector}");
            }
        }
    }

    #[test]
    fn what_cannot_be_a_volume_is_a_sentence() {
        let error = |layout, pieces: &[(u16, u64, u64)]| volume(layout, pieces).unwrap_err();
        assert!(error(Layout::Linear, &[]).contains("needs 1"));
        assert!(error(Layout::Parity { chunk: 8 }, &[(0, 0, 9), (1, 0, 9)]).contains("needs 3"));
        assert!(error(Layout::Linear, &[(4, 0, 9)]).contains("there are 4 disks"));
        assert!(error(Layout::Linear, &[(0, 992, 9)]).contains("does not lie on disk 0 of 1000 sectors"));
        assert!(error(Layout::Linear, &[(0, u64::MAX, 9)]).contains("does not lie"));
        assert!(error(Layout::Striped { chunk: 0 }, &[(0, 0, 9), (1, 0, 9)]).contains("no sector"));
        assert!(error(Layout::Striped { chunk: 10 }, &[(0, 0, 9), (1, 0, 9)]).contains("shorter than a chunk"));
    }
}
