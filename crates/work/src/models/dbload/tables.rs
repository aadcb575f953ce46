//! Tables and the export files in which they lie.

use super::{Settings, Sizes};
use goodness_core::Rng;

/// Tables of the whole load.
const TABLES: u64 = 44_000;
/// Export files.
pub const FILES: usize = 34;
/// Pages of 8 KiB that 73 GB are.
const PAGES: u64 = 73_000_000_000 / 8192;

/// An export file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportFile {
    /// Index in the workload's list of files.
    pub number: u32,
    /// Pages that each of its tables becomes.
    pub tables: Vec<u64>,
    /// Its own length in pages of 4 KiB.
    pub length: u32,
}

impl ExportFile {
    /// Pages that its tables become.
    pub fn pages(&self) -> u64 {
        self.tables.iter().sum()
    }
}

/// The export files, the largest last. File n has a share of the tables that falls with n, in random order. Only the
/// fact that their sizes were unequal was published.
pub fn deal(settings: &Settings, rng: &mut Rng) -> Vec<ExportFile> {
    let mut tables = sizes(settings.sizes, (TABLES / settings.scale).max(1), PAGES / settings.scale);
    rng.shuffle(&mut tables);
    let shares: Vec<u64> = (1..=FILES as u64).map(|rank| 1_000_000 / rank).collect();
    let (all, count) = (shares.iter().sum::<u64>(), tables.len() as u64);
    let (mut files, mut before) = (Vec::new(), 0);
    for (number, share) in shares.iter().enumerate() {
        let (from, to) = (before * count / all, (before + share) * count / all);
        before += share;
        let tables = tables[from as usize..to as usize].to_vec();
        let mut file = ExportFile { number: number as u32, tables, length: 0 };
        file.length = (file.pages() * 2 / settings.ratio + 1) as u32;
        files.push(file);
    }
    files.sort_by_key(|file| (file.pages(), file.number));
    files
}

/// Sizes of `count` tables, at least a page each, with a total of `pages` or slightly more.
fn sizes(kind: Sizes, count: u64, pages: u64) -> Vec<u64> {
    const ONE: u64 = 1 << 40;
    let weight = |rank: u64| match kind {
        Sizes::Equal => ONE,
        Sizes::Root => (ONE / (rank << 16).isqrt()) << 8,
        Sizes::Zipf => ONE / rank,
    };
    let all: u128 = (1..=count).map(|rank| u128::from(weight(rank))).sum();
    let size = |rank| (u128::from(weight(rank)) * u128::from(pages) / all) as u64;
    (1..=count).map(|rank| size(rank).max(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Seed;

    #[test]
    fn every_scale_has_the_mean_size_of_the_whole() {
        for scale in [1, 20, 200, 1000] {
            for kind in [Sizes::Equal, Sizes::Root, Sizes::Zipf] {
                let sizes = sizes(kind, TABLES / scale, PAGES / scale);
                let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
                assert!((200.0..205.0).contains(&mean), "{kind:?} at {scale}: {mean}");
            }
        }
    }

    #[test]
    fn the_largest_table_stands_out_as_its_law_says() {
        let largest = |kind| sizes(kind, 44_000, PAGES)[0];
        assert_eq!(largest(Sizes::Equal), 202);
        // 73 GB by the sum of 1/sqrt(r), 418, and of 1/r, 11.27.
        assert!((21_000..21_700).contains(&largest(Sizes::Root)), "{}", largest(Sizes::Root));
        assert!((788_000..793_000).contains(&largest(Sizes::Zipf)), "{}", largest(Sizes::Zipf));
    }

    #[test]
    fn all_tables_are_dealt_once_and_files_are_of_unequal_size() {
        let settings = Settings::default();
        let files = deal(&settings, &mut Seed(1).rng());
        assert_eq!(files.len(), FILES);
        assert_eq!(files.iter().map(|file| file.tables.len()).sum::<usize>(), 220);
        assert!(files.windows(2).all(|pair| pair[0].pages() <= pair[1].pages()));
        assert!(files[33].pages() > 10 * files[10].pages());
    }
}
