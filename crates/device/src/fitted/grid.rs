//! Latencies by size and by number in the device, as closed loops have them.

use super::LONGEST;
use serde::{Deserialize, Serialize};

/// Shares, in a ten-thousandth, at which latencies are known.
pub const SHARES: [u32; 12] = [0, 100, 500, 1000, 2500, 5000, 7500, 9000, 9500, 9900, 9990, 10_000];

/// Latencies by size and number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    /// Sizes in bytes, ascending, for which latencies are known.
    pub sizes: Vec<u64>,
    /// Numbers of commands in the device, ascending from 1, for which they are known.
    pub depths: Vec<u64>,
    /// Mean latency in ns: a list for each size, in it a time for each number.
    pub mean_ns: Vec<Vec<u64>>,
    /// Latencies at [`SHARES`], per mille of the mean, for each of the means.
    pub spread: Vec<Vec<Vec<u32>>>,
}

/// A place between two known ones: `part` of `whole` of the way from the one at `at` to the next.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    part: u64,
    whole: u64,
}

impl Place {
    /// The place of `number` in an ascending list, at least its first. Beyond the last it lies behind the last two.
    fn of(number: u64, list: &[u64]) -> Place {
        if list.len() == 1 {
            return Place { at: 0, part: 0, whole: 1 };
        }
        let at = list.partition_point(|known| *known <= number).clamp(1, list.len() - 1) - 1;
        Place { at, part: number.max(list[0]) - list[at], whole: list[at + 1] - list[at] }
    }

    /// The value here on a straight line through the known ones; never below 0, never above an hour.
    fn value(self, known: impl Fn(usize) -> u64) -> u64 {
        let low = i128::from(known(self.at));
        if self.part == 0 {
            return low as u64;
        }
        let rise = i128::from(known(self.at + 1)) - low;
        let value = low + rise * i128::from(self.part) / i128::from(self.whole);
        value.clamp(0, LONGEST.into()) as u64
    }

    /// The same place, or the last known one if it lies beyond.
    fn within(self) -> Place {
        Place { part: self.part.min(self.whole), ..self }
    }
}

impl Grid {
    /// Checks that the lists fit together.
    pub(super) fn check(&self) -> Result<(), String> {
        let rises = |list: &[u64]| list.windows(2).all(|pair| pair[0] < pair[1]);
        let spread_fits = |it: &Vec<u32>| it.len() == SHARES.len() && it.is_sorted();
        let (rows, each) = (self.sizes.len(), self.depths.len());
        let (mut means, mut spreads) = (self.mean_ns.iter(), self.spread.iter());
        let faults = [
            (self.depths.first() != Some(&1) || !rises(&self.depths), "depths must ascend from 1"),
            (self.sizes.is_empty() || !rises(&self.sizes), "sizes must ascend"),
            (self.mean_ns.len() != rows, "mean_ns needs one list for each of sizes"),
            (!means.all(|row| row.len() == each), "each list of mean_ns needs one time for each of depths"),
            (self.spread.len() != rows, "spread needs one list for each of sizes"),
            (!spreads.all(|row| row.len() == each), "each list of spread needs one list for each of depths"),
            (
                !self.spread.iter().flatten().all(spread_fits),
                "each innermost list of spread needs 12 ascending numbers",
            ),
            (self.mean_ns.iter().flatten().any(|ns| *ns > LONGEST), "no time may be longer than an hour"),
        ];
        faults.iter().find(|(is_wrong, _)| *is_wrong).map_or(Ok(()), |(_, what)| Err((*what).into()))
    }

    /// Mean latency among `count` commands of `bytes` bytes each: linear between the known ones. Beyond the largest
    /// size it goes on as between the last two, beyond the largest number it grows in proportion.
    #[must_use]
    pub fn mean(&self, count: u32, bytes: u64) -> u64 {
        let (size, depth) = (Place::of(bytes, &self.sizes), Place::of(count.into(), &self.depths).within());
        let known = size.value(|size| depth.value(|depth| self.mean_ns[size][depth]));
        let last = self.depths[self.depths.len() - 1];
        scaled(known, last.max(count.into()), last)
    }

    /// Latency below which `share` of all lie, per mille of the mean, among `count` commands of `bytes` bytes each.
    fn factor(&self, count: u32, bytes: u64, share: u32) -> u64 {
        let [size, depth] =
            [(bytes, &self.sizes), (count.into(), &self.depths)].map(|(it, of)| Place::of(it, of).within());
        size.value(|size| depth.value(|depth| below(&self.spread[size][depth], share)))
    }

    /// Difference that the own size makes to a command of `bytes` among `count` of `mean` bytes on average, in ns.
    ///
    /// Say that a latency grows by a ns for each byte of the command, and by b ns for each byte in the device. Then it
    /// grows by a + b for each byte of a command alone, by a + `count` b among others of its size, and a is what these
    /// two leave. It is 0 in a queue and all of the difference where commands do not meet.
    fn own(&self, count: u32, bytes: u64, mean: u64) -> i64 {
        if count < 2 || bytes == mean {
            return 0;
        }
        let rise = |count| self.mean(count, bytes) as i64 - self.mean(count, mean) as i64;
        let (alone, among) = (rise(1), rise(count));
        let own = alone - (among - alone) / i64::from(count - 1);
        own.clamp(alone.min(0), alone.max(0))
    }

    /// Latency in ns that `share` of all lie below, of a command of `bytes` among `count` of `mean` bytes on average.
    #[must_use]
    pub fn latency(&self, count: u32, bytes: u64, mean: u64, share: u32) -> u64 {
        let usual = self.mean(count, mean) as i64 + self.own(count, bytes, mean);
        scaled(usual.max(0) as u64, self.factor(count, mean, share), 1000)
    }
}

/// The factor that a share of all stays below in a spread.
fn below(spread: &[u32], share: u32) -> u64 {
    let at = SHARES.partition_point(|known| *known <= share).clamp(1, SHARES.len() - 1) - 1;
    let place = Place { at, part: (share - SHARES[at]).into(), whole: (SHARES[at + 1] - SHARES[at]).into() };
    place.value(|at| spread[at].into())
}

/// `ns` times `by` and divided by `per`, or an hour if that is longer.
pub(super) fn scaled(ns: u64, by: u64, per: u64) -> u64 {
    (u128::from(ns) * u128::from(by) / u128::from(per)).min(LONGEST.into()) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A grid with `latency` of number and KiB as its means, without a spread.
    fn grid(latency: fn(u64, u64) -> u64) -> Grid {
        let (sizes, depths) = (vec![4096, 16_384, 65_536], vec![1, 4, 16]);
        let row = |bytes: &u64| depths.iter().map(|depth| latency(*depth, bytes >> 10)).collect();
        let mean_ns: Vec<Vec<u64>> = sizes.iter().map(row).collect();
        let spread = vec![vec![vec![1000; SHARES.len()]; depths.len()]; sizes.len()];
        Grid { sizes, depths, mean_ns, spread }
    }

    #[test]
    fn between_known_latencies_and_beyond_them_lie_straight_lines() {
        let queue = grid(|count, kib| count * (10_000 + 700 * kib));
        assert_eq!(queue.mean(7, 40 << 10), 7 * 38_000);
        assert_eq!(queue.mean(64, 256 << 10), 64 * 189_200, "beyond both ends");
        assert_eq!(queue.mean(1, 512), 12_800, "no size is quicker than the smallest");
    }

    #[test]
    fn the_own_size_counts_where_commands_do_not_wait_for_each_other() {
        let queue = grid(|count, kib| count * (10_000 + 700 * kib));
        assert_eq!(queue.latency(8, 32 << 10, 8 << 10, 5000), 8 * 15_600, "all wait for the bytes in the device");
        let lanes = grid(|_, kib| 10_000 + 700 * kib);
        assert_eq!(lanes.latency(8, 32 << 10, 8 << 10, 5000), 32_400, "each has a lane of its own");
        let both = grid(|count, kib| 10_000 + 500 * kib + 200 * kib * count);
        assert_eq!(both.latency(8, 32 << 10, 8 << 10, 5000), 10_000 + 500 * 32 + 200 * 8 * 8);
    }

    #[test]
    fn a_share_of_all_lies_below_the_known_factors() {
        let mut queue = grid(|_, _| 10_000);
        queue.spread[0][0] = vec![500, 600, 700, 800, 900, 1000, 1100, 1200, 1300, 2000, 3000, 9000];
        assert_eq!(queue.latency(1, 4096, 4096, 9900), 20_000);
        assert_eq!(queue.latency(1, 4096, 4096, 9700), 16_500);
        assert_eq!(queue.latency(1, 10_240, 10_240, 9900), 15_000, "half way to a size without a spread");
    }
}
