//! Ranges of settings, and points drawn from them: what sweeps and tunings share.

use goodness_core::{Seed, Span};
use serde::Deserialize;

/// A range of numbers or times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    low: f64,
    high: f64,
    scale: Scale,
    is_time: bool,
}

/// Distances of the values of a range.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// Equal differences.
    #[default]
    Linear,
    /// Equal ratios.
    Log,
}

/// A range from this ratio of its ends on has a log scale, where nobody says which. A choice.
const LOG_FROM: f64 = 10.0;

impl Range {
    /// The range between two numbers or two times as typed.
    ///
    /// # Errors
    /// Ends that are neither, of different kinds, out of order, or not above 0 on a log scale; a sentence.
    pub fn of(from: &str, to: &str, scale: Scale) -> Result<Range, String> {
        let number = |text: &str| text.parse::<f64>().ok().filter(|it| it.is_finite());
        let (low, high, is_time) = match (number(from), number(to)) {
            (Some(low), Some(high)) => (low, high, false),
            (Some(0.0), None) => (0.0, Span::parse(to)?.0 as f64, true),
            (None, None) => (Span::parse(from)?.0 as f64, Span::parse(to)?.0 as f64, true),
            _ => return Err(format!("{from} and {to} are not of one kind; write two numbers or two times")),
        };
        match low < high && (scale == Scale::Linear || low > 0.0) {
            true => Ok(Range { low, high, scale, is_time }),
            false if low >= high => Err(format!("{from} is not below {to}")),
            false => Err(format!("a log scale cannot begin at {from}; begin above 0")),
        }
    }

    /// The same, with a log scale where the ends differ by a factor of ten or more.
    ///
    /// # Errors
    /// As [`Range::of`].
    pub fn spread(from: &str, to: &str) -> Result<Range, String> {
        let linear = Range::of(from, to, Scale::Linear)?;
        let is_wide = linear.low > 0.0 && linear.high / linear.low >= LOG_FROM;
        Ok(Range { scale: if is_wide { Scale::Log } else { Scale::Linear }, ..linear })
    }

    /// The value at `share`, 0 to 1, as it is typed: times in whole ns, numbers whole where both ends are.
    #[must_use]
    pub fn at(&self, share: f64) -> String {
        self.typed(self.value(share))
    }

    /// The value near `share` with two significant digits, as people would type it.
    #[must_use]
    pub fn near(&self, share: f64) -> String {
        let value = self.value(share);
        let step = if value == 0.0 { 1.0 } else { 10f64.powf(value.abs().log10().floor() - 1.0) };
        self.typed(((value / step).round() * step).clamp(self.low, self.high))
    }

    /// `points` values from end to end; whole numbers once each.
    #[must_use]
    pub fn grid(&self, points: u32) -> Vec<String> {
        let last = f64::from(points.max(2) - 1);
        let mut values: Vec<String> = (0..points).map(|it| self.at(f64::from(it) / last)).collect();
        values.dedup();
        values
    }

    fn value(&self, share: f64) -> f64 {
        match self.scale {
            Scale::Linear => self.low + share * (self.high - self.low),
            Scale::Log => self.low * (self.high / self.low).powf(share),
        }
    }

    fn typed(&self, value: f64) -> String {
        match (self.is_time, self.low.fract() == 0.0 && self.high.fract() == 0.0) {
            (true, _) => Span(value.round() as u64).to_string(),
            // A sum keeps zero from being shown as "-0".
            (false, true) => (value.round() + 0.0).to_string(),
            (false, false) => value.to_string(),
        }
    }
}

/// One random share of each of `count` equal strata, in random order: a column of a Latin hypercube.
#[must_use]
pub fn strata(count: u32, seed: u64, column: u64) -> Vec<f64> {
    let mut random = Seed(seed).stream("latin hypercube", column).rng();
    let mut share =
        |stratum: u32| (f64::from(stratum) + random.below(1 << 32) as f64 / (1u64 << 32) as f64) / f64::from(count);
    let mut shares: Vec<f64> = (0..count).map(&mut share).collect();
    random.shuffle(&mut shares);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_rounded_as_people_type_them_and_stay_in_the_range() {
        let range = Range::spread("0.3ms", "12ms").unwrap();
        assert_eq!(
            (range.near(0.0), range.near(0.5), range.near(1.0)),
            ("300us".into(), "1.9ms".into(), "12ms".into())
        );
        let odd = Range::spread("333us", "12ms").unwrap();
        assert_eq!(odd.near(0.0), "333us", "rounding does not leave the range");
        let nice = Range::spread("-10", "10").unwrap();
        assert_eq!([0.0, 0.26, 0.499, 1.0].map(|share| nice.near(share)), ["-10", "-5", "0", "10"]);
    }

    #[test]
    fn every_stratum_has_one_share() {
        let mut shares = strata(16, 7, 0);
        assert_ne!(shares, strata(16, 7, 1), "columns are independent");
        shares.sort_by(f64::total_cmp);
        assert!(shares.iter().enumerate().all(|(at, share)| (share * 16.0) as usize == at), "{shares:?}");
    }
}
