//! A race: candidates run block by block, and one that is shown to be worse runs no more.
//!
//! A look compares every candidate with the best so far, with the default and with its guards, at a level that all
//! looks and all comparisons of a candidate share (Bonferroni). So the candidate that is best in truth is dropped with
//! a probability of at most 5 % in a round, whoever leads meanwhile. What a tuning reports does not rest on that: it is
//! measured anew on other seeds.

use super::objective::{Bound, Guard, Kept, Objective};
use super::table::Table;
use crate::refusal::Refusal;
use goodness_report::tune::Dropped;
use goodness_stats::ratio::{Between, Pairing, Ratio};
use goodness_stats::sequential::Looks;
use goodness_stats::summary::summarise;
use goodness_stats::{Confidence, Interval};

/// Place of the objective among the metrics of a table; the guards follow it.
const OBJECTIVE: usize = 0;
/// The default among the candidates.
pub(crate) const DEFAULT: usize = 0;
/// Gains up to this fraction do not matter in practice, as in comparisons.
pub(crate) const MARGIN: f64 = 0.01;

/// The error of a prediction, as a factor less 1: of a candidate, and its ratio to the default.
pub(crate) type Errors<'a> = dyn Fn(usize, f64) -> f64 + 'a;

/// The rules by which candidates are compared.
pub(crate) struct Rules<'a> {
    pub objective: Objective,
    pub guards: &'a [Guard],
    pub errors: &'a Errors<'a>,
    /// Number of knobs that each candidate sets.
    pub sizes: Vec<usize>,
    /// What the search's recordings of one load differ, where the inputs are recordings.
    pub between: Option<Between>,
}

impl Rules<'_> {
    /// The ratio of a candidate's objective to that of another one, below 1 if the candidate is better.
    fn loss(&self, table: &Table, other: usize, candidate: usize, most: usize) -> Option<Ratio> {
        let (own, of_other) = table.pairs([candidate, other], OBJECTIVE, most);
        let (from, to) = if self.objective.is_lower() { (&of_other, &own) } else { (&own, &of_other) };
        Ratio::of_samples(from, to, Pairing::Paired).or_else(|| Ratio::of_exact(from, to))
    }

    /// The estimated loss against the default, in the first `most` blocks; infinite if it was not measured.
    pub fn estimate(&self, table: &Table, candidate: usize, most: usize) -> f64 {
        self.loss(table, DEFAULT, candidate, most).and_then(|it| it.estimate).unwrap_or(f64::INFINITY)
    }

    /// The 95 % interval of the loss against the default.
    pub fn interval(&self, table: &Table, candidate: usize) -> Option<Interval> {
        self.loss(table, DEFAULT, candidate, usize::MAX)?.interval(Confidence::P95)
    }

    /// How far a guard holds, at a confidence level.
    fn holds(&self, table: &Table, candidate: usize, guard: usize, level: Confidence) -> Kept {
        let (from, to) = table.pairs([DEFAULT, candidate], OBJECTIVE + 1 + guard, usize::MAX);
        change(&from, &to, self.guards[guard].bound, level).map_or(Kept::Open, |it| self.guards[guard].holds(&it))
    }

    /// True if no guard is broken by the mean of the runs.
    pub fn seems_to_keep(&self, table: &Table, candidate: usize) -> bool {
        (0..self.guards.len()).all(|guard| {
            let (from, to) = table.pairs([DEFAULT, candidate], OBJECTIVE + 1 + guard, usize::MAX);
            let [from, to] = [from, to].map(|it| goodness_stats::summary::mean(&it));
            let Some((from, to)) = from.zip(to) else { return false };
            let change = match self.guards[guard].bound {
                Bound::Ratio(_) if from == to => 1.0,
                Bound::Ratio(_) => to / from,
                Bound::Difference(_) => to - from,
            };
            change.is_finite() && self.guards[guard].holds(&Interval::exact(change)) == Kept::Yes
        })
    }

    /// Candidates in order: those that seem to keep the guards first, then by estimate, then as they came.
    pub fn ranked(&self, table: &Table, mut candidates: Vec<usize>) -> Vec<usize> {
        let key = |it: &usize| (!self.seems_to_keep(table, *it), self.estimate(table, *it, usize::MAX));
        candidates.sort_by(|a, b| {
            let (a, b) = (key(a), key(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        candidates
    }

    /// As [`Rules::ranked`]; but of those that are not shown to be worse than the best, by more than recordings of one
    /// load differ, the one that sets the fewest knobs is first: what does nothing need not be set.
    pub fn simplest_first(&self, table: &Table, candidates: Vec<usize>) -> Vec<usize> {
        let mut candidates = self.ranked(table, candidates);
        let Some(best) = candidates.first().copied() else { return candidates };
        let is_near = |it: usize| {
            let loss = self.loss(table, best, it, usize::MAX);
            let loss = loss.map(|loss| self.between.map_or(loss.clone(), |between| loss.with_between(between)));
            let interval = loss.and_then(|loss| loss.interval(Confidence::P95));
            self.seems_to_keep(table, it) && interval.is_some_and(|it| it.low <= 1.0)
        };
        let near = (0..candidates.len()).filter(|place| *place == 0 || is_near(candidates[*place]));
        let simplest = near.min_by_key(|place| self.sizes[candidates[*place]]).unwrap_or(0);
        candidates[..=simplest].rotate_right(1);
        candidates
    }

    /// The reason to drop a candidate, at a confidence level for each of its tests.
    fn dropped(&self, table: &Table, leader: usize, candidate: usize, level: Confidence) -> Option<Dropped> {
        let Some(loss) = self.loss(table, DEFAULT, candidate, usize::MAX) else { return Some(Dropped::NotMeasured) };
        if (0..self.guards.len()).any(|guard| self.holds(table, candidate, guard, level) == Kept::No) {
            return Some(Dropped::BreaksGuard);
        }
        let is_worse = |ratio: Ratio| ratio.interval(level).is_some_and(|it| it.low > 1.0);
        if leader != candidate && self.loss(table, leader, candidate, usize::MAX).is_some_and(is_worse) {
            return Some(Dropped::Worse);
        }
        let gain = MARGIN.max((self.errors)(candidate, loss.estimate.unwrap_or(1.0)));
        let is_small = loss.interval(level).is_some_and(|it| it.low >= 1.0 / (1.0 + gain));
        is_small.then_some(Dropped::TooSmall)
    }
}

/// The interval of a change from paired values: of the ratio or the difference that `bound` is.
pub(crate) fn change(from: &[f64], to: &[f64], bound: Bound, level: Confidence) -> Option<Interval> {
    match bound {
        Bound::Ratio(_) => Ratio::of_samples(from, to, Pairing::Paired)?.interval(level),
        Bound::Difference(_) => {
            let differences: Vec<f64> = to.iter().zip(from).map(|(to, from)| to - from).collect();
            summarise(&differences, level)?.interval
        }
    }
}

/// Runs candidates up to a number of blocks.
pub(crate) type Measure<'a> = dyn FnMut(&mut Table, &[usize], u32) -> Result<(), Refusal> + 'a;

/// Survivors, the best first, and those that were dropped.
pub(crate) type Raced = (Vec<usize>, Vec<Loser>);

/// A candidate that a race dropped, and why.
pub(crate) type Loser = (usize, Dropped);

/// Races `entrants` against each other and the default until `keep` are left or all looks are over. Returns those that
/// are left, the best first, and the dropped ones. `measure` runs candidates up to a number of blocks.
pub(crate) fn race(
    entrants: &[usize],
    (looks, keep): (&Looks, usize),
    rules: &Rules,
    table: &mut Table,
    measure: &mut Measure,
) -> Result<Raced, Refusal> {
    let (mut alive, mut losers, mut before) = (entrants.to_vec(), Vec::new(), 0);
    // The others, the default twice (is it worse, is it better by enough), and the guards.
    let tests = entrants.len().max(1) + 1 + rules.guards.len();
    for blocks in looks.at() {
        let running: Vec<usize> = std::iter::once(DEFAULT).chain(alive.iter().copied()).collect();
        measure(table, &running, *blocks as u32)?;
        let Some(level) = looks.level(before, *blocks).map(|it| it.shared_among(tests)) else { break };
        before = *blocks;
        let leader = rules.ranked(table, running)[0];
        let reasons: Vec<Option<Dropped>> =
            alive.iter().map(|candidate| rules.dropped(table, leader, *candidate, level)).collect();
        losers.extend(alive.iter().zip(&reasons).filter_map(|(candidate, why)| Some((*candidate, (*why)?))));
        let mut reasons = reasons.into_iter();
        alive.retain(|_| reasons.next().is_some_and(|why| why.is_none()));
        if alive.len() <= keep {
            break;
        }
    }
    let mut alive = rules.simplest_first(table, alive);
    losers.extend(alive.drain(keep.min(alive.len())..).map(|candidate| (candidate, Dropped::NotAmongBest)));
    Ok((alive, losers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodness_core::Seed;

    const NO_ERROR: &Errors = &|_, _| 0.0;

    /// A draw around 0 with variance 1 (Irwin and Hall).
    fn drawn(random: &mut goodness_core::Rng) -> f64 {
        (0..12).map(|_| random.below(1 << 20) as f64 / (1u64 << 20) as f64).sum::<f64>() - 6.0
    }

    /// Measures candidates whose values are around `truth`, with a part that all share and one of their own.
    fn measure(truth: &[f64], seed: u64) -> impl FnMut(&mut Table, &[usize], u32) -> Result<(), Refusal> + '_ {
        move |table, candidates, blocks| {
            for candidate in candidates {
                for block in table.blocks(*candidate)..blocks {
                    let shared = drawn(&mut Seed(seed).stream("block", block.into()).rng());
                    let own = drawn(&mut Seed(seed).stream("own", (*candidate as u64) << 32 | u64::from(block)).rng());
                    let value = truth[*candidate] * (0.3 * shared + 0.05 * own).exp();
                    table.push(*candidate, vec![vec![Some(value), Some(100.0 / value)]]);
                }
            }
            Ok(())
        }
    }

    fn raced(truth: &[f64], seed: u64, guards: &[Guard]) -> (Vec<usize>, Vec<Loser>, Table) {
        let objective = Objective::minimise("wakeup_latency_p99").unwrap();
        let rules = Rules { objective, guards, errors: NO_ERROR, sizes: vec![1; truth.len()], between: None };
        let mut table = Table::of(truth.len());
        let entrants: Vec<usize> = (1..truth.len()).collect();
        let looks = Looks::plan(6, 18, Confidence::P95);
        let (alive, losers) = race(&entrants, (&looks, 2), &rules, &mut table, &mut measure(truth, seed)).unwrap();
        (alive, losers, table)
    }

    #[test]
    fn the_best_candidate_is_dropped_in_at_most_one_race_of_twenty_and_the_others_soon() {
        let truth = [1.0, 0.9, 0.93, 1.0, 1.2, 1.5, 2.0, 3.0];
        let (mut lost, mut blocks) = (0, 0);
        for seed in 0..300 {
            let (alive, losers, table) = raced(&truth, seed, &[]);
            lost += u32::from(losers.iter().any(|(it, why)| *it == 1 && *why != Dropped::NotAmongBest));
            blocks += (0..truth.len()).map(|it| table.blocks(it)).sum::<u32>();
            assert!(alive.len() <= 2);
        }
        assert!(lost <= 15, "the best was dropped in {lost} of 300 races");
        assert!(blocks < 300 * 8 * 18 * 6 / 10, "{blocks} blocks were run of {}", 300 * 8 * 18);
    }

    /// The control: the same race, tested at 5 % at each look without sharing among looks and comparisons.
    #[test]
    fn without_the_correction_the_best_of_equals_is_dropped_often() {
        let objective = Objective::minimise("wakeup_latency_p99").unwrap();
        let rules = Rules { objective, guards: &[], errors: NO_ERROR, sizes: vec![1; 8], between: None };
        let truth = [1.0; 8];
        let looks = Looks::plan(6, 18, Confidence::P95);
        let (mut lost, mut lost_in_races) = (0, 0);
        for seed in 0..200 {
            let mut table = Table::of(truth.len());
            let mut measure = measure(&truth, seed);
            let is_dropped = looks.at().iter().any(|blocks| {
                measure(&mut table, &[0, 1, 2, 3, 4, 5, 6, 7], *blocks as u32).unwrap();
                let leader = rules.ranked(&table, (0..8).collect())[0];
                rules.dropped(&table, leader, 1, Confidence::P95) == Some(Dropped::Worse)
            });
            lost += u32::from(is_dropped);
            let (_, losers, _) = raced(&truth, seed, &[]);
            lost_in_races += u32::from(losers.contains(&(1, Dropped::Worse)));
        }
        assert!(lost > 20 && lost_in_races <= 10, "{lost} and {lost_in_races} of 200");
    }

    #[test]
    fn a_candidate_that_breaks_a_guard_neither_leads_nor_stays() {
        let guards = [Guard::parse("throughput >= -20%").unwrap()];
        // Throughput is the inverse: candidate 1 is worse and has too little of it, candidate 2 is better.
        let (alive, losers, _) = raced(&[1.0, 2.0, 0.8], 3, &guards);
        assert_eq!((alive, losers), (vec![2], vec![(1, Dropped::BreaksGuard)]));
    }

    #[test]
    fn what_cannot_gain_more_than_the_error_is_dropped() {
        let objective = Objective::minimise("wakeup_latency_p99").unwrap();
        let truth = [1.0, 0.8, 0.97];
        let errors: &Errors = &|_, _| 0.5;
        let rules = Rules { objective, guards: &[], errors, sizes: vec![1; 3], between: None };
        let mut table = Table::of(truth.len());
        let looks = Looks::plan(6, 18, Confidence::P95);
        let (alive, losers) = race(&[1, 2], (&looks, 0), &rules, &mut table, &mut measure(&truth, 1)).unwrap();
        assert_eq!((alive, losers.len()), (vec![], 2));
        assert!(losers.contains(&(1, Dropped::TooSmall)), "{losers:?}");
    }
}
