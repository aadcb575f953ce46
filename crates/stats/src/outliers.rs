//! Detects outliers; they are reported, never removed.
//!
//! The modified z-score is the distance from the median in units of the median absolute deviation. Unlike the standard
//! deviation, this is not inflated by the outliers themselves (Iglewicz and Hoaglin, *How to Detect and Handle
//! Outliers*, ASQC 1993).

use super::summary::{mean, median};

/// Absolute modified z-score above which a value is an outlier, as Iglewicz and Hoaglin advise.
pub const LIMIT: f64 = 3.5;

/// Median absolute deviation of a standard normal variable.
const NORMAL_MAD: f64 = 0.674_489_750_196_081_7;

/// Mean absolute deviation of a standard normal variable, `√(2/π)`.
const NORMAL_MEAN_DEVIATION: f64 = 0.797_884_560_802_865_4;

/// One outlier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// Index in the given values.
    pub index: usize,
    /// The value itself.
    pub value: f64,
    /// Its modified z-score: robust standard deviations above (positive) or below the median.
    pub score: f64,
}

/// The values further than [`LIMIT`] robust standard deviations from the median, in order.
///
/// If more than half the values are equal, the median absolute deviation is 0 and the mean absolute deviation is used.
/// If all are equal, there are no outliers.
///
/// # Panics
/// If a value is not finite.
pub fn outliers(values: &[f64]) -> Vec<Outlier> {
    let Some(centre) = median(values) else {
        return Vec::new();
    };
    let Some(unit) = robust_deviation(values, centre) else {
        return Vec::new();
    };
    values
        .iter()
        .enumerate()
        .map(|(index, &value)| Outlier { index, value, score: (value - centre) / unit })
        .filter(|outlier| outlier.score.abs() > LIMIT)
        .collect()
}

/// An estimate of the standard deviation that outliers barely move; `None` when all are equal.
fn robust_deviation(values: &[f64], centre: f64) -> Option<f64> {
    let deviations: Vec<f64> = values.iter().map(|value| (value - centre).abs()).collect();
    let by_median = median(&deviations)? / NORMAL_MAD;
    let by_mean = mean(&deviations)? / NORMAL_MEAN_DEVIATION;
    [by_median, by_mean].into_iter().find(|&unit| unit > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_stalled_run_stands_apart() {
        let found = outliers(&[10.0, 11.0, 9.5, 10.5, 48.0, 10.2]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].index, found[0].value), (4, 48.0));
        assert!(found[0].score > 30.0);
    }

    #[test]
    fn equal_values_and_ordinary_spread_hold_no_outlier() {
        assert!(outliers(&[3.0; 9]).is_empty());
        assert!(outliers(&[1.0, 2.0, 3.0, 4.0, 5.0]).is_empty());
        assert!(outliers(&[]).is_empty());
    }

    #[test]
    fn one_stray_among_equal_values_is_found_by_the_mean_deviation() {
        let found = outliers(&[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 9.0]);
        assert_eq!(found.iter().map(|outlier| outlier.index).collect::<Vec<_>>(), [6]);
    }
}
