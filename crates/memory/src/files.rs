//! Layout of a file on its volume: a sorted list of extents from a simple allocation model.

use goodness_core::{PAGE_SECTORS, Rng};
use std::collections::BTreeMap;

/// Pages of a file that are contiguous on the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// First page of the file.
    pub page: u32,
    /// Number of pages.
    pub pages: u32,
    /// First sector on the volume.
    pub sector: u64,
}

/// A file: its extents in page order, without holes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct File(Vec<Extent>);

impl File {
    /// A file of `pages` contiguous pages at `sector`.
    #[must_use]
    pub fn contiguous(sector: u64, pages: u32) -> File {
        File(vec![Extent { page: 0, pages, sector }])
    }

    /// `pages` pages in fragments of `piece` pages, in random order from `sector` on, in `spread` times the space of
    /// the file.
    #[must_use]
    pub fn fragmented(sector: u64, pages: u32, piece: u32, spread: u32, rng: &mut Rng) -> File {
        let pieces = pages.div_ceil(piece.max(1)).max(1);
        let places = u64::from(pieces) * u64::from(spread.max(1));
        // A shuffle that remembers only the places that moved: there may be far more places than pieces.
        let mut moved: BTreeMap<u64, u64> = BTreeMap::new();
        let extents = (0..pieces).map(|index| {
            let taken = u64::from(index);
            let other = taken + rng.below(places - taken);
            let place = moved.get(&other).copied().unwrap_or(other);
            let here = moved.get(&taken).copied().unwrap_or(taken);
            moved.insert(other, here);
            Extent {
                page: index * piece,
                pages: piece.min(pages - index * piece),
                sector: sector + place * u64::from(piece) * u64::from(PAGE_SECTORS),
            }
        });
        File(extents.collect())
    }

    /// Number of pages.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.0.last().map_or(0, |last| last.page + last.pages)
    }

    /// Runs of sectors for `pages` pages from `first`: (sector, sectors) in page order. Pages past the end have none.
    pub fn runs(&self, first: u32, pages: u32) -> impl Iterator<Item = (u64, u32)> + '_ {
        let end = first.saturating_add(pages);
        let from = self.0.partition_point(|extent| extent.page + extent.pages <= first);
        self.0[from..].iter().take_while(move |extent| extent.page < end).map(move |extent| {
            let begin = first.max(extent.page);
            let until = end.min(extent.page + extent.pages);
            let sector = extent.sector + u64::from(begin - extent.page) * u64::from(PAGE_SECTORS);
            (sector, (until - begin) * PAGE_SECTORS)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Seed;

    #[test]
    fn a_contiguous_file_is_one_run() {
        let file = File::contiguous(800, 100);
        assert_eq!(file.runs(10, 5).collect::<Vec<_>>(), [(880, 40)]);
        assert_eq!(file.runs(98, 5).collect::<Vec<_>>(), [(800 + 98 * 8, 16)]);
        assert_eq!(file.runs(100, 5).count(), 0);
    }

    #[test]
    fn a_fragmented_file_has_each_page_in_a_place_of_its_own() {
        let file = File::fragmented(1000, 103, 8, 4, &mut Seed(3).rng());
        assert_eq!(file.pages(), 103);
        let mut places: Vec<u64> = (0..103).flat_map(|page| file.runs(page, 1)).map(|(sector, _)| sector).collect();
        let ascending = places.windows(2).filter(|pair| pair[0] + 8 == pair[1]).count();
        assert!(ascending < 95, "pieces of eight pages: {ascending} neighbours of 102");
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 103);
        assert!(places.iter().all(|sector| (1000..1000 + 13 * 4 * 64).contains(sector)));
    }

    #[test]
    fn a_run_over_a_border_of_extents_comes_in_two() {
        let file = File(vec![Extent { page: 0, pages: 4, sector: 64 }, Extent { page: 4, pages: 4, sector: 0 }]);
        assert_eq!(file.runs(2, 4).collect::<Vec<_>>(), [(80, 16), (0, 16)]);
    }
}
