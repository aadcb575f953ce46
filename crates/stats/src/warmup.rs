//! Detects the end of the warm-up.
//!
//! MSER-5: average the series in batches of five, then drop as many leading batches as minimises the squared standard
//! error of the remaining mean (White, "An effective truncation heuristic for bias reduction in simulation output",
//! Simulation 69(6), 1997; White, Cobb and Spratt, "A comparison of five steady-state truncation heuristics", Winter
//! Simulation Conference 2000).

use super::require_finite;

/// Observations in a batch: the five of MSER-5.
const BATCH: usize = 5;

/// Fewest batches to analyse. A guess: below ten, the last few decide everything.
const FEWEST_BATCHES: usize = 10;

/// Batches at the end that are always kept; otherwise a few that happen to agree would win. Five is the customary
/// number (White, Cobb and Spratt).
const TAIL_BATCHES: usize = 5;

/// The warm-up found in a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Warmup {
    /// Observations to leave out at the start, a multiple of five.
    pub observations: usize,
    /// True if a steady state was found. False if the best cut lies in the second half: the series is too short or
    /// still drifting.
    pub settled: bool,
}

/// Finds the warm-up of a series in time order; `None` of fewer than 50 observations.
///
/// # Panics
/// If a value is not finite.
pub fn warmup(series: &[f64]) -> Option<Warmup> {
    require_finite(series);
    let batches: Vec<f64> = series.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    if batches.len() < FEWEST_BATCHES {
        return None;
    }
    let cut = best_cut(&batches);
    Some(Warmup { observations: cut * BATCH, settled: cut <= batches.len() / 2 })
}

/// Number of leading batches to drop: the smallest one that minimises the standard error.
///
/// One pass from the back, adding a batch at a time to a running mean and sum of squares (Welford, Technometrics 4(3),
/// 1962).
fn best_cut(batches: &[f64]) -> usize {
    let (mut count, mut mean, mut squares) = (0.0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    for (cut, &batch) in batches.iter().enumerate().rev() {
        count += 1.0;
        let before = batch - mean;
        mean += before / count;
        squares += before * (batch - mean);
        let error = squares / (count * count);
        if cut + TAIL_BATCHES < batches.len() && error <= best.0 {
            best = (error, cut);
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small deterministic wobble around 0.
    fn wobble(i: usize) -> f64 {
        ((i * 7919) % 13) as f64 / 13.0 - 0.5
    }

    #[test]
    fn a_ramp_at_the_start_is_left_out() {
        let series: Vec<f64> = (0..500).map(|i| if i < 60 { (60 - i) as f64 } else { 0.0 } + wobble(i)).collect();
        let found = warmup(&series).unwrap();
        assert!((55..=75).contains(&found.observations), "{found:?}");
        assert!(found.settled);
    }

    #[test]
    fn a_series_that_drifts_all_along_is_not_settled() {
        let series: Vec<f64> = (0..400).map(|i| i as f64 + wobble(i)).collect();
        assert!(!warmup(&series).unwrap().settled);
    }

    #[test]
    fn a_constant_series_needs_no_warm_up() {
        assert_eq!(warmup(&[2.0; 100]), Some(Warmup { observations: 0, settled: true }));
    }

    #[test]
    fn fifty_observations_are_the_least() {
        assert_eq!(warmup(&[1.0; 49]), None);
        assert!(warmup(&[1.0; 50]).is_some());
    }
}
