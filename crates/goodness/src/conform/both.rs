//! One figure of a comparison.

use serde::Serialize;

/// One figure, simulated and played.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Both {
    /// Mean of the simulations; `None` if not measured.
    pub simulated: Option<f64>,
    /// The least and the most that a simulation had.
    pub range: Option<(f64, f64)>,
    /// The play's.
    pub played: Option<f64>,
    /// True if the played value is within the bounds of the simulated range.
    pub agrees: bool,
}

impl Both {
    /// Compares one play with the range of the simulations, because a play is one random draw (for example of who
    /// starts first).
    pub(super) fn of(simulated: &[f64], played: Option<f64>, relative: f64, absolute: f64) -> Both {
        let least = simulated.iter().copied().reduce(f64::min);
        let both = Both {
            simulated: least.map(|_| simulated.iter().sum::<f64>() / simulated.len() as f64),
            range: least.zip(simulated.iter().copied().reduce(f64::max)),
            played,
            agrees: least.is_none() && played.is_none(),
        };
        let within = both.distance().is_some_and(|apart| {
            let larger = played.unwrap_or_default().max(both.range.map_or(0.0, |(_, most)| most));
            apart <= absolute.max(relative * larger)
        });
        Both { agrees: both.agrees || within, ..both }
    }

    /// Distance of the played value from the simulated range, if both were measured.
    pub(super) fn distance(&self) -> Option<f64> {
        let ((least, most), played) = self.range.zip(self.played)?;
        Some((least - played).max(played - most).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_agree_up_to_their_bound_and_not_beyond() {
        let agrees = |a, b| Both::of(&[a], Some(b), 0.1, 5.0).agrees;
        assert!(agrees(100.0, 110.0) && agrees(1.0, 6.0));
        assert!(!agrees(100.0, 112.0) && !agrees(1.0, 6.1));
        assert!(!Both::of(&[1.0], None, 0.1, 5.0).agrees, "measured on one side only");
        assert!(!Both::of(&[], Some(1.0), 0.1, 5.0).agrees, "measured on one side only");
        assert!(Both::of(&[], None, 0.1, 5.0).agrees, "nobody slept");
    }

    #[test]
    fn a_play_agrees_with_what_some_simulation_had_and_not_with_their_mean_only() {
        let of = |played| Both::of(&[0.10, 0.30, 0.14], Some(played), 0.0, 0.02);
        assert!(of(0.20).agrees && of(0.085).agrees && of(0.315).agrees);
        assert!(!of(0.07).agrees && !of(0.33).agrees);
        assert!((of(0.18).simulated.expect("simulated") - 0.18).abs() < 1e-9);
        assert_eq!(of(0.20).distance(), Some(0.0));
    }
}
