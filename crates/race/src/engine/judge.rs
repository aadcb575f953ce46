//! Evaluates the blocks so far: each arm against the reference, in each measure.

use crate::measure::Better;
use goodness_stats::compare::{Comparison, Direction, Settings, Verdict, compare};
use goodness_stats::holm::holm;
use goodness_stats::ratio::{Pairing, Ratio};
use goodness_stats::{Confidence, measured_pairs};

/// The values of one measure.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: &'static str,
    /// Direction of improvement.
    pub better: Better,
    /// True if the measure gets a verdict. The race ends early only when all of these are decided.
    pub decides: bool,
    /// One value per block for each arm; `None` if not measured.
    pub values: Vec<Vec<Option<f64>>>,
}

/// Comparison of one arm in one measure.
#[derive(Clone, Debug)]
pub struct Judged {
    /// Index of the arm.
    pub arm: usize,
    /// Index of the series.
    pub series: usize,
    /// Comparison with the reference. For a measure without verdict, only ratio and interval are valid.
    pub comparison: Comparison,
}

impl Judged {
    /// True if the verdict is still open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.comparison.verdict == Verdict::Inconclusive
    }
}

/// Compares all arms with `reference`. Measures with verdicts share `level` by Holm's procedure, over arms and measures
/// together; the others get uncorrected intervals of that level. Differences below `margin` (0.01 is 1 %) count as
/// equal.
#[must_use]
pub fn judge(all: &[Series], reference: usize, margin: f64, level: Confidence) -> Vec<Judged> {
    let arms = all.first().map_or(0, |series| series.values.len());
    let pairs: Vec<(usize, usize)> =
        (0..arms).filter(|arm| *arm != reference).flat_map(|arm| (0..all.len()).map(move |at| (arm, at))).collect();
    let p_value = |(arm, at): &(usize, usize)| {
        let series = all.get(*at).filter(|series| series.decides)?;
        let (a, b) = measured_pairs(&series.values[reference], &series.values[*arm]);
        Ratio::of_samples(&a, &b, Pairing::Paired).map(|ratio| ratio.p_value())
    };
    let p_values: Vec<Option<f64>> = pairs.iter().map(p_value).collect();
    let corrected = holm(&p_values, level);
    let judged = pairs.iter().zip(corrected);
    judged
        .map(|(&(arm, series), corrected)| {
            let it = &all[series];
            let confidence = corrected.map_or(level, |corrected| corrected.confidence);
            let settings = Settings { confidence, margin, ..Settings::new(direction(it.better)) };
            let mut comparison = compare(&it.values[reference], &it.values[arm], &settings);
            comparison.corrected_p_value = corrected.map(|corrected| corrected.p_value);
            Judged { arm, series, comparison }
        })
        .collect()
}

fn direction(better: Better) -> Direction {
    match better {
        Better::Higher => Direction::HigherIsBetter,
        Better::Lower => Direction::LowerIsBetter,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::{Rng, Seed};
    use goodness_stats::sequential::Looks;

    /// Approximately normal with mean 0 and standard deviation 1: the sum of twelve uniform draws (with lighter tails).
    fn noise(rng: &mut Rng) -> f64 {
        (0..12).map(|_| rng.below(1 << 32) as f64 / (1u64 << 32) as f64).sum::<f64>() - 6.0
    }

    /// Values like those of a real machine: blocks differ by 10 %, runs within a block by 3 %, and one run in twenty
    /// takes half as long again because of other work. Arms after the first take `factor` times as long.
    fn block(arms: usize, factor: f64, rng: &mut Rng) -> Vec<f64> {
        let level = (0.10 * noise(rng)).exp();
        let run = |arm: usize| {
            let disturbed = if rng.below(20) == 0 { 1.5 } else { 1.0 };
            level * (0.03 * noise(rng)).exp() * disturbed * if arm == 0 { 1.0 } else { factor }
        };
        (0..arms).map(run).collect()
    }

    /// A race on random values. Returns the final verdicts, and the number of blocks.
    fn raced(seed: u64, arms: usize, measures: usize, factor: f64) -> (Vec<Verdict>, usize) {
        let mut rng = Seed(seed).rng();
        let looks = Looks::plan(5, 30, Confidence::P95);
        let empty = |at: usize| Series {
            name: format!("m{at}"),
            unit: "ns",
            better: Better::Lower,
            decides: true,
            values: vec![Vec::new(); arms],
        };
        let mut all: Vec<Series> = (0..measures).map(empty).collect();
        let mut before = 0;
        for blocks in 1..=30 {
            for series in &mut all {
                let drawn = block(arms, factor, &mut rng);
                series.values.iter_mut().zip(drawn).for_each(|(values, value)| values.push(Some(value)));
            }
            let Some(level) = looks.level(before, blocks).filter(|_| looks.at().contains(&blocks)) else { continue };
            before = blocks;
            let judged = judge(&all, 0, 0.01, level);
            if blocks == 30 || judged.iter().all(|one| !one.is_open()) {
                return (judged.iter().map(|one| one.comparison.verdict).collect(), blocks);
            }
        }
        unreachable!("the last look is after the last block")
    }

    fn differs(verdict: &Verdict) -> bool {
        matches!(verdict, Verdict::Better | Verdict::Worse)
    }

    #[test]
    fn equals_are_called_different_in_at_most_one_race_of_twenty() {
        for (arms, measures) in [(2, 1), (2, 3), (4, 2)] {
            let wrong = (0..1000).filter(|seed| raced(*seed, arms, measures, 1.0).0.iter().any(differs)).count();
            println!("{arms} arms, {measures} measures: {wrong} of 1000 races between equals call a difference");
            assert!(wrong <= 50, "{arms} arms, {measures} measures: {wrong} of 1000");
        }
    }

    #[test]
    fn a_naive_race_of_the_same_shape_would_call_too_many() {
        // The reason for interim looks: judging at 5 % after each block from the fifth on.
        let naive = |seed: u64| {
            let mut rng = Seed(seed).rng();
            let values = vec![Vec::new(); 2];
            let mut all = [Series { name: "m".into(), unit: "ns", better: Better::Lower, decides: true, values }];
            (1..=30).any(|blocks| {
                let drawn = block(2, 1.0, &mut rng);
                all[0].values.iter_mut().zip(drawn).for_each(|(values, value)| values.push(Some(value)));
                blocks >= 5 && differs(&judge(&all, 0, 0.01, Confidence::P95)[0].comparison.verdict)
            })
        };
        assert!((0..300).filter(|seed| naive(*seed)).count() > 30);
    }

    #[test]
    fn a_tenth_more_is_found_and_early() {
        let races: Vec<_> = (0..400).map(|seed| raced(seed, 2, 1, 1.1)).collect();
        let found = races.iter().filter(|(verdicts, _)| verdicts == &[Verdict::Worse]).count();
        let blocks: usize = races.iter().map(|(_, blocks)| blocks).sum();
        println!("a tenth more: found in {found} of 400 races, after {} blocks on average", blocks / 400);
        // One run in twenty is half as long again here, which hides a tenth for long.
        assert!(found >= 320, "{found} of 400");
        assert!(blocks < 400 * 25, "{} blocks on average", blocks / 400);
    }

    #[test]
    fn a_measure_that_does_not_decide_takes_nothing_from_those_that_do() {
        let mut rng = Seed(1).rng();
        let mut values = vec![Vec::new(); 2];
        for _ in 0..8 {
            values.iter_mut().zip(block(2, 1.1, &mut rng)).for_each(|(values, value)| values.push(Some(value)));
        }
        let series =
            |decides| Series { name: "m".into(), unit: "ns", better: Better::Lower, decides, values: values.clone() };
        let level = |all: &[Series]| judge(all, 0, 0.01, Confidence::P95)[0].comparison.deciding_confidence;
        assert_eq!(level(&[series(true)]), level(&[series(true), series(false), series(false)]));
        assert_ne!(level(&[series(true)]), level(&[series(true), series(true)]));
    }
}
