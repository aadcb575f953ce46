//! The phase diagram: which arm wins at each place of two parameters, and where that is undecided.

use crate::bins::Bins;
use crate::combinations::{Combinations, Context, means};
use goodness_stats::Confidence;
use goodness_stats::holm::holm;
use goodness_stats::ratio::{Pairing, Ratio};
use goodness_stats::summary::mean;
use serde::Serialize;

/// The winning arm of each place. All places are one family of comparisons (Holm, 95 %).
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Diagram {
    /// Parameter across.
    pub x: String,
    /// Parameter down, if there are two.
    pub y: Option<String>,
    /// Places, in the order of the definition.
    pub places: Vec<Place>,
}

/// One place of a diagram.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Place {
    /// Value of the parameter across.
    pub x: String,
    /// Value of the parameter down.
    pub y: Option<String>,
    /// The arm that wins; `None` where the best is not told from the next.
    pub winner: Option<String>,
    /// The arm with the best mean; `None` where fewer than two arms were measured.
    pub best: Option<String>,
    /// The arm with the second-best mean.
    pub next: Option<String>,
    /// The best arm's value over the next one's, paired by seed and run.
    pub ratio: Option<f64>,
    /// Its interval, at the level that correcting for all places demands.
    pub interval: Option<[f64; 2]>,
}

impl Diagram {
    /// The number of places that each of `arms` wins, and the number of undecided ones.
    #[must_use]
    pub fn counts(&self, arms: &[String]) -> (Vec<usize>, usize) {
        let wins = |arm: &String| self.places.iter().filter(|place| place.winner.as_ref() == Some(arm)).count();
        let wins: Vec<usize> = arms.iter().map(wins).collect();
        let undecided = self.places.len() - wins.iter().sum::<usize>();
        (wins, undecided)
    }

    /// The different values across and down, in their order.
    #[must_use]
    pub fn levels(&self) -> (Vec<String>, Vec<String>) {
        levels(self.places.iter().map(|it| (it.x.as_str(), it.y.as_deref().unwrap_or_default())))
    }
}

/// The different values across and down of `places`, in their order: numbers and times by size, others as they come.
pub(crate) fn levels<'a>(places: impl Iterator<Item = (&'a str, &'a str)>) -> (Vec<String>, Vec<String>) {
    let (columns, rows): (Vec<&str>, Vec<&str>) = places.unzip();
    let of = |values: Vec<&str>| Bins::of(values.into_iter(), usize::MAX, 1).names;
    (of(columns), of(rows))
}

/// Judges every place along `axes`.
pub(crate) fn diagram(data: &Combinations, axes: (&str, Option<&str>), is_lower: bool) -> Diagram {
    let arms = &data.definition.arms;
    let mut places = Vec::new();
    let mut ratios: Vec<Option<Ratio>> = Vec::new();
    for ((x, y), by_arm) in data.by_place(axes) {
        let measured: Vec<usize> = (0..arms.len()).filter(|arm| !by_arm[*arm].is_empty()).collect();
        let is_shared = |context: &Context| measured.iter().all(|arm| by_arm[*arm].contains_key(context));
        let shared: Vec<Context> = measured
            .first()
            .into_iter()
            .flat_map(|arm| by_arm[*arm].keys())
            .filter(|it| is_shared(it))
            .copied()
            .collect();
        let mut ranked: Vec<(f64, usize)> =
            measured.iter().filter_map(|arm| Some((mean(&means([&by_arm[*arm]], &shared)[0])?, *arm))).collect();
        ranked.sort_by(|a, b| if is_lower { a.0.total_cmp(&b.0) } else { b.0.total_cmp(&a.0) });
        let [best, next] = [0, 1].map(|place| ranked.get(place).map(|(_, arm)| *arm).filter(|_| ranked.len() > 1));
        ratios.push(best.zip(next).and_then(|(best, next)| {
            let [next, best] = means([&by_arm[next], &by_arm[best]], &shared);
            Ratio::of_samples(&next, &best, Pairing::Paired)
        }));
        let name = |arm: Option<usize>| arm.map(|arm| arms[arm].text.clone());
        let (best, next) = (name(best), name(next));
        places.push(Place { x, y, winner: None, best, next, ratio: None, interval: None });
    }
    let p_values: Vec<Option<f64>> = ratios.iter().map(|ratio| ratio.as_ref().map(Ratio::p_value)).collect();
    for ((place, ratio), corrected) in places.iter_mut().zip(&ratios).zip(holm(&p_values, Confidence::P95)) {
        let (Some(ratio), Some(corrected)) = (ratio, corrected) else { continue };
        place.ratio = ratio.estimate;
        place.interval = ratio.interval(corrected.confidence).map(|it| [it.low, it.high]);
        if corrected.p_value <= Confidence::P95.alpha() {
            place.winner = place.best.clone();
        }
    }
    Diagram { x: axes.0.into(), y: axes.1.map(str::to_string), places }
}
