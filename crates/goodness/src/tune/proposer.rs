//! Proposes candidates: a Latin hypercube first, then settings near those that survived a race (as in iterated racing:
//! López-Ibáñez and others, "The irace package", Operations Research Perspectives 3, 2016) and anywhere, of which a
//! model of all candidates so far expects most.

use super::knob::{Knob, Space};
use super::surrogate::{Place, Point, Surrogate};
use crate::contender::Contender;
use crate::refusal::Refusal;
use crate::space::strata;
use goodness_core::{Rng, Seed};

/// One in so many draws of a knob leaves it as it is, where there are several knobs. A choice.
const AS_IT_IS: u64 = 8;
/// Draws for each candidate: the model chooses among them.
const DRAWS: usize = 20;
/// Width of the first draws around a survivor, as a share of the range: irace's.
const WIDTH: f64 = 0.5;

/// A setting of the knobs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    /// Place of each knob's value in its range, 0 to 1; `None` where the knob is as it is.
    pub shares: Vec<Option<f64>>,
    /// The values as typed.
    pub values: Vec<Option<String>>,
    /// The contender.
    pub contender: Contender,
    /// The round that proposed it, from 0.
    pub round: u32,
}

impl Candidate {
    /// A candidate at these places of the knobs.
    fn at(space: &Space, shares: Vec<Option<f64>>, round: u32) -> Result<Candidate, Refusal> {
        let values: Vec<Option<String>> =
            space.knobs.iter().zip(&shares).map(|(knob, share)| share.map(|share| knob.value(share))).collect();
        let contender = space.contender(&values)?;
        Ok(Candidate { shares, values, contender, round })
    }

    /// The default: no knob is set.
    pub fn default_of(space: &Space) -> Candidate {
        let nothing = vec![None; space.knobs.len()];
        Candidate { shares: nothing, values: vec![None; space.knobs.len()], contender: space.default.clone(), round: 0 }
    }
}

/// Draws candidates.
pub(crate) struct Proposer<'a> {
    pub space: &'a Space,
    pub seed: u64,
    /// Candidates of the first round; later rounds have a third as many.
    pub first: u32,
    /// The last round, in which only knobs of the best are left as they are.
    pub last: u32,
}

impl Proposer<'_> {
    /// The candidates of the first round: they fill the strata of every knob once. None is the default.
    ///
    /// # Errors
    /// A combination of values that the work does not take.
    pub fn first(&self, default: &Candidate) -> Result<Vec<Candidate>, Refusal> {
        let columns: Vec<Vec<f64>> =
            (0..self.space.knobs.len()).map(|knob| strata(self.first, self.seed, knob as u64)).collect();
        let points = (0..self.first as usize).map(|point| columns.iter().map(|column| Some(column[point])).collect());
        let mut new = Vec::new();
        self.add(&mut new, std::slice::from_ref(default), points, 0)?;
        Ok(new)
    }

    /// New candidates of a later `round`, around `parents`, the best first; none of them is `known`. `losses` has the
    /// logarithm of each known one's loss; it is infinite where nothing was measured.
    ///
    /// # Errors
    /// A combination of values that the work does not take.
    pub fn later(
        &self,
        round: u32,
        parents: &[&Candidate],
        (known, losses): (&[Candidate], &[f64]),
    ) -> Result<Vec<Candidate>, Refusal> {
        let mut new = Vec::new();
        self.add(&mut new, known, without_one(parents[0]), round)?;
        if round == self.last {
            return Ok(new);
        }
        let count = (self.first / 3).max(2) as usize;
        let mut random = Seed(self.seed).stream("tune", round.into()).rng();
        let draws = (0..count * DRAWS).map(|draw| {
            let parent = pick(parents, &mut random);
            let width = if draw % 2 == 0 { self.width(round) } else { 1.0 };
            self.near(parent, width, &mut random)
        });
        let mut pool = new.clone();
        self.add(&mut pool, known, draws, round)?;
        let pool = pool.split_off(new.len());
        let chosen = match self.model(known, losses) {
            Some(model) => model.choose(&pool.iter().map(|it| self.point(it)).collect::<Vec<Point>>(), count),
            None => (0..pool.len().min(count)).collect(),
        };
        new.extend(chosen.into_iter().map(|it| pool[it].clone()));
        Ok(new)
    }

    /// Adds candidates at `points` that are neither known nor there.
    fn add(
        &self,
        all: &mut Vec<Candidate>,
        known: &[Candidate],
        points: impl Iterator<Item = Vec<Option<f64>>>,
        round: u32,
    ) -> Result<(), Refusal> {
        for shares in points {
            let candidate = Candidate::at(self.space, shares, round)?;
            let is_known = known.iter().chain(&*all).any(|it| it.contender == candidate.contender);
            all.extend(Some(candidate).filter(|_| !is_known));
        }
        Ok(())
    }

    /// The model of the known candidates that were measured.
    fn model(&self, known: &[Candidate], losses: &[f64]) -> Option<Surrogate> {
        let measured = known.iter().zip(losses).filter(|(_, loss)| loss.is_finite());
        let (points, values) = measured.map(|(it, loss)| (self.point(it), *loss)).unzip();
        Surrogate::of(points, values)
    }

    /// Places of a candidate's values.
    fn point(&self, candidate: &Candidate) -> Point {
        let place = |(knob, share): (&Knob, &Option<f64>)| match share {
            Some(share) if knob.is_range() => Place::At(*share),
            Some(share) => Place::Value(knob.place(*share)),
            None => Place::AsItIs,
        };
        self.space.knobs.iter().zip(&candidate.shares).map(place).collect()
    }

    /// Width of the draws around a survivor: less in later rounds.
    fn width(&self, round: u32) -> f64 {
        WIDTH * f64::from(self.first).powf(-f64::from(round) / self.space.knobs.len() as f64)
    }

    /// A point near `parent`.
    fn near(&self, parent: &Candidate, width: f64, random: &mut Rng) -> Vec<Option<f64>> {
        let knobs = self.space.knobs.len();
        let draw = |(knob, share): (&Knob, &Option<f64>)| {
            if knobs > 1 && random.below(AS_IT_IS) == 0 {
                return None;
            }
            match share {
                Some(share) if knob.is_range() => Some(within(*share, width, random)),
                Some(share) if random.below(2) == 0 => Some(*share),
                None if knobs > 1 && random.below(2) == 0 => None,
                _ => Some(even(random)),
            }
        };
        self.space.knobs.iter().zip(&parent.shares).map(draw).collect()
    }
}

/// `best` with one of its knobs as it is, for each knob: what does nothing need not be set.
fn without_one(best: &Candidate) -> impl Iterator<Item = Vec<Option<f64>>> {
    let set = best.shares.iter().filter(|it| it.is_some()).count();
    (0..best.shares.len()).filter(move |place| set > 1 && best.shares[*place].is_some()).map(|place| {
        let mut shares = best.shares.clone();
        shares[place] = None;
        shares
    })
}

/// One of the parents; the best is the likeliest, by rank.
fn pick<'a>(parents: &[&'a Candidate], random: &mut Rng) -> &'a Candidate {
    let weights = (1..=parents.len() as u64).rev();
    let mut left = random.below(weights.clone().sum());
    let place = weights.enumerate().find(|(_, weight)| {
        let is_it = left < *weight;
        left = left.saturating_sub(*weight);
        is_it
    });
    parents[place.map_or(0, |(place, _)| place)]
}

/// An even draw from 0 to 1.
fn even(random: &mut Rng) -> f64 {
    random.below(1 << 32) as f64 / (1u64 << 32) as f64
}

/// A draw around `centre`, near normal with this deviation (Irwin and Hall). One beyond an end is the end: the best
/// value is often there.
fn within(centre: f64, deviation: f64, random: &mut Rng) -> f64 {
    let normal = (0..12).map(|_| even(random)).sum::<f64>() - 6.0;
    (centre + deviation * normal).clamp(0.0, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::PolicySpec;

    fn space(knobs: &[&str]) -> Space {
        let knobs: Vec<String> = knobs.iter().map(ToString::to_string).collect();
        Space::of(&knobs, Contender::policy(PolicySpec::parse("eevdf").unwrap())).unwrap()
    }

    #[test]
    fn the_first_round_fills_the_range_and_later_ones_go_where_the_model_expects_most() {
        let space = space(&["base_slice=0.3ms..12ms", "run_to_parity=on|off"]);
        let proposer = Proposer { space: &space, seed: 3, first: 12, last: 3 };
        let known = [Candidate::default_of(&space)];
        let first = proposer.first(&known[0]).unwrap();
        assert_eq!(first.len(), 12);
        let mut twelfths: Vec<u32> = first.iter().map(|it| (it.shares[0].unwrap() * 12.0) as u32).collect();
        twelfths.sort_unstable();
        assert_eq!(twelfths, (0..12).collect::<Vec<_>>());
        let parent = &first[4];
        let known = [&known[..], &first].concat();
        let later = proposer.later(2, &[parent], (&known, &vec![0.0; known.len()])).unwrap();
        assert_eq!(later.len(), 6);
        let alone = |it: &Candidate| it.values.iter().flatten().count() == 1;
        assert!(later[..2].iter().all(alone), "the survivor without each of its knobs comes first");
        // The least loss is at the lower end of the range: the model asks for more there, and without it nothing does.
        let losses: Vec<f64> = known.iter().map(|it| it.shares[0].unwrap_or(0.5)).collect();
        let low = |new: &[Candidate]| new[2..].iter().filter(|it| it.shares[0].is_some_and(|it| it < 0.1)).count();
        let guided = proposer.later(2, &[parent], (&known, &losses)).unwrap();
        assert!(low(&guided) > 2 && low(&later) < 3, "{guided:?} {later:?}");
        assert_eq!(proposer.first(&known[0]).unwrap(), first, "equal seeds, equal proposals");
    }

    #[test]
    fn nothing_known_is_proposed_again_and_a_small_space_ends() {
        let space = space(&["run_to_parity=on|off"]);
        let proposer = Proposer { space: &space, seed: 1, first: 8, last: 3 };
        let first = proposer.first(&Candidate::default_of(&space)).unwrap();
        assert_eq!(first.len(), 2, "there are only two values");
        assert!(proposer.later(1, &[&first[0]], (&first, &[0.0, 1.0])).unwrap().is_empty());
    }
}
