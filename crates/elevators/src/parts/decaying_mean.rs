//! Decaying means of a process's think time and seek distance, for AS and CFQ (`specs/io-schedulers.md` section 5,
//! statistics). Fixed point with 1.0 = 256. Each sample weighs 7/8 of the next one; divisions round down, which affects
//! the first means.

const ONE: u64 = 256;

/// A mean of samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mean {
    samples: u64,
    total: u64,
    mean: u64,
}

impl Mean {
    /// Total weight of the samples, in 256ths: 32 after the first, at most 249.
    #[inline]
    pub fn samples(&self) -> u64 {
        self.samples
    }

    /// The mean; 0 before the first sample.
    #[inline]
    pub fn value(&self) -> u64 {
        self.mean
    }

    /// A think time.
    pub fn think(&mut self, jiffies: u64) {
        self.decay(jiffies);
        self.mean = self.total.saturating_add(128) / self.samples;
    }

    /// Adds a seek distance in sectors, capped relative to the mean; the cap is higher at first.
    pub fn seek(&mut self, distance: u64) {
        let allowance = if self.samples <= 60 { 2 << 20 } else { 2 << 16 };
        self.decay(distance.min(self.mean.saturating_mul(4).saturating_add(allowance)));
        self.mean = self.total.saturating_add(self.samples / 2) / self.samples;
    }

    fn decay(&mut self, x: u64) {
        self.samples = (7 * self.samples + ONE) / 8;
        self.total = decayed(self.total, x);
    }
}

/// A mean over the first actions of new processes. Starts with a full count of zeros.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstMean(u64);

impl FirstMean {
    /// The mean.
    #[inline]
    pub fn value(self) -> u64 {
        self.0 / ONE
    }

    /// The first sample of a process.
    pub fn add(&mut self, x: u64) {
        self.0 = decayed(self.0, x);
    }
}

/// A probability in 256ths.
#[derive(Clone, Copy, Debug, Default)]
pub struct Likelihood(u64);

impl Likelihood {
    /// The value in 256ths.
    #[inline]
    pub fn value(self) -> u64 {
        self.0
    }

    /// It happened, or did not.
    pub fn learn(&mut self, happened: bool) {
        self.0 = decayed(self.0, u64::from(happened));
    }
}

fn decayed(total: u64, x: u64) -> u64 {
    total.saturating_mul(7).saturating_add(x.saturating_mul(ONE)) / 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_a_process_that_never_thinks_is_0_only_after_six_samples() {
        // T-AS-1
        let mut mean = Mean::default();
        let seen: Vec<(u64, u64)> = (0..6)
            .map(|_| {
                mean.think(0);
                (mean.samples(), mean.value())
            })
            .collect();
        assert_eq!(seen, [(32, 4), (60, 2), (84, 1), (105, 1), (123, 1), (139, 0)]);
        (0..100).for_each(|_| mean.think(0));
        assert_eq!(mean.samples(), 249);
    }

    #[test]
    fn a_far_seek_counts_as_2_097_152_sectors_twice_and_less_afterwards() {
        let mut mean = Mean::default();
        mean.seek(u64::MAX);
        assert_eq!(mean.value(), 2 << 20);
        let mut near = Mean::default();
        (0..3).for_each(|_| near.seek(0));
        near.seek(u64::MAX);
        assert_eq!(near.value(), ((2 << 16) * 256 / 8 + 52) / 105);
    }

    #[test]
    fn a_likelihood_moves_an_eighth_of_the_way() {
        let mut likely = Likelihood::default();
        likely.learn(true);
        likely.learn(true);
        assert_eq!(likely.value(), 60);
        likely.learn(false);
        assert_eq!(likely.value(), 52);
    }
}
