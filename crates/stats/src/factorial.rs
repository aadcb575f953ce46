//! Two crossed factors: their main effects and their interaction.
//!
//! Values are taken as logarithms, so effects are ratios. The effect of a level is its mean over all levels of the
//! other factor, relative to the first level. The interaction of a row and a column is the column's effect in that row,
//! relative to its effect in the first row (a ratio of ratios). Replications are paired by seed: each gives one
//! estimate, and the interval is Student's over the estimates. Source: G. Box, J. Hunter, W. Hunter, "Statistics for
//! Experimenters", 2nd ed., 2005, chapter 5.

use super::summary::summarise;
use super::{Confidence, Interval};

/// A ratio against the first level, with its interval where there are two replications or more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effect {
    /// The ratio; 1 for the first level.
    pub ratio: f64,
    /// Its confidence interval.
    pub interval: Option<Interval>,
}

/// Effects of two crossed factors.
#[derive(Clone, Debug, PartialEq)]
pub struct Factorial {
    /// By row: against the first row.
    pub rows: Vec<Effect>,
    /// By column: against the first column.
    pub columns: Vec<Effect>,
    /// By row, then column: effect of the column in this row relative to its effect in the first row.
    pub interaction: Vec<Vec<Effect>>,
}

/// Analyses `cells[row][column][replication]`. `None` unless both factors have two levels, every cell has the same
/// replications, and all values are above zero.
#[must_use]
pub fn analyse(cells: &[Vec<Vec<f64>>], confidence: Confidence) -> Option<Factorial> {
    let columns = cells.first()?.len();
    let runs = cells.first()?.first()?.len();
    let whole = cells.len() > 1 && columns > 1 && runs > 0;
    let even = cells.iter().all(|row| row.len() == columns && row.iter().all(|cell| cell.len() == runs));
    let positive = cells.iter().flatten().flatten().all(|value| value.is_finite() && *value > 0.0);
    if !(whole && even && positive) {
        return None;
    }
    let at = |row: usize, column: usize, run: usize| cells[row][column][run].ln();
    let effect = |of: &dyn Fn(usize) -> f64| {
        let estimates: Vec<f64> = (0..runs).map(of).collect();
        let summary = summarise(&estimates, confidence).expect("there are replications");
        let interval = summary.interval.map(|it| Interval::new(it.low.exp(), it.high.exp()));
        Effect { ratio: summary.mean.exp(), interval }
    };
    let mean = |values: &mut dyn Iterator<Item = f64>, count: usize| values.sum::<f64>() / count as f64;
    let row_mean = |row: usize, run: usize| mean(&mut (0..columns).map(|column| at(row, column, run)), columns);
    let column_mean =
        |column: usize, run: usize| mean(&mut (0..cells.len()).map(|row| at(row, column, run)), cells.len());
    let rows = (0..cells.len()).map(|row| effect(&|run| row_mean(row, run) - row_mean(0, run))).collect();
    let by_column = (0..columns).map(|column| effect(&|run| column_mean(column, run) - column_mean(0, run))).collect();
    let both = |row: usize, column: usize| {
        effect(&|run| at(row, column, run) - at(row, 0, run) - at(0, column, run) + at(0, 0, run))
    };
    let interaction = (0..cells.len()).map(|row| (0..columns).map(|column| both(row, column)).collect()).collect();
    Some(Factorial { rows, columns: by_column, interaction })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(effect: Effect, ratio: f64) -> bool {
        (effect.ratio - ratio).abs() < 1e-12
    }

    #[test]
    fn factors_that_multiply_have_no_interaction() {
        // Rows 1 and 2, columns 1, 3 and 5, replications 10 and 11.
        let cells: Vec<Vec<Vec<f64>>> = [1.0, 2.0]
            .iter()
            .map(|row| [1.0, 3.0, 5.0].iter().map(|column| vec![10.0 * row * column, 11.0 * row * column]).collect())
            .collect();
        let it = analyse(&cells, Confidence::P95).unwrap();
        assert!(near(it.rows[1], 2.0) && near(it.columns[1], 3.0) && near(it.columns[2], 5.0));
        assert!(it.interaction.iter().flatten().all(|effect| near(*effect, 1.0)));
    }

    #[test]
    fn an_interaction_is_the_ratio_of_two_ratios() {
        let cells = vec![vec![vec![10.0], vec![20.0]], vec![vec![30.0], vec![30.0]]];
        let it = analyse(&cells, Confidence::P95).unwrap();
        assert!(near(it.interaction[1][1], 0.5), "the column doubles in one row and does nothing in the other");
        assert_eq!(it.interaction[1][1].interval, None, "one replication says nothing of chance");
    }

    #[test]
    fn what_is_not_crossed_or_not_positive_is_not_analysed() {
        assert_eq!(analyse(&[vec![vec![1.0], vec![2.0]]], Confidence::P95), None);
        assert_eq!(analyse(&[vec![vec![1.0], vec![0.0]], vec![vec![1.0], vec![2.0]]], Confidence::P95), None);
        assert_eq!(analyse(&[vec![vec![1.0], vec![2.0]], vec![vec![1.0]]], Confidence::P95), None);
        assert_eq!(analyse(&[], Confidence::P95), None);
    }
}
