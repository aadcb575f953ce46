//! The counts that a perfect model would reach: its runs are plays of Linux.
//!
//! Plays of one cell differ by their starts, and so do the means of a few. So even runs that are drawn from the plays
//! themselves are not within bounds everywhere.

use super::RUNS;
use super::score::{self, Case};
use super::suite::Cell;
use goodness_core::{Rng, Seed};
use std::collections::BTreeMap;

/// Draws of plays and runs. A choice: the mean of the counts varies by less than a fifth of a cell.
const DRAWS: u32 = 200;

/// Draws of a perfect model.
#[derive(Clone, Debug, PartialEq)]
pub struct Perfect(Vec<Vec<Case>>);

impl Perfect {
    /// Draws from the plays of each of `cells`, with replacement: as many plays as it has, and [`RUNS`] in place of
    /// simulated runs.
    #[must_use]
    pub fn of(cells: &[Cell]) -> Perfect {
        let draw = |index| {
            let mut rng = Seed(0).stream("plays", u64::from(index)).rng();
            cells.iter().flat_map(|cell| drawn(cell, &mut rng)).collect()
        };
        Perfect((0..DRAWS).map(draw).collect())
    }

    /// The mean of a count over the draws.
    #[must_use]
    pub fn mean(&self, count: impl Fn(&[Case]) -> usize) -> f64 {
        self.0.iter().map(|cases| count(cases)).sum::<usize>() as f64 / f64::from(DRAWS)
    }
}

/// The figures of one draw of a cell.
fn drawn(cell: &Cell, rng: &mut Rng) -> Vec<Case> {
    let Some(plays) = cell.plays.values().next().map(Vec::len) else { return Vec::new() };
    let mut draw = |runs: usize| {
        let chosen: Vec<usize> = (0..runs).map(|_| rng.below(plays as u64) as usize).collect();
        let of_figure = |(name, values): (&String, &Vec<f64>)| {
            (name.clone(), chosen.iter().map(|&play| values[play]).collect::<Vec<f64>>())
        };
        cell.plays.iter().map(of_figure).collect::<BTreeMap<String, Vec<f64>>>()
    };
    let (truth, runs) = (draw(plays), draw(RUNS as usize));
    score::cases(&Cell { plays: truth, ..cell.clone() }, &runs)
}

#[cfg(test)]
mod tests {
    use super::super::guest::GUESTS;
    use super::*;

    fn cell(load: &str, migrations: &[f64]) -> Cell {
        let plays = BTreeMap::from([("migrations".to_string(), migrations.to_vec())]);
        Cell { load: load.into(), guest: GUESTS[0], is_unseen: false, plays }
    }

    fn within(cells: &[Cell]) -> f64 {
        Perfect::of(cells).mean(|cases| score::within(cases, "migrations").0)
    }

    #[test]
    fn equal_plays_are_always_met_and_uneven_ones_sometimes() {
        assert_eq!(within(&[cell("a", &[5.0; 12]), cell("b", &[9.0; 12])]), 2.0);
        let rare = within(&[cell("a", &[40.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])]);
        assert!(rare > 0.2 && rare < 0.7, "{rare}");
    }
}
