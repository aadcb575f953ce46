//! Log-linear histograms of 64-bit values: exact for small values; above, each power of two is divided evenly. Counting
//! takes two shifts and an addition. All values are accepted, and nothing is allocated after construction.
//!
//! Quantiles are nearest-rank: the value of rank ⌈n·q⌉. A bucket stands for its middle, but at most for the largest
//! value seen. So a quantile is off by at most half a bucket: 1/256 here, 1/32 (or 4) for [`PerTaskHistograms`]. Mean
//! and maximum are exact, and so are quantiles that fall on the maximum.

use goodness_core::TaskId;

/// Sub-buckets of an octave in a [`Histogram`], as a power of two.
const FINE: u32 = 7;
/// Number of fine buckets per bucket of [`PerTaskHistograms`], as a power of two.
const MERGED: u32 = 3;
/// Coarse buckets of an octave.
const COARSE: usize = 1 << (FINE - MERGED);
/// Octaves: one for values below 2^7, and one per greater power of two.
const OCTAVES: usize = 65 - FINE as usize;

/// The bucket of a value. The first 128 cover one value each, the next 128 two each, and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place(u32);

impl Place {
    /// The bucket of `value`.
    #[inline(always)]
    #[must_use]
    pub const fn of(value: u64) -> Place {
        let shift = 63 - FINE - (value | 1 << FINE).leading_zeros();
        Place((shift << FINE) + (value >> shift) as u32)
    }

    /// Smallest and largest value of this bucket and the `merged - 1` that follow in its octave.
    const fn bounds(self, merged: u64) -> (u64, u64) {
        let (octave, sub) = (self.0 >> FINE, (self.0 & ((1 << FINE) - 1)) as u64);
        if octave == 0 {
            return (sub, sub + merged - 1);
        }
        let (low, width) = (((1 << FINE) + sub) << (octave - 1), merged << (octave - 1));
        (low, low + (width - 1))
    }

    /// The middle of these buckets, rounded down.
    const fn middle(self, merged: u64) -> u64 {
        let (low, high) = self.bounds(merged);
        low + (high - low) / 2
    }
}

/// Rank, from 1, of the quantile `per_10k` / 10 000 of `count` values.
const fn rank(count: u64, per_10k: u32) -> u64 {
    let rank = (count as u128 * per_10k as u128).div_ceil(10_000) as u64;
    if rank == 0 { 1 } else { rank }
}

/// One non-empty bucket of a [`Histogram`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Smallest value that falls into it.
    pub low: u64,
    /// Largest value that falls into it.
    pub high: u64,
    /// Number of values in it (or their total weight).
    pub count: u64,
}

/// A distribution with 128 buckets an octave: 0.4 % error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    counts: Box<[u64; Histogram::ROOM]>,
    sum: u128,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        let counts = vec![0; Histogram::ROOM].into_boxed_slice().try_into().expect("the length is that of the array");
        Histogram { counts, sum: 0, max: 0 }
    }
}

impl Histogram {
    /// Buckets, rounded up to a power of two so that a mask replaces the check of bounds.
    const ROOM: usize = (OCTAVES << FINE).next_power_of_two();

    /// Adds one `value`.
    #[inline(always)]
    pub fn record(&mut self, value: u64) {
        self.record_at(Place::of(value), value);
    }

    /// Counts `value` with its known bucket once.
    #[inline(always)]
    pub fn record_at(&mut self, place: Place, value: u64) {
        self.counts[place.0 as usize & (Self::ROOM - 1)] += 1;
        self.sum += u128::from(value);
        if value > self.max {
            self.max = value;
        }
    }

    /// Counts `value` `weight` times; not at all if `weight` is 0.
    #[inline(always)]
    pub fn record_weighted(&mut self, value: u64, weight: u64) {
        self.counts[Place::of(value).0 as usize & (Self::ROOM - 1)] += weight;
        self.sum += u128::from(value) * u128::from(weight);
        if value > self.max && weight > 0 {
            self.max = value;
        }
    }

    /// Number of values (or their total weight), summed at each call.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The mean, exact except for the rounding of the division; `None` without values.
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
        let total = self.count();
        let mut left = rank(total, per_10k);
        if left == total {
            return Some(self.max);
        }
        for (index, &count) in self.counts.iter().enumerate() {
            if count >= left {
                return Some(Place(index as u32).middle(1).min(self.max));
            }
            left -= count;
        }
        None
    }

    /// Adds everything `other` counted.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(other.counts.iter()) {
            *mine += theirs;
        }
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// The non-empty buckets, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = Bucket> + '_ {
        self.counts.iter().enumerate().filter(|(_, count)| **count > 0).map(|(index, &count)| {
            let (low, high) = Place(index as u32).bounds(1);
            Bucket { low, high, count }
        })
    }
}

/// A small histogram for each of the first [`PerTaskHistograms::LIMIT`] tasks: 16 buckets per octave, 3 % error. An
/// octave of a task is allocated (64 bytes) at its first value.
#[derive(Clone, Debug, Default)]
pub struct PerTaskHistograms {
    /// For each octave and task, the index of its counts in `pool` plus one; 0 for none. Latencies of a run fall into
    /// few octaves, so that what is used of this stands close together.
    octaves: Vec<Vec<u32>>,
    pool: Vec<[u32; COARSE]>,
}

impl PerTaskHistograms {
    /// Tasks with a larger number have no distribution of their own.
    pub const LIMIT: usize = 65_536;

    /// Room for `tasks` tasks: all values for up to 18 000 tasks, 16 octaves each at [`Self::LIMIT`]. Unused room is
    /// only reserved; its pages are never touched.
    #[must_use]
    pub fn with_capacity(tasks: usize) -> PerTaskHistograms {
        let tasks = tasks.min(Self::LIMIT);
        let blocks = (tasks * OCTAVES).min(16 * Self::LIMIT);
        // Allocated one by one: cloning would touch the pages.
        let octaves = (0..OCTAVES).map(|_| vec![0; tasks]).collect();
        PerTaskHistograms { octaves, pool: Vec::with_capacity(blocks) }
    }

    /// Adds one value at `place` for `task`, if the task has a distribution.
    #[inline(always)]
    pub fn record(&mut self, task: TaskId, place: Place) {
        let (octave, sub) = ((place.0 >> FINE) as usize, (place.0 >> MERGED) as usize % COARSE);
        let held = self.held(task, octave);
        match self.pool.get_mut((held as usize).wrapping_sub(1)) {
            Some(counts) => counts[sub] = counts[sub].saturating_add(1),
            None => self.record_first(task, octave, sub),
        }
    }

    /// The block of counters for values of `task` at `place`; 0 if it has none yet.
    #[inline]
    pub fn block(&self, task: TaskId, place: Place) -> u32 {
        self.held(task, (place.0 >> FINE) as usize)
    }

    #[inline(always)]
    fn held(&self, task: TaskId, octave: usize) -> u32 {
        self.octaves.get(octave).and_then(|held| held.get(task.index())).copied().unwrap_or(0)
    }

    /// Prefetches a [block](Self::block) into the CPU's caches.
    #[inline]
    pub fn load(&self, block: u32) -> u32 {
        self.pool.get((block as usize).wrapping_sub(1)).map_or(0, |counts| counts[0])
    }

    /// The first value of an octave.
    #[cold]
    fn record_first(&mut self, task: TaskId, octave: usize, sub: usize) {
        if task.index() >= Self::LIMIT {
            return;
        }
        self.octaves.resize(OCTAVES, Vec::new());
        let held = &mut self.octaves[octave];
        if task.index() >= held.len() {
            held.resize(task.index() + 1, 0);
        }
        let mut counts = [0; COARSE];
        counts[sub] = 1;
        self.pool.push(counts);
        held[task.index()] = self.pool.len() as u32;
    }

    /// The quantile `per_10k` / 10 000 of `task`, nearest-rank, at most `max`; `None` without values.
    #[must_use]
    pub fn quantile(&self, task: TaskId, per_10k: u32, max: u64) -> Option<u64> {
        let held = || (0..OCTAVES).map(|octave| (octave, self.held(task, octave))).filter(|(_, held)| *held != 0);
        let counts = |held: u32| &self.pool[held as usize - 1];
        let total = held().flat_map(|(_, held)| counts(held)).map(|c| u64::from(*c)).sum();
        let mut left = rank(total, per_10k);
        if left == total {
            return Some(max);
        }
        for (octave, held) in held() {
            for (sub, &count) in counts(held).iter().enumerate() {
                if u64::from(count) >= left {
                    let place = Place((octave << FINE | sub << MERGED) as u32);
                    return Some(place.middle(1 << MERGED).min(max));
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

    /// Reference implementation: sorted list, rank ⌈n·q⌉.
    fn nearest_rank(sorted: &[u64], per_10k: u64) -> u64 {
        let rank = (sorted.len() as u64 * per_10k).div_ceil(10_000).max(1);
        sorted[rank as usize - 1]
    }

    #[test]
    fn without_values_there_is_no_largest() {
        let mut values = Histogram::default();
        assert_eq!((values.max(), values.mean()), (None, None));
        values.record(0);
        assert_eq!((values.max(), values.mean()), (Some(0), Some(0.0)));
    }

    #[test]
    fn buckets_tile_the_whole_range() {
        for merged in [1, 1 << MERGED] {
            let mut expected = 0u64;
            for place in (0..(OCTAVES << FINE) as u32).step_by(merged as usize).map(Place) {
                let (low, high) = place.bounds(merged);
                assert_eq!(low, expected);
                assert_eq!((Place::of(low), Place::of(high).0), (place, place.0 + merged as u32 - 1));
                expected = high.wrapping_add(1);
            }
            assert_eq!(expected, 0, "the last bucket ends at the largest value");
        }
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
                own.record(TaskId(3), Place::of(value));
            }
            sorted.sort_unstable();
            let max = sorted[sorted.len() - 1];
            for per_10k in [1, 5_000, 9_500, 9_900, 9_990, 10_000] {
                let exact = nearest_rank(&sorted, u64::from(per_10k));
                let (fine, coarse) = (all.quantile(per_10k).unwrap(), own.quantile(TaskId(3), per_10k, max).unwrap());
                assert!(fine.abs_diff(exact) * 256 <= exact.max(256), "{fine} for {exact}");
                assert!(coarse.abs_diff(exact) * 32 <= exact.max(4 * 32), "{coarse} for {exact}");
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
        own.record(TaskId(PerTaskHistograms::LIMIT as u32), Place::of(5));
        assert!(own.octaves.is_empty() && own.pool.is_empty());
    }
}
