//! The effect of a knob, and what is known of it.

use crate::figure;
use serde::Serialize;

/// Effect of a knob on the objective: all else equal, in the first round.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Knob {
    /// Its name.
    pub name: String,
    /// Its values: of a range its thirds.
    pub levels: Vec<Level>,
    /// The largest value of the objective over the smallest, among the levels. `None` if fewer than two were run.
    pub effect: Option<f64>,
    /// True if the levels are not told apart.
    pub is_flat: bool,
    /// What the levels tell.
    pub told: Told,
}

/// What the levels of a knob tell of its effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Told {
    /// Fewer than two levels were run.
    #[default]
    TooFew,
    /// They differ by more than chance, the margin and the error of the prediction.
    Apart,
    /// They differ by no more than the margin.
    Same,
    /// They differ by no more than the error of the prediction.
    WithinError,
    /// They differ by no more than twice the standard error of their difference.
    WithinChance,
}

impl Knob {
    /// A knob with what its levels tell.
    #[must_use]
    pub fn new(name: &str, levels: Vec<Level>, (effect, told): (Option<f64>, Told)) -> Knob {
        Knob { name: name.into(), levels, effect, is_flat: told != Told::Apart, told }
    }

    /// What the levels tell, in words; `error` is that of the prediction.
    #[must_use]
    pub fn worded(&self, error: Option<f64>) -> String {
        match self.told {
            Told::TooFew => "too few candidates to tell its effect".into(),
            Told::Apart => format!("{} between the best and the worst values", figure::ratio(self.effect)),
            Told::Same => "no difference of more than 1 %".into(),
            Told::WithinError => {
                format!("not told apart, within the error of the prediction ({})", figure::percent(error))
            }
            Told::WithinChance => "not told apart, candidates differ as much by chance".into(),
        }
    }
}

/// One level of a knob.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Level {
    /// Its values.
    pub values: String,
    /// Candidates that had it.
    pub candidates: usize,
    /// The objective over the default's: geometric mean, with the effects of the other knobs taken out.
    pub ratio: Option<f64>,
}
