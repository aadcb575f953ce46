//! Log-linear histograms of 64-bit values: exact below one octave of sub-buckets, above it each power of two
//! is divided evenly. Counting is two shifts and an addition; no value is refused; nothing is allocated after
//! construction.
//!
//! Quantiles are nearest-rank: the value of rank ⌈n·q⌉. A bucket stands for its middle, held between the exact
//! smallest and largest value seen, so a quantile is at most half a bucket wrong: 1/256 here, 1/32 for
//! [`PerTaskHistograms`]. Mean, smallest and largest are exact.

use goodness_core::TaskId;

/// Sub-buckets of an octave in a [`Histogram`], as a power of two.
const FINE: u32 = 7;
/// Sub-buckets of an octave in [`PerTaskHistograms`], as a power of two.
const COARSE: u32 = 4;

/// Octave and sub-bucket of `value`. Octave 0 holds the values below 2^`BITS`, one to a bucket.
#[inline]
const fn bucket<const BITS: u32>(value: u64) -> (usize, usize) {
    let top = 63 - (value | ((1 << BITS) - 1)).leading_zeros();
    let octave = top + 1 - BITS;
    let shift = octave.saturating_sub(1);
    (octave as usize, (value >> shift) as usize & ((1 << BITS) - 1))
}

/// Smallest and largest value of a bucket.
const fn bounds<const BITS: u32>(octave: usize, sub: usize) -> (u64, u64) {
    if octave == 0 {
        return (sub as u64, sub as u64);
    }
    let low = ((1u64 << BITS) + sub as u64) << (octave - 1);
    (low, low + ((1 << (octave - 1)) - 1))
}

/// The middle of a bucket, rounded down.
const fn middle<const BITS: u32>(octave: usize, sub: usize) -> u64 {
    let (low, high) = bounds::<BITS>(octave, sub);
    low + (high - low) / 2
}

/// The rank, counted from 1, of the quantile `per_10k` / 10 000 among `count` values.
const fn rank(count: u64, per_10k: u32) -> u64 {
    let rank = (count as u128 * per_10k as u128).div_ceil(10_000) as u64;
    if rank == 0 { 1 } else { rank }
}

/// One bucket of a [`Histogram`] that holds something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Smallest value that falls into it.
    pub low: u64,
    /// Largest value that falls into it.
    pub high: u64,
    /// How many did (or their total weight).
    pub count: u64,
}

/// A distribution with 128 buckets an octave: 0.4 % error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64]>,
    sum: u128,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let counts = vec![0; (65 - FINE as usize) << FINE].into_boxed_slice();
        Histogram { counts, sum: 0, max: 0 }
    }
}

impl Histogram {
    /// Counts `value` once.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.record_weighted(value, 1);
    }

    /// Counts `value` `weight` times; not at all if `weight` is 0.
    #[inline]
    pub fn record_weighted(&mut self, value: u64, weight: u64) {
        if weight == 0 {
            return;
        }
        let (octave, sub) = bucket::<FINE>(value);
        self.counts[octave << FINE | sub] += weight;
        self.sum += u128::from(value) * u128::from(weight);
        self.max = self.max.max(value);
    }

    /// How many values were counted (or their total weight); added up anew at each call.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The mean, exact up to the rounding of the division; `None` without values.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// The largest value, exact.
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max)
    }

    /// The quantile `per_10k` / 10 000 (9 900 for p99), nearest-rank; `None` without values.
    #[must_use]
    pub fn quantile(&self, per_10k: u32) -> Option<u64> {
        let mut left = rank(self.count(), per_10k);
        for (index, &count) in self.counts.iter().enumerate() {
            if count >= left {
                let middle = middle::<FINE>(index >> FINE, index & ((1 << FINE) - 1));
                return Some(middle.min(self.max));
            }
            left -= count;
        }
        None
    }

    /// Adds everything `other` counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// The buckets that hold something, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(index, &count)| {
            let (low, high) = bounds::<FINE>(index >> FINE, index & ((1 << FINE) - 1));
            Bucket { low, high, count }
        })
    }
}

/// A small distribution for each of the first [`PerTaskHistograms::LIMIT`] tasks: 16 buckets an octave, 3 %
/// error. An octave of a task takes its 64 bytes at its first value.
#[derive(Clone, Debug, Default)]
pub struct PerTaskHistograms {
    /// For each task and octave, one more than the place of its counts in `pool`; 0 for none.
    places: Vec<[u32; 65 - COARSE as usize]>,
    pool: Vec<[u32; 1 << COARSE]>,
}

impl PerTaskHistograms {
    /// Tasks with a larger number have no distribution of their own.
    pub const LIMIT: usize = 65_536;

    /// Room for `tasks` tasks.
    #[must_use]
    pub fn with_capacity(tasks: usize) -> PerTaskHistograms {
        let tasks = tasks.min(Self::LIMIT);
        PerTaskHistograms { places: vec![[0; 65 - COARSE as usize]; tasks], pool: Vec::with_capacity(4 * tasks) }
    }

    /// Counts `value` for `task`, if the task has a distribution.
    #[inline]
    pub fn record(&mut self, task: TaskId, value: u64) {
        let (octave, sub) = bucket::<COARSE>(value);
        let place = match self.places.get(task.index()) {
            Some(places) if places[octave] != 0 => places[octave] as usize - 1,
            _ => match self.make_room(task, octave) {
                Some(place) => place,
                None => return,
            },
        };
        let count = &mut self.pool[place][sub];
        *count = count.saturating_add(1);
    }

    #[cold]
    fn make_room(&mut self, task: TaskId, octave: usize) -> Option<usize> {
        if task.index() >= Self::LIMIT {
            return None;
        }
        if task.index() >= self.places.len() {
            self.places.resize(task.index() + 1, [0; 65 - COARSE as usize]);
        }
        self.pool.push([0; 1 << COARSE]);
        self.places[task.index()][octave] = self.pool.len() as u32;
        Some(self.pool.len() - 1)
    }

    /// The quantile `per_10k` / 10 000 of `task`, nearest-rank, not above `max`; `None` without values.
    #[must_use]
    pub fn quantile(&self, task: TaskId, per_10k: u32, max: u64) -> Option<u64> {
        let places = self.places.get(task.index())?;
        let octaves = || places.iter().enumerate().filter(|(_, place)| **place != 0);
        let counts = |place: &u32| &self.pool[*place as usize - 1];
        let total = octaves().flat_map(|(_, p)| counts(p)).map(|c| u64::from(*c)).sum();
        let mut left = rank(total, per_10k);
        for (octave, place) in octaves() {
            for (sub, &count) in counts(place).iter().enumerate() {
                if u64::from(count) >= left {
                    return Some(middle::<COARSE>(octave, sub).min(max));
                }
                left -= u64::from(count);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Seed;

    /// As the reference: sorted list, rank ⌈n·q⌉.
    fn nearest_rank(sorted: &[u64], per_10k: u64) -> u64 {
        let rank = (sorted.len() as u64 * per_10k).div_ceil(10_000).max(1);
        sorted[rank as usize - 1]
    }

    #[test]
    fn buckets_tile_the_whole_range() {
        let mut expected = 0u64;
        for octave in 0..65 - FINE as usize {
            for sub in 0..1 << FINE {
                let (low, high) = bounds::<FINE>(octave, sub);
                assert_eq!(low, expected);
                assert_eq!((bucket::<FINE>(low), bucket::<FINE>(high)), ((octave, sub), (octave, sub)));
                expected = high.wrapping_add(1);
            }
        }
        assert_eq!(expected, 0, "the last bucket ends at the largest value");
    }

    #[test]
    fn quantiles_are_nearest_rank_within_half_a_bucket() {
        let mut rng = Seed(7).rng();
        for scale in [100u64, 5_000, 3_000_000, 40_000_000_000] {
            let mut all = Histogram::default();
            let mut own = PerTaskHistograms::default();
            let mut sorted: Vec<u64> = (0..10_001).map(|_| rng.below(scale)).collect();
            for &value in &sorted {
                all.record(value);
                own.record(TaskId(3), value);
            }
            sorted.sort_unstable();
            let max = sorted[sorted.len() - 1];
            for per_10k in [1, 5_000, 9_500, 9_900, 9_990, 10_000] {
                let exact = nearest_rank(&sorted, u64::from(per_10k));
                let (fine, coarse) = (all.quantile(per_10k).unwrap(), own.quantile(TaskId(3), per_10k, max).unwrap());
                assert!(fine.abs_diff(exact) * 256 <= exact.max(256), "{fine} for {exact}");
                assert!(coarse.abs_diff(exact) * 32 <= exact.max(32), "{coarse} for {exact}");
            }
            assert_eq!(all.max(), Some(max));
            assert_eq!(all.mean(), Some(sorted.iter().sum::<u64>() as f64 / 10_001.0));
        }
    }

    #[test]
    fn an_empty_distribution_has_no_quantile() {
        assert_eq!(Histogram::default().quantile(5_000), None);
        assert_eq!(Histogram::default().mean(), None);
        assert_eq!(PerTaskHistograms::default().quantile(TaskId(0), 5_000, 0), None);
        assert_eq!(PerTaskHistograms::with_capacity(1).quantile(TaskId(0), 5_000, 0), None);
    }

    #[test]
    fn merging_equals_counting_together() {
        let (mut a, mut b, mut both) = (Histogram::default(), Histogram::default(), Histogram::default());
        for value in 0..1_000u64 {
            let half = if value % 3 == 0 { &mut a } else { &mut b };
            half.record(value * value);
            both.record(value * value);
        }
        a.merge(&b);
        assert_eq!(a, both);
    }

    #[test]
    fn a_weight_counts_as_often_as_it_says() {
        let mut weighted = Histogram::default();
        weighted.record_weighted(3, 90);
        weighted.record_weighted(50, 10);
        weighted.record_weighted(1_000_000, 0);
        assert_eq!((weighted.quantile(9_000), weighted.quantile(9_001)), (Some(3), Some(50)));
        assert_eq!((weighted.max(), weighted.mean()), (Some(50), Some(7.7)));
    }

    #[test]
    fn a_task_beyond_the_limit_takes_no_memory() {
        let mut own = PerTaskHistograms::default();
        own.record(TaskId(PerTaskHistograms::LIMIT as u32), 5);
        assert!(own.places.is_empty() && own.pool.is_empty());
    }
}
