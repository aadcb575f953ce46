//! A figure and how far it can be trusted.

/// The distribution of one measured time, from at least one repetition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Median, ns.
    pub median: u64,
    /// Lower quartile, ns.
    pub low: u64,
    /// Upper quartile, ns.
    pub high: u64,
    /// Number of repetitions.
    pub count: usize,
}

/// Largest distance between the quartiles of a usable sample, in medians. A choice: beside other work, some times
/// contain whole timeslices of it, and the median may be one of them.
const SPREAD_MAX: u64 = 3;

impl Sample {
    /// True if the middle half of the times lies close enough together for their median to be a cost.
    #[must_use]
    pub fn is_steady(&self) -> bool {
        self.high - self.low <= self.median.saturating_mul(SPREAD_MAX)
    }

    /// From times in ns; `None` without any.
    #[must_use]
    pub fn of(mut times: Vec<u64>) -> Option<Sample> {
        times.sort_unstable();
        let at = |quarters: usize| times.get((times.len().checked_sub(1)? * quarters + 2) / 4).copied();
        Some(Sample { median: at(2)?, low: at(1)?, high: at(3)?, count: times.len() })
    }

    /// Statistics of the shorter half of `times`, ns. For times that other work on the machine can only lengthen.
    /// `None` if `times` is empty.
    #[must_use]
    pub fn undisturbed(mut times: Vec<u64>) -> Option<Sample> {
        times.sort_unstable();
        times.truncate(times.len().div_ceil(2));
        Sample::of(times)
    }

    /// Statistics of `times` minus the median of `base`, at least 0. `None` if either is empty.
    #[must_use]
    pub fn above(times: &[u64], base: &[u64]) -> Option<Sample> {
        let base = Sample::of(base.to_vec())?.median;
        Sample::of(times.iter().map(|time| time.saturating_sub(base)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_its_median_and_quarters() {
        let sample = Sample::of(vec![5, 1, 4, 2, 3]).unwrap();
        assert_eq!(sample, Sample { median: 3, low: 2, high: 4, count: 5 });
        assert_eq!(Sample::of(vec![7]).unwrap().median, 7);
        assert_eq!(Sample::of(vec![]), None);
        let least = Sample::undisturbed(vec![900, 1, 800, 2, 3, 700]).unwrap();
        assert_eq!(least, Sample { median: 2, low: 2, high: 3, count: 3 });
        assert_eq!(Sample::undisturbed(vec![]), None);
    }
}
