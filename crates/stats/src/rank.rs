//! Rank tests: they use only the order of the values, so that one stalled run cannot decide.
//!
//! Wilcoxon's signed-rank test for paired runs and the Mann–Whitney U test for independent ones (Wilcoxon, Biometrics
//! Bulletin 1(6), 1945; Mann and Whitney, Annals of Mathematical Statistics 18(1), 1947); and Cliff's delta
//! (Psychological Bulletin 114(3), 1993).
//!
//! Few values are tested exactly, by counting all arrangements of the observed midranks, so ties need no approximation.
//! More values use the normal approximation with tie correction.

use super::distribution::normal_cdf;
use super::{require_finite, sorted};

/// Up to this many non-zero differences Wilcoxon's test counts arrangements; SciPy's limit too.
const EXACT_PAIRS: usize = 50;

/// Up to this many values on both sides together the U test counts arrangements.
const EXACT_VALUES: usize = 40;

/// Result of a rank test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// Wilcoxon: sum of the ranks of positive differences. Mann–Whitney: U of the first side, the number of pairs in
    /// which it is larger, with ties counted half.
    pub statistic: f64,
    /// Two-sided p-value.
    pub p_value: f64,
    /// True if arrangements were counted; otherwise the normal approximation was used.
    pub exact: bool,
}

/// Wilcoxon's signed-rank test that paired differences are symmetric around 0.
///
/// Differences of exactly 0 are left out (Wilcoxon's own rule); `None` if none is left.
///
/// # Panics
/// If a difference is not finite.
pub fn wilcoxon(differences: &[f64]) -> Option<RankTest> {
    require_finite(differences);
    let differences: Vec<f64> = differences.iter().copied().filter(|&difference| difference != 0.0).collect();
    if differences.is_empty() {
        return None;
    }
    let sizes: Vec<f64> = differences.iter().map(|difference| difference.abs()).collect();
    let ranks = DoubledRanks::of(&sizes);
    let positive: usize =
        ranks.doubled.iter().zip(&differences).filter(|(_, difference)| **difference > 0.0).map(|(rank, _)| rank).sum();
    let exact = differences.len() <= EXACT_PAIRS;
    let p_value = if exact {
        tail_doubled(&subset_sums(&ranks.doubled), positive)
    } else {
        let n = differences.len() as f64;
        let mean = n * (n + 1.0) / 4.0;
        let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0 - ranks.ties / 48.0;
        two_sided_normal((positive as f64 / 2.0 - mean).abs() / variance.sqrt())
    };
    Some(RankTest { statistic: positive as f64 / 2.0, p_value, exact })
}

/// The Mann–Whitney U test that neither of two independent sides tends to be larger.
///
/// `None` if a side is empty. The normal approximation uses the continuity correction.
///
/// # Panics
/// If a value is not finite.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Option<RankTest> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let both: Vec<f64> = a.iter().chain(b).copied().collect();
    let ranks = DoubledRanks::of(&both);
    let rank_sum: usize = ranks.doubled[..a.len()].iter().sum();
    let (n, m, all) = (a.len() as f64, b.len() as f64, both.len() as f64);
    let statistic = rank_sum as f64 / 2.0 - n * (n + 1.0) / 2.0;
    let exact = both.len() <= EXACT_VALUES;
    let p_value = if exact {
        tail_doubled(&subset_sums_of_size(&ranks.doubled, a.len()), rank_sum)
    } else {
        let variance = n * m / 12.0 * ((all + 1.0) - ranks.ties / (all * (all - 1.0)));
        let distance = ((statistic - n * m / 2.0).abs() - 0.5).max(0.0);
        // Of equal values both are 0, and the quotient is 0, too.
        two_sided_normal(distance / variance.sqrt().max(f64::MIN_POSITIVE))
    };
    Some(RankTest { statistic, p_value, exact })
}

/// Cliff's delta from `a` to `b`: the fraction of pairs in which `b` is larger, minus the fraction in which it is
/// smaller. -1 to 1, no unit; 0 if neither side tends to be larger. `None` if a side is empty.
///
/// # Panics
/// If a value is not finite.
pub fn cliffs_delta(a: &[f64], b: &[f64]) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    require_finite(b);
    let a = sorted(a);
    let balance = |&b: &f64| {
        let smaller = a.partition_point(|&a| a < b);
        let larger = a.len() - a.partition_point(|&a| a <= b);
        smaller as f64 - larger as f64
    };
    Some(b.iter().map(balance).sum::<f64>() / (a.len() as f64 * b.len() as f64))
}

/// Ranks of values from 1, times two so that midranks of ties are whole.
struct DoubledRanks {
    doubled: Vec<usize>,
    /// Sum of `t³ - t` over groups of `t` equal values.
    ties: f64,
}

impl DoubledRanks {
    fn of(values: &[f64]) -> Self {
        require_finite(values);
        let mut order: Vec<usize> = (0..values.len()).collect();
        order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
        let (mut doubled, mut ties) = (vec![0; values.len()], 0.0);
        let mut start = 0;
        for group in order.chunk_by(|&i, &j| values[i] == values[j]) {
            // Ranks start+1 ..= start+t average to start + (t+1)/2.
            group.iter().for_each(|&index| doubled[index] = 2 * start + group.len() + 1);
            let t = group.len() as f64;
            ties += t * t * t - t;
            start += group.len();
        }
        Self { doubled, ties }
    }
}

/// For each sum, the share of all subsets of `ranks` that have it.
fn subset_sums(ranks: &[usize]) -> Vec<f64> {
    let mut share = vec![0.0; ranks.iter().sum::<usize>() + 1];
    share[0] = 1.0;
    for &rank in ranks {
        for sum in (0..share.len()).rev() {
            let with = if sum >= rank { share[sum - rank] } else { 0.0 };
            share[sum] = (share[sum] + with) / 2.0;
        }
    }
    share
}

/// For each sum, the share of all subsets of `size` of the `ranks` that have it.
fn subset_sums_of_size(ranks: &[usize], size: usize) -> Vec<f64> {
    let width = ranks.iter().sum::<usize>() + 1;
    let mut counts = vec![vec![0.0; width]; size + 1];
    counts[0][0] = 1.0;
    for &rank in ranks {
        for chosen in (1..=size).rev() {
            let (fewer, more) = counts.split_at_mut(chosen);
            for (sum, count) in more[0].iter_mut().enumerate().skip(rank) {
                *count += fewer[chosen - 1][sum - rank];
            }
        }
    }
    let all: f64 = counts[size].iter().sum();
    counts[size].iter().map(|count| count / all).collect()
}

/// Twice the smaller tail at `observed`, inclusive; at most 1.
fn tail_doubled(share: &[f64], observed: usize) -> f64 {
    let up_to: f64 = share[..=observed].iter().sum();
    let from: f64 = share[observed..].iter().sum();
    (2.0 * up_to.min(from)).min(1.0)
}

fn two_sided_normal(z: f64) -> f64 {
    (2.0 * normal_cdf(-z)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_pairs_cannot_reach_five_percent() {
        let test = wilcoxon(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((test.statistic, test.p_value, test.exact), (15.0, 0.0625, true));
    }

    #[test]
    fn pairs_without_a_difference_say_nothing() {
        assert_eq!(wilcoxon(&[0.0, 0.0]), None);
        assert_eq!(wilcoxon(&[0.0, 1.0, -2.0, 3.0]), wilcoxon(&[1.0, -2.0, 3.0]));
    }

    #[test]
    fn three_against_three_cannot_do_better_than_one_in_ten() {
        let test = mann_whitney(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((test.statistic, test.exact), (9.0, true));
        assert!((test.p_value - 0.1).abs() < 1e-15);
    }

    #[test]
    fn all_values_equal_are_no_evidence() {
        assert_eq!(mann_whitney(&[2.0; 4], &[2.0; 5]).unwrap().p_value, 1.0);
        assert_eq!(mann_whitney(&[2.0; 40], &[2.0; 50]).unwrap().p_value, 1.0);
        assert_eq!(cliffs_delta(&[2.0; 4], &[2.0; 5]), Some(0.0));
    }

    #[test]
    fn complete_dominance_has_delta_one() {
        assert_eq!(cliffs_delta(&[1.0, 2.0], &[3.0, 4.0]), Some(1.0));
        assert_eq!(cliffs_delta(&[3.0, 4.0], &[1.0, 2.0]), Some(-1.0));
        assert_eq!(cliffs_delta(&[], &[1.0]), None);
    }
}
